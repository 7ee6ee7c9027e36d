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
        (b'{"text":"a\tb\x00\x1b[0m"}', b'{"text": "a\\tb\\u0000\\u001b[0m"}'),
    ],
)
def test_what_servers_in_the_wild_send_costs_no_call(result: bytes, passed: bytes | None):
    read = env.decode(b'{"jsonrpc":"2.0","id":1,"result":%b}' % result)
    assert members_of(read) == (b"1", "", b"", passed or result, b"")


def test_a_byte_order_mark_is_skipped():
    assert bytes(env.decode(b'\xef\xbb\xbf{"id":1,"result":{}}').result) == b"{}"


def test_members_that_are_null_are_not_there_and_the_rest_passes_byte_for_byte():
    read = env.decode(b'{"id":1,"method":null,"params":null,"result":{"n":1E+2},"error":null}')
    assert members_of(read) == (b"1", "", b"", b'{"n":1E+2}', b"null")


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
        b'{"id":1,"method":null}',
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


@pytest.mark.parametrize(
    ("id", "number"),
    [
        (b"17", 17),
        (b'"17"', 17),
        (b"17.0", 17),
        (b"17.00", 17),
        (b"17.5", None),
        (b'"17.0"', None),
        (b"-17", None),
        (b"", None),
        (b"9" * 20, None),
        (b'"\xc2\xb2"', None),
    ],
)
def test_ids_that_were_rewritten_on_the_way_are_known(id: bytes, number: int | None):
    assert env.number(id) == number


@pytest.mark.parametrize(
    ("raw", "sound"),
    [
        (b'{"code": -5, "message":"m","data":1.0}', None),
        (b'{"code":-5.0,"message":"m"}', {"code": -5, "message": "m", "data": {"code": -5.0}}),
        (b'{"code":true,"message":"m"}', {"code": -32603, "message": "m", "data": {"code": True}}),
        (b'{"code":"E","message":"m","data":7}', {"code": -32603, "message": "m", "data": 7}),
        (b'{"code":4}', {"code": 4, "message": "the server gave no reason", "data": {"code": 4}}),
        (b'"boom"', {"code": -32603, "message": "boom"}),
        (b'""', {"code": -32603, "message": "the server gave no reason"}),
        (b"[]", {"code": -32603, "message": "the server gave no reason"}),
        (b"null", {"code": -32603, "message": "the server gave no reason"}),
        (b"[" * 5000, {"code": -32603, "message": "the server gave no reason"}),
    ],
)
def test_an_error_of_any_shape_becomes_one_that_clients_take(raw: bytes, sound: Any):
    made = env.sound_error(raw)
    if sound is None:
        assert made == raw
    else:
        read = json.loads(made)
        if isinstance(read.get("data"), dict):
            read["data"].pop("message", None)
        assert read == sound
