"""Step 2: texts that sound like prompts and like what tools say of themselves; no labels.

    python training/texts.py --old texts.jsonl.gz more.json.gz --pypi pypi.tsv --npm npm.tsv \\
        --ban BENCH --out WORK

``--old`` are texts gathered before (README.md says where each comes from and its licence): one object
a line with ``src`` and ``text``, where a source that ends in ``-q`` holds prompts, or a plain list;
``--pypi`` and
``--npm`` are tables of packages whose last column is the summary, ``--ban`` a folder whose
``*/queries*.jsonl`` and ``*/tools.jsonl`` are the evaluation sets: a text that is equal to one of
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
    r"placeholder|description here|add your|todo|lorem ipsum|sample package|test package|my first|homework"
    r"|deprecated|reserved|security research|dependency confusion|^https?:|no description|nested lists"
    r"|gaussian and binomial|funniest|slopsquat|\[tested here",
    re.IGNORECASE,
)
ENGLISH = {"a", "an", "and", "by", "for", "from", "in", "is", "it", "of", "on", "or", "that", "the", "this", "to"}
ENGLISH |= {"with", "your", "you", "using", "use", "as", "at", "are", "be"}


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


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--old", type=Path, nargs="+", required=True)
    for name in ("pypi", "npm", "ban", "out"):
        options.add_argument(f"--{name}", type=Path, required=True)
    options.add_argument("--most", type=int, nargs=2, default=(110_000, 50_000), help="of PyPI, of npm")
    given = options.parse_args()
    chance = random.Random(11)
    banned = set()
    for path in given.ban.glob("*/*.jsonl"):
        for line in path.open():
            entry = json.loads(line)
            banned |= {key(entry.get("query") or ""), key(entry.get("description") or "")}
    seen, begins, kept = set(banned), Counter(), []

    def add(source, text, alike):
        own = key(text)
        begin = " ".join(own.split()[:5])
        if len(own) < 8 or own in seen or begins[begin] >= alike:
            return False
        seen.add(own)
        begins[begin] += 1
        kept.append({"source": source, "text": text, "prompt": source.endswith("-q")})
        return True

    for path in given.old:
        raw = gzip.open(path, "rt").read()
        entries = json.loads(raw) if raw.startswith("[") else map(json.loads, raw.splitlines())
        for entry in entries:
            source, text = ("old", entry) if isinstance(entry, str) else (entry["src"], entry["text"])
            add(source, " ".join(text.split()), 10**9)
    for source, path, most in (("pypi", given.pypi, given.most[0]), ("npm", given.npm, given.most[1])):
        rows = list(summaries(path))
        chance.shuffle(rows)
        count = 0
        for name, text in rows:
            if count >= most:
                break
            if sound(text):
                spoken = re.sub(r"[-_./@]+", " ", name).strip()
                named = chance.random() < 1 / 3 and 2 < len(spoken) < 40
                count += add(source, f"{spoken}: {text}" if named else text, 6)
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "texts.jsonl").open("w") as out:
        out.writelines(json.dumps(entry) + "\n" for entry in kept)
    print(len(kept), Counter(entry["source"] for entry in kept))


if __name__ == "__main__":
    main()
