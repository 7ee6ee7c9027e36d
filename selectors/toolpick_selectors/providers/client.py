"""What the two official client libraries have in common: how they are loaded, and how they fail.

Both are built by the same generator and share the names of their errors. The library's module
comes in as an argument, so that neither is imported here.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from toolpick_selectors.providers import ProviderError
from toolpick_selectors.providers.credential import redact, retry_after

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType

REJECTIONS = (400, 422, 501)
"""Statuses that say that the request itself was not understood, so that a plainer one may be."""
UNUSED_KEY = "none"
"""Sent to an endpoint of the user's own without a key, since the libraries insist on one."""


async def load(library: str, extra: str) -> ModuleType:
    """Import the library in a worker thread: it takes about a second.

    Raises:
        ProviderError: it is not installed.
    """
    try:
        return await anyio.to_thread.run_sync(import_module, library)
    except ImportError:
        raise ProviderError(
            f"the package {library!r} is not installed; run: pip install 'toolpick[{extra}]'"
        ) from None


async def exchange(
    library: Any, send: Callable[[bool], Awaitable[Any]], *, plain: bool, where: str, key: str
) -> tuple[Any, bool]:
    """Send, and once more plainly where the endpoint rejects the shape of the first request.

    ``send(plain)`` makes the request. Returns the reply, and whether plain is what works.

    Raises:
        ProviderError: no reply was had from ``where``.
    """
    try:
        return await send(plain), plain
    except library.APIStatusError as error:
        if plain or error.status_code not in REJECTIONS:
            raise _failure(library, error, where, key) from None
    except library.APIError as error:
        raise _failure(library, error, where, key) from None
    except ValueError:
        raise ProviderError(f"{where} answered with something unusable, which is no JSON") from None
    except (library_error(library), TypeError) as error:
        # Anthropic's client looks for a key at the first request, and says so by a TypeError.
        raise ProviderError(f"{where} can't be asked: {redact(str(error), key)}") from None
    return await exchange(library, send, plain=True, where=where, key=key)


def library_error(library: Any) -> type[Exception]:
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
