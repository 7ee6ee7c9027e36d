"""Servers that mean harm, or are careless: each hurts nobody but itself.

Each test puts a well-behaved server beside the one that misbehaves, or looks at what it costs.
"""

from typing import Any

import anyio
import pytest
from tests.engine.puppets import Asked, Message, Puppet, Silence, tool
from tests.engine.scene import called, gateway
from tests.wire.raw_http import Asked as Request
from tests.wire.raw_http import serving

from toolpick.downstream import lists
from toolpick.downstream import restarts as schedule
from toolpick.downstream.life import Life

LIST_CHANGED = "notifications/tools/list_changed"


def odd(*tools: Message, **settings: Any) -> Puppet:
    return Puppet("odd", *tools, **{"eras": ("legacy",), **settings})


def well() -> Puppet:
    return Puppet("well", eras=("legacy",))


async def answers_raw(puppet: Puppet, method: str, result: bytes) -> None:
    """Have requests of a method answered with these bytes as the result."""

    async def answer(asked: Asked) -> Message:
        await asked.connection.line(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked.id, result))
        raise Silence

    puppet.on[method] = answer


# -- what must not take the gateway along


async def test_a_bug_that_one_server_brings_about_is_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = Life.close

    async def close(life: Life) -> None:
        await closed(life)
        if life._server == "odd":
            raise KeyError("surprise")

    monkeypatch.setattr(Life, "close", close)
    puppet = odd()
    async with gateway(puppet, well()) as scene:
        client = await scene.client()
        await client.tools()

        await puppet.connection.exit(1)

        await puppet.lives(2)
        assert await client.says("well__echo") == "echo was called"
        assert await client.says("odd__echo") == "echo was called"


@pytest.mark.parametrize("id", ["caf\u00e9", "a\x7f", "\u2603"])
async def test_a_session_id_that_no_header_can_carry_fails_one_server(id: str) -> None:
    async def handler(asked: Request) -> None:
        await asked.answer(
            200,
            b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}',
            mcp_session_id=id,
        )

    async with serving(handler) as server:
        puppet = Puppet("odd", transport="http", url=server.url, command="", args=(), cwd="")
        async with gateway(puppet, well()) as scene:
            client = await scene.client()

            assert await client.says("well__echo") == "echo was called"
            error = await client.fails("tools/call", called("odd__echo"))
            assert "gave a session id that no header can carry" in error["message"]


# -- what must not run without pause


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_ends_at_once_is_started_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    waits: list[float] = []
    done = anyio.Event()

    class Noted(schedule.Restarts):
        def ended(self, now: float, lived: float) -> None:
            super().ended(now, lived)
            waits.append(round(self.next_start - now, 2))
            self.next_start = now
            if len(waits) == 4:
                done.set()

    monkeypatch.setattr("toolpick.downstream.link.Restarts", Noted)
    monkeypatch.setattr(schedule, "JITTER", 0.0)
    puppet = odd(args=("-c", "raise SystemExit(3)"))
    async with gateway(puppet) as scene:
        await scene.client(era)
        with anyio.fail_after(5):
            await done.wait()
    assert waits[:4] == [0.05, 0.5, 1.0, 2.0]


def test_a_server_that_never_stops_telling_changes_is_read_with_growing_pauses() -> None:
    pauses = [lists.SETTLE]
    for _ in range(8):
        pauses.append(lists.settling(pauses[-1], 0.001))
    assert pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0, 1.0]
    assert lists.settling(1.0, lists.QUIET + 0.1) == lists.SETTLE


async def test_a_search_does_not_wait_for_the_pauses_of_a_restless_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lists, "SETTLE", 3600.0)
    monkeypatch.setattr(lists, "SETTLE_CAP", 3600.0)
    puppet = odd()
    async with gateway(puppet) as scene:
        await scene.client()
        await scene.settled()
        [link] = scene.engine.sessions[0].pool.links.values()
        puppet.tools = [tool("later")]
        await puppet.tells(LIST_CHANGED)

        with anyio.fail_after(5):
            await link.refresh()

        assert list(scene.engine.sessions[0].pool.generation.tools) == ["odd__later"]
