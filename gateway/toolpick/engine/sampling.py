"""Asks the connected client's own model, for selectors that want one. Legacy clients only.

Which client is meant is known by the task that runs the selection: whoever starts one says so with
``on_behalf_of``.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import anyio

from toolpick.engine.questions import may_ask
from toolpick.model import Era
from toolpick.wire import envelope as env

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolpick.engine.exchange import Channel
    from toolpick.engine.session import Session
    from toolpick_selectors.providers import Question

SAMPLING = "sampling/createMessage"

_asking: ContextVar[tuple[Session, Channel | None] | None] = ContextVar("asking", default=None)


@contextmanager
def on_behalf_of(session: Session, channel: Channel | None) -> Iterator[None]:
    """Let selections within ask this session's client, on ``channel`` or the session's own."""
    token = _asking.set((session, channel))
    try:
        yield
    finally:
        _asking.reset(token)


async def sample(question: Question) -> str:
    """The text of the client's answer. When the waiting task is cancelled, so is the question.

    Raises:
        ProviderError: there is no client that can be asked, or it refused.
    """
    from toolpick_selectors.providers import ProviderError

    asking = _asking.get()
    session, channel = asking if asking is not None else (None, None)
    if session is None or session.era is not Era.LEGACY or (channel or session.out) is None:
        raise ProviderError("this client can't be asked for sampling")
    if not may_ask(session.capabilities, SAMPLING):
        raise ProviderError("this client does not offer sampling")
    return await _ask(session, channel or session.out, question)


async def _ask(session: Session, channel: Channel | None, question: Question) -> str:
    from toolpick_selectors.providers import ProviderError

    assert channel is not None
    answered = anyio.Event()
    heard: list[bytes] = []

    def hear(result: env.Body, error: env.Body) -> None:
        heard[:] = [bytes(result), bytes(error)]
        answered.set()

    params = {
        "messages": [{"role": "user", "content": {"type": "text", "text": question.prompt}}],
        "systemPrompt": question.system,
        "maxTokens": question.max_tokens,
        "includeContext": "none",
    }
    id = session.ask(SAMPLING, env.encode(params), channel, hear)
    try:
        await answered.wait()
    except anyio.get_cancelled_exc_class():
        session.give_up(id, "the answer is no longer needed", channel)
        raise
    result, error = heard
    if error:
        raise ProviderError(f"the client refused sampling: {env.rpc_error(error).message[:200]}")
    content = env.members(env.members(result).get("content", b""))
    text = env.text(content.get("text"))
    if text is None:
        raise ProviderError("the client's answer to sampling is no text")
    return text
