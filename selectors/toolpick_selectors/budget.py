"""How much a conversation may spend on language-model calls, and what it has spent.

Counts what it is told; knows no clock and no model. Only the most recently active conversations are
remembered: one that was forgotten begins anew.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

CONVERSATIONS = 256


@dataclass(frozen=True, slots=True)
class Spent:
    """What one conversation has used so far."""

    tokens: int = 0
    seconds: float = 0.0


class Budget:
    """At most ``tokens`` and ``seconds`` for each conversation; 0 means without bound."""

    def __init__(self, *, tokens: int, seconds: float, conversations: int = CONVERSATIONS) -> None:
        """``conversations`` is how many are remembered."""
        self._tokens = tokens
        self._seconds = seconds
        self._most = conversations
        self._spent: OrderedDict[str, Spent] = OrderedDict()

    def spent(self, conversation_id: str) -> Spent:
        """What the conversation has used."""
        return self._spent.get(conversation_id, Spent())

    def refusal(self, conversation_id: str) -> str:
        """Say why no further call is allowed, "" when one is."""
        spent = self.spent(conversation_id)
        if self._tokens and spent.tokens >= self._tokens:
            return f"the conversation's budget of {self._tokens} tokens is used up"
        if self._seconds and spent.seconds >= self._seconds:
            return f"the conversation's budget of {self._seconds:g} s is used up"
        return ""

    def charge(self, conversation_id: str, *, tokens: int = 0, seconds: float = 0.0) -> None:
        """Add to what the conversation has used."""
        before = self._spent.pop(conversation_id, Spent())
        self._spent[conversation_id] = Spent(before.tokens + tokens, before.seconds + seconds)
        while len(self._spent) > self._most:
            self._spent.popitem(last=False)
