"""What a frame says, and that what it carries passes byte for byte."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.errors import FrameError, RpcError
from toolpick.wire import envelope as env

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
layouts = st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}])


def written(value: Any, ascii: bool, layout: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=ascii, **layout).encode()


def members_of(read: env.Envelope) -> tuple[bytes, str, bytes, bytes, bytes]:
    rest = (bytes(one) for one in (read.params, read.result, read.error))
    return (bytes(read.id), read.method, *rest)


@given(values, st.booleans(), layouts)
def test_results_pass_byte_for_byte(value, ascii: bool, layout: dict[str, Any]):
    body = written(value, ascii, layout)
    read = env.decode(b' {"jsonrpc":"2.0", "id" : 7 , "result": %b , "more":1} ' % body)
    assert members_of(read) == (b"7", "", b"", body, b"")
    assert members_of(env.decode(env.result(read.id, read.result))) == members_of(read)


@given(values, st.booleans(), layouts)
def test_params_and_members_pass_byte_for_byte(value, ascii: bool, layout: dict[str, Any]):
    body = written(value, ascii, layout)
    frame = env.request(b'"a b"', "tools/call", b'{"arguments":%b,"x":1}' % body)
    read = env.decode(frame)
    assert members_of(read)[:2] == (b'"a b"', "tools/call")
    assert {k: bytes(v) for k, v in env.members(read.params).items()} == {
        "arguments": body,
        "x": b"1",
    }
    assert env.request(read.id, read.method, read.params) == frame
    again = env.encode(env.members(read.params))
    assert again == b'{"arguments":%b,"x":1}' % body


@given(values)
def test_whatever_is_encoded_says_the_same_when_it_is_read(value):
    assert env.value(env.encode(value)) == value
    assert env.value(env.encode({"a": env.raw(value)})) == {"a": value}


def test_what_the_fast_encoder_refuses_is_encoded_all_the_same():
    whole = {"big": 2**70, "half": "\ud800", "raw": msgspec.Raw(b'{"a": 1.0}')}
    assert env.encode(whole) == (b'{"big":1180591620717411303424,"half":"\\ud800","raw":{"a":1.0}}')
    with pytest.raises(TypeError, match=r"^object is no JSON$"):
        env.encode({"a": object()})


@pytest.mark.parametrize(
    ("result", "passed"),
    [
        (b'{"big":123456789012345678901234567890,"n":1.0,"e":1E+2,"z":null}', None),
        (b'{"big":123456789012345678901234567890,"is":"NaN and Infinity"}', None),
        (b'{"escaped":"\\u00e9\\ud83d\\ude00\\/"}', None),
        (b'{"bad":"\xff\xfe"}', '{"bad": "\ufffd\ufffd"}'.encode()),
        (b'{"half":"a\\ud83d"}', '{"half": "a\ufffd"}'.encode()),
        (b'{"n":[NaN,Infinity,-Infinity,1.0]}', b'{"n": [null, null, null, 1.0]}'),
    ],
)
def test_what_servers_in_the_wild_send_costs_no_call(result: bytes, passed: bytes | None):
    read = env.decode(b'{"jsonrpc":"2.0","id":1,"result":%b}' % result)
    assert members_of(read) == (b"1", "", b"", passed or result, b"")


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"starting...",
        b"{not json",
        b"42",
        b"null",
        b"[]",
        b'{"status":200}',
        b'{"id":1}',
        b'{"id":1,"method":5}',
        b'{"level":"info","id":3,"msg":"listening"}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":nul}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"torn',
        b'{"jsonrpc":"2.0","id":1,"result":{"bad":"\xff","n":1e999}}',
        b"[" * 5000,
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    ],
)
def test_what_is_no_message_is_said_to_be_none(frame: bytes):
    with pytest.raises(FrameError):
        env.decode(frame)


def test_an_error_needs_no_id():
    read = env.decode(b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}')
    assert members_of(read) == (b"", "", b"", b"", b'{"code":1,"message":""}')


@pytest.mark.parametrize(
    ("frame", "id"),
    [
        (b'loading {"jsonrpc":"2.0","id":1,"result":{}}', b"1"),
        (b'{"a":{"jsonrpc":"2.0","id":1,"result":{}}}', None),
        (b'loading {"id":1,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":1,"result":{', None),
    ],
)
def test_a_message_behind_other_text_is_found(frame: bytes, id: bytes | None):
    found = env.salvage(frame)
    assert (None if found is None else bytes(found.id)) == id


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (
            b'[{"id":1,"result":{}}, 5, {"method":"x"}]',
            [b'{"id":1,"result":{}}', b'{"method":"x"}'],
        ),
        (b"[[{}]]", []),
        (b"[]", []),
        (b'{"a":[]}', []),
        (b"[" * 5000, []),
        (b"[\xff", []),
    ],
)
def test_a_batch_is_its_messages(frame: bytes, found: list[bytes]):
    assert env.batch(frame) == found


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
    assert env.torn_id(frame) == id


def test_members_of_nothing_are_none_and_of_no_object_an_error():
    assert (env.members(b""), env.members(b"null"), env.members(b"{}")) == ({}, {}, {})
    for raw in (b"[]", b"1", b'"x"', b"{"):
        with pytest.raises(RpcError, match=r"^Invalid params: an object is expected$") as caught:
            env.members(raw)
        assert caught.value.code == -32602


@given(st.text(), st.booleans())
def test_a_string_is_read_as_it_was_written(value: str, ascii: bool):
    assert env.text(json.dumps(value, ensure_ascii=ascii).encode()) == value


def test_what_is_no_string_has_no_text():
    assert [env.text(raw) for raw in (None, b"", b"1", b"{}", b'"\\x"')] == [None] * 5


def test_frames_are_written_without_members_that_are_not_there():
    assert env.request(b"1", "a/b", b"") == b'{"jsonrpc":"2.0","id":1,"method":"a/b"}'
    assert env.notification("a", b"") == b'{"jsonrpc":"2.0","method":"a"}'
    assert env.notification("a", b"{}") == b'{"jsonrpc":"2.0","method":"a","params":{}}'
    assert env.failure(b"", b"{}") == b'{"jsonrpc":"2.0","id":null,"error":{}}'


def test_an_error_object_is_kept_as_its_server_sent_it():
    raw = b'{"code": -32002, "message":"no \\u00e9", "data":{"x":1.0}}'
    error = env.rpc_error(raw)
    assert (error.code, error.message, env.error_object(error)) == (-32002, "no \u00e9", raw)
    assert env.error_object(RpcError(5, "own")) == b'{"code":5,"message":"own"}'


@pytest.mark.parametrize(
    ("raw", "code", "message", "kept"),
    [
        (b'"boom"', -32603, "unreadable error", False),
        (b"[]", -32603, "unreadable error", False),
        (b"{", -32603, "unreadable error", False),
        (b"{}", -32603, "unreadable error", True),
        (b'{"code":"E1","message":5}', -32603, "5", True),
    ],
)
def test_an_error_of_any_shape_is_an_error(raw: bytes, code: int, message: str, kept: bool):
    error = env.rpc_error(raw)
    assert (error.code, error.message, error.raw) == (code, message, raw if kept else b"")
