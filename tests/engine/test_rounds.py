"""More input in the middle of a call, in all four pairs of eras (MRTR, revision 2026-07-28)."""

import anyio
import pytest
from tests.engine.puppets import Asked, Message, Puppet, Refusal, answer_in, text
from tests.engine.scene import called, gateway

from toolpick.engine import parking

SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
ALL = {"sampling": {}, "elicitation": {"form": {}}, "roots": {}}
NAME = {"method": ELICITATION, "params": {"message": "Your name?"}}
GREETING = {"method": SAMPLING, "params": {"messages": []}}
CANCELLED = "notifications/cancelled"


def more(requests: Message, state: str | None = None) -> Message:
    """What a modern server answers when it wants more."""
    result: Message = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    return result if state is None else {**result, "requestState": state}


def modern_server(*rounds: Message) -> Puppet:
    """A modern server that asks for these rounds, and then says all that it was answered."""
    puppet = Puppet("srv", eras=("modern",))

    async def work(asked: Asked) -> Message:
        done = len(puppet.params(asked.message["method"])) - 1
        if done < len(rounds):
            return rounds[done]
        return answer_in(asked, text(repr(asked.params.get("inputResponses"))))

    puppet.on["tools/call"] = puppet.on["prompts/get"] = work
    return puppet


def legacy_server(*questions: Message) -> Puppet:
    """A legacy server that asks these one after the other, and then says what it was answered."""
    puppet = Puppet("srv", eras=("legacy",))

    async def work(asked: Asked) -> Message:
        answers = [
            (await asked.ask(question["method"], question["params"])).get("result")
            for question in questions
        ]
        return text(repr(answers))

    puppet.on["tools/call"] = puppet.on["prompts/get"] = puppet.on["resources/read"] = work
    return puppet


def again(name: str, answer: Message, responses: Message) -> Message:
    """The params of a call that comes back with more."""
    return {
        **called(name, {"a": 1}),
        "requestState": answer["requestState"],
        "inputResponses": responses,
    }


# -- a modern client and a modern server


async def test_between_modern_halves_rounds_pass_untouched() -> None:
    first = more({"name": NAME}, "their state")
    puppet = modern_server(first)
    async with gateway(puppet) as scene:
        client = await scene.client("modern", **ALL)

        asked = await client.call("srv__echo", {"a": 1})
        assert asked == first
        answer = {"name": {"action": "accept", "content": {"name": "Ada"}}}
        result = await client.ask("tools/call", again("srv__echo", asked, answer))

        assert result["content"] == text(repr(answer))["content"]
        params = [
            {key: value for key, value in given.items() if key != "_meta"}
            for given in puppet.params("tools/call")
        ]
        assert params == [
            {"name": "echo", "arguments": {"a": 1}},
            {
                "name": "echo",
                "arguments": {"a": 1},
                "requestState": "their state",
                "inputResponses": answer,
            },
        ]


@pytest.mark.parametrize("server_era", ["legacy", "modern"])
async def test_a_call_through_call_tool_has_rounds_like_any_other(server_era: str) -> None:
    puppet = {"legacy": legacy_server(NAME), "modern": modern_server(more({"name": NAME}, "s"))}[
        server_era
    ]
    async with gateway(puppet, surface="search") as scene:
        client = await scene.client("modern", **ALL)
        through = {"name": "srv__echo", "arguments": {"a": 1}}
        asked = await client.call("call_tool", through)
        back = {
            **called("call_tool", through),
            "requestState": asked["requestState"],
            "inputResponses": responses(asked, {"action": "accept"}),
        }

        result = await client.ask("tools/call", back)

        assert "{'action': 'accept'}" in result["content"][0]["text"]


# -- a legacy client and a modern server: the gateway drives the rounds


async def test_a_legacy_client_is_asked_for_what_a_modern_server_wants() -> None:
    puppet = modern_server(more({"name": NAME, "hello": GREETING}, "one"), more({}, "two"))
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo", {"a": 1}), theirs="kept")

        name, greeting = await client.question(ELICITATION), await client.question(SAMPLING)
        client.reply(greeting, {"role": "assistant"})
        client.reply(name, {"action": "decline"})

        assert (await client.result(id))["content"] == text(repr(None))["content"]
        rounds = puppet.params("tools/call")
        answers = {"hello": {"role": "assistant"}, "name": {"action": "decline"}}
        assert [given.get("inputResponses") for given in rounds] == [None, answers, None]
        assert [given.get("requestState") for given in rounds] == [None, "one", "two"]
        assert [given["arguments"] for given in rounds] == [{"a": 1}] * 3
        assert [given["_meta"]["theirs"] for given in rounds] == ["kept"] * 3


async def test_prompts_have_rounds_too() -> None:
    puppet = modern_server(more({"name": NAME}))
    puppet.prompts = [{"name": "ask"}]
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        id = client.send("prompts/get", {"name": "srv__ask"})

        client.reply(await client.question(ELICITATION), {"action": "cancel"})

        assert (await client.result(id))["content"] == text(repr({"name": {"action": "cancel"}}))[
            "content"
        ]


