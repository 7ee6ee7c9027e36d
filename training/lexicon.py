"""The word list for prompts in other languages, from ``words.txt`` and, optionally, a learnt list.

    python training/lexicon.py selectors/toolpick_selectors/model/lexicon.gz
        [--learnt lexicon.json.gz]

``words.txt`` was written by hand; what it says wins. A learnt list maps a word to up to three
English words (README.md says where it comes from). Writes sorted lines, word, tab, English words,
so that a reader can search the bytes without unpacking them into objects.
"""

import argparse
import gzip
import json
import re
import sys
from bisect import bisect_left
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "selectors"))

from toolpick_selectors.lexicon import folded, same_word, unspaced


def written(path):
    """The pairs of words.txt."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            english, *languages = (part.strip() for part in line.split("|"))
            for word in ", ".join(languages).split(","):
                key = folded(word.strip())
                if key:
                    found.setdefault(key, english)
    return found


def learnt(path, top):
    """The pairs of a learnt list, without what is too short to be told apart."""
    pairs = json.loads(gzip.decompress(path.read_bytes()))
    return {
        folded(word): " ".join(english[:top])
        for word, english in pairs.items()
        if (len(word) >= 4 or unspaced(word)) and re.sub(r"\W", "", word)
    }


def without_forms(pairs, known):
    """Learnt pairs but for forms of words that are known better."""
    order = sorted(known)

    def is_form(word):
        at = bisect_left(order, word)
        return any(same_word(word, near) for near in order[max(0, at - 3) : at + 3])

    return {word: english for word, english in pairs.items() if unspaced(word) or not is_form(word)}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--learnt", type=Path)
    options.add_argument("--top", type=int, default=1)
    given = options.parse_args()
    by_hand = written(Path(__file__).with_name("words.txt"))
    pairs = learnt(given.learnt, given.top) if given.learnt else {}
    pairs = without_forms(pairs, by_hand) | by_hand
    lines = sorted(f"{word}\t{english}" for word, english in pairs.items())
    given.out.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    print(len(pairs), "words", round(given.out.stat().st_size / 1e6, 3), "MB")


if __name__ == "__main__":
    main()
