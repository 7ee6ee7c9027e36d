"""What servers ask, in the middle of a call or out of the blue, and which client it reaches."""

from typing import Any

import anyio
import pytest
from tests.engine.puppets import Asked, Message, Puppet, text
from tests.engine.scene import Client, called, gateway

SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
ALL = {"sampling": {}, "elicitation": {"form": {}}, "roots": {}}
CANCELLED = "notifications/cancelled"


def asking(method: str, params: Message | None = None, **settings: Any) -> Puppet:
    """A legacy server whose every call asks first, and says what it was answered."""
    puppet = Puppet("srv", eras=("legacy",), **settings)

    async def work(asked: Asked) -> Message:
        answer = await asked.ask(method, params)
        return text(repr(answer.get("result", answer.get("error"))))

    puppet.on["tools/call"] = work
    return puppet


async def said(client: Client, id: int) -> str:
    result = await client.result(id)
    words: str = result["content"][0]["text"]
    return words


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        (SAMPLING, {"messages": [], "maxTokens": 9, "new": None}, {"role": "assistant", "new": 1}),
        (ELICITATION, {"message": "Who?", "requestedSchema": {}}, {"action": "decline"}),
        (ROOTS, {}, {"roots": [{"uri": "file:///home"}]}),
    ],
    ids=["sampling", "elicitation", "roots"],
)
async def test_a_question_goes_to_the_client_and_its_answer_back(
    method: str, params: Message, answer: Message
) -> None:
    async with gateway(asking(method, params)) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))

        question = await client.question(method)
        client.reply(question, answer)

        assert {key: question[key] for key in ("method", "params")} == {
            "method": method,
            "params": params,
        }
        assert await said(client, id) == repr(answer)


async def test_a_clients_refusal_reaches_the_server_with_code_and_data() -> None:
    refusal = {"code": -1, "message": "User rejected", "data": {"by": "hand"}}
    async with gateway(asking(SAMPLING)) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))
        question = await client.question(SAMPLING)

        client.write({"id": question["id"], "error": refusal})

        assert await said(client, id) == repr(refusal)


async def test_what_a_client_did_not_declare_it_is_not_asked() -> None:
    async with gateway(asking(SAMPLING)) as scene:
        client = await scene.client(elicitation={})

        assert await client.says("srv__echo") == repr(
            {"code": -32601, "message": f"the client does not do {SAMPLING}"}
        )


async def test_only_the_client_that_called_is_asked() -> None:
    async with gateway(asking(ROOTS)) as scene:
        asked, idle = await scene.client(**ALL), await scene.client(**ALL)
        id = asked.send("tools/call", called("srv__echo"))

        asked.reply(await asked.question(ROOTS), {"roots": []})

        assert await said(asked, id) == repr({"roots": []})
        assert [message for message in idle.heard if "id" in message and "method" in message] == []


async def test_a_shared_server_reaches_the_one_client_whose_call_is_open() -> None:
    async with gateway(asking(ROOTS, scope="shared")) as scene:
        idle, asked = await scene.client(**ALL), await scene.client(**ALL)
        id = asked.send("tools/call", called("srv__echo"))

        asked.reply(await asked.question(ROOTS), {"roots": []})

        assert await said(asked, id) == repr({"roots": []})
        assert [message for message in idle.heard if "id" in message and "method" in message] == []


async def test_a_shared_server_is_refused_where_two_clients_may_be_meant() -> None:
    puppet = Puppet("srv", eras=("legacy",), scope="shared")
    both = anyio.Event()

    async def work(asked: Asked) -> Message:
        if asked.params["arguments"]["n"] == 1:
            await both.wait()
            return text("waited")
        answer = await asked.ask(ROOTS)
        both.set()
        return text(answer["error"]["message"])

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        first, second = await scene.client(**ALL), await scene.client(**ALL)
        waiting = first.send("tools/call", called("srv__echo", {"n": 1}))
        await puppet.hears("tools/call")

        answer = await second.says("srv__echo", {"n": 2})

        assert answer == "roots/list: it can't be told which client this is for"
        assert await said(first, waiting) == "waited"


async def test_two_calls_of_one_client_do_not_make_a_question_ambiguous() -> None:
    puppet = Puppet("srv", eras=("legacy",))
    asked_too = anyio.Event()

    async def work(asked: Asked) -> Message:
        if asked.params["arguments"]["n"] == 1:
            await asked_too.wait()
            return text("waited")
        answer = await asked.ask(ROOTS)
        asked_too.set()
        return text(repr(answer["result"]))

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        waiting = client.send("tools/call", called("srv__echo", {"n": 1}))
        await puppet.hears("tools/call")
        id = client.send("tools/call", called("srv__echo", {"n": 2}))

        client.reply(await client.question(ROOTS), {"roots": [1]})

        assert await said(client, id) == repr({"roots": [1]})
        assert await said(client, waiting) == "waited"


