"""What a server may be called. Its name becomes part of its tools' names, which models see."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 32
ALLOWED = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{LONGEST - 1}}}")

REMEDY = f"write letters, digits, _ and - only, a letter or digit first, at most {LONGEST}"


def clean(name: str) -> str:
    """Return the allowed name most like ``name``, or "" when nothing of it is left.

    Accents go; every run of other characters becomes one hyphen.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_-]+", "-", plain).strip("-_")[:LONGEST]