async def test_a_client_that_can_not_be_asked_is_told_what_the_server_wants() -> None:
    async with gateway(modern_server(more({"name": NAME, "hello": GREETING}))) as scene:
        client = await scene.client(elicitation={})

        error = await client.fails("tools/call", called("srv__echo"))

        assert error == {
            "code": -32603,
            "message": f"server 'srv' asks {SAMPLING}, which this client does not do",
        }
        assert [message for message in client.heard if message.get("method") == ELICITATION] == []


async def test_a_server_that_never_has_enough_is_given_up() -> None:
    puppet = modern_server(*[more({}, f"round {number}") for number in range(50)])
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)

        error = await client.fails("tools/call", called("srv__echo"))

        assert error == {
            "code": -32603,
            "message": "server 'srv' asked for more input 10 times; giving up",
        }
        assert len(puppet.params("tools/call")) == 11


async def test_a_refused_question_fails_the_call_and_withdraws_the_others() -> None:
    refusal = {"code": -1, "message": "User rejected"}
    async with gateway(modern_server(more({"name": NAME, "hello": GREETING}))) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))
        name, greeting = await client.question(ELICITATION), await client.question(SAMPLING)

        client.write({"id": name["id"], "error": refusal})

        assert (await client.answer(id))["error"] == refusal
        assert (await client.notice(CANCELLED))["requestId"] == greeting["id"]


async def test_a_call_that_is_cancelled_between_rounds_is_not_made_again() -> None:
    puppet = modern_server(more({"name": NAME}))
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))
        question = await client.question(ELICITATION)

        client.notify(CANCELLED, {"requestId": id, "reason": "enough"})
        client.reply(question, {"action": "accept"})

        assert client.notices(CANCELLED) == [{"requestId": question["id"], "reason": "enough"}]
        await client.ask("tools/list")
        assert len(puppet.params("tools/call")) == 1


async def test_a_round_goes_on_at_a_server_that_was_started_again_meanwhile() -> None:
    puppet = modern_server(more({"name": NAME}, "kept by the client"))
    async with gateway(puppet) as scene:
        client = await scene.client(**ALL)
        id = client.send("tools/call", called("srv__echo"))
        question = await client.question(ELICITATION)
        await puppet.connection.exit()
        await puppet.lives(2)

        client.reply(question, {"action": "accept"})

        assert (await client.result(id))["content"] == text(repr({"name": {"action": "accept"}}))[
            "content"
        ]
        assert len(puppet.connections) == 2


# -- a modern client and a legacy server: the call is parked


def questions(answer: Message) -> Message:
    """What a parked call wants, without its keys."""
    assert answer["resultType"] == "input_required"
    return {question["method"]: question["params"] for question in answer["inputRequests"].values()}


def responses(answer: Message, said: Message) -> Message:
    """Every question answered alike."""
    return dict.fromkeys(answer["inputRequests"], said)


async def test_a_parked_call_goes_on_when_its_client_comes_back() -> None:
    puppet = legacy_server(NAME, GREETING)
    async with gateway(puppet) as scene:
        client = await scene.client("modern", **ALL)

        first = await client.call("srv__echo", {"a": 1})
        assert questions(first) == {ELICITATION: {"message": "Your name?"}}
        second = await client.ask(
            "tools/call", again("srv__echo", first, responses(first, {"action": "accept"}))
        )
        assert questions(second) == {SAMPLING: {"messages": []}}
        result = await client.ask(
            "tools/call", again("srv__echo", second, responses(second, {"role": "assistant"}))
        )

        assert result == {
            "resultType": "complete",
            **text(repr([{"action": "accept"}, {"role": "assistant"}])),
        }
        assert len(puppet.params("tools/call")) == 1


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "srv__ask"}), ("resources/read", {"uri": "file:///a"})],
)
async def test_prompts_and_resources_are_parked_too(method: str, params: Message) -> None:
    puppet = legacy_server(NAME)
    puppet.prompts = [{"name": "ask"}]
    puppet.resources = [{"uri": "file:///a", "name": "a"}]
    async with gateway(puppet) as scene:
        client = await scene.client("modern", **ALL)
        asked = await client.ask(method, params)

        result = await client.ask(
            method,
            {
                **params,
                "requestState": asked["requestState"],
                "inputResponses": responses(asked, {"action": "accept"}),
            },
        )

        assert result["content"] == text(repr([{"action": "accept"}]))["content"]
        assert len(puppet.params(method)) == 1


async def test_a_client_that_comes_back_without_an_answer_is_asked_again() -> None:
    async with gateway(legacy_server(NAME)) as scene:
        client = await scene.client("modern", **ALL)
        asked = await client.call("srv__echo", {"a": 1})

        assert await client.ask("tools/call", again("srv__echo", asked, {"other": {}})) == asked