async def test_a_question_outside_of_calls_reaches_the_only_client() -> None:
    puppet = Puppet("srv", eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        await scene.settled()
        answers: list[Message] = []

        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                answers.append(await puppet.connection.ask(ROOTS, {}))

            tasks.start_soon(ask)
            client.reply(await client.question(ROOTS), {"roots": []})

        assert [answer["result"] for answer in answers] == [{"roots": []}]


@pytest.mark.parametrize(("era", "declared"), [("legacy", {}), ("modern", ALL)])
async def test_a_question_outside_of_calls_is_refused_where_nobody_can_be_asked(
    era: str, declared: Message
) -> None:
    puppet = Puppet("srv", eras=("legacy",))
    async with gateway(puppet) as scene:
        await scene.client(era, **declared)
        await scene.settled()

        answer = await puppet.connection.ask(ROOTS, {})

        assert answer["error"] == {
            "code": -32601,
            "message": "no client to ask for roots/list now",
        }


async def test_a_cancelled_call_takes_its_question_back() -> None:
    async with gateway(asking(ELICITATION)) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))
        question = await client.question(ELICITATION)

        client.notify(CANCELLED, {"requestId": id, "reason": "never mind"})

        assert await client.notice(CANCELLED) == {
            "requestId": question["id"],
            "reason": "never mind",
        }
        client.reply(question, {"action": "accept"})
        assert await client.ask("ping") == {}


async def test_a_server_that_no_longer_asks_takes_its_question_back() -> None:
    puppet = Puppet("srv", eras=("legacy",))

    async def work(asked: Asked) -> Message:
        await asked.connection.send({"id": "q", "method": ELICITATION, "params": {}})
        await going_on.wait()
        await asked.connection.notify(CANCELLED, {"requestId": "q"})
        await asked.connection.notify(CANCELLED, {"requestId": "unknown"})
        return text("went on without")

    going_on = anyio.Event()
    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))
        question = await client.question(ELICITATION)

        going_on.set()

        assert await said(client, id) == "went on without"
        assert client.notices(CANCELLED) == [
            {"requestId": question["id"], "reason": "the server no longer asks"}
        ]


async def test_a_call_that_ends_with_an_open_question_takes_it_back() -> None:
    puppet = Puppet("srv", eras=("legacy",))

    async def work(asked: Asked) -> Message:
        await asked.connection.send({"id": "q", "method": ELICITATION, "params": {}})
        return text("did not wait")

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)

        assert await client.says("srv__echo") == "did not wait"

        question = await client.question(ELICITATION)
        assert client.notices(CANCELLED) == [
            {"requestId": question["id"], "reason": "the call has ended"}
        ]


async def test_the_clock_of_a_call_stands_still_while_a_person_is_asked() -> None:
    puppet = asking(ELICITATION, timeout=0.2)
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        await scene.settled()
        id = client.send("tools/call", called("srv__echo"))
        question = await client.question(ELICITATION)
        with anyio.move_on_after(0.4):
            await puppet.hears(CANCELLED)

        client.reply(question, {"action": "accept"})

        assert await said(client, id) == repr({"action": "accept"})


async def test_a_clients_progress_on_a_question_reaches_the_server_that_asked() -> None:
    puppet = asking(SAMPLING, {"messages": [], "_meta": {"progressToken": 5, "theirs": 1}})
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))
        question = await client.question(SAMPLING)
        meta = question["params"]["_meta"]

        client.notify(
            "notifications/progress", {"progressToken": meta["progressToken"], "progress": 0.5}
        )
        client.notify("notifications/progress", {"progressToken": "unknown", "progress": 1})
        client.reply(question, {"role": "assistant"})
        client.notify(
            "notifications/progress", {"progressToken": meta["progressToken"], "progress": 2}
        )

        assert await said(client, id) == repr({"role": "assistant"})
        assert meta["theirs"] == 1
        assert puppet.params("notifications/progress") == [{"progressToken": 5, "progress": 0.5}]


async def test_changed_roots_are_told_to_legacy_servers_only() -> None:
    old = Puppet("old", eras=("legacy",))
    new = Puppet("new", eras=("modern",))
    async with gateway(old, new) as scene:
        client = await scene.client(roots={"listChanged": True})
        await scene.settled()

        client.notify("notifications/roots/list_changed")

        await old.hears("notifications/roots/list_changed")
        await client.call("new__echo")
        assert "notifications/roots/list_changed" not in new.methods()


async def test_a_servers_own_notification_passes_to_a_legacy_client() -> None:
    puppet = Puppet("srv", eras=("legacy",))
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()

        await puppet.connection.notify("notifications/elicitation/complete", {"elicitationId": "e"})

        assert await client.notice("notifications/elicitation/complete") == {"elicitationId": "e"}
