"""The README's table of ranking quality, made anew by one command.

    python benchmarks/selection.py BENCH [--selector hybrid,lexical]

``BENCH`` is a folder with one folder a set, each with ``tools.jsonl`` and ``queries.dev.jsonl`` (or
``queries.jsonl``), as ``toolpick eval`` reads them. Prints each set and the mean over sets.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

FIGURES = (
    "recall@1",
    "recall@5",
    "recall@8",
    "completeness@8",
    "ndcg@8",
    "completeness@selected",
    "selected_mean",
    "p50_ms",
    "index_ms",
)
PLAIN = ("selected_mean", "p50_ms", "index_ms")


def measured(folder: Path, split: str, selectors: str) -> list[dict[str, float]]:
    """What ``toolpick eval`` says of one set, one row a selector."""
    queries = folder / f"queries.{split}.jsonl"
    queries = queries if queries.exists() else folder / "queries.jsonl"
    call = "import sys; from toolpick.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", call, "eval", "--json", "--selector", selectors]
    command += ["--tools", str(folder / "tools.jsonl"), "--queries", str(queries)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def line(name: str, selector: str, row: dict[str, float]) -> str:
    cells = [f"{row[f]:.2f}" if f in PLAIN else f"{100 * row[f]:.1f}" for f in FIGURES]
    return f"| {name} | {selector} | {' | '.join(cells)} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("bench", type=Path)
    options.add_argument("--selector", default="hybrid,embedding,lexical,keyword")
    options.add_argument("--split", default="dev")
    given = options.parse_args()
    sets = sorted(path.parent for path in given.bench.glob("*/tools.jsonl"))
    if not sets:
        sys.exit(f"{given.bench} holds no set: a folder with tools.jsonl and queries")
    rows: dict[str, list[dict[str, float]]] = {}
    print(f"| set | selector | {' | '.join(FIGURES)} |")
    print("|---" * (len(FIGURES) + 2) + "|")
    for folder in sets:
        for row in measured(folder, given.split, given.selector):
            rows.setdefault(str(row["selector"]), []).append(row)
            print(line(folder.name, str(row["selector"]), row), flush=True)
    for selector, found in rows.items():
        mean = {figure: sum(row[figure] for row in found) / len(found) for figure in FIGURES}
        print(line(f"**mean of {len(found)}**", selector, mean))


if __name__ == "__main__":
    main()
