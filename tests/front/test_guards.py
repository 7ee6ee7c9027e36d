"""Who is let in, and what a page in a browser may do."""

from typing import Any

import pytest
from tests.front.fake_engine import FakeEngine, initialize, post, raw, request, serving

from toolpick.errors import GatewayError
from toolpick.front.guards import Guard, guard
from toolpick.front.headers import Headers
from toolpick.front.refusal import Refused

TOKEN = "s3cret-tökən"


def status(checked: Guard, **headers: str) -> int:
    lines = Headers((key.encode(), value.encode()) for key, value in headers.items())
    try:
        checked.check_host(lines)
    except Refused as refused:
        return refused.status
    return 200


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:8931", "127.8.8.8", "[::1]:8931", "[::1]"]
)
def test_loopback_names_are_answered(host: str) -> None:
    assert status(guard("127.0.0.1", None), host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::2]:1",
        ":",
    ],
)
def test_other_names_of_a_loopback_address_are_refused(host: str) -> None:
    assert status(guard("localhost", None), host=host) == 421


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:6274", 200),
        ("https://127.0.0.1", 200),
        ("http://[::1]:5", 200),
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("file://localhost", 403),
        ("http://[", 403),
    ],
)
def test_only_pages_of_this_machine_may_use_a_loopback_address(origin: str, expected: int) -> None:
    assert status(guard("::1", None), host="localhost", origin=origin) == expected


def test_further_hosts_and_origins_are_let_in() -> None:
    local = guard("127.0.0.1", None, hosts=["Box.Example"], origins=["https://App.example/"])
    assert status(local, host="box.example:80") == 200
    assert status(local, host="localhost", origin="https://app.example") == 200
    assert status(local, host="localhost", origin="https://box.example") == 403
    public = guard("0.0.0.0", TOKEN, hosts=["box.example"])
    assert status(public, host="box.example") == 200
    assert status(public, host="localhost") == 421


def test_an_address_for_others_answers_any_host_and_pages_of_its_own() -> None:
    public = guard("0.0.0.0", TOKEN)
    assert status(public, host="box.example:80") == 200
    assert status(public, host="box.example:80", origin="http://box.example:80") == 200
    assert status(public, host="box.example:80", origin="http://evil.example") == 403


def test_an_address_for_others_needs_a_token() -> None:
    with pytest.raises(GatewayError) as caught:
        guard("0.0.0.0", None)
    assert str(caught.value) == (
        "http: '0.0.0.0' can be reached from other machines; set token in [gateway], or listen on "
        "127.0.0.1"
    )


def test_a_guard_does_not_show_its_token() -> None:
    assert TOKEN not in repr(guard("0.0.0.0", TOKEN))


async def test_a_token_is_required_of_every_request_but_health() -> None:
    async with serving(token=TOKEN) as served:
        right = {"authorization": f"bearer {TOKEN}".encode()}
        wrong = [{}, {"authorization": "Bearer nope"}, {"authorization": f"Basic {TOKEN}".encode()}]
        for headers in wrong:
            response = await served.client.post(served.url, json=initialize(), headers=headers)
            assert response.status_code == 401
            challenge = response.headers["www-authenticate"]
            assert challenge.startswith('Bearer realm="toolpick"')
            assert ("invalid_token" in challenge) == bool(headers)
        response = await served.client.post(served.url, json=initialize(), headers=right)
        assert response.status_code == 200
        health = await served.client.get(served.url.replace("/mcp", "/health"))
    assert (health.status_code, health.json()) == (200, {"status": "ok"})


async def test_a_page_may_ask_what_it_may_send_and_read_what_comes() -> None:
    async with serving(token=TOKEN) as served:
        origin = "http://localhost:6274"
        asked = {
            "origin": origin,
            "access-control-request-headers": "content-type, Mcp-Param-Region, x-evil",
        }
        response = await served.client.options(served.url, headers=asked)
        assert (response.status_code, response.content) == (204, b"")
        assert "content-length" not in response.headers
        assert response.headers["access-control-allow-origin"] == origin
        allowed = response.headers["access-control-allow-headers"]
        assert "mcp-session-id" in allowed
        assert allowed.endswith("mcp-param-region")
        posted = await served.post(initialize(), origin=origin)
        assert posted.headers["access-control-allow-origin"] == origin
        assert "mcp-session-id" in posted.headers["access-control-expose-headers"]
        plain = await served.client.options(served.url)
        assert "access-control-allow-origin" not in plain.headers
        foreign = await served.client.options(served.url, headers={"origin": "http://evil.example"})
        assert (foreign.status_code, "access-control-allow-origin" in foreign.headers) == (
            403,
            False,
        )


async def test_a_foreign_host_is_refused_before_its_body_is_read() -> None:
    async with serving() as served, raw(served.port) as connection:
        lines = post(b"x" * 1000, "Connection: keep-alive")
        await connection.send_bytes("\r\n".join((*lines, "Host: evil.example", "", "")).encode())
        status, headers, _ = await connection.response()
        assert (status, headers["connection"]) == (421, "close")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"content-encoding": "gzip"}, 415),
        ({"accept": "text/html, image/*"}, 406),
        ({"accept": "*/*;q=0.5"}, 200),
        ({"accept": "application/*"}, 200),
    ],
)
async def test_types_are_checked(change: dict[str, str], expected: int) -> None:
    async with serving() as served:
        headers = {"content-type": "application/json", "accept": "application/json", **change}
        response = await served.client.post(
            served.url, content=b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', headers=headers
        )
    assert response.status_code == expected
    if expected != 200:
        assert response.json()["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"{}", -32600, None),
        (b'"x"', -32600, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":3,"method":5}', -32600, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping"}', -32600, 3),
    ],
)
async def test_bodies_that_are_no_messages_are_refused(body: bytes, code: int, id: Any) -> None:
    async with serving() as served:
        response = await served.client.post(
            served.url, content=body, headers={"content-type": "application/json"}
        )
    assert (response.status_code, response.json()["error"]["code"]) == (400, code)
    assert response.json()["id"] == id


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", 404),
        ("POST", "/mcp/unknown", 404),
        ("PUT", "/mcp", 405),
        ("HEAD", "/mcp", 405),
        ("POST", "/health", 405),
        ("HEAD", "/health", 200),
        ("GET", "/health?x=1", 200),
    ],
)
async def test_paths_and_methods_are_checked(method: str, path: str, expected: int) -> None:
    async with serving() as served:
        response = await served.client.request(method, served.url.replace("/mcp", path))
    assert response.status_code == expected
    assert ("allow" in response.headers) == (expected == 405)


async def test_each_profile_has_its_own_path_and_sessions() -> None:
    engine = FakeEngine()
    async with serving(engine, profiles=("", "a b")) as served:
        url = served.url + "/a%20b/"
        opened = await served.client.post(url, json=initialize())
        headers = {"mcp-session-id": opened.headers["mcp-session-id"]}
        ping = request("ping")
        elsewhere = await served.client.post(served.url, json=ping, headers=headers)
    assert [session.profile.name for session in engine.sessions] == ["a b"]
    assert (opened.status_code, elsewhere.status_code) == (200, 404)


async def test_secrets_stay_out_of_errors() -> None:
    async with serving(token=TOKEN) as served:
        response = await served.post(initialize(), authorization="Bearer hunter2")
    assert "hunter2" not in response.text + str(response.headers)
