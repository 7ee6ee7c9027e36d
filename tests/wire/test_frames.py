"""Where messages are found in what a server writes."""

import pytest

from toolpick.wire import depth, frames
from toolpick.wire.envelope import Envelope

ONE = b'{"jsonrpc":"2.0","id":1,"result":{}}'
TWO = b'{"result":{"a":"}{"},"id":2,"jsonrpc":"2.0"}'


def ids(found: list[Envelope]) -> list[bytes]:
    return [bytes(message.id) for message in found]


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (ONE, [b"1"]),
        (b"loading " + ONE, [b"1"]),
        (b"loading " + TWO, [b"2"]),
        (ONE + b" done", [b"1"]),
        (b"\x1b[32m" + ONE + b"\x1b[0m", [b"1"]),
        (ONE + TWO, [b"1", b"2"]),
        (b"a" + ONE + b"b{" + TWO + b"c", [b"1", b"2"]),
        (b'{"jsonrpc":"2.0","id":3,"result":{"torn' + ONE, [b"1"]),
        (b'{"level":"info","id":3} ' + ONE, [b"1"]),
        (ONE + b'{"jsonrpc":"2.0","id":4,"result":{"n":1e999,"half":"\\ud800"}}', [b"1"]),
        (b'{"sent":' + TWO + b"}" + ONE, [b"1"]),
        (b'{"id":' * 5 + ONE, [b"1"]),
    ],
)
def test_messages_are_found_among_other_text(frame: bytes, found: list[bytes]):
    assert ids(frames.messages(frame)) == found


@pytest.mark.parametrize(
    "frame",
    [
        b'loading {"id":1,"result":{}}',
        b'{"a":{"jsonrpc":"2.0","id":1,"result":{}}}',
        b'{"jsonrpc":"2.0","id":1,"result":{',
        b'{"id":"jsonrpc",' * 100,
        b"[[{}]]",
        b"[]",
        b'{"a":[]}',
        b"[" * 5000,
        b"[\xff",
        b"",
    ],
)
def test_other_text_holds_no_message(frame: bytes):
    with pytest.raises(frames.Unreadable):
        frames.messages(frame)


def test_a_batch_is_its_messages():
    assert ids(frames.messages(b'[{"id":1,"result":{}}, 5, {"id":2,"error":{}}]')) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("frame", "id"),
    [
        (b'{"jsonrpc":"2.0","id":17,"result":{"a":"torn', 17),
        (b'{"jsonrpc":"2.0","id" : "17","result":{"a":"torn', 17),
        (b'{"result":{"a":"' + b"x" * 999 + b' },"jsonrpc":"2.0","id":17}', 17),
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":17', None),
        (b'{"level":"info","id":17}', None),
        (b'{"jsonrpc":"2.0","result":{', None),
    ],
)
def test_a_torn_answer_may_still_tell_whose_it_is(frame: bytes, id: int | None):
    assert frames.torn_id(frame) == id


def nested(levels: int) -> bytes:
    inner = b'{"a":' * levels + b"1" + b"}" * levels
    return b'{"jsonrpc":"2.0","id":1,"result":{"deep":%b,"after":["}\\"]"]}}' % inner


def test_too_deep_is_told_from_torn():
    with pytest.raises(frames.Unreadable) as caught:
        frames.messages(nested(200_000))
    assert (caught.value.id, caught.value.deep) == (1, True)
    with pytest.raises(frames.Unreadable) as caught:
        frames.messages(nested(5)[:-1])
    assert (caught.value.id, caught.value.deep) == (1, False)


def test_what_is_too_deep_is_cut_and_the_rest_stays_as_it_was():
    assert depth.cut(nested(depth.LEVELS - 2)) == nested(depth.LEVELS - 2)
    kept = depth.LEVELS - 2
    assert depth.cut(nested(kept + 1000)) == nested(kept).replace(b"1}", b"null}")


def test_what_is_torn_or_takes_too_long_is_not_cut_to_fit(monkeypatch: pytest.MonkeyPatch):
    torn = nested(1000)[:-500]
    with pytest.raises(frames.Unreadable):
        frames.messages(depth.cut(torn))
    monkeypatch.setattr(depth, "MOST_TOKENS", 100)
    assert depth.cut(nested(1000)) == nested(1000)
