"""Asks any endpoint that speaks OpenAI's chat completions: Ollama, vLLM, LM Studio, OpenAI.

Through the official client. The answer is asked for in JSON by a schema; an endpoint that rejects
that is asked in plain words from then on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from toolpick_selectors.providers import ANSWER_SCHEMA, Answer, ProviderError
from toolpick_selectors.providers.client import UNUSED_KEY, exchange, library_error, load
from toolpick_selectors.providers.credential import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick_selectors.providers import Question
    from toolpick_selectors.providers.credential import Credential

FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "choice", "strict": True, "schema": ANSWER_SCHEMA},
}


class OpenAIProvider:
    """One model at one endpoint.

    ``base_url`` is the endpoint up to and with ``/v1``, "" for OpenAI's own, which alone receives
    the key in ``OPENAI_API_KEY`` unasked. ``extra`` goes into the request's body as it is.
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
        self.name = f"{model!r} at {redact(base_url) or 'OpenAI'}"
        self._model = model
        self._base_url = base_url
        self._credential = credential
        self._extra = dict(extra or {})
        self._client: Any = None
        self._plain = False

    async def ask(self, question: Question) -> Answer:
        """Ask without streaming; see ``Provider.ask``."""
        library = await load("openai", "openai")
        client = self._connect(library)

        async def send(plain: bool) -> Any:
            return await client.chat.completions.create(**self._request(question, plain))

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
                self._client = library.AsyncOpenAI(
                    api_key=key, base_url=self._base_url or None, max_retries=0
                )
            except (LookupError, library_error(library)) as error:
                raise ProviderError(f"{self.name} can't be asked: {redact(str(error))}") from None
        return self._client

    def _request(self, question: Question, plain: bool) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.prompt},
            ],
            "extra_body": self._extra or None,
        }
        if not plain:
            # Own servers know the older name of the bound, OpenAI's newer models the newer one.
            bound = "max_tokens" if self._base_url else "max_completion_tokens"
            request |= {"response_format": FORMAT, bound: question.max_tokens}
        return request


def _answer(reply: Any) -> Answer:
    """Read a reply of any shape: the client checks nothing that a server sends."""
    choices = getattr(reply, "choices", None)
    usage = getattr(reply, "usage", None)
    tokens = getattr(usage, "total_tokens", 0) or 0
    if not isinstance(choices, list) or not choices:
        return Answer(reply if isinstance(reply, str) else "", tokens)
    message = getattr(choices[0], "message", None)
    text = getattr(message, "content", "")
    cut = getattr(choices[0], "finish_reason", "") == "length"
    return Answer(text if isinstance(text, str) else "", tokens, complete=not cut)
