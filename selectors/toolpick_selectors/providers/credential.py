"""A key for an endpoint, given as it is or as the name of an environment variable.

Read when it is needed, never shown: not in a repr, not in an error, not in a log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Credential:
    """``value`` is the key, or ``variable`` the name of the environment variable that holds it."""

    value: str = field(default="", repr=False)
    variable: str = ""

    def reveal(self, environment: Mapping[str, str]) -> str:
        """Return the key, "" where neither a value nor a variable was given.

        Raises:
            LookupError: the variable is not set, or empty.
        """
        if self.value or not self.variable:
            return self.value
        found = environment.get(self.variable, "")
        if not found:
            raise LookupError(
                f"the environment variable {self.variable!r} that holds its key is not set"
            )
        return found


def redact(text: str, *secrets: str) -> str:
    """Return ``text`` on one line, shortened, without the secrets and without names in URLs."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    line = _USERINFO.sub("", " ".join(text.split()))
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a response asks to be left alone; ``now`` is in seconds since the epoch.

    RFC 9110 section 10.2.3: a number of seconds or a date.
    """
    from email.utils import parsedate_to_datetime

    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(given).timestamp() - now
        except ValueError:
            return None
    return max(0.0, seconds) if seconds == seconds else None
