"""The stdio front: one client, either era, whatever its lines hold."""

import json
from typing import Any

import anyio
import pytest
from tests.engine.puppets import META, Asked, Message, Puppet, text, tool
from tests.engine.scene import Client, Gateway, called, gateway, greeting

from toolpick.front.stdio import may_be_missed


async def silent_client(scene: Gateway, era: str = "legacy") -> Client:
    """A client that has not said anything yet."""
    client = Client(scene.engine, era, {})
    await scene.begin(client)
    return client


async def test_a_client_that_initializes_is_legacy_from_then_on() -> None:
    async with gateway(Puppet("srv", eras=("legacy",))) as scene:
        client = await silent_client(scene)

        result = await client.ask("initialize", greeting({"sampling": {}}, "2025-06-18"))

        assert result["protocolVersion"] == "2025-06-18"
        assert result["serverInfo"]["name"] == "toolpick"
        assert result["capabilities"] == {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "completions": {},
            "logging": {},
        }
        assert (await client.fails("server/discover"))["code"] == -32601


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_version_of_the_handshake_is_spoken(version: str) -> None:
    puppet = Puppet("srv", eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await silent_client(scene)

        assert (await client.ask("initialize", greeting({}, version)))["protocolVersion"] == version
        assert (await puppet.hears("initialize"))["params"]["protocolVersion"] == version


@pytest.mark.parametrize("version", ["2099-01-01", "", None, 5])
async def test_an_unknown_version_is_answered_with_the_latest_of_the_handshake(
    version: Any,
) -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene)

        result = await client.ask("initialize", {**greeting({}), "protocolVersion": version})

        assert result["protocolVersion"] == "2025-11-25"


async def test_a_client_whose_first_request_carries_a_version_is_modern() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene, "modern")

        assert await client.tools() == ["srv__echo"]
        assert (await client.fails("resources/subscribe", {"uri": "a"}))["code"] == -32601


async def test_a_discovery_says_what_is_spoken() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene, "modern")

        found = await client.ask("server/discover")

        assert found["supportedVersions"] == ["2026-07-28"]
        assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == (
            "complete",
            0,
            "private",
        )
        assert found["_meta"][META + "serverInfo"]["name"] == "toolpick"


async def test_a_client_may_probe_and_then_fall_back_to_the_handshake() -> None:
    puppet = Puppet("srv")
    async with gateway(puppet) as scene:
        client = await silent_client(scene)
        error = await client.fails("server/discover")
        assert error["code"] == -32602

        await client.ask("initialize", greeting({}))

        assert await client.tools() == ["srv__echo"]
        await scene.until(lambda: len(scene.engine.sessions) == 1)
        assert [session.era for session in scene.engine.sessions] == ["legacy"]


async def test_a_second_initialize_is_answered_like_the_first() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await scene.client()

        again = await client.ask("initialize", greeting({}))

        assert again == client.heard[0]["result"]
        assert len(scene.engine.sessions) == 1


async def test_a_request_before_the_greeting_says_what_to_send_first() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene)
        assert await client.ask("ping") == {}

        error = await client.fails("tools/list")

        assert error == {
            "code": -32600,
            "message": "tools/list before initialize; "
            "send initialize, or the _meta of a 2026-07-28 request",
        }
        assert scene.engine.sessions == []


async def test_what_comes_before_the_first_request_and_asks_for_nothing_is_ignored() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene)

        client.notify("notifications/initialized")
        client.write({"id": 5, "result": {}})

        assert await client.ask("ping") == {}
        assert len(client.heard) == 1


@pytest.mark.parametrize(
    "line", [b"hello", b"{", b"[]", b"5", b'"text"', b"{}", b'{"id":5}', b'{"jsonrpc":"2.0"}']
)
async def test_a_line_that_is_no_message_is_a_parse_error_and_the_next_is_read(
    line: bytes,
) -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene)

        client.line(line)

        assert client.heard == [
            {
                "jsonrpc": "2.0",
                "id": None,
                "error": {"code": -32700, "message": "Parse error: not a JSON-RPC message"},
            }
        ]
        assert await client.ask("ping") == {}


