"""What one conversation has been shown, and what it is shown next. Knows no clock, does no I/O.

All that moves the list of a ``turn`` surface is in here:

- order: meta-tools, always-tools, then what was shown first comes first;
- within a turn tools are only appended; what left the catalog or is no longer allowed drops out at
  once;
- at a turn boundary with ``stability = "append"`` the new picks are appended, and only what exceeds
  ``max_tools`` goes: first what was shown longest ago and never used, then what was used, and of
  the turn's own picks the lowest, last; with "exact" the list becomes the picks;
- a selection that failed changes nothing where something is shown; else every allowed tool is
  listed, or, where these are more than ``max_tools``, the meta-tools that reach them all;
- an empty selection is an answer, not a failure;
- where the host's hook names to the model what is not listed, the list changes only when the topic
  does, and then by a turn's best ``LISTED`` picks: prompt caches live as long as the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolpick.model import META_TOOLS
from toolpick.turns.surface import Surface, pinned_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


LISTED = 6
"""How many of a turn's picks are listed where the others are named to the model."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that a conversation follows.

    ``max_tools`` counts meta-tools and always-tools too.
    """

    always: tuple[str, ...] = ()
    max_tools: int = 40
    stability: str = "append"


@dataclass(frozen=True, slots=True)
class Picks:
    """A selection that worked: exposed names, best first, and how it came about."""

    names: tuple[str, ...]
    reason: str = ""
    topic: str = ""
    """The "same" as before, or "new"; "" where nobody can tell."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A selection that did not work; ``why`` continues "since"."""

    why: str


class Conversation:
    """The state of one conversation.

    Every method that returns a Surface also keeps it as ``surface``. ``allowed`` are the exposed
    names of all tools that may be listed, in listing order.
    """

    def __init__(self, policy: Policy) -> None:
        """Start with nothing shown."""
        self._policy = policy
        self._shown: tuple[str, ...] = ()
        self._used: frozenset[str] = frozenset()
        self._failure = ""
        self.turn = 0
        """How many turns have begun."""
        self.surface = Surface("turn", META_TOOLS, "no turn has begun")

    @property
    def shown(self) -> tuple[str, ...]:
        """The tools shown besides meta-tools and always-tools, first shown first."""
        return self._shown

    @property
    def hydrated(self) -> frozenset[str]:
        """The tools used so far, whose full definition is shown from then on."""
        return self._used

    def begin_turn(
        self, outcome: Picks | Failure, allowed: Collection[str], *, named: bool = False
    ) -> Surface:
        """Begin a turn with its selection.

        ``named``: whether picks that are not listed reach the model in another way.
        """
        self.turn += 1
        allowed = dict.fromkeys(allowed)
        self._forget(allowed)
        if isinstance(outcome, Picks) and not allowed:
            outcome = Failure("there was no tool to choose from")
        self._failure = outcome.why if isinstance(outcome, Failure) else ""
        if isinstance(outcome, Failure):
            return self._fail_open(outcome.why, allowed)
        picks = self._listable(outcome.names, allowed)
        if named:
            if outcome.topic == "same" and self._shown:
                return self._show(allowed, "the list stays while the topic does")
            picks = picks[:LISTED]
        if self._policy.stability == "exact":
            self._shown = self._cut(self._joined(picks, keep=picks), picks, allowed)
        else:
            self._shown = self._cut(self._joined(picks, keep=self._shown), picks, allowed)
        return self._show(allowed, outcome.reason or f"{len(picks)} tools selected")

    def found(self, names: Iterable[str], allowed: Collection[str]) -> Surface:
        """Append what a search found, up to twice ``max_tools`` until the turn ends."""
        allowed = dict.fromkeys(allowed)
        self._forget(allowed)
        joined = self._joined(self._listable(names, allowed), keep=self._shown)
        self._shown = joined[: max(len(self._shown), 2 * self._policy.max_tools)]
        return self._show(allowed, "tools found by search_tools appended")

    def refresh(self, allowed: Collection[str]) -> Surface:
        """Bring the list up to date with the catalog, which may have lost tools.

        Tools that came are listed only where a failed selection left nothing to list.
        """
        allowed = dict.fromkeys(allowed)
        self._forget(allowed)
        if self._failure and not self._shown:
            return self._fail_open(self._failure, allowed)
        return self._show(allowed, self.surface.reason, self.surface.mode)

    def use(self, name: str) -> bool:
        """Remember that a tool was called; returns whether it is the first time."""
        if name in self._used:
            return False
        self._used |= {name}
        return True

    def _forget(self, allowed: Collection[str]) -> None:
        self._shown = tuple(name for name in self._shown if name in allowed)
        self._used = frozenset(name for name in self._used if name in allowed)

    def _fail_open(self, why: str, allowed: Collection[str]) -> Surface:
        if self._shown:
            return self._show(allowed, f"the previous list is kept, since {why}")
        everything = self._listable(allowed, allowed)
        if len(everything) > self._room(allowed):
            reason = f"all {len(allowed)} tools are reached by search, since {why}"
            return self._show(allowed, reason, mode="search")
        self._shown = everything
        return self._show(allowed, f"every allowed tool is listed, since {why}")

    def _show(self, allowed: Collection[str], reason: str, mode: str = "turn") -> Surface:
        pinned = pinned_names(self._policy.always, allowed)
        self.surface = Surface(mode, (*META_TOOLS, *pinned, *self._shown), reason)
        return self.surface

    def _listable(self, names: Iterable[str], allowed: Collection[str]) -> tuple[str, ...]:
        """The names that may be shown beside the always-tools, each once."""
        always = self._policy.always
        return tuple(dict.fromkeys(n for n in names if n in allowed and n not in always))

    def _joined(self, picks: Sequence[str], keep: Collection[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(name for name in self._shown if name in keep), *picks)))

    def _room(self, allowed: Collection[str]) -> int:
        """How many tools fit beside meta-tools and always-tools."""
        pinned = pinned_names(self._policy.always, allowed)
        return max(0, self._policy.max_tools - len(META_TOOLS) - len(pinned))

    def _cut(
        self, joined: tuple[str, ...], picks: tuple[str, ...], allowed: Collection[str]
    ) -> tuple[str, ...]:
        """What stays where there is no room for all; of the picks the lowest go, and last."""
        room = self._room(allowed)
        excess = len(joined) - room
        if excess <= 0:
            return joined
        earlier = [name for name in joined if name not in picks]
        going = [name for name in earlier if name not in self._used]
        going += [name for name in earlier if name in self._used]
        going += reversed(picks)
        gone = set(going[:excess])
        return tuple(name for name in joined if name not in gone)
