"""What a conversation has been about: its last prompts, and the tools it called. Bounded, in order.

A value: each step makes a new one. ``Pasts`` keeps those of one session apart by conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

PROMPTS = 6
PROMPT_ROOM = 1000
"""Most characters that are kept of a prompt, from its beginning."""
CALLED = 32
CONVERSATIONS = 16


@dataclass(frozen=True, slots=True)
class Past:
    """The last prompts and the exposed names of tools called, both oldest first, no tool twice."""

    prompts: tuple[str, ...] = ()
    called: tuple[str, ...] = ()

    def with_prompt(self, text: str) -> Past:
        """This past, and then a prompt."""
        return replace(self, prompts=(*self.prompts, text[:PROMPT_ROOM])[-PROMPTS:])

    def with_call(self, name: str) -> Past:
        """This past, and then a call of a tool."""
        others = (other for other in self.called if other != name)
        return replace(self, called=(*others, name)[-CALLED:])

    def before(self, text: str) -> Past:
        """What was before a prompt, which itself may have been noted already."""
        if self.prompts[-1:] == (text[:PROMPT_ROOM],):
            return replace(self, prompts=self.prompts[:-1])
        return self


class Pasts:
    """The pasts of one session's conversations; those that were quiet longest are forgotten."""

    def __init__(self) -> None:
        """Nothing has been said."""
        self._kept: dict[str, Past] = {}
        # every call that passes is noted here, so noting one must be quick
        self._called: dict[str, dict[str, None]] = {}

    def of(self, conversation: str) -> Past:
        """What a conversation has been about, "" standing for one without a name."""
        past, called = self._kept.get(conversation, Past()), self._called.get(conversation, ())
        return replace(past, called=tuple(called))

    def prompted(self, conversation: str, text: str) -> None:
        """Note a prompt; calls from now on belong to its conversation."""
        past = self._kept.pop(conversation, Past())
        self._kept[conversation] = past.with_prompt(text)
        while len(self._kept) > CONVERSATIONS:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._called.pop(oldest, None)

    def called(self, name: str) -> None:
        """Note a call of a tool in the conversation that was prompted last."""
        called = self._called.setdefault(next(reversed(self._kept), ""), {})
        called.pop(name, None)
        called[name] = None
        if len(called) > CALLED:
            del called[next(iter(called))]
