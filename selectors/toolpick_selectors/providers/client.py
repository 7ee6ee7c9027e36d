"""What the two official client libraries have in common: how they are loaded, and how they fail.

Both are built by the same generator and share the names of their errors. Imports neither before the
first request.
"""

from __future__ import annotations

import os
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from toolpick_selectors.providers import ProviderError
from toolpick_selectors.providers.credential import redact, retry_after

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType

    from toolpick_selectors.providers.credential import Credential

REJECTIONS = (400, 422, 501)
"""Statuses that say that the request itself was not understood, so that a plainer one may be."""
UNUSED_KEY = "none"
"""Sent to an endpoint of the user's own without a key, since the libraries insist on one."""


class Client:
    """The class ``kind`` of ``library``, for one endpoint, made at the first request.

    ``library`` is the extra that brings it, too. ``name`` says in errors who was asked;
    ``base_url`` is "" for the vendor's own endpoint, which alone gets the vendor's key unasked.
    """

    def __init__(
        self, library: str, kind: str, *, name: str, base_url: str, credential: Credential
    ) -> None:
        """Remember; neither imports nor connects."""
        self._library, self._kind = library, kind
        self._name = name
        self._base_url = base_url
        self._credential = credential
        self._made: Any = None
        self._plain = False

    async def exchange(
        self, send: Callable[[Any, bool], Awaitable[Any]], *, plain: bool = False
    ) -> Any:
        """Send, and once more plainly where the endpoint rejects the shape of the first request.

        ``send(client, plain)`` makes the request. Where plain is what works, it is plain from then
        on.

        Raises:
            ProviderError: no reply was had.
        """
        plain = plain or self._plain
        library = await _load(self._library)
        client = self._connected(library)
        key = client.api_key or ""
        try:
            reply = await send(client, plain)
        except library.APIStatusError as error:
            if plain or error.status_code not in REJECTIONS:
                raise _failure(library, error, self._name, key) from None
        except library.APIError as error:
            raise _failure(library, error, self._name, key) from None
        except ValueError:
            what = "answered with something unusable, which is no JSON"
            raise ProviderError(f"{self._name} {what}") from None
        except (_root(library), TypeError) as error:
            # Anthropic's client looks for a key at the first request, and says so by a TypeError.
            raise self._unaskable(error, key) from None
        else:
            self._plain = plain
            return reply
        return await self.exchange(send, plain=True)

    async def aclose(self) -> None:
        """Close connections that were kept open."""
        if self._made is not None:
            await self._made.close()
            self._made = None

    def _connected(self, library: Any) -> Any:
        if self._made is None:
            unused = UNUSED_KEY if self._base_url else None
            try:
                key = self._credential.reveal(os.environ) or unused
                make = getattr(library, self._kind)
                self._made = make(api_key=key, base_url=self._base_url or None, max_retries=0)
            except (LookupError, _root(library)) as error:
                raise self._unaskable(error) from None
        return self._made

    def _unaskable(self, error: Exception, key: str = "") -> ProviderError:
        return ProviderError(f"{self._name} can't be asked: {redact(str(error), key)}")


async def _load(library: str) -> ModuleType:
    """Import the library in a worker thread: it takes about a second.

    Raises:
        ProviderError: it is not installed.
    """
    try:
        return await anyio.to_thread.run_sync(import_module, library)
    except ImportError:
        raise ProviderError(
            f"the package {library!r} is not installed; run: pip install 'toolpick[{library}]'"
        ) from None


def _root(library: Any) -> type[Exception]:
    """The root of the library's errors."""
    root: type[Exception] = library.APIError.__base__
    return root


def _failure(library: Any, error: Exception, where: str, key: str) -> ProviderError:
    """Say what went wrong at ``where``. ``error`` is one of the library's ``APIError``."""
    if isinstance(error, library.APITimeoutError):
        return ProviderError(f"{where} did not answer in time")
    if isinstance(error, library.APIConnectionError):
        cause = redact(str(error.__cause__ or error), key)
        return ProviderError(f"{where} can't be reached: {cause}")
    if not isinstance(error, library.APIStatusError):
        return ProviderError(f"{where} answered with something unusable: {redact(str(error), key)}")
    status = error.status_code
    if status in (401, 403):
        # Nothing of the answer is quoted: endpoints repeat parts of the key in it.
        return ProviderError(f"{where} refused the key (HTTP {status}); set api_key_env or api_key")
    wait = retry_after(error.response.headers, time.time())
    said = redact(str(error.message), key)
    if status == 429 or wait is not None:
        asked = "" if wait is None else f" and asked to be left alone for {wait:.0f} s"
        return ProviderError(f"{where} is busy (HTTP {status}){asked}", wait)
    return ProviderError(f"{where} answered HTTP {status}: {said}")
