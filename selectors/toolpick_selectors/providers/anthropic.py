"""Asks a Claude model through Anthropic's official client.

The answer's shape is had by offering one tool that the model must use; a model that rejects that is
asked in plain words from then on.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from toolpick_selectors.providers import ANSWER_SCHEMA, Answer, ProviderError
from toolpick_selectors.providers.client import UNUSED_KEY, exchange, library_error, load
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
        self._base_url = base_url
        self._credential = credential
        self._extra = dict(extra or {})
        self._client: Any = None
        self._plain = False

    async def ask(self, question: Question) -> Answer:
        """Ask without streaming; see ``Provider.ask``."""
        library = await load("anthropic", "anthropic")
        client = self._connect(library)

        async def send(plain: bool) -> Any:
            return await client.messages.create(**self._request(question, plain))

        reply, self._plain = await exchange(
            library, send, plain=self._plain, where=self.name, key=client.api_key or ""
        )
        return _answer(reply)

    async def aclose(self) -> None:
        """Close the client, if there is one."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connect(self, library: Any) -> Any:
        if self._client is None:
            try:
                key = self._credential.reveal(os.environ) or (
                    UNUSED_KEY if self._base_url else None
                )
                self._client = library.AsyncAnthropic(
                    api_key=key, base_url=self._base_url or None, max_retries=0
                )
            except (LookupError, library_error(library)) as error:
                raise ProviderError(f"{self.name} can't be asked: {redact(str(error))}") from None
        return self._client

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
