"""Lines out of chunks and messages into lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.errors import FrameError
from toolpick.wire import lines
from toolpick.wire.lines import LineBuffer, as_line


@given(st.lists(st.binary(max_size=40), max_size=12), st.data())
def test_lines_come_out_byte_for_byte_however_they_are_torn(written: list[bytes], data):
    written = [one.replace(b"\n", b"") for one in written]
    stream = b"".join(one + b"\n" for one in written) + b"an unfinished one"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    buffer = LineBuffer()
    found = [
        line
        for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        for line in buffer.feed(stream[a:b])
    ]
    assert found == [one for one in written if one and not one.isspace()]
    assert [*buffer.feed(b"\n")] == [b"an unfinished one"]


def test_a_line_of_twenty_megabytes_takes_one_copy_and_not_one_for_each_chunk():
    chunk = b"x" * 65_536
    buffer = LineBuffer()
    assert [line for _ in range(320) for line in buffer.feed(chunk)] == []
    assert [len(line) for line in buffer.feed(b"\n")] == [320 * 65_536]


def test_a_line_that_grows_too_long_is_an_error(monkeypatch):
    monkeypatch.setattr(lines, "MAX_FRAME", 100)
    buffer = LineBuffer()
    assert [*buffer.feed(b"x" * 90 + b"\n" + b"y" * 90)] == [b"x" * 90]
    with pytest.raises(FrameError, match=r"^a message of more than 100 bytes$"):
        [*buffer.feed(b"y" * 20)]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(values, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_a_message_of_any_layout_becomes_one_line_of_the_same_value(value, indent, crlf: bool):
    frame = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    laid_out = frame.replace(b"\n", b"\r\n") if crlf else frame
    line = as_line(laid_out)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert b"\r" not in line
    assert json.loads(line) == value


@given(values)
def test_a_message_on_one_line_is_not_changed(value):
    frame = json.dumps(value).encode()
    assert as_line(frame) == frame + b"\n"
