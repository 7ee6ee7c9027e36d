"""Events out of chunks, whatever the chunks are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.errors import FrameError
from toolpick.wire import events
from toolpick.wire.events import Event, EventBuffer


def all_events(*chunks: bytes) -> list[Event]:
    buffer = EventBuffer()
    return [event for chunk in chunks for event in buffer.feed(chunk)]


def test_an_event_is_its_data_and_its_kind():
    stream = b'event: endpoint\ndata: /messages\n\ndata:{"a":1}\n\n'
    assert all_events(stream) == [Event(b"/messages", "endpoint"), Event(b'{"a":1}')]


def test_data_lines_are_joined_and_lose_one_leading_blank_only():
    assert all_events(b"data: a\ndata:  b\ndata:c\n\n") == [Event(b"a\n b\nc")]


def test_comments_unknown_fields_and_events_without_data_give_nothing():
    assert all_events(b": ping\n\nwhat: ever\n\nevent: x\n\ndata:\n\ndata\n\n") == []


def test_an_incomplete_last_event_gives_nothing():
    assert all_events(b"data: whole\n\ndata: torn\n") == [Event(b"whole")]


def test_the_byte_order_mark_at_the_beginning_is_no_part_of_the_first_field():
    assert all_events(b"\xef\xbb", b"\xbfdata: a\n\n") == [Event(b"a")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_in_each_way_that_the_standard_allows(end: bytes):
    stream = end.join([b"event: x", b"data: a", b"data: b", b"", b"data: c", b"", b""])
    every_byte = [stream[i : i + 1] for i in range(len(stream))]
    expected = [Event(b"a\nb", "x"), Event(b"c")]
    assert all_events(stream) == expected
    assert all_events(*every_byte) == expected


@given(st.lists(st.sampled_from([b"data: a", b"id: 1", b"\n", b"\r", b"\r\n"])).map(b"".join))
def test_a_stream_means_the_same_byte_by_byte_whatever_ends_its_lines(stream: bytes):
    every_byte = [stream[i : i + 1] for i in range(len(stream))]
    assert all_events(*every_byte) == all_events(stream)


def test_an_id_counts_once_its_event_is_complete():
    buffer = EventBuffer()
    seen = []
    for chunk in (b"id: 1\ndata:\n\n", b"id: 2\ndata: x\n", b"\n", b"id: 3\nda"):
        list(buffer.feed(chunk))
        seen.append(buffer.last_id)
    buffer.restart()
    assert all_events(b"data: y\n\n") == list(buffer.feed(b"data: y\n\n"))
    assert [*seen, buffer.last_id] == ["1", "1", "2", "2", "2"]


def test_an_id_with_a_null_character_is_ignored_and_an_empty_one_resets():
    buffer = EventBuffer()
    list(buffer.feed(b"id: 7\n\nid: 8\0\n\n"))
    before = buffer.last_id
    list(buffer.feed(b"id\n\n"))
    assert (before, buffer.last_id) == ("7", "")


def test_the_delay_is_kept_in_seconds_and_nonsense_is_not():
    buffer = EventBuffer()
    seen = [buffer.retry]
    for line in (b"retry: 1500\n", b"retry: soon\n", b"retry: -1\n", b"retry: 0\n"):
        list(buffer.feed(line))
        seen.append(buffer.retry)
    assert seen == [None, 1.5, 1.5, 1.5, 0.0]


def test_bytes_that_are_no_utf8_stay_as_they_are():
    assert all_events(b"data: \xff\xfe\xe2\x80\xa8\n\n") == [Event(b"\xff\xfe\xe2\x80\xa8")]


@pytest.mark.parametrize("chunk", [b"data: aaaa\n", b"data: aaaaaaaaaaaaa"])
def test_an_event_that_grows_too_large_is_an_error(monkeypatch, chunk: bytes):
    monkeypatch.setattr(events, "MAX_FRAME", 40)
    buffer = EventBuffer()
    assert len([*buffer.feed(b"data: aaaaaaaaaaaaaaaaaaaa\n\n" * 4)]) == 4
    with pytest.raises(FrameError, match=r"^an event of more than 40 bytes$"):
        [[*buffer.feed(chunk)] for _ in range(8)]


text = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)


@given(
    st.lists(st.tuples(st.lists(text, min_size=1), text), max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
def test_events_come_out_as_they_were_written_however_they_are_torn(written, end, data):
    stream = "".join(
        "".join([f"event: {kind}{end}", *(f"data: {line}{end}" for line in lines), end])
        for lines, kind in written
    ).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert all_events(*chunks) == [
        Event("\n".join(lines).encode(), kind) for lines, kind in written
    ]
