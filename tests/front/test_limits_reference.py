"""docs/limits.md gives the figures of the code."""

import re
from pathlib import Path

import pytest

from toolpick.front import backlog, control, descriptors, http, messages, reader, sessions
from toolpick.hook import run
from toolpick.turns import arguments, query
from toolpick.wire import own, wire
from toolpick_selectors import wordpiece, words

TEXT = re.sub(r"\s+", " ", (Path(__file__).parents[2] / "docs/limits.md").read_text("utf-8"))
KIB, MIB = 2**10, 2**20


@pytest.mark.parametrize(
    "said",
    [
        f"head may have {reader.HEAD_LIMIT // KIB} KiB, its body {reader.BODY_LIMIT // MIB} MiB",
        f"only) {messages.MOST} members",
        f"array of messages ({messages.BATCHES} only)",
        f"A line over stdio may have {wire.MAX_FRAME // MIB} MiB",
        f"Of a prompt {query.ROOM:,} characters",
        f"more than {words.REMEMBERED} characters",
        f"more than {wordpiece.LONGEST} characters",
        f"no more than {arguments.LARGEST // 1_000_000} MB",
        f"raises that limit to {descriptors.WANTED[0]:,}",
        f"silent for {sessions.EVICTABLE:g} s, or for {sessions.UNSPOKEN:g} s",
        f"end after {http.IDLE / 60:g} minutes, connections after {http.KEEP_ALIVE:g} s",
        f"more than {own.UNREAD // MIB} MiB unread",
        f"At {own.UNREAD_LIMIT // MIB} MiB no more",
        f"{backlog.LIMIT:,} messages or {backlog.BYTES // MIB} MiB wait",
        f"for {http.KEEP_ALIVE:g} s is cut off",
        f"have {http.GRACE:g} s to read",
        f"waits {run.WAIT:g} s for gateways",
        f"at most {control.LARGEST // KIB} KiB, within {control.PATIENCE:g} s",
    ],
)
def test_the_figures_are_those_of_the_code(said: str) -> None:
    assert said in TEXT
