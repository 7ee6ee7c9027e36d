"""Selectors that ask the client's own model: only a client that offers it, and only its own."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from tests.engine.puppets import Message, Puppet, tool
from tests.engine.scene import Client, gateway
from tests.fakes import Awaited, install, picks

from toolpick.config.settings import SelectorSettings
from toolpick.engine.sampling import sample
from toolpick_selectors.contract import Selection, SelectionContext
from toolpick_selectors.contract import Tool as SeenTool
from toolpick_selectors.providers import ProviderError, Question

SAMPLING, QUERY = "sampling/createMessage", "io.toolpick/query"
FAKE = SelectorSettings(kind="fake")


class Asking(Awaited):
    """A selector that lets the client's model name the tool."""

    def __init__(self) -> None:
        super().__init__(anyio.lowlevel.checkpoint)
        self.refused: list[str] = []

    async def select(  # type: ignore[override]
        self, context: SelectionContext, tools: Sequence[SeenTool]
    ) -> Selection:
        question = Question("Be brief.", f"Which tool? {context.query}", 50)
        try:
            named = await sample(question)
        except ProviderError as error:
            self.refused.append(str(error))
            return picks(degraded=str(error))
        return picks(*(one.id for one in tools if one.name == named))


@pytest.fixture
def selector(monkeypatch: pytest.MonkeyPatch) -> Asking:
    asking = Asking()
    install(monkeypatch, asking)
    return asking


def server() -> Puppet:
    return Puppet("srv", tool("read"), tool("write"))


async def named(client: Client, answer: Message, query: str = "do it") -> list[str]:
    """What is listed when the client's model answers so."""
    id = client.send("tools/list", **{QUERY: query})
    client.reply(await client.question(SAMPLING), answer)
    return [shown["name"] for shown in (await client.result(id))["tools"]][2:]


async def test_a_clients_model_is_asked_and_heard(selector: Asking) -> None:
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client, other = await scene.client(sampling={}), await scene.client(sampling={})

        answer = {"role": "assistant", "content": {"type": "text", "text": "write"}}
        assert await named(client, answer) == ["srv__write"]

        question = await client.question(SAMPLING)
        assert question["params"] == {
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "Which tool? do it"}}
            ],
            "systemPrompt": "Be brief.",
            "maxTokens": 50,
            "includeContext": "none",
        }
        assert [message for message in other.heard if "method" in message] == []


@pytest.mark.parametrize(
    "answer",
    [{}, {"content": {}}, {"content": {"type": "image", "data": ""}}, {"content": {"text": 5}}],
)
async def test_an_answer_that_is_no_text_is_refused(selector: Asking, answer: Message) -> None:
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client(sampling={})

        assert await named(client, answer) == []
        assert selector.refused == ["the client's answer to sampling is no text"]


async def test_a_clients_refusal_reaches_the_selector(selector: Asking) -> None:
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client(sampling={})
        id = client.send("tools/list", **{QUERY: "do it"})
        question = await client.question(SAMPLING)

        client.write({"id": question["id"], "error": {"code": -1, "message": "User rejected"}})

        await client.result(id)
        assert selector.refused == ["the client refused sampling: User rejected"]


@pytest.mark.parametrize(
    ("era", "declared", "why"),
    [
        ("legacy", {}, "this client does not offer sampling"),
        ("modern", {"sampling": {}}, "this client can't be asked for sampling"),
    ],
)
async def test_a_client_that_does_not_offer_it_is_not_asked(
    selector: Asking, era: str, declared: dict[str, Any], why: str
) -> None:
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client(era, **declared)

        await client.ask("tools/list", **{QUERY: "do it"})

        assert selector.refused == [why]
        assert [message for message in client.heard if message.get("method") == SAMPLING] == []


async def test_a_question_that_nobody_waits_for_is_taken_back(selector: Asking) -> None:
    async with gateway(server(), surface="turn", selector=FAKE) as scene:
        client = await scene.client(sampling={})
        id = client.send("tools/list", **{QUERY: "do it"})
        question = await client.question(SAMPLING)

        client.notify("notifications/cancelled", {"requestId": id})

        assert (await client.notice("notifications/cancelled"))["requestId"] == question["id"]


async def test_outside_of_a_selection_there_is_nobody_to_ask() -> None:
    with pytest.raises(ProviderError, match="can't be asked"):
        await sample(Question("", "", 1))
