"""Results between the eras, as bytes."""

import pytest

from toolpick.engine.levels import loud_enough
from toolpick.engine.modern import cacheable, complete, ours, plain
from toolpick.errors import RpcError


@pytest.mark.parametrize(
    ("legacy", "modern"),
    [
        (b"{}", b'{"resultType":"complete"}'),
        (b"{ }", b'{"resultType":"complete" }'),
        (b'{"a": 1.0}', b'{"resultType":"complete","a": 1.0}'),
        (b'{"resultType":"task"}', b'{"resultType":"task"}'),
        (b'{"a":{"resultType":1}}', b'{"resultType":"complete","a":{"resultType":1}}'),
    ],
)
def test_a_legacy_result_is_said_to_be_complete_and_keeps_its_bytes(
    legacy: bytes, modern: bytes
) -> None:
    assert complete(legacy) == modern


@pytest.mark.parametrize("body", [b"5", b"[1]", b"null", b'"resultType"'])
def test_what_is_no_object_can_not_be_made_complete(body: bytes) -> None:
    with pytest.raises(RpcError):
        complete(body)


@pytest.mark.parametrize(
    ("modern", "legacy"),
    [
        (b'{"a": 1.0}', b'{"a": 1.0}'),
        (b'{"resultType":"complete","a":1.0}', b'{"a":1.0}'),
        (b'{"ttlMs":0,"cacheScope":"public","a":null}', b'{"a":null}'),
        (b'{"_meta":{"io.modelcontextprotocol/serverInfo":{}},"a":1}', b'{"a":1}'),
        (
            b'{"_meta":{"io.modelcontextprotocol/x":1,"theirs":2},"resultType":"complete"}',
            b'{"_meta":{"theirs":2}}',
        ),
    ],
)
def test_a_modern_result_loses_what_a_legacy_client_does_not_know(
    modern: bytes, legacy: bytes
) -> None:
    assert plain(modern) == legacy


@pytest.mark.parametrize(
    ("body", "hinted"),
    [
        (b'{"a":1}', b'{"a":1,"ttlMs":0,"cacheScope":"private"}'),
        (b'{"ttlMs":5}', b'{"ttlMs":5,"cacheScope":"private"}'),
        (b'{"ttlMs":5, "cacheScope":"public"}', b'{"ttlMs":5, "cacheScope":"public"}'),
        (b'{"resultType":"input_required"}', b'{"resultType":"input_required"}'),
    ],
)
def test_a_result_without_cache_hints_gets_the_careful_ones(body: bytes, hinted: bytes) -> None:
    assert cacheable(body) == hinted


def test_what_is_ours_is_stamped() -> None:
    assert ours(b"").startswith(b'{"resultType":"complete","_meta":{')
    assert b'"ttlMs":0,"cacheScope":"private"' in ours(b'"a":1', cacheable=True)


@pytest.mark.parametrize(
    ("params", "wanted", "loud"),
    [
        (b'{"level":"error"}', "warning", True),
        (b'{"level":"warning"}', "warning", True),
        (b'{"level":"info"}', "warning", False),
        (b"{}", "debug", True),
        (b"{}", "notice", False),
        (b'{"level":"shrill"}', "emergency", True),
        (b'{"level":5}', "info", True),
        (b'{"level":"debug"}', "", True),
        (b'{"level":"debug"}', None, True),
    ],
)
def test_a_message_is_loud_enough_from_its_level_on(
    params: bytes, wanted: str | None, loud: bool
) -> None:
    assert loud_enough(params, wanted) is loud
