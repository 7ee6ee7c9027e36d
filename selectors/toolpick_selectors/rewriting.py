"""The ``rewriting`` selector: asks a language model which tools the turn needs.

One small call a turn, with names and one-line summaries. The model's own client sits behind
``providers``; the words are in ``rewriting_text``. The surprise: what goes wrong is no exception
unless ``on_failure`` is ``error``, but a selection without picks that says why.
"""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import anyio

from toolpick_selectors import rewriting_text
from toolpick_selectors.budget import Budget
from toolpick_selectors.contract import Pick, Selection, TurnRefused
from toolpick_selectors.providers import ProviderError, Question
from toolpick_selectors.providers.credential import Credential
from toolpick_selectors.words import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolpick_selectors.contract import SelectionContext, Tool
    from toolpick_selectors.providers import Answer, Provider
    from toolpick_selectors.registry import Parts

ON_FAILURE = ("open", "always", "error")
PROVIDERS = ("openai", "anthropic", "sampling")
MAX_RETRIES = 3
BYTES_A_TOKEN = 4
"""For providers that report no usage."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Rewriting:
    """Asks ``provider`` at most once a turn, and again where the answer was malformed.

    ``timeout`` is in seconds and holds for the whole turn, ``max_retries`` is 0 to 3. ``budget``
    bounds each conversation. ``on_failure``: ``open`` leaves it to the caller what to show instead,
    ``always`` shows nothing but what is always shown, ``error`` fails the turn.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        timeout: float = 10.0,
        max_retries: int = 1,
        answer_tokens: int = 2000,
        budget: Budget | None = None,
        on_failure: str = "open",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``answer_tokens`` bounds the answer; ``now`` gives seconds."""
        self._provider = provider
        self._timeout = timeout
        self._max_retries = max_retries
        self._answer_tokens = answer_tokens
        self._budget = budget or Budget(tokens=0, seconds=0)
        self._on_failure = on_failure
        self._now = now
        self._quiet_until, self._quiet_reason = 0.0, ""

    async def select(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Pick what the model names, in the order of ``tools``; all of them when they are few.

        When cancelled, the call is given up and its seconds are charged.

        Raises:
            TurnRefused: no usable answer was had, and ``on_failure`` is ``error``.
        """
        if len(tools) <= context.limit:
            picks = tuple(Pick(tool.id, 1.0, "within the limit") for tool in tools)
            return Selection(picks, f"{len(tools)} tools are within the limit; no model was asked")
        try:
            with anyio.fail_after(self._timeout):
                return await self._choose(context, tools)
        except TimeoutError:
            return self._failed(f"{self._provider.name} did not answer within {self._timeout:g} s")
        except ProviderError as error:
            return self._failed(str(error))

    async def aclose(self) -> None:
        """Close the provider's connections."""
        await self._provider.aclose()

    async def _choose(self, context: SelectionContext, tools: Sequence[Tool]) -> Selection:
        """Ask until an answer is usable. Raises ``ProviderError`` when none is."""
        question = Question(
            rewriting_text.system(context.limit),
            rewriting_text.prompt(context, tools),
            self._answer_tokens,
            context.conversation_id,
        )
        account = context.conversation_id or context.turn
        known = {readable(tool.id).strip(): tool.id for tool in tools}
        trouble = ""
        for _ in range(1 + self._max_retries):
            answer = await self._ask(question, account)
            named = rewriting_text.names(answer.text)
            if named is None:
                cut = "" if answer.complete else f", cut off at {self._answer_tokens} tokens"
                trouble = f"{self._provider.name} gave a malformed answer{cut}"
                continue
            chosen = list(dict.fromkeys(known[name] for name in named if name in known))
            if chosen or not named:
                unknown = sum(name not in known for name in named)
                return self._selection(context, tools, chosen, unknown)
            trouble = f"{self._provider.name} named unknown tools only"
        raise ProviderError(trouble)

    async def _ask(self, question: Question, account: str) -> Answer:
        """Ask once, or twice where the provider is busy for less time than is left."""
        try:
            return await self._charged(question, account)
        except ProviderError as error:
            if error.retry_after is None:
                raise
            self._quiet_until = self._now() + error.retry_after
            self._quiet_reason = str(error)
            if anyio.current_effective_deadline() - anyio.current_time() <= error.retry_after:
                raise
            await anyio.sleep(error.retry_after)
            self._quiet_until = 0.0
        return await self._charged(question, account)

    async def _charged(self, question: Question, account: str) -> Answer:
        """One call, on the conversation's account."""
        refusal = self._budget.refusal(account)
        if refusal:
            raise ProviderError(refusal)
        began = self._now()
        if began < self._quiet_until:
            raise ProviderError(self._quiet_reason)
        tokens = 0
        try:
            answer = await self._provider.ask(question)
            tokens = answer.tokens or _estimate(question, answer)
            return answer
        finally:
            self._budget.charge(account, tokens=tokens, seconds=self._now() - began)

    def _selection(
        self, context: SelectionContext, tools: Sequence[Tool], chosen: list[str], unknown: int
    ) -> Selection:
        kept = set(chosen[: context.limit])
        picks = tuple(Pick(tool.id, 1.0, "named by the model") for tool in tools if tool.id in kept)
        reason = f"{len(picks)} of {len(tools)} tools, named by {self._provider.name}"
        return Selection(
            picks, f"{reason}; unknown names dropped: {unknown}" if unknown else reason
        )

    def _failed(self, why: str) -> Selection:
        if self._on_failure == "error":
            raise TurnRefused(f"the tools for this turn can't be chosen: {why}")
        if self._on_failure == "always":
            return Selection((), f"nothing but what is always shown, since {why}")
        return Selection((), why, degraded=why)


