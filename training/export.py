"""Step 5: average tables that share a start, drop rows that no English text needs, store as bytes.

    python training/export.py WORK selectors/toolpick_selectors/model WORK/a.npz:0.7 WORK/b.npz:0.3

Averaging weights is from Wortsman et al., "Model soups" (2022). Dropped: punctuation, unused slots,
and pieces outside ASCII that the texts hardly used. Writes ``rows.npy`` (int8), ``scales.npy`` (one
float a row) and ``vocabulary.txt`` (one piece a line, in the order of the rows).
"""

import json
import sys
from pathlib import Path

import numpy as np


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    work, out = Path(sys.argv[1]), Path(sys.argv[2])
    table = 0
    for named in sys.argv[3:]:
        path, _, weight = named.partition(":")
        table = table + float(weight or 1) * np.load(path)["table"]
    found = np.load(work / "encoded.npz")
    used = np.bincount(found["flat"], minlength=len(table))
    numbers = json.loads((work / "tokenizer.json").read_text())["model"]["vocab"]
    kept = [
        (piece, number)
        for piece, number in sorted(numbers.items(), key=lambda entry: entry[1])
        if piece.removeprefix("##").isalnum() and (piece.isascii() or used[number] >= 3)
    ]
    rows = table[[number for _, number in kept]].astype(np.float32)
    scales = np.abs(rows).max(1) / 127 + 1e-8
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "rows.npy", np.clip(np.round(rows / scales[:, None]), -127, 127).astype(np.int8))
    np.save(out / "scales.npy", scales.astype(np.float32))
    (out / "vocabulary.txt").write_text("\n".join(piece for piece, _ in kept), encoding="utf-8")
    print(len(kept), "pieces", sum(path.stat().st_size for path in out.iterdir()) / 1e6, "MB")


if __name__ == "__main__":
    main()
