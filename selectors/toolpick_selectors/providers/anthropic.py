"""Asks a Claude model through Anthropic's official client.

The answer's shape is had by offering one tool that the model must use; a model that rejects that is
asked in plain words from then on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolpick_selectors.providers import ANSWER_SCHEMA, Answer
from toolpick_selectors.providers.client import Client
from toolpick_selectors.providers.credential import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick_selectors.providers import Question
    from toolpick_selectors.providers.credential import Credential

CHOOSE = {
    "name": "choose",
    "description": "Say which tools are needed.",
    "input_schema": ANSWER_SCHEMA,
}


class AnthropicProvider:
    """One model. ``base_url`` is "" for Anthropic's own endpoint.

    ``ANTHROPIC_API_KEY`` goes unasked to that endpoint alone. ``extra`` goes into the request's
    body as it is.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        credential: Credential,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Remember; neither imports nor connects."""
        self.name = f"{model!r} at {redact(base_url) or 'Anthropic'}"
        self._model = model
        self._extra = dict(extra or {})
        self._client = Client(
            "anthropic", "AsyncAnthropic", name=self.name, base_url=base_url, credential=credential
        )

    async def ask(self, question: Question) -> Answer:
        """Ask without streaming; see ``Provider.ask``."""

        async def send(client: Any, plain: bool) -> Any:
            return await client.messages.create(**self._request(question, plain))

        return _answer(await self._client.exchange(send))

    async def aclose(self) -> None:
        """See ``Provider.aclose``."""
        await self._client.aclose()

    def _request(self, question: Question, plain: bool) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": question.max_tokens,
            "system": question.system,
            "messages": [{"role": "user", "content": question.prompt}],
            "extra_body": self._extra or None,
        }
        if not plain:
            request |= {
                "tools": [CHOOSE],
                "tool_choice": {"type": "tool", "name": CHOOSE["name"]},
            }
        return request


def _answer(reply: Any) -> Answer:
    """Read a reply of any shape: the client checks nothing that a server sends."""
    usage = getattr(reply, "usage", None)
    tokens = sum(
        getattr(usage, name, 0) or 0
        for name in (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "output_tokens",
        )
    )
    cut = getattr(reply, "stop_reason", "") == "max_tokens"
    texts: list[str] = []
    content = getattr(reply, "content", None)
    for block in content if isinstance(content, list) else []:
        kind = getattr(block, "type", "")
        if kind == "tool_use":
            return Answer(json.dumps(getattr(block, "input", None)), tokens, complete=not cut)
        if kind == "text":
            texts.append(str(getattr(block, "text", "")))
    return Answer("".join(texts), tokens, complete=not cut)
