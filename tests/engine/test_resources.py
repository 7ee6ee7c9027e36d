"""Resources of all servers: reads, and subscriptions in both eras."""

from typing import Any

import pytest
from tests.engine.puppets import META, Asked, Message, Puppet, Refusal, Silence, answer_in
from tests.engine.scene import Client, gateway

UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
STREAM = META + "subscriptionId"
A = "file:///a"


def server(
    name: str = "srv", *uris: str, eras: tuple[str, ...] = ("legacy",), **more: Any
) -> Puppet:
    """A server with these resources, each of which reads as the server's name."""
    puppet = Puppet(name, eras=eras, **more)
    puppet.resources = [{"uri": uri, "name": uri} for uri in uris or (A,)]

    async def read(asked: Asked) -> Message:
        if asked.params["uri"] not in [one["uri"] for one in puppet.resources]:
            raise Refusal(-32002, "Resource not found", {"uri": asked.params["uri"]})
        contents = [{"uri": asked.params["uri"], "text": name}]
        return answer_in(asked, {"contents": contents})

    puppet.on["resources/read"] = read
    return puppet


async def text_of(client: Client, uri: str) -> str:
    result = await client.ask("resources/read", {"uri": uri})
    said: str = result["contents"][0]["text"]
    return said


# -- reads


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("modern", -32602)])
async def test_a_resource_that_nobody_has_is_not_found(era: str, code: int) -> None:
    nothing = Puppet("srv", eras=("legacy",), capabilities={"tools": {}})
    async with gateway(nothing) as scene:
        client = await scene.client(era)
        await scene.settled()

        assert await client.fails("resources/read", {"uri": "file:///x"}) == {
            "code": code,
            "message": "Resource not found",
            "data": {"uri": "file:///x"},
        }


async def test_an_unlisted_resource_is_asked_of_the_only_server_that_may_have_it() -> None:
    puppet = server()
    async with gateway(puppet, Puppet("other", capabilities={"tools": {}})) as scene:
        client = await scene.client()
        await scene.settled()

        error = await client.fails("resources/read", {"uri": "file:///x"})

        assert error["data"] == {"uri": "file:///x"}
        assert puppet.params("resources/read") == [{"uri": "file:///x"}]


@pytest.mark.parametrize("client_era", ["legacy", "modern"])
@pytest.mark.parametrize("server_era", ["legacy", "modern"])
async def test_an_unlisted_resource_is_asked_of_each_server_until_one_has_it(
    client_era: str, server_era: str
) -> None:
    first, second = (
        server("one", eras=(server_era,)),
        server("two", "file:///b", eras=(server_era,)),
    )
    third = server("three", eras=(server_era,))
    async with gateway(first, second, third) as scene:
        client = await scene.client(client_era)
        await scene.settled()
        hidden = "file:///hidden"
        second.resources.append({"uri": hidden, "name": "hidden"})

        result = await client.ask("resources/read", {"uri": hidden})

        frame = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        assert result == {
            **(frame if client_era == "modern" else {}),
            "contents": [{"uri": hidden, "text": "two"}],
        }
        assert (await client.fails("resources/read", {"uri": "file:///no"}))["data"] == {
            "uri": "file:///no"
        }


async def test_a_resource_that_two_servers_share_is_listed_and_read_apart() -> None:
    one, two = server("one"), server("two")
    async with gateway(one, two) as scene:
        client = await scene.client()
        listed = (await client.ask("resources/list"))["resources"]
        uris = [entry["uri"] for entry in listed]

        assert len(set(uris)) == 2
        assert [await text_of(client, uri) for uri in uris] == ["one", "two"]
        read = await client.ask("resources/read", {"uri": uris[1]})
        assert read["contents"][0]["uri"] == uris[1]
        error = await client.fails("resources/read", {"uri": A})
        assert error == {
            "code": -32602,
            "message": f"Ambiguous resource {A!r}: offered by 'one' and 'two'; use a listed URI",
        }


# -- subscriptions of legacy clients


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_legacy_client_hears_of_what_it_subscribed_to(era: str) -> None:
    puppet = server(eras=(era,))
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()

        assert await client.ask("resources/subscribe", {"uri": A}) == {}
        await subscribed(puppet, era)
        await puppet.tells(UPDATED, {"uri": A, "title": "new"})
        assert await client.notice(UPDATED) == {"uri": A, "title": "new"}

        assert await client.ask("resources/unsubscribe", {"uri": A}) == {}
        await unsubscribed(puppet, era)


