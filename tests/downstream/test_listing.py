"""Reading lists page by page, against answers that never end or make no sense."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from toolpick.downstream import listing
from toolpick.downstream.listing import offered, read, snapshot
from toolpick.errors import RpcError
from toolpick.model import Snapshot
from toolpick.wire import envelope as env


class Server:
    """Answers pages in turn; the last one again and again."""

    def __init__(self, pages: Sequence[Any]) -> None:
        self._pages = list(pages)
        self.asked: list[tuple[str, Any]] = []
        self.remarks: list[str] = []

    async def ask(self, method: str, params: env.Members) -> bytes:
        cursor = params.get("cursor")
        self.asked.append((method, None if cursor is None else json.loads(bytes(cursor))))
        page = self._pages.pop(0) if len(self._pages) > 1 else self._pages[0]
        return json.dumps(page).encode()

    async def read(self, kind: str = "tools") -> list[Any]:
        found = await read(self.ask, kind, self.remarks.append)
        return [json.loads(entry) for entry in found]


async def test_all_pages_are_read_in_order() -> None:
    server = Server(
        [
            {"tools": [1, 2], "nextCursor": "a"},
            {"tools": [], "nextCursor": ""},
            {"tools": [{"x": None}]},
        ]
    )

    assert await server.read() == [1, 2, {"x": None}]
    assert server.asked == [("tools/list", None), ("tools/list", "a"), ("tools/list", "")]
    assert server.remarks == []


@pytest.mark.parametrize(
    ("kind", "method", "key"),
    [
        ("prompts", "prompts/list", "prompts"),
        ("resources", "resources/list", "resources"),
        ("templates", "resources/templates/list", "resourceTemplates"),
    ],
)
async def test_each_kind_is_asked_for_by_its_own_method(kind: str, method: str, key: str) -> None:
    server = Server([{key: [1], "nextCursor": None}])

    assert await server.read(kind) == [1]
    assert server.asked == [(method, None)]


async def test_a_cursor_that_comes_again_is_cut() -> None:
    server = Server([{"tools": [1], "nextCursor": "again"}])

    assert await server.read() == [1, 1]
    assert server.remarks == ["tools/list: cut after 2 entries, since its pages do not end"]


async def test_pages_without_end_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_PAGES", 3)
    server = Server([{"tools": [number], "nextCursor": str(number)} for number in range(9)])

    assert await server.read() == [0, 1, 2]
    assert server.remarks == ["tools/list: cut after 3 pages"]


async def test_entries_without_end_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_ENTRIES", 3)
    server = Server([{"tools": [0] * 4, "nextCursor": str(number)} for number in range(9)])

    assert await server.read() == [0] * 3
    assert server.remarks == ["tools/list: cut after 3 entries, since the list is too long"]


async def test_bytes_without_end_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_BYTES", 10)
    server = Server([{"tools": ["123456", "12", "1"]}])

    assert await server.read() == ["123456"]
    assert server.remarks == ["tools/list: cut after 1 entries, since the list is too long"]


async def test_a_list_that_begins_anew_at_an_empty_cursor_has_ended() -> None:
    server = Server([{"tools": [1, 2], "nextCursor": ""}])

    assert await server.read() == [1, 2]
    assert server.asked == [("tools/list", None), ("tools/list", "")]
    assert server.remarks == []


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ({}, "answered tools/list without 'tools'"),
        ({"tools": None}, "answered tools/list with 'tools' that is no array"),
        ({"tools": {"a": 1}}, "answered tools/list with 'tools' that is no array"),
        ([], "Invalid params: an object is expected"),
    ],
)
async def test_an_answer_without_a_list_is_an_error(page: Any, error: str) -> None:
    with pytest.raises(RpcError, match=error):
        await Server([page]).read()


@pytest.mark.parametrize(
    ("capabilities", "kinds"),
    [
        ({}, {"tools"}),
        ({"tools": {}}, {"tools"}),
        ({"logging": {}}, set()),
        ({"prompts": {}}, {"prompts"}),
        ({"resources": {}}, {"resources", "templates"}),
        ({"tools": {}, "prompts": None, "resources": False}, {"tools"}),
        ({"tools": {"listChanged": True}, "prompts": {"listChanged": False}}, {"tools", "prompts"}),
    ],
)
def test_what_capabilities_offer_is_asked_for(capabilities: Any, kinds: set[str]) -> None:
    assert offered(env.members(json.dumps(capabilities).encode())) == kinds


def test_what_was_not_read_is_empty() -> None:
    assert snapshot({"prompts": (b"1",)}) == Snapshot(prompts=(b"1",))