async def test_what_was_answered_while_the_client_was_away_is_kept_for_it() -> None:
    puppet = Puppet("srv", eras=("legacy",))

    async def impatient(asked: Asked) -> Message:
        await asked.connection.send({"id": "q", "method": ELICITATION, "params": {}})
        await on.wait()
        if asked.params["arguments"] == {"fail": True}:
            raise Refusal(-5, "lost patience")
        return text("went on without")

    on = anyio.Event()
    puppet.on["tools/call"] = impatient
    async with gateway(puppet) as scene:
        client = await scene.client("modern", **ALL)
        good = await client.call("srv__echo", {"a": 1})
        bad = await client.call("srv__echo", {"fail": True})
        on.set()
        await scene.engine.sessions[0].pool.links["srv"].peer.idle()  # type: ignore[union-attr]

        result = await client.ask("tools/call", again("srv__echo", good, {}))
        error = await client.fails("tools/call", again("srv__echo", bad, {}))

        assert result == {"resultType": "complete", **text("went on without")}
        assert error == {"code": -5, "message": "lost patience"}


@pytest.mark.parametrize("state", ["toolpick.made-up", "toolpick."])
async def test_a_state_that_was_made_up_is_refused(state: str) -> None:
    async with gateway(legacy_server(NAME)) as scene:
        client = await scene.client("modern", **ALL)

        error = await client.fails(
            "tools/call", {**called("srv__echo"), "requestState": state, "inputResponses": {}}
        )

        assert error == {
            "code": -32602,
            "message": "unknown or expired requestState; call again without it",
        }


async def test_a_state_is_worth_nothing_to_another_client() -> None:
    puppet = legacy_server(NAME)
    puppet.settings = {"scope": "shared"}
    async with gateway(puppet) as scene:
        owner, thief = await scene.client("modern", **ALL), await scene.client("modern", **ALL)
        asked = await owner.call("srv__echo", {"a": 1})

        stolen = again("srv__echo", asked, responses(asked, {"action": "accept"}))
        error = await thief.fails("tools/call", stolen)

        assert error["code"] == -32602
        result = await owner.ask("tools/call", stolen)
        assert result["content"] == text(repr([{"action": "accept"}]))["content"]


async def test_a_state_is_used_up_when_its_call_has_ended() -> None:
    async with gateway(legacy_server(NAME)) as scene:
        client = await scene.client("modern", **ALL)
        asked = await client.call("srv__echo", {"a": 1})
        back = again("srv__echo", asked, responses(asked, {"action": "accept"}))
        await client.ask("tools/call", back)

        assert (await client.fails("tools/call", back))["code"] == -32602


async def test_a_parked_call_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "PATIENCE", 0.0)
    puppet = legacy_server(NAME)
    async with gateway(puppet) as scene:
        client = await scene.client("modern", **ALL)
        asked = await client.call("srv__echo", {"a": 1})

        error = await client.fails("tools/call", again("srv__echo", asked, {}))

        assert error["code"] == -32602
        assert (await puppet.hears(CANCELLED))["params"] == {
            "requestId": puppet.log[-1]["params"]["requestId"],
            "reason": "the client did not come back",
        }


async def test_the_oldest_parked_call_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "MOST", 2)
    async with gateway(legacy_server(NAME)) as scene:
        client = await scene.client("modern", **ALL)
        asked = [await client.call("srv__echo", {"a": 1}) for _ in range(3)]
        backs = [again("srv__echo", one, responses(one, {"action": "accept"})) for one in asked]

        assert (await client.fails("tools/call", backs[0]))["code"] == -32602
        for back in backs[1:]:
            assert "content" in await client.ask("tools/call", back)


async def test_a_call_that_is_cancelled_after_coming_back_is_cancelled_at_the_server() -> None:
    puppet = legacy_server(NAME)
    answered = puppet.on["tools/call"]

    async def slow(asked: Asked) -> Message:
        await answered(asked)
        await asked.cancelled()
        return text("too late")

    puppet.on["tools/call"] = slow
    async with gateway(puppet) as scene:
        client = await scene.client("modern", **ALL)
        asked = await client.call("srv__echo", {"a": 1})
        back = again("srv__echo", asked, responses(asked, {"action": "accept"}))
        id = client.send("tools/call", back)
        await puppet.hears_answer()

        client.notify(CANCELLED, {"requestId": id, "reason": "enough"})

        assert (await puppet.hears(CANCELLED))["params"]["reason"] == "enough"
        assert (await client.fails("tools/call", back))["code"] == -32602


async def test_a_parked_call_is_not_made_again_when_its_server_was_lost() -> None:
    puppet = legacy_server(NAME)
    puppet.tools[0]["annotations"] = {"readOnlyHint": True}
    async with gateway(puppet) as scene:
        client = await scene.client("modern", **ALL)
        asked = await client.call("srv__echo", {"a": 1})
        await puppet.connection.exit()
        await puppet.lives(2)

        error = await client.fails(
            "tools/call", again("srv__echo", asked, responses(asked, {"action": "accept"}))
        )

        assert error["code"] == -32000
        assert "exited with code 1" in error["message"]
        assert len(puppet.params("tools/call")) == 1


async def test_a_server_may_not_ask_a_modern_client_what_it_did_not_declare() -> None:
    puppet = Puppet("srv", eras=("legacy",))

    async def work(asked: Asked) -> Message:
        return text((await asked.ask(ROOTS))["error"]["message"])

    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client("modern", elicitation={})

        assert await client.says("srv__echo") == "the client does not do roots/list"
