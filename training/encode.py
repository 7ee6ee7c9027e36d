"""Step 3: what the teacher says about every text, and about every piece on average.

    python training/encode.py WORK

Reads WORK/texts.jsonl, writes WORK/encoded.npz: ``flat`` and ``ends`` (the piece numbers of all
texts, one after the other), ``vectors`` (the teacher's vector of each text, mean of its states at
length 1, float16), ``prompts`` and ``packages`` (which texts are such), ``states`` and ``seen``
(for each piece the sum of its states in context, and how often it was seen), ``alone`` (its state
in a text of its own). About 15 minutes on one core.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

LONGEST, BATCH_PIECES = 128, 2_048


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    work = Path(sys.argv[1])
    entries = [json.loads(line) for line in (work / "texts.jsonl").open()]
    texts = [entry["text"] for entry in entries]
    tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(work / "teacher.onnx", options)
    unknown = tokenizer.token_to_id("[UNK]")
    size = tokenizer.get_vocab_size()
    encodings = []
    for at in range(0, len(texts), 10_000):
        encodings += [e.ids for e in tokenizer.encode_batch(texts[at : at + 10_000])]
    order = sorted(range(len(texts)), key=lambda at: len(encodings[at]))
    vectors = np.zeros((len(texts), 384), np.float16)
    states, seen = np.zeros((size, 384), np.float64), np.zeros(size, np.int64)
    began, done = time.time(), 0
    while done < len(order):
        take = max(1, BATCH_PIECES // len(encodings[order[min(done + 64, len(order) - 1)]]))
        batch = order[done : done + take]
        pooled, flat, rows = run(session, [encodings[at] for at in batch])
        vectors[batch] = pooled
        np.add.at(states, flat, rows)
        np.add.at(seen, flat, 1)
        if done // 20_000 != (done + take) // 20_000:
            print(done + take, "of", len(order), round(time.time() - began), "s", flush=True)
        done += take
    start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    alone = np.zeros((size, 384), np.float32)
    for at in range(0, size, 512):
        some = range(at, min(at + 512, size))
        _, _, rows = run(session, [[start, number, end] for number in some])
        alone[at : at + len(some)] = rows[1::3]
    kept = [[n for n in ids[1:-1] if n != unknown] for ids in encodings]
    np.savez(
        work / "encoded.npz",
        flat=np.array([n for ids in kept for n in ids], np.int32),
        ends=np.cumsum([len(ids) for ids in kept]),
        vectors=vectors,
        prompts=np.array([entry["prompt"] for entry in entries]),
        packages=np.array([entry["source"] in ("pypi", "npm") for entry in entries]),
        states=states.astype(np.float32),
        seen=seen,
        alone=alone,
    )


def run(session, batch):
    """The vectors of some texts, and the states of their pieces with the pieces' numbers."""
    width = max(map(len, batch))
    ids = np.array([row + [0] * (width - len(row)) for row in batch], np.int64)
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in batch], np.int64)
    (states,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
    pooled = (states * mask[..., None]).sum(1)
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    held = mask.astype(bool)
    return pooled, ids[held], states[held]


if __name__ == "__main__":
    main()
