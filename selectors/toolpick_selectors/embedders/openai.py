"""The ``openai`` embedder: any endpoint that speaks OpenAI's ``/embeddings``.

OpenAI itself, Ollama, vLLM, LM Studio, text-embeddings-inference. Plain HTTP, without OpenAI's
library. Requests are bounded in size, and halved where an endpoint finds them too large.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from toolpick_selectors.contract import SelectionError
from toolpick_selectors.embedders import cut, describe
from toolpick_selectors.embedders.pooling import pooled
from toolpick_selectors.providers.credential import Credential, redact, retry_after
from toolpick_selectors.words import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2
    from numpy.typing import NDArray

    from toolpick_selectors.contract import Tool

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
QUERY_CHARS = 4_000
QUERY_ATTEMPTS, QUERY_WAIT = 2, 1.0
TOOL_ATTEMPTS, TOOL_WAIT = 5, 20.0
"""Seconds between two attempts are at most these; an endpoint that asks for more gets its will."""
FIRST_WAIT = 0.5
QUIET_SECONDS = 10.0
"""After a query that failed, the next ones fail at once for so long."""
SMALLEST_CHARS = 100
"""A text that is found too large is cut in two down to here."""
TOO_LARGE = (400, 413, 422)
BUSY = (408, 429, 500, 502, 503, 504, 529)


class _TooLarge(SelectionError):
    """The endpoint does not take so much at once."""


class _Busy(SelectionError):
    """Trying again may help; ``asked`` is the seconds that the endpoint wants to be left alone."""

    def __init__(self, message: str, asked: float | None = None) -> None:
        super().__init__(message)
        self.asked = asked


@dataclass(frozen=True, slots=True)
class _Patience:
    """Seconds a request may take, how often it is tried, the most seconds between two tries."""

    timeout: float
    attempts: int
    wait: float


class OpenAIEmbedder:
    """Vectors from one model at one endpoint.

    ``base_url`` ends before ``/embeddings``. The key in ``OPENAI_API_KEY`` is sent unasked to
    OpenAI alone; name it in ``api_key_env`` for another endpoint. Longer texts than ``part_chars``
    are embedded in parts.
    """

    quick = False

    def __init__(
        self,
        *,
        model: str = "text-embedding-3-small",
        base_url: str = OPENAI,
        api_key: str = "",
        api_key_env: str = "",
        dimensions: int = 0,
        batch: int = 64,
        part_chars: int = 2_000,
        query_prefix: str = "",
        tool_prefix: str = "",
        timeout: float = 30.0,
        query_timeout: float = 5.0,
    ) -> None:
        """``dimensions`` 0 leaves the size to the model; the timeouts are seconds a request."""
        for name, value in (("batch", batch), ("part_chars", part_chars)):
            if value < 1:
                raise ValueError(f"{name}: {value} is less than 1")
        self._base_url = base_url.rstrip("/")
        self._shown = redact(self._base_url)
        if self._base_url == OPENAI and not api_key and not api_key_env:
            api_key_env = OPENAI_KEY
        self._credential = Credential(api_key, api_key_env)
        self._request = {"model": model} | ({"dimensions": dimensions} if dimensions else {})
        self._batch, self._part_chars = batch, part_chars
        self._query_prefix, self._tool_prefix = query_prefix, tool_prefix
        self._for_queries = _Patience(query_timeout, QUERY_ATTEMPTS, QUERY_WAIT)
        self._for_tools = _Patience(timeout, TOOL_ATTEMPTS, TOOL_WAIT)
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._problem, self._again = "", 0.0
        size = f" {dimensions}" if dimensions else ""
        self.model = f"openai:{self._shown} {model}{size} {tool_prefix}".strip()

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``Embedder.embed_queries``; of a very long prompt the beginning is read."""
        clipped = [readable(self._query_prefix + text[:QUERY_CHARS]) for text in texts]
        if time.monotonic() < self._again:
            raise SelectionError(self._problem)
        try:
            rows = self._embed(clipped, self._for_queries)
        except SelectionError as error:
            # Turns don't each wait for an endpoint that is down.
            self._problem, self._again = str(error), time.monotonic() + QUIET_SECONDS
            raise
        return pooled(rows, [[text] for text in clipped])

    def embed_tools(self, tools: Sequence[Tool]) -> NDArray[np.float32]:
        """See ``Embedder.embed_tools``."""
        texts = [cut(readable(describe(tool)), self._part_chars) for tool in tools]
        flat = [self._tool_prefix + part for text in texts for part in text]
        rows = self._embed(flat, self._for_tools)
        return pooled(rows, texts)

    def close(self) -> None:
        """Close the connections that were kept open."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _embed(self, texts: list[str], patience: _Patience) -> NDArray[np.float32]:
        rows: list[NDArray[np.float32]] = []
        while len(rows) < len(texts):
            rows += self._portion(texts[len(rows) : len(rows) + self._batch], patience)
        if len({len(row) for row in rows}) > 1:
            raise SelectionError(f"{self._name} gives vectors of different sizes; use another")
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)

    def _portion(self, texts: list[str], patience: _Patience) -> list[NDArray[np.float32]]:
        """Embed what may be too much for one request: then in halves."""
        try:
            return list(self._insist(texts, patience))
        except _TooLarge:
            if len(texts) == 1 and len(texts[0]) < SMALLEST_CHARS:
                raise
        if len(texts) == 1:
            halves = cut(texts[0], len(texts[0]) // 2 + 1)
            rows = [row for half in halves for row in self._portion([half], patience)]
            return list(pooled(np.stack(rows), [halves]))
        half = len(texts) // 2
        rows = self._portion(texts[:half], patience)
        self._batch = min(self._batch, half)
        return rows + self._portion(texts[half:], patience)

    def _insist(self, texts: list[str], patience: _Patience) -> NDArray[np.float32]:
        """Ask until there is an answer, as often as allowed."""
        attempts, wait = patience.attempts, FIRST_WAIT
        while True:
            try:
                return self._ask(texts, patience.timeout)
            except _Busy as error:
                attempts -= 1
                pause = wait if error.asked is None else error.asked
                if not attempts or pause > patience.wait:
                    raise
            _pause(pause)
            wait = min(2 * wait, patience.wait)

    def _ask(self, texts: list[str], timeout: float) -> NDArray[np.float32]:
        """Send one request and read the answer."""
        import httpx2

        try:
            key = self._credential.reveal(os.environ)
        except LookupError as error:
            raise SelectionError(f"{self._name} can't be asked: {error.args[0]}") from None
        try:
            response = self._connected().post(
                f"{self._base_url}/embeddings",
                json={**self._request, "input": texts},
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=timeout,
            )
        except httpx2.TimeoutException:
            raise _Busy(f"{self._name} did not answer within {timeout:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            why = redact(str(error) or type(error).__name__, key)
            raise _Busy(f"{self._name} can't be reached: {why}") from None
        if response.status_code != 200:
            raise self._refusal(response, key)
        return self._rows(response, len(texts))

    def _refusal(self, response: httpx2.Response, key: str) -> SelectionError:
        status = response.status_code
        if status in (401, 403):
            # Nothing of the answer is quoted: endpoints repeat parts of the key in it.
            return SelectionError(
                f"{self._name} refused the key (HTTP {status}); set api_key_env or api_key"
            )
        if status in BUSY:
            asked = retry_after(response.headers, time.time())
            left = "" if asked is None else f" and asked to be left alone for {asked:.0f} s"
            return _Busy(f"{self._name} is busy (HTTP {status}){left}", asked)
        problem = f"{self._name} answered HTTP {status}: {redact(response.text, key)}"
        return _TooLarge(problem) if status in TOO_LARGE else SelectionError(problem)

    def _rows(self, response: httpx2.Response, count: int) -> NDArray[np.float32]:
        """Read the vectors, in the order of the texts."""
        try:
            listed = sorted(response.json()["data"], key=lambda item: item["index"])
            rows = np.array([item["embedding"] for item in listed], np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise SelectionError(
                f"{self._name} answered with something else than vectors"
            ) from error
        if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
            raise SelectionError(f"{self._name} gave {len(rows)} usable vectors for {count} texts")
        return rows

    def _connected(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(follow_redirects=False)
            return self._client

    @property
    def _name(self) -> str:
        return f"embedding model {self._request['model']!r} at {self._shown}"


def _pause(seconds: float) -> None:
    """Wait, though not for longer than the process lives."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and threading.main_thread().is_alive():
        time.sleep(min(left, 0.2))
