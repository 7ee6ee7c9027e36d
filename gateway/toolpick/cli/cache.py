"""``toolpick cache``: what is kept on disk, and clearing it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from toolpick_selectors.store import StoreSummary


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "cache",
        help="show or clear the cached vectors",
        description="Show cached vectors and fetched models, or clear the vectors.",
    )
    parser.add_argument("--clear", action="store_true", help="forget all cached vectors")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Show, or clear. Exit code 1 when the store can't be used."""
    from toolpick.engine.selections import cache_folder
    from toolpick_selectors.embedding import STORE
    from toolpick_selectors.onnx.source import model_folder
    from toolpick_selectors.store import VectorStore

    folder = cache_folder(os.environ)
    models = model_folder("", folder)
    store = VectorStore(folder / STORE)
    removed = store.clear() if args.clear else None
    summary = store.summary()
    store.close()
    if args.json:
        print(json.dumps(_as_json(summary, models, removed), ensure_ascii=False))
    elif args.clear:
        print(f"removed {removed} vectors from {summary.path}")
    else:
        print(_as_text(summary, models))
    return 1 if summary.problem else 0


def _as_json(summary: StoreSummary, models: Path, removed: int | None) -> dict[str, Any]:
    shares = [
        {"model": share.model, "vectors": share.vectors, "used": share.used}
        for share in summary.models
    ]
    shown: dict[str, Any] = {"path": summary.path, "bytes": summary.bytes}
    shown |= {"vectors": summary.vectors, "by_model": shares}
    shown |= {"set_aside": summary.set_aside, "problem": summary.problem}
    shown |= {"models": {"path": str(models), "bytes": _size(models)}}
    return shown if removed is None else {**shown, "removed": removed}


def _as_text(summary: StoreSummary, models: Path) -> str:
    from toolpick.cli.table import table

    lines = [f"vectors: {summary.vectors} in {summary.path}, {_megabytes(summary.bytes)}"]
    if summary.models:
        rows = [
            (share.model, str(share.vectors), time.strftime("%Y-%m-%d", time.gmtime(share.used)))
            for share in summary.models
        ]
        lines.append(table(("model", "vectors", "last used"), rows))
    lines.append(f"models:  {models}, {_megabytes(_size(models))}")
    if summary.set_aside:
        lines.append(f"a damaged store was moved to {summary.set_aside}; --clear removes it")
    if summary.problem:
        lines.append(summary.problem)
    return "\n".join(lines)


def _size(folder: Path) -> int:
    """Bytes in a folder; what links lead to is counted where it lies."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            path = Path(base) / name
            if not path.is_symlink():
                total += path.stat().st_size
    return total


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
