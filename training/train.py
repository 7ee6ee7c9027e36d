"""Step 4: a table of vectors, one a piece, whose damped sum is close to the teacher's vector.

    python training/train.py WORK --out WORK/few.npz --packages 0
    python training/train.py WORK --out WORK/all.npz

The start is each piece's mean state in context (what a piece means on average), projected onto the
directions in which the teacher's vectors differ most, and weighted down where the piece is frequent
(Arora et al., "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", 2017). Then a few
epochs of Adam: 1 - cosine to the teacher's vector, and the squared error of the similarities
within a batch. The damping of the embedder (a piece that points along its text counts less) is part
of the model that is trained. No labels are used. Minutes on one core; numpy and scipy only.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse

SMOOTH, RARE = 1e-3, 3
DROP = 0.1


def unit(rows):
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)


def start(found, axes):
    """The table before training."""
    states, seen, alone = found["states"], found["seen"], found["alone"]
    mean = states / np.maximum(seen, 1)[:, None]
    known = seen >= 20
    inputs = np.c_[alone, np.ones(len(alone))]
    ridge = inputs[known].T @ inputs[known] + 10 * np.eye(inputs.shape[1])
    guess = inputs @ np.linalg.solve(ridge, inputs[known].T @ mean[known])
    trust = (seen / (seen + RARE))[:, None]
    centre = states.sum(0) / seen.sum()
    share = (seen + 1) / (seen.sum() + len(seen))
    return (
        (trust * mean + (1 - trust) * guess - centre) @ axes * (SMOOTH / (SMOOTH + share))[:, None]
    )


class Adam:
    """Adam for the rows that a batch touches."""

    def __init__(self, table, rate):
        self.table, self.rate = table, rate
        self.first, self.second = np.zeros_like(table), np.zeros_like(table)
        self.steps = 0

    def step(self, rows, gradient, scale):
        self.steps += 1
        self.first[rows] = first = 0.9 * self.first[rows] + 0.1 * gradient
        self.second[rows] = second = 0.999 * self.second[rows] + 0.001 * gradient**2
        first = first / (1 - 0.9**self.steps)
        second = second / (1 - 0.999**self.steps)
        self.table[rows] -= self.rate * scale * first / (np.sqrt(second) + 1e-8)


class Texts:
    """The texts to learn from: their pieces, and what the teacher says of each."""

    def __init__(self, found):
        self.flat, self.ends = found["flat"].astype(np.int64), found["ends"]
        self.begins = np.r_[0, self.ends[:-1]]
        self.vectors = found["vectors"]
        whole = (self.ends > self.begins) & np.any(self.vectors != 0, axis=1)
        self.packages = np.flatnonzero(whole & found["packages"])
        self.prompts = np.flatnonzero(whole & found["prompts"])
        self.others = np.flatnonzero(whole & ~found["packages"])

    def used(self, prompts, packages):
        """Places of the texts: prompts so many times, that share of the package summaries."""
        summaries = self.packages[: int(packages * len(self.packages))]
        return np.concatenate([self.others, *[self.prompts] * (prompts - 1), summaries])

    def axes(self, width):
        """The directions in which the teacher's vectors differ most, package summaries left out."""
        base = unit(self.vectors[self.others].astype(np.float32))
        _, axes = np.linalg.eigh(base.T @ base / len(base))
        return axes[:, ::-1][:, :width].astype(np.float32)

    def goal(self, some, axes):
        """What the teacher says of some texts."""
        return unit(unit(self.vectors[some].astype(np.float32)) @ axes)

    def pieces(self, some, chance):
        """The pieces of some texts and whose each is, without a tenth; each text keeps one."""
        lengths = self.ends[some] - self.begins[some]
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        places = np.repeat(self.begins[some] - starts, lengths) + np.arange(lengths.sum())
        numbers, texts = self.flat[places], np.repeat(np.arange(len(some)), lengths)
        kept = chance.random(len(numbers)) > DROP
        kept[np.cumsum(lengths) - 1] |= np.bincount(texts[kept], minlength=len(some)) == 0
        return numbers[kept], texts[kept]


def improve(held, where, texts, goal, *, similarity, damping):
    """The gradient of the loss for the rows ``held``, and the mean of 1 - cosine.

    ``where`` is the row of each piece, ``texts`` its text, ``goal`` has the vectors of the texts.
    """
    shape = (len(goal), len(held))
    spread = sparse.csr_matrix((np.ones(len(texts), np.float32), (texts, where)), shape)
    direction = unit(spread @ held)
    cosine = np.einsum("ij,ij->i", unit(held)[where], direction[texts])
    weights = sparse.csr_matrix((np.exp(-damping * cosine), (texts, where)), shape)
    summed = weights @ held
    norms = np.linalg.norm(summed, axis=1, keepdims=True) + 1e-9
    made = summed / norms
    error = made @ made.T - goal @ goal.T
    gradient = -goal / len(goal) + similarity * 4 * error @ made / len(goal) ** 2
    gradient = (gradient - made * np.einsum("ij,ij->i", gradient, made)[:, None]) / norms
    return weights.T @ gradient, 1 - float(np.einsum("ij,ij->i", made, goal).mean())


def train(found, width, *, epochs, rate, batch, seed, prompts, packages, **loss):
    """The trained table, float32.

    Prompts count ``prompts`` times; ``packages`` is the share of package summaries that is used.
    The directions come from the other texts, so that tables made with different shares can be
    averaged.
    """
    chance = np.random.default_rng(seed)
    learnt = Texts(found)
    use, axes = learnt.used(prompts, packages), learnt.axes(width)
    table = start(found, axes).astype(np.float32)
    table /= np.linalg.norm(table, axis=1).mean()
    adam = Adam(table, rate)
    steps = int(epochs * len(use) // batch)
    order, began, total = np.zeros(0, np.int64), time.time(), 0.0
    for step in range(steps):
        if len(order) < batch:
            order = chance.permutation(use)
        some, order = order[:batch], order[batch:]
        numbers, texts = learnt.pieces(some, chance)
        rows, where = np.unique(numbers, return_inverse=True)
        gradient, off = improve(table[rows], where, texts, learnt.goal(some, axes), **loss)
        adam.step(rows, gradient, min(1, step / 50 + 0.02) * (1 - step / steps) + 0.01)
        total += off
        if (step + 1) % max(1, steps // 4) == 0:
            mean = total / max(1, steps // 4)
            print(f"  {step + 1}/{steps} loss {mean:.4f} {time.time() - began:.0f} s", flush=True)
            total = 0.0
    return table


def main():
    options = argparse.ArgumentParser()
    options.add_argument("work", type=Path)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--width", type=int, default=256)
    options.add_argument("--epochs", type=float, default=3)
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--batch", type=int, default=256)
    options.add_argument("--similarity", type=float, default=20)
    options.add_argument("--damping", type=float, default=0.6)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--prompts", type=int, default=4)
    options.add_argument("--packages", type=float, default=1.0)
    given = options.parse_args()
    found = dict(np.load(given.work / "encoded.npz"))
    keep = {
        name: value for name, value in vars(given).items() if name not in ("work", "out", "width")
    }
    np.savez(given.out, table=train(found, given.width, **keep))


if __name__ == "__main__":
    main()