async def subscribed(puppet: Puppet, era: str, life: int = 1) -> None:
    """Wait until a server has heard that somebody wants to hear of resource A."""
    if era == "legacy":
        await puppet.hears("resources/subscribe", count=life)
    else:
        await puppet.lives(life)
        await puppet.until(lambda: watched(puppet) == [[A]])


async def unsubscribed(puppet: Puppet, era: str) -> None:
    if era == "legacy":
        await puppet.hears("resources/unsubscribe")
    else:
        await puppet.until(lambda: watched(puppet) == [None])


def watched(puppet: Puppet) -> Any:
    """The resources that each open stream of a modern server is for."""
    return [stream.get("resourceSubscriptions") for stream in puppet.streams()]


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_nobody_subscribes_to_what_nobody_has(method: str) -> None:
    async with gateway(server()) as scene:
        client = await scene.client()
        await scene.settled()

        assert (await client.fails(method, {"uri": "file:///x"}))["code"] == -32002
        assert (await client.fails(method, {"uri": 5}))["code"] == -32602


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_subscription_is_renewed_when_its_server_is_started_again(era: str) -> None:
    puppet = server(eras=(era,))
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()
        await client.ask("resources/subscribe", {"uri": A})
        await subscribed(puppet, era)

        await puppet.connection.exit()
        await puppet.lives(2)

        await subscribed(puppet, era, life=2)
        await puppet.tells(UPDATED, {"uri": A})
        assert await client.notice(UPDATED) == {"uri": A}


async def test_updates_of_a_shared_resource_come_under_its_listed_uri() -> None:
    one, two = server("one"), server("two")
    async with gateway(one, two) as scene:
        client = await scene.client()
        uris = [entry["uri"] for entry in (await client.ask("resources/list"))["resources"]]
        await client.ask("resources/subscribe", {"uri": uris[1]})

        assert two.params("resources/subscribe") == [{"uri": A}]
        await two.tells(UPDATED, {"uri": A})
        assert await client.notice(UPDATED) == {"uri": uris[1]}


async def test_clients_of_a_shared_server_hear_only_of_their_own_subscriptions() -> None:
    puppet = server("srv", A, "file:///b", scope="shared")
    async with gateway(puppet) as scene:
        first, second = await scene.client(), await scene.client()
        await scene.settled()
        await first.ask("resources/subscribe", {"uri": A})
        await second.ask("resources/subscribe", {"uri": "file:///b"})

        await puppet.tells(UPDATED, {"uri": "file:///b"})
        await puppet.tells(UPDATED, {"uri": A})

        assert await first.notice(UPDATED) == {"uri": A}
        assert await second.notice(UPDATED) == {"uri": "file:///b"}
        await first.ask("ping")
        assert len(first.notices(UPDATED)) == len(second.notices(UPDATED)) == 1


async def test_one_client_of_a_shared_server_does_not_end_anothers_subscription() -> None:
    puppet = server(scope="shared")
    async with gateway(puppet) as scene:
        first, second = await scene.client(), await scene.client()
        await scene.settled()
        for client in (first, second):
            await client.ask("resources/subscribe", {"uri": A})

        assert await first.ask("resources/unsubscribe", {"uri": A}) == {}
        assert puppet.params("resources/unsubscribe") == []
        assert await second.ask("resources/unsubscribe", {"uri": A}) == {}
        assert puppet.params("resources/unsubscribe") == [{"uri": A}]


async def test_what_a_client_wanted_of_a_shared_server_ends_with_the_client() -> None:
    puppet = server("srv", A, "file:///b", scope="shared")
    async with gateway(puppet) as scene:
        leaving, staying = await scene.client(), await scene.client()
        await scene.settled()
        await leaving.ask("resources/subscribe", {"uri": A})
        await leaving.ask("resources/subscribe", {"uri": "file:///b"})
        await staying.ask("resources/subscribe", {"uri": A})

        leaving.front.lost("the client closed stdin")

        assert (await puppet.hears("resources/unsubscribe"))["params"] == {"uri": "file:///b"}
        assert await text_of(staying, A) == "srv"
        assert len(puppet.params("resources/unsubscribe")) == 1


