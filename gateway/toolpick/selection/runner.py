"""Runs one selector: built once, off the event loop, under a deadline, held to its contract.

Whatever goes wrong comes back as an ``Outcome`` that says so; nothing is raised but what the person
asked for (``on_failure = "error"``).
"""

from __future__ import annotations

import inspect
import logging
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from toolpick.selection.tools import ToolViews
from toolpick_selectors.contract import (
    Pick,
    Prepared,
    Selection,
    SelectionContext,
    SelectionError,
    TurnRefused,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolpick.model import ToolEntry
    from toolpick_selectors.contract import Tool

log = logging.getLogger("toolpick.selector")

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a selection ended. ``failed`` says why nothing could be ranked, "" if something was.

    ``topic`` is "same", "new" or "", as in ``toolpick_selectors.contract.Selection``.
    """

    picks: tuple[Pick, ...] = ()
    reason: str = ""
    degraded: str = ""
    failed: str = ""
    topic: str = ""


class Runner:
    """One selector, as the settings describe it."""

    def __init__(
        self,
        kind: str,
        options: Mapping[str, Mapping[str, Any]],
        timeout: float,
        parts: Callable[[], Any] | None = None,
        *,
        minimum: int | None = None,
    ) -> None:
        """``parts`` makes what the selector library is lent, when the selector is built.

        ``minimum`` is the fewest tools to pick, for a selector that can be told.
        """
        self.kind = kind
        self._options = options
        self._timeout = timeout
        self._parts = parts
        self._minimum = minimum
        self._selector: Any = None
        self._broken = ""
        self._building = anyio.Lock()
        self._views = ToolViews()
        self._said: set[str] = set()

    async def selector(self) -> Any:
        """The selector, built in a thread on first use.

        Raises:
            SelectionError: the settings don't describe one that can be built.
        """
        async with self._building:
            if self._broken:
                raise SelectionError(self._broken)
            if self._selector is None:
                try:
                    self._selector = await anyio.to_thread.run_sync(self._build)
                except SelectionError as error:
                    self._broken = str(error)
                    raise
        return self._selector

    def _build(self) -> Any:
        from toolpick_selectors.registry import Parts, build, options

        parts = self._parts() if self._parts is not None else Parts(options=self._options)
        given = dict(self._options.get(self.kind, {}))
        if self._minimum is not None and "minimum" in options(self.kind):
            given.setdefault("minimum", self._minimum)
        return build(self.kind, given, parts)

    async def prepare(self, entries: Sequence[ToolEntry]) -> None:
        """Let the selector index these tools, so that the first query finds it warm."""
        if not entries:
            return
        try:
            await self._prepare(entries)
        except SelectionError as error:
            self._say_once(str(error))
        except Exception as error:
            log.exception("selector=%s event=bug", self.kind)
            self._say_once(f"selector {self.kind!r} can't index tools: {type(error).__name__}")

    async def _prepare(self, entries: Sequence[ToolEntry]) -> None:
        selector = await self.selector()
        tools = await anyio.to_thread.run_sync(self._views.of, entries)
        if not isinstance(selector, Prepared):
            return
        # A model may be on its way for minutes: whoever ends the session does not wait for it.
        index = partial(anyio.to_thread.run_sync, selector.index, tools, abandon_on_cancel=True)
        again = await index()
        while again:
            await anyio.sleep(again)
            again = await index()

    async def aclose(self) -> None:
        """Let the selector close what it holds open, if it was built and holds anything."""
        close = getattr(self._selector, "aclose", None)
        if close is not None:
            await close()

    async def select(
        self,
        query: str,
        entries: Sequence[ToolEntry],
        *,
        limit: int,
        turn: str = "",
        conversation: Sequence[str] = (),
        conversation_id: str = "",
        used: Sequence[str] = (),
        generous: bool = False,
    ) -> Outcome:
        """Rank the tools for a query.

        ``conversation`` are the prompts before it, ``used`` the exposed names of tools called;
        ``generous``: less likely picks are welcome, too.

        Raises:
            TurnRefused: the selector is set to fail the turn rather than to go on without it.
        """
        if not entries:
            return Outcome(reason="no tools to choose from")
        context = SelectionContext(
            turn, query, tuple(conversation), max(limit, 1), conversation_id, tuple(used), generous
        )
        try:
            with anyio.move_on_after(self._timeout):
                selector = await self.selector()
                tools = self._views.of(entries)
                selection = await self._ask(selector, context, tools)
                return self._checked(selection, tools, limit)
        except TurnRefused:
            raise
        except SelectionError as error:
            return self._failed(str(error))
        except Exception as error:
            log.exception("selector=%s event=bug", self.kind)
            return self._failed(f"selector {self.kind!r} failed: {type(error).__name__}")
        return self._failed(f"selector {self.kind!r} took longer than {self._timeout:g} s")

    async def _ask(self, selector: Any, context: SelectionContext, tools: list[Tool]) -> Selection:
        if inspect.iscoroutinefunction(selector.select):
            found: Selection = await selector.select(context, tools)
            return found
        answer = await anyio.to_thread.run_sync(
            selector.select, context, tools, abandon_on_cancel=True
        )
        if inspect.isawaitable(answer):
            answer = await answer
        chosen: Selection = answer
        return chosen

    def _checked(self, selection: Selection, tools: list[Tool], limit: int) -> Outcome:
        """The picks that keep the contract; the others are reported and dropped."""
        known = {tool.id for tool in tools}
        picks: dict[str, Pick] = {}
        for pick in selection.picks:
            if pick.id not in known or pick.id in picks:
                what = f"picked {pick.id!r}, which it was not given or had picked before"
                self._say_once(f"selector {self.kind!r} {what}")
            elif len(picks) < limit:
                picks[pick.id] = pick
        if selection.degraded:
            self._say_once(selection.degraded)
        return Outcome(
            tuple(picks.values()), selection.reason, selection.degraded, topic=selection.topic
        )

    def _failed(self, why: str) -> Outcome:
        self._say_once(why)
        return Outcome(failed=why, reason=why)

    def _say_once(self, what: str) -> None:
        """Log something for the first time; other numbers in it are no news."""
        kind = _NUMBER.sub("#", what)
        if kind not in self._said:
            self._said.add(kind)
            log.warning("selector=%s note=%r", self.kind, what)
