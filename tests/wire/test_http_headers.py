"""Values in HTTP headers, compared with the SDK's."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.shared.inbound import decode_header_value, encode_header_value

from toolpick.wire import headers


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("")
@example(" edge")
@example("tab\t")
@example("=?base64?YQ==?=")
@example("=?base64?\n?=")
def test_values_are_encoded_as_the_sdk_encodes_and_decodes_them(value: str):
    found = headers.encoded(value)
    assert decode_header_value(found) == value
    assert headers.unusable({"mcp-name": found}) == ""
    if "\n" not in value:
        # the SDK leaves a line end at the end of a value as it is
        assert found == encode_header_value(value)


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("X-Key", "a b~!", ""),
        ("X-Key", "", ""),
        ("X Key", "a", "header name 'X Key' is no HTTP token"),
        ("", "a", "header name '' is no HTTP token"),
        *[
            (
                "X-Key",
                value,
                "the value of header 'X-Key' holds what HTTP can't carry, such as a line end",
            )
            for value in (" a", "a ", "a\nb", "a\n", "ä", "\x00")
        ],
    ],
)
def test_headers_that_cannot_be_sent_are_named(name: str, value: str, wrong: str):
    assert headers.unusable({name: value}) == wrong


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        ("text/event-stream", "text/event-stream"),
        ("Text/Event-Stream ; charset=utf-8", "text/event-stream"),
        ("", ""),
    ],
)
def test_a_media_type_has_no_parameters(content_type: str, media_type: str):
    assert headers.media_type(content_type) == media_type
