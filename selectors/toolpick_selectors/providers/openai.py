"""Asks any endpoint that speaks OpenAI's chat completions: Ollama, vLLM, LM Studio, OpenAI.

Through the official client. The answer is asked for in JSON by a schema; an endpoint that rejects
that is asked in plain words from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolpick_selectors.providers import ANSWER_SCHEMA, Answer
from toolpick_selectors.providers.client import Client
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
        self._bound = "max_tokens" if base_url else "max_completion_tokens"
        """Own servers know the older name of the bound, OpenAI's newer models the newer one."""
        self._extra = dict(extra or {})
        self._client = Client(
            "openai", "AsyncOpenAI", name=self.name, base_url=base_url, credential=credential
        )

    async def ask(self, question: Question) -> Answer:
        """Ask without streaming; see ``Provider.ask``."""

        async def send(client: Any, plain: bool) -> Any:
            return await client.chat.completions.create(**self._request(question, plain))

        return _answer(await self._client.exchange(send))

    async def aclose(self) -> None:
        """See ``Provider.aclose``."""
        await self._client.aclose()

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
            request |= {"response_format": FORMAT, self._bound: question.max_tokens}
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
