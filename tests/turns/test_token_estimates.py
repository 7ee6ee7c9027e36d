import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.turns import estimate_reread, estimate_tokens, estimate_total

SHORT = {
    "name": "get_current_time",
    "description": "Get current time in a specific timezones",
    "inputSchema": {
        "type": "object",
        "properties": {
            "timezone": {
                "type": "string",
                "description": "IANA timezone name (e.g., 'Europe/Berlin'). Use 'UTC' if unknown.",
            }
        },
        "required": ["timezone"],
    },
}
CHINESE = {"name": "bing_search", "description": "使用必应搜索指定的关键词，并返回搜索结果列表"}


# What o200k_base and Anthropic's published tokenizer count for each.
@pytest.mark.parametrize(
    ("definition", "counted", "share"),
    [(SHORT, (63, 65), 0.05), (CHINESE, (21, 24), 0.25)],
    ids=["en", "zh"],
)
def test_an_estimate_lies_near_what_public_tokenizers_count(definition, counted, share):
    raw = json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode()

    assert estimate_tokens(raw) == pytest.approx(sum(counted) / 2, rel=share)


@given(st.binary(max_size=200))
def test_anything_costs_at_least_a_token(raw):
    assert estimate_tokens(raw) >= 1


def test_a_list_costs_the_sum_of_its_definitions():
    assert estimate_total([b'{"a":1}', b'{"bcd":2}']) == estimate_tokens(
        b'{"a":1}'
    ) + estimate_tokens(b'{"bcd":2}')


def test_what_a_change_costs_begins_at_the_first_difference():
    a, b, c = b'{"a":1}', b'{"bcd":2}', b'{"efg":3}'

    assert estimate_reread([a, b], [a, b, c], True) == estimate_tokens(c)
    assert estimate_reread([a, b], [a, c], True) == estimate_tokens(c)
    assert estimate_reread([a, b], [b], True) == estimate_tokens(b)
    assert estimate_reread([a, b], [a], True) == 0


def test_where_a_client_sorts_tools_any_change_costs_all_of_them():
    a, b = b'{"a":1}', b'{"bcd":2}'

    assert estimate_reread([a], [a, b], False) == estimate_total([a, b])
