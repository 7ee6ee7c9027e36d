"""What a provider is: it puts one question to a language model and returns the text of the answer.

Providers know nothing of tools and turns. Each is one file; what the model's own client library
costs to import is paid in the first question, in a worker thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

ANSWER_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"tools": {"type": "array", "items": {"type": "string"}}},
    "required": ["tools"],
    "additionalProperties": False,
}
"""The shape that an answer should have, for models that can be held to one."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``conversation_id`` says whose it is, "" where that is unknown."""

    system: str
    prompt: str
    max_tokens: int
    conversation_id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's words. ``tokens`` is what the provider reported for the call, 0 for nothing.

    ``complete`` is False when the model was cut off at ``Question.max_tokens``.
    """

    text: str
    tokens: int = 0
    complete: bool = True


class ProviderError(Exception):
    """No answer was had. The message is part of a sentence that people read; it holds no secret.

    ``retry_after`` is the number of seconds that the provider asks to be left alone, None if it
    said nothing.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        """See the class."""
        super().__init__(message)
        self.retry_after = retry_after


class Provider(Protocol):
    """Asks one model. ``name`` says which, for people."""

    name: str

    async def ask(self, question: Question) -> Answer:
        """Put the question, once. When cancelled, the request is given up.

        Raises:
            ProviderError: no answer was had.
        """
        ...

    async def aclose(self) -> None:
        """Close connections that were kept open."""
        ...
