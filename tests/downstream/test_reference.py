"""docs/servers.md gives the figures of the code."""

import re
from pathlib import Path

import pytest

from toolpick.catalog import depth, schemas
from toolpick.downstream import greeting, link, listing, lists, pulse, restarts, supervision
from toolpick.engine import metatools, remarks, rounds, tools
from toolpick.wire import child, own, peer, streams, wire

TEXT = re.sub(r"\s+", " ", (Path(__file__).parents[2] / "docs/servers.md").read_text("utf-8"))
MIB = 2**20


def seconds(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


@pytest.mark.parametrize(
    "said",
    [
        f"up to {restarts.LONGEST_START:g} s",
        f"after {seconds(lists.EMPTY_AGAIN[:-1])} and {lists.EMPTY_AGAIN[-1]:g} s",
        f"Silence of {greeting.PROBE_WAIT:g} s",
        f"after {seconds(restarts.DELAYS[:-1])} and then every {restarts.DELAYS[-1]:g} s",
        f"up for {restarts.STEADY:g} s begins anew",
        f"stay listed for {supervision.GRACE:g} s",
        f"at most {tools.LONGEST_WAIT:g} s in all",
        f"or for {pulse.SILENCE:g} s if that is longer",
        f"at most {listing.MAX_PAGES:,} pages, {listing.MAX_ENTRIES:,} entries "
        f"and {listing.MAX_BYTES // MIB} MiB",
        f"{remarks.AT_ONCE} remarks at a time",
        f"cut at {schemas.SCHEMA_LEVELS} levels, whole definitions at {depth.LEVELS} levels",
        f"may have {wire.MAX_FRAME // MIB} MiB",
        f"may leave {child.UNREAD_LIMIT // MIB} MiB",
        f"more than {own.UNREAD // MIB} MiB unread",
        f"{rounds.MOST_OPEN:,} questions",
        f"the last {child.STDERR_LINES} lines",
        f"{child.CLOSE_GRACE:g} s apart",
        f"doubling to {streams.RETRY_CAP:g} s",
        f"between {streams.RETRY_FLOOR:g} and {streams.RETRY_CEILING:g} s",
    ],
)
def test_the_figures_are_those_of_the_code(said: str) -> None:
    assert said in TEXT


def test_the_figures_in_words_are_those_of_the_code() -> None:
    in_words = (
        restarts.PATIENCE,
        restarts.JITTER,
        link.SHORT_WAIT,
        supervision.VAIN_STARTS,
        peer.HARD_CAP,
        metatools.LIVE,
        link.OLD,
        lists.SETTLE_CAP,
        streams.RETRY,
    )
    assert in_words == (1.5, 0.2, 1.0, 2, 10, 0.5, 60.0, 1.0, 1.0)
