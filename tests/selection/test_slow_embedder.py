"""A list is never kept waiting for an embedding."""

import threading

import anyio
import pytest
from tests.engine.puppets import Puppet, tool
from tests.engine.scene import LIST_CHANGED, gateway
from tests.selectors.test_vectors import Counting

from toolpick.config.settings import SelectorSettings
from toolpick.model import Query

SLOW = SelectorSettings(kind="hybrid", minimum=1, options={"hybrid": {"embedder": "slow"}})


@pytest.fixture
def stuck(monkeypatch, tmp_path):
    """An embedder that gives no vector of a tool before its gate opens."""
    embedder = Counting(quick=False)
    embedder.gate = threading.Event()
    monkeypatch.setattr("toolpick_selectors.embedding.build_embedder", lambda name, parts: embedder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield embedder
    embedder.gate.set()


def listed(names):
    return [name for name in names if name.startswith("srv__")]


async def test_lists_come_at_once_while_tools_are_being_embedded(stuck):
    puppet = Puppet("srv", tool("send", "mail"), tool("sky", "rain"))
    query = Query("will it rain?", "command")
    async with gateway(puppet, selector=SLOW, query=query, surface="turn") as scene:
        client = await scene.client()
        await scene.settled()
        with anyio.fail_after(5):
            assert listed(await client.tools()) == ["srv__sky"]
            await puppet.changes(tool("send", "mail"), tool("storm", "rain and storm"))
            await client.notice(LIST_CHANGED)
            assert "srv__sky" not in await client.tools()
            assert "srv__storm" in await client.says("search_tools", {"query": "storm"})
        assert stuck.asked == []