def rewriting(
    *,
    provider: str = "openai",
    model: str = "",
    base_url: str = "",
    api_key: str = "",
    api_key_env: str = "",
    timeout: float = 10.0,
    max_retries: int = 1,
    answer_tokens: int = 2000,
    budget_tokens: int = 200_000,
    budget_seconds: float = 300.0,
    on_failure: str = "open",
    extra: Mapping[str, Any] = NOTHING,
    parts: Parts,
) -> Rewriting:
    """Make the selector from its options.

    Raises:
        ValueError: an option has a value that it can't have.
    """
    if on_failure not in ON_FAILURE:
        raise ValueError(f"on_failure: {on_failure!r} is not one of {', '.join(ON_FAILURE)}")
    if not 0 <= max_retries <= MAX_RETRIES:
        raise ValueError(f"max_retries: {max_retries} is not from 0 to {MAX_RETRIES}")
    for name, value in (("timeout", timeout), ("answer_tokens", answer_tokens)):
        if value <= 0:
            raise ValueError(f"{name}: {value} is not more than 0")
    for name, value in (("budget_tokens", budget_tokens), ("budget_seconds", budget_seconds)):
        if value < 0:
            raise ValueError(f"{name}: {value} is less than 0, which would mean without bound")
    return Rewriting(
        _provider(provider, model, base_url, Credential(api_key, api_key_env), extra, parts),
        timeout=timeout,
        max_retries=max_retries,
        answer_tokens=answer_tokens,
        budget=Budget(tokens=budget_tokens, seconds=budget_seconds),
        on_failure=on_failure,
    )


def _provider(
    name: str,
    model: str,
    base_url: str,
    credential: Credential,
    extra: Mapping[str, Any],
    parts: Parts,
) -> Provider:
    if name == "sampling":
        from toolpick_selectors.providers.sampling import SamplingProvider

        if parts.sample is None:
            raise ValueError(
                "provider 'sampling' needs a client whose model can be asked; "
                "write provider 'openai' or 'anthropic'"
            )
        return SamplingProvider(parts.sample)
    if name not in PROVIDERS:
        raise ValueError(f"provider: {name!r} is not one of {', '.join(PROVIDERS)}")
    if not model:
        raise ValueError(f"model: provider {name!r} needs the name of a model")
    if name == "anthropic":
        from toolpick_selectors.providers.anthropic import AnthropicProvider

        return AnthropicProvider(model=model, base_url=base_url, credential=credential, extra=extra)
    from toolpick_selectors.providers.openai import OpenAIProvider

    return OpenAIProvider(model=model, base_url=base_url, credential=credential, extra=extra)


def _estimate(question: Question, answer: Answer) -> int:
    """Tokens of a call whose provider reports none."""
    texts = (question.system, question.prompt, answer.text)
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // BYTES_A_TOKEN
