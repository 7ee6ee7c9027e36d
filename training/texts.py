"""Step 2: texts that sound like prompts and like what tools say of themselves; no labels.

    python training/texts.py --old texts.jsonl.gz more.json.gz --pypi pypi.tsv --npm npm.tsv
        --ban BENCH --out WORK

``--old`` are texts gathered before (README.md says where each comes from and its licence): one
object a line with ``src`` and ``text``, where a source that ends in ``-q`` holds prompts, or a
plain list. ``--pypi`` and ``--npm`` are tables of packages whose last column is the summary.
``--ban`` is a folder whose ``*/*.jsonl`` are the evaluation sets: a text that is equal to one of
their prompts or descriptions is left out. Writes WORK/texts.jsonl.
"""

import argparse
import gzip
import json
import random
import re
from collections import Counter
from pathlib import Path

JUNK = re.compile(
    r"placeholder|description here|add your|todo|lorem ipsum|sample package|test package|my first"
    r"|homework|deprecated|reserved|security research|dependency confusion|^https?:"
    r"|no description|nested lists|gaussian and binomial|funniest|slopsquat|\[tested here",
    re.IGNORECASE,
)
ALIKE = 6
"""Most summaries of packages that begin with the same five words."""
_ENGLISH = """
a an and are as at be by for from in is it of on or that the this to use using with you your
"""
ENGLISH = frozenset(_ENGLISH.split())


def key(text):
    return re.sub(r"[^a-z ]+", "", " ".join(str(text).split()).lower())


def sound(text):
    words = text.lower().split()
    plain = sum(char.isalpha() or char == " " for char in text)
    return (
        4 <= len(words) <= 45
        and len(text) <= 330
        and text.isascii()
        and plain >= 0.8 * len(text)
        and any(word.strip(".,:;") in ENGLISH for word in words)
        and not JUNK.search(text)
    )


def summaries(path):
    for line in path.open(encoding="utf-8", errors="replace"):
        columns = line.rstrip("\n").split("\t")
        yield columns[0], " ".join(columns[-1].split())


def banned(folder):
    """The prompts and descriptions of the evaluation sets, as keys."""
    found = set()
    for path in folder.glob("*/*.jsonl"):
        with path.open(encoding="utf-8") as lines:
            for entry in map(json.loads, lines):
                found |= {key(entry.get("query") or ""), key(entry.get("description") or "")}
    return found


def gathered_before(path):
    """Source and text of each entry of a file of texts."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        raw = file.read()
    for entry in json.loads(raw) if raw.startswith("[") else map(json.loads, raw.splitlines()):
        source, text = ("old", entry) if isinstance(entry, str) else (entry["src"], entry["text"])
        yield source, " ".join(text.split())


class Gathered:
    """Texts, each once: nothing that is banned, and few that begin alike."""

    def __init__(self, banned):
        self.kept = []
        self._seen, self._begins = set(banned), Counter()

    def add(self, source, text, alike):
        """Keep a text, unless ``alike`` begin as it does; whether it was kept."""
        own = key(text)
        begin = " ".join(own.split()[:5])
        if len(own) < 8 or own in self._seen or self._begins[begin] >= alike:
            return False
        self._seen.add(own)
        self._begins[begin] += 1
        self.kept.append({"source": source, "text": text, "prompt": source.endswith("-q")})
        return True

    def add_packages(self, source, path, most, chance):
        """Keep at most so many summaries of packages, a third of them with the package's name."""
        rows = list(summaries(path))
        chance.shuffle(rows)
        count = 0
        for name, text in rows:
            if count >= most:
                break
            if sound(text):
                spoken = re.sub(r"[-_./@]+", " ", name).strip()
                named = chance.random() < 1 / 3 and 2 < len(spoken) < 40
                count += self.add(source, f"{spoken}: {text}" if named else text, ALIKE)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--old", type=Path, nargs="+", required=True)
    for name in ("pypi", "npm", "ban", "out"):
        options.add_argument(f"--{name}", type=Path, required=True)
    most = (110_000, 50_000)
    options.add_argument("--most", type=int, nargs=2, default=most, help="of PyPI, of npm")
    given = options.parse_args()
    chance = random.Random(11)
    texts = Gathered(banned(given.ban))
    for path in given.old:
        for source, text in gathered_before(path):
            texts.add(source, text, 10**9)
    texts.add_packages("pypi", given.pypi, given.most[0], chance)
    texts.add_packages("npm", given.npm, given.most[1], chance)
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "texts.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(entry) + "\n" for entry in texts.kept)
    print(len(texts.kept), Counter(entry["source"] for entry in texts.kept))


if __name__ == "__main__":
    main()
