import json

import pytest
from tests.catalog.shelves import shelf

from toolpick.catalog import merge, rewrite_links

STATUS = {"uri": "info://status", "name": "status"}
SHARED = merge(1, [shelf("alpha", resources=[STATUS]), shelf("beta", resources=[STATUS])])
ALONE = merge(1, [shelf("alpha", resources=[STATUS])])
LINK = b'{"type":"resource_link","x":1.0,"uri":"info:\\/\\/status"}'
WRAPPED = b'{"type":"resource_link","x":1.0,"uri":"toolpick+alpha:info://status"}'
EMBEDDED = b'{"type":"resource","resource":{"uri":"info://status","text":"1.0"}}'
WRAPPED_EMBEDDED = (
    b'{"type":"resource","resource":{"uri":"toolpick+alpha:info://status","text":"1.0"}}'
)


@pytest.mark.parametrize(
    ("result", "rewritten"),
    [
        (b'{"content":[%b,%b,7],"n":1.0}', b'{"content":[%b,%b,7],"n":1.0}'),
        (
            b'{"messages":[{"role":"user","content":%b},{"content":%b},{"content":"x"}]}',
            b'{"messages":[{"role":"user","content":%b},{"content":%b},{"content":"x"}]}',
        ),
    ],
)
def test_links_and_embedded_resources_lead_back_to_their_server(result, rewritten):
    assert rewrite_links(SHARED, "alpha", result % (LINK, EMBEDDED)) == rewritten % (
        WRAPPED,
        WRAPPED_EMBEDDED,
    )


def test_what_was_read_carries_the_uri_that_clients_know():
    read = b'{"contents":[{"uri":"info://status","text":"\\u00e9"}]}'

    assert rewrite_links(SHARED, "beta", read) == read.replace(b"info:", b"toolpick+beta:info:")


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[{"type":"text","text":"no link"}]}',
        b'{"content":[{"type":"resource_link","uri":"other://x"}]}',
        b'{"content":[{"type":"text","uri":5}],"structuredContent":{"uri":"info://status"}}',
        b'{"content":{"uri":"info://status"},"messages":7}',
        b'{"messages":[7],"uri":"info://status"}',
        b'["uri"]',
        b'{"uri"',
    ],
)
def test_a_result_without_such_links_is_the_same_object(result):
    assert rewrite_links(SHARED, "alpha", result) is result


def test_nothing_is_rewritten_while_a_server_is_alone():
    result = b'{"content":[%b]}' % LINK

    assert rewrite_links(ALONE, "alpha", result) is result


def test_links_of_a_server_with_odd_uris_are_rewritten():
    odd = merge(1, [shelf("odd", resources=[{"uri": "a b", "name": "n"}])])
    result = json.dumps({"content": [{"type": "resource_link", "uri": "a b"}]}).encode()

    assert (
        json.loads(rewrite_links(odd, "odd", result))["content"][0]["uri"] == "toolpick+odd:a%20b"
    )
