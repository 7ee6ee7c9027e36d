"""Every feature, for clients and servers of either era: what arrives, and what is answered."""

from typing import Any

import pytest
from tests.engine.puppets import META, Asked, Message, Puppet, answer_in, tool
from tests.engine.scene import Client, Gateway, gateway

SERVERS = {"old": ("legacy",), "new": ("modern",), "dual": ("legacy", "modern")}
PAIRS = [(client, server) for client in ("legacy", "modern") for server in SERVERS]
OURS = {"name": "toolpick", "version": "0.1.0"}
STAMP = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

pytestmark = pytest.mark.parametrize(("client_era", "server_kind"), PAIRS)


def spoken(client_era: str, server_kind: str) -> str:
    """The era in which the two halves behind the gateway meet."""
    return {"old": "legacy", "new": "modern"}.get(server_kind, client_era)


def server(server_kind: str, *tools: Message) -> Puppet:
    puppet = Puppet("srv", *tools, eras=SERVERS[server_kind])

    async def echo(asked: Asked) -> Message:
        params = {key: value for key, value in asked.params.items() if key != "_meta"}
        return {**answer_in(asked, {}), "echo": params, "_meta": {"theirs": 1}}

    for method in ("tools/call", "prompts/get", "resources/read", "completion/complete"):
        puppet.on[method] = echo
    return puppet


def without_stamp(result: Message) -> Message:
    return {key: value for key, value in result.items() if key not in STAMP}


async def opened(scene: Gateway, era: str) -> Client:
    client = await scene.client(era)
    await scene.settled()
    return client


async def test_a_server_is_greeted_in_its_clients_era_where_it_can(
    client_era: str, server_kind: str
) -> None:
    puppet = server(server_kind)
    async with gateway(puppet) as scene:
        await opened(scene, client_era)

        greeted = scene.engine.sessions[0].pool.links["srv"].greeted
        assert greeted is not None
        assert greeted.era == spoken(client_era, server_kind)
        began = puppet.methods()[: puppet.methods().index("tools/list")]
        assert began == GREETINGS[client_era, server_kind]


GREETINGS = {
    ("legacy", "old"): ["initialize", "notifications/initialized"],
    ("legacy", "new"): ["initialize", "server/discover"],
    ("legacy", "dual"): ["initialize", "notifications/initialized"],
    ("modern", "old"): ["server/discover", "initialize", "notifications/initialized"],
    ("modern", "new"): ["server/discover"],
    ("modern", "dual"): ["server/discover"],
}


async def test_every_list_is_framed_as_its_client_wants_it(
    client_era: str, server_kind: str
) -> None:
    puppet = server(server_kind, tool("one", icons=[{"src": "data:,"}], unknown=1e2))
    puppet.prompts = [{"name": "ask", "arguments": [{"name": "a"}], "unknown": None}]
    puppet.resources = [{"uri": "file:///a", "name": "a", "size": 3}]
    puppet.templates = [{"uriTemplate": "file:///{name}", "name": "any"}]
    async with gateway(puppet) as scene:
        client = await opened(scene, client_era)
        frame = {**STAMP, "_meta": {META + "serverInfo": OURS}} if client_era == "modern" else {}

        assert await client.ask("tools/list") == {
            **frame,
            "tools": [tool("srv__one", icons=[{"src": "data:,"}], unknown=1e2)],
        }
        assert await client.ask("prompts/list") == {
            **frame,
            "prompts": [{"name": "srv__ask", "arguments": [{"name": "a"}], "unknown": None}],
        }
        assert await client.ask("resources/list") == {
            **frame,
            "resources": [{"uri": "file:///a", "name": "a", "size": 3}],
        }
        assert await client.ask("resources/templates/list") == {
            **frame,
            "resourceTemplates": [{"uriTemplate": "file:///{name}", "name": "any"}],
        }


@pytest.mark.parametrize(
    ("method", "asked", "arrives"),
    [
        (
            "tools/call",
            {"name": "srv__one", "arguments": {"n": 1}, "later": [2]},
            {"name": "one", "arguments": {"n": 1}, "later": [2]},
        ),
        (
            "prompts/get",
            {"name": "srv__ask", "arguments": {"a": "b"}},
            {"name": "ask", "arguments": {"a": "b"}},
        ),
        ("resources/read", {"uri": "file:///a"}, {"uri": "file:///a"}),
        ("resources/read", {"uri": "file:///some"}, {"uri": "file:///some"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "srv__ask"}, "argument": {"name": "a"}},
            {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "a"}},
        ),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "file:///{name}"}, "argument": {"name": "b"}},
            {"ref": {"type": "ref/resource", "uri": "file:///{name}"}, "argument": {"name": "b"}},
        ),
    ],
    ids=["tool", "prompt", "resource", "templated", "completion", "completion of a template"],
)
async def test_a_request_arrives_under_the_servers_own_names_and_its_answer_passes(
    client_era: str, server_kind: str, method: str, asked: Message, arrives: Message
) -> None:
    puppet = server(server_kind, tool("one"))
    puppet.prompts = [{"name": "ask"}]
    puppet.resources = [{"uri": "file:///a", "name": "a"}]
    puppet.templates = [{"uriTemplate": "file:///{name}", "name": "any"}]
    async with gateway(puppet) as scene:
        client = await opened(scene, client_era)

        result = await client.ask(method, asked, theirs="kept", traceparent="00-1")

        assert without_stamp(result) == {"echo": arrives, "_meta": {"theirs": 1}}
        assert set(result) & set(STAMP) == expected_stamp(client_era, server_kind, method)
        assert puppet.params(method)[0]["_meta"] == {
            **carried(client_era, server_kind, client),
            "theirs": "kept",
            "traceparent": "00-1",
        }


def expected_stamp(client_era: str, server_kind: str, method: str) -> set[str]:
    """What the gateway must add, or may let through, for a client of this era."""
    if client_era == "legacy":
        return set()
    passed = spoken(client_era, server_kind) == "modern"
    return set(STAMP) if passed or method == "resources/read" else {"resultType"}


def carried(client_era: str, server_kind: str, client: Client) -> dict[str, Any]:
    """The protocol's own members of ``_meta``, as the server should find them."""
    if spoken(client_era, server_kind) == "legacy":
        return {}
    about = client.envelope() if client_era == "modern" else client.envelope() | OUR_ENVELOPE
    return {key: value for key, value in about.items() if key.startswith(META)}


OUR_ENVELOPE = {META + "clientInfo": OURS}
