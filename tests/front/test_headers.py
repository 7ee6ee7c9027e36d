"""What headers say."""

import pytest

from toolpick.front.headers import Headers, accepts, is_json, query, unwrapped


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, None),
        ("=?base64?aMOpbGxv?=", "héllo"),
        ("=?base64?SGVsbG8=?=", "Hello"),
        ("=?base64??=", ""),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("SGVsbG8=?=", "SGVsbG8=?="),
        ("=?base64?=", "=?base64?="),
        ("=?base64?SGVsbG8?=", None),
        ("=?base64?SGVs!!!bG8=?=", None),
        ("=?base64?SGVsbG9=?=", None),
        ("=?base64?/w==?=", None),
        ("=?base64?ü?=", None),
    ],
)
def test_wrapped_values_are_unwrapped_and_damaged_ones_refused(
    value: str | None, meaning: str | None
) -> None:
    assert unwrapped(value) == meaning


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"", (True, True)),
        (b"application/json, text/event-stream", (True, True)),
        (b"text/event-stream;q=1,APPLICATION/JSON", (True, True)),
        (b"*/*", (True, True)),
        (b"application/json", (True, False)),
        (b"application/*;q=0.1", (True, False)),
        (b"text/*", (False, True)),
        (b"text/html", (False, False)),
    ],
)
def test_accept_is_read_leniently(value: bytes, expected: tuple[bool, bool]) -> None:
    assert accepts(value) == expected


def test_json_is_json_with_any_parameters() -> None:
    assert is_json(b"Application/JSON ; charset=utf-8")
    assert not is_json(b"application/jsonp")
    assert not is_json(b"")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"find mail", "find mail"),
        ("weather in Zürich".encode(), "weather in Zürich"),
        (b"=?base64?ZsO8cg==?=", "für"),
        (b"=?base64?%%?=", ""),
        (b"a\xffb", "ab"),
    ],
)
def test_a_query_is_utf8_as_it_is_or_wrapped(value: bytes, expected: str) -> None:
    assert query(value) == expected


def test_headers_are_looked_up_without_their_whitespace() -> None:
    headers = Headers([(b"a", b" 1 "), (b"b", b""), (b"a", b"2\t")])
    assert (headers.raw(b"a"), headers.text(b"a"), headers.all(b"a")) == (b"2", "2", ["1", "2"])
    assert (headers.raw(b"b"), headers.text(b"b")) == (b"", "")
    assert (headers.raw(b"c"), headers.text(b"c"), headers.all(b"c")) == (b"", None, [])
