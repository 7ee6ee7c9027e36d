"""How far the gateway's token estimates are from what public tokenizers count.

    python benchmarks/tokens.py tools.jsonl [more.jsonl ...] --sample 500

Each line of a file is one tool definition as a server lists it; a key "server" is ignored. Counts
with gpt-tokenizer (o200k_base, cl100k_base) and @anthropic-ai/tokenizer, which ship their
vocabularies, so nothing but npm is asked.

Exit status: 0, or 1 when the mean error of a definition or that of the whole sample is above 10 %.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, quantiles

from npm import Unavailable, install, node

from toolpick.turns import estimate_tokens

PACKAGES = ("gpt-tokenizer@4.0.0", "@anthropic-ai/tokenizer@0.0.4")
TOKENIZERS = ("o200k_base", "cl100k_base", "anthropic")
BOUND = 0.10


def read_definitions(files: Sequence[Path]) -> list[bytes]:
    """All definitions of the files, as compact JSON."""
    found = []
    for file in files:
        for line in file.read_text().splitlines():
            tool = json.loads(line)
            tool.pop("server", None)
            found.append(json.dumps(tool, ensure_ascii=False, separators=(",", ":")).encode())
    return list(dict.fromkeys(found))


def count(definitions: Sequence[bytes]) -> list[tuple[int, ...]]:
    """What each tokenizer counts for each definition."""
    folder = install("tokenizers", *PACKAGES)
    done = subprocess.run(
        [node(folder), Path(__file__).with_suffix(".mjs")],
        cwd=folder,
        input=b"\n".join(definitions),
        stdout=subprocess.PIPE,
        check=True,
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def report(name: str, estimates: Sequence[int], counted: Sequence[int]) -> bool:
    """Print one tokenizer's row; returns whether it is within the bound."""
    errors = [abs(e - c) / c for e, c in zip(estimates, counted, strict=True)]
    whole = sum(estimates) / sum(counted) - 1
    print(
        f"{name:12} {sum(counted):8,} tokens   error of a definition: mean {mean(errors):5.1%}, "
        f"95 % below {quantiles(errors, n=20)[-1]:5.1%}   of the whole: {whole:+.1%}"
    )
    return mean(errors) <= BOUND and abs(whole) <= BOUND


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    definitions = read_definitions(options.files)
    size = min(options.sample, len(definitions))
    definitions = random.Random(options.seed).sample(definitions, size)
    try:
        counted = count(definitions)
    except Unavailable as error:
        print(f"tokens: {error}", file=sys.stderr)
        return 1
    estimates = [estimate_tokens(definition) for definition in definitions]
    print(f"{size} definitions, {sum(map(len, definitions)):,} bytes, estimated {sum(estimates):,}")
    rows = [
        report(name, estimates, [counts[index] for counts in counted])
        for index, name in enumerate(TOKENIZERS)
    ]
    return 0 if all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