@pytest.mark.parametrize("id", [0, -1, 2**70, "", "a", "1", 1.5])
async def test_an_id_comes_back_as_it_was(id: Any) -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await scene.client()

        client.write({"id": id, "method": "ping"})

        assert client.heard[-1] == {"jsonrpc": "2.0", "id": id, "result": {}}


async def test_bytes_that_are_no_text_cost_one_character_and_not_the_connection() -> None:
    puppet = Puppet("srv")

    async def echo(asked: Asked) -> Message:
        return text(asked.params["arguments"]["said"])

    puppet.on["tools/call"] = echo
    async with gateway(puppet) as scene:
        client = await scene.client()
        params = {"name": "srv__echo", "arguments": {"said": "a-b"}}
        frame = {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params}

        client.line(json.dumps(frame).encode().replace(b"a-b", b"a\xffb"))

        answer = await client.hears(lambda message: message.get("id") == "x")
        assert answer["result"]["content"][0]["text"] == "a\ufffdb"


@pytest.mark.parametrize("declared", [None, 5, [1], "all"])
async def test_capabilities_that_are_no_object_count_as_none(declared: Any) -> None:
    puppet = Puppet("srv", eras=("legacy",))

    async def ask(asked: Asked) -> Message:
        return text((await asked.ask("roots/list"))["error"]["message"])

    puppet.on["tools/call"] = ask
    async with gateway(puppet) as scene:
        client = await silent_client(scene)
        await client.ask("initialize", {**greeting({}), "capabilities": declared, "clientInfo": 5})

        assert await client.says("srv__echo") == "the client does not do roots/list"
        assert puppet.params("initialize")[0]["capabilities"] == {}


async def test_a_client_that_leaves_takes_its_servers_with_it() -> None:
    puppet = Puppet("srv")
    async with gateway(puppet, Puppet("all", scope="shared")) as scene:
        leaving, staying = await scene.client(), await scene.client()
        await scene.settled()
        open_call = leaving.send("tools/call", called("srv__echo"))

        leaving.front.lost("the client closed stdin")

        await scene.until(lambda: leaving.wire.closed)
        assert puppet.connections[0].lost.is_set()
        assert not puppet.connections[1].lost.is_set()
        assert await staying.says("all__echo") == "echo was called"
        assert len(scene.engine.sessions) == 1
        assert open_call > 0


async def test_a_gateway_that_goes_down_answers_what_is_open() -> None:
    puppet = Puppet("srv")

    async def work(asked: Asked) -> Message:
        await anyio.sleep_forever()
        return text("never")

    puppet.on["tools/call"] = work
    async with gateway(puppet, Puppet("other", tool("quick"))) as scene:
        client = await scene.client()
        id = client.send("tools/call", called("srv__echo"))
        await puppet.hears("tools/call")
        assert [message for message in client.heard if message.get("id") == id] == []

    answer = next(message for message in client.heard if message.get("id") == id)
    assert answer["error"] == {"code": -32603, "message": "toolpick is shutting down"}
    assert puppet.connection.lost.is_set()


@pytest.mark.parametrize(
    ("frame", "missable"),
    [
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}', True),
        (b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}', True),
        (b'{"jsonrpc":"2.0","method":"something/else"}', True),
        (b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', False),
        (b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}', False),
        (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}', False),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', False),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', False),
    ],
)
def test_a_slow_client_misses_only_what_changes_nothing(frame: bytes, missable: bool) -> None:
    assert may_be_missed(frame) is missable


async def test_an_array_of_messages_is_taken_in_the_version_that_has_them() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene)
        await client.ask("initialize", greeting({}, "2025-03-26"))
        before = len(client.heard)

        client.line(
            b'[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},'
            b'{"jsonrpc":"2.0","id":8,"method":"nothing"}]'
        )
        client.line(b" []")

        said = [(m["id"], m.get("error", {}).get("message")) for m in client.heard[before:]]
        assert said == [
            (7, None),
            (8, "Method not found: nothing"),
            (None, "Invalid Request: the batch is empty"),
        ]


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2024-11-05"])
async def test_an_array_of_messages_is_a_parse_error_in_others(version: str) -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await silent_client(scene)
        await client.ask("initialize", greeting({}, version))

        client.line(b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]')

        assert client.heard[-1]["error"]["code"] == -32700