# -- streams of modern clients


def listen(client: Client, **wanted: Any) -> int:
    return client.send("subscriptions/listen", {"notifications": wanted})


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_modern_client_hears_on_its_stream_of_the_resources_it_named(era: str) -> None:
    puppet = server(eras=(era,))
    async with gateway(puppet) as scene:
        client = await scene.client("modern")
        await scene.settled()

        stream = listen(client, toolsListChanged=True, resourceSubscriptions=[A, "file:///no"])

        assert await client.notice(ACKNOWLEDGED) == {
            "notifications": {"toolsListChanged": True, "resourceSubscriptions": [A]},
            "_meta": {STREAM: stream},
        }
        await subscribed(puppet, era)
        await puppet.tells(UPDATED, {"uri": A, "title": "new"})
        assert await client.notice(UPDATED) == {
            "uri": A,
            "title": "new",
            "_meta": {STREAM: stream},
        }

        client.notify("notifications/cancelled", {"requestId": stream})
        await unsubscribed(puppet, era)


async def test_a_resource_is_given_up_when_the_last_stream_that_names_it_ends() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client("modern")
        await scene.settled()
        first = listen(client, resourceSubscriptions=[A])
        second = listen(client, resourceSubscriptions=[A])
        await client.notice(ACKNOWLEDGED, 2)

        client.notify("notifications/cancelled", {"requestId": first})
        await client.ask("tools/list")
        assert puppet.params("resources/unsubscribe") == []
        client.notify("notifications/cancelled", {"requestId": second})

        assert (await puppet.hears("resources/unsubscribe"))["params"] == {"uri": A}


async def test_each_stream_is_told_with_its_own_id() -> None:
    puppet = server()
    async with gateway(puppet) as scene:
        client = await scene.client("modern")
        await scene.settled()
        streams = [listen(client, resourceSubscriptions=[A]) for _ in range(2)]
        await client.notice(ACKNOWLEDGED, 2)
        await subscribed(puppet, "legacy")

        await puppet.tells(UPDATED, {"uri": A, "_meta": {"theirs": 1}})

        await client.notice(UPDATED, 2)
        assert client.notices(UPDATED) == [
            {"uri": A, "_meta": {"theirs": 1, STREAM: stream}} for stream in streams
        ]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_streams_resources_are_renewed_when_their_server_is_started_again(era: str) -> None:
    puppet = server(eras=(era,))
    async with gateway(puppet) as scene:
        client = await scene.client("modern")
        await scene.settled()
        listen(client, resourceSubscriptions=[A])
        await client.notice(ACKNOWLEDGED)
        await subscribed(puppet, era)

        await puppet.connection.exit()
        await puppet.lives(2)

        await subscribed(puppet, era, life=2)


async def test_a_stream_that_names_resources_waits_for_servers_that_are_starting() -> None:
    async with gateway(server(), list_wait=60) as scene:
        client = await scene.client("modern")

        listen(client, resourceSubscriptions=[A])

        assert (await client.notice(ACKNOWLEDGED))["notifications"] == {
            "resourceSubscriptions": [A]
        }


async def test_a_stream_that_names_none_is_acknowledged_at_once() -> None:
    puppet = server()

    async def silent(asked: Asked) -> Message:
        raise Silence

    puppet.on["server/discover"] = silent
    async with gateway(puppet, list_wait=60) as scene:
        client = await scene.client("modern")

        listen(client, promptsListChanged=True, resourcesListChanged=False, other=True)

        assert (await client.notice(ACKNOWLEDGED))["notifications"] == {"promptsListChanged": True}


@pytest.mark.parametrize("named", [5, "file:///a", {"a": 1}, [1], [None]])
async def test_a_stream_that_names_no_resources_but_something_else_is_refused(named: Any) -> None:
    async with gateway(server()) as scene:
        client = await scene.client("modern")
        await scene.settled()

        error = await client.fails(
            "subscriptions/listen", {"notifications": {"resourceSubscriptions": named}}
        )

        assert error == {
            "code": -32602,
            "message": "Invalid params: 'resourceSubscriptions' must be a list of URIs",
        }
