"""Plays written conversations on one surface, as a host with a prompt hook and its model would.

In every turn the prompt chooses tools, the client lists, the hook names what is not listed, and the
model calls, for each step, the first tool that does among those it was shown. What it was not shown
is missed: a model that would search for it is not played, so that what surfaces do stays visible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolpick.engine.turns import NAMED
from toolpick.turns import (
    Conversation,
    Failure,
    Past,
    Picks,
    Policy,
    Surface,
    context,
    definitions,
    estimate_tokens,
    fixed_surface,
    stub,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick.catalog import Generation
    from toolpick.cli.conversations import Turn, Written
    from toolpick.config.settings import Settings
    from toolpick.engine.selections import Selections
    from toolpick.model import ToolEntry

SURFACES = ("turn", "search", "stubs", "full")


@dataclass(frozen=True, slots=True)
class Played:
    """How one turn went.

    ``shown`` counts all that the model was shown, meta-tools too; ``named`` are those of it that
    only the hook's context names; ``missing`` the steps that none of it serves. ``fresh`` are the
    tokens that no prompt cache had: the first list, a changed list, and what the hook adds.
    """

    prompt: str
    needs: bool
    missing: tuple[tuple[str, ...], ...]
    shown: int
    named: tuple[str, ...]
    tokens: int
    fresh: int
    changed: bool
    why: str


class Player:
    """One surface over one catalog."""

    def __init__(
        self,
        mode: str,
        generation: Generation,
        settings: Settings,
        selections: Selections,
        *,
        hook: bool = True,
    ) -> None:
        """``hook``: whether the host adds what a prompt hook says to the model's context."""
        self._mode, self._hook = mode, hook
        self._tools: Mapping[str, ToolEntry] = generation.tools
        self._exposed = {f"{e.server}/{e.name}": e.exposed for e in generation.tools.values()}
        self._meta_tools = definitions(generation.tools)
        self._selections = selections
        gateway, self._always = settings.gateway, settings.selector.always
        self._policy = Policy(self._always, gateway.max_tools, gateway.stability)
        self._tokens: dict[bytes, int] = {}

    async def play(self, written: Written) -> list[Played]:
        """Play one conversation from its beginning; nothing is left of it for the next."""
        conversation, past = Conversation(self._policy), Past()
        before: tuple[bytes, ...] | None = None
        played = []
        for turn in written.turns:
            outcome = await self._choose(turn.prompt, past)
            surface = self._surface(conversation, outcome)
            whole = self._policy.always + tuple(conversation.hydrated)
            listed = self._listed(surface, frozenset(whole))
            named, text = self._named(surface, outcome, frozenset(whole))
            calls, missing = self._calls(turn, _ranked(outcome, {*surface.names, *named}))
            said = estimate_tokens(text.encode()) if text else 0
            new = listed if before is None else listed if listed != before else ()
            played.append(
                Played(
                    turn.prompt,
                    bool(turn.needs),
                    missing,
                    len({*surface.names, *named}),
                    named,
                    self._count(listed) + said,
                    self._count(new) + said,
                    before is not None and listed != before,
                    surface.reason,
                )
            )
            before, past = listed, past.with_prompt(turn.prompt)
            for name in calls:
                conversation.use(name)
                past = past.with_call(name)
        return played

    async def _choose(self, prompt: str, past: Past) -> Picks | Failure:
        if self._mode == "full" or not (self._hook or self._mode == "turn"):
            return Picks(())
        more = NAMED if self._hook else 0
        outcome = await self._selections.select(prompt, self._tools, past, more)
        if outcome.failed:
            return Failure(outcome.failed)
        return Picks(tuple(pick.id for pick in outcome.picks), outcome.reason, outcome.topic)

    def _surface(self, conversation: Conversation, outcome: Picks | Failure) -> Surface:
        if self._mode == "turn":
            return conversation.begin_turn(outcome, tuple(self._tools), named=self._hook)
        return fixed_surface(self._mode, tuple(self._tools), self._always, "the list never changes")

    def _listed(self, surface: Surface, whole: frozenset[str]) -> tuple[bytes, ...]:
        """The definitions that the client is listed; of stubs, those used are whole."""
        entries = [self._tools[name] for name in surface.names if name in self._tools]
        if surface.mode == "full":
            return tuple(entry.raw for entry in entries)
        short = surface.mode == "stubs"
        forms = (stub(e.raw) if short and e.exposed not in whole else e.raw for e in entries)
        return (*self._meta_tools, *forms)

    def _named(
        self, surface: Surface, outcome: Picks | Failure, whole: frozenset[str]
    ) -> tuple[tuple[str, ...], str]:
        """What the hook names, as far as its text has room, and the text."""
        if not self._hook or isinstance(outcome, Failure):
            return (), ""
        seen = whole if surface.mode == "stubs" else frozenset(surface.names)
        unseen = [name for name in outcome.names if name in self._tools and name not in seen]
        text = context(self._tools[name] for name in unseen)
        lines = text.count("\n- ") if text else 0
        return tuple(unseen[:lines]), text

    def _calls(
        self, turn: Turn, visible: list[str]
    ) -> tuple[list[str], tuple[tuple[str, ...], ...]]:
        """The tool that is called for each step, and the steps for which there is none."""
        calls, missing = [], []
        for step in turn.needs:
            wanted = {self._exposed.get(id) for id in step}
            called = next((name for name in visible if name in wanted), None)
            if called is None:
                missing.append(step)
            else:
                calls.append(called)
        return calls, tuple(missing)

    def _count(self, listed: tuple[bytes, ...]) -> int:
        tokens = self._tokens
        for raw in listed:
            if raw not in tokens:
                tokens[raw] = estimate_tokens(raw)
        return sum(tokens[raw] for raw in listed)


def _ranked(outcome: Picks | Failure, visible: set[str]) -> list[str]:
    """What the model can call, the turn's picks first."""
    picks = outcome.names if isinstance(outcome, Picks) else ()
    best = [name for name in picks if name in visible]
    return [*best, *sorted(visible.difference(best))]


def figures(mode: str, plays: list[list[Played]], tokens_full: int) -> dict[str, object]:
    """The figures of one surface over all conversations."""
    turns = [turn for play in plays for turn in play]
    needing = [turn for turn in turns if turn.needs]
    complete = sum(not turn.missing for turn in needing)
    return {
        "surface": mode,
        "conversations": len(plays),
        "turns": len(turns),
        "turns_complete": complete / len(needing) if needing else 1.0,
        "shown_mean": _mean([turn.shown for turn in turns]),
        "tokens_mean": _mean([turn.tokens for turn in turns]),
        "tokens_full": tokens_full,
        "list_changes_mean": _mean([sum(turn.changed for turn in play) for play in plays]),
        "fresh_tokens_mean": _mean([turn.fresh for turn in turns]),
    }


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0
