"""A modern server's stream of changes: kept open, opened anew, given up."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.engine.puppets import Asked, Message, Puppet, Refusal, answer_in, tool
from tests.engine.scene import LIST_CHANGED, gateway

from toolpick.downstream import listening


def server() -> Puppet:
    return Puppet("srv", eras=("modern",))


async def ending(asked: Asked) -> Message:
    """End the stream at once, as if all were well."""
    return answer_in(asked, {})


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The failures after which a stream waited, without the wait."""
    counted: list[int] = []

    def none(failures: int) -> float:
        counted.append(failures)
        return 0.0

    monkeypatch.setattr(listening, "delay", none)
    return counted


async def test_a_stream_that_ends_is_opened_again_ever_later(waits: list[int]) -> None:
    puppet = server()
    puppet.on["subscriptions/listen"] = ending
    async with gateway(puppet) as scene:
        await scene.client()

        await puppet.hears("subscriptions/listen", count=4)

        assert waits[:3] == [1, 2, 3]


async def test_a_stream_that_lasted_is_opened_again_soon(
    waits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "STEADY", -1.0)
    puppet = server()
    puppet.on["subscriptions/listen"] = ending
    async with gateway(puppet) as scene:
        await scene.client()

        await puppet.hears("subscriptions/listen", count=4)

        assert waits[:3] == [1, 1, 1]


@pytest.mark.usefixtures("waits")
async def test_what_changed_between_two_streams_is_read() -> None:
    puppet = server()
    stream = puppet.on["subscriptions/listen"]
    puppet.on["subscriptions/listen"] = ending
    async with gateway(puppet) as scene:
        client = await scene.client()
        assert await client.tools() == ["srv__echo"]
        puppet.tools = [tool("other")]

        await client.notice(LIST_CHANGED)

        puppet.on["subscriptions/listen"] = stream
        assert await client.tools() == ["srv__other"]


@pytest.mark.parametrize("code", [-32601, -32602])
async def test_a_server_without_a_stream_is_asked_once(code: int, waits: list[int]) -> None:
    puppet = server()

    async def refuse(asked: Asked) -> Message:
        raise Refusal(code, "no streams here")

    puppet.on["subscriptions/listen"] = refuse
    async with gateway(puppet) as scene:
        client = await scene.client()
        await puppet.hears("subscriptions/listen")

        assert await client.says("srv__echo") == "echo was called"
        assert waits == []
        assert puppet.methods().count("subscriptions/listen") == 1


async def test_a_refusal_of_another_kind_is_tried_again(waits: list[int]) -> None:
    puppet = server()
    once = once_refusing(puppet.on["subscriptions/listen"])
    puppet.on["subscriptions/listen"] = once
    async with gateway(puppet) as scene:
        await scene.client()

        with anyio.fail_after(5):
            await puppet.until(lambda: bool(puppet.listening))

        assert waits == [1]


def once_refusing(answer: Any) -> Callable[[Asked], Any]:
    """A handler that is busy at first."""
    refused: list[Asked] = []

    async def handle(asked: Asked) -> Message:
        if not refused:
            refused.append(asked)
            raise Refusal(-32000, "busy")
        result: Message = await answer(asked)
        return result

    return handle
