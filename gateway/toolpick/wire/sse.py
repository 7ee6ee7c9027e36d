"""A server at a URL that speaks HTTP with server-sent events as in 2024-11-05.

One stream brings everything; its first event names the address to which messages are posted. When
the stream ends, so does the wire: this transport can't resume.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from toolpick.errors import FrameError
from toolpick.wire import answers
from toolpick.wire import headers as h
from toolpick.wire.endpoint import CONNECT_TIMEOUT, NOTE_TIMEOUT, Endpoint
from toolpick.wire.events import EventBuffer
from toolpick.wire.failures import HttpFailure
from toolpick.wire.outbox import Outbox
from toolpick.wire.streams import SessionGone

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

    from toolpick.wire.events import Event
    from toolpick.wire.outbox import Post
    from toolpick.wire.wire import Outgoing, Receiver

log = logging.getLogger(__name__)


class SseWire:
    """A wire over a stream of events and an address for posts."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, timeout: float = CONNECT_TIMEOUT
    ) -> None:
        """``headers`` go with every request; ``timeout`` bounds connecting, in seconds."""
        self.version = ""
        """The protocol version agreed on, "" before: to be set after the handshake."""
        self._timeout = timeout
        self._endpoint = Endpoint(url, headers, timeout)
        self._outbox = Outbox(self._deliver)
        self._address: asyncio.Future[str] | None = None

    async def start(self, receiver: Receiver) -> None:
        """Open the stream and learn the address. Raises OSError when that fails."""
        await self._endpoint.open()
        self._outbox.receiver = receiver
        self._address = asyncio.get_running_loop().create_future()
        try:
            self._outbox.own(self._listen(self._address))
            async with asyncio.timeout(2 * self._timeout):
                await self._address
        except TimeoutError:
            await self.close()
            raise OSError("opened a stream but named no address to post to") from None
        except BaseException:
            await self.close()
            raise

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        """Post one frame."""
        headers = {"content-type": "application/json"}
        if self.version:
            headers[h.VERSION] = self.version
        self._outbox.put(frame, about, headers)

    def abandon(self, id: int) -> bool:
        """Take a request back that has not been written yet, else tell the server nothing."""
        post = self._outbox.requests.get(id)
        if post is None or post.task is None or post.sent.is_set():
            return False
        post.task.cancel()
        return True

    async def close(self) -> None:
        """Close the stream and everything that runs."""
        await asyncio.shield(self._close())

    async def _close(self) -> None:
        try:
            await self._outbox.close()
        finally:
            await self._endpoint.close()

    # -- out

    async def _deliver(self, post: Post) -> None:
        assert self._address is not None
        response = await self._endpoint.send(
            "POST",
            post.headers,
            post.frame,
            lambda: self._outbox.written(post),
            url=self._address.result(),
            patience=NOTE_TIMEOUT,
        )
        try:
            if response.status_code == 404:
                gone = str(SessionGone())
                self._outbox.drop(post, gone, session_gone=True)
                self._outbox.lose(gone)
            elif not response.is_success:
                self._outbox.drop(post, await self._refusal(response))
        finally:
            await response.aclose()

    async def _refusal(self, response: httpx2.Response) -> str:
        body = await self._endpoint.error_body(response)
        return answers.refusal(response.status_code, self._endpoint.excerpt(body))

    # -- in

    async def _listen(self, address: asyncio.Future[str]) -> None:
        try:
            why = await self._read(address)
        except HttpFailure as failure:
            why = str(failure)
        except Exception:
            log.exception("event=bug stream=sse")
            why = "sent something that toolpick can't handle"
        if address.done():
            self._outbox.lose(why)
        else:
            address.set_exception(OSError(why))

    async def _read(self, address: asyncio.Future[str]) -> str:
        """Hand on what the stream brings until it ends; why it did."""
        response = await self._endpoint.send("GET", {"accept": h.EVENTS})
        try:
            kind = h.media_type(response.headers.get("content-type", ""))
            if response.status_code != 200 or kind != h.EVENTS:
                return await self._refusal(response)
            await self._take(response, address)
        except FrameError as error:
            return f"sent {error}"
        finally:
            await response.aclose()
        return "closed the stream of events"

    async def _take(self, response: httpx2.Response, address: asyncio.Future[str]) -> None:
        self._endpoint.keep_watch(response)
        stream = EventBuffer()
        async for chunk in self._endpoint.chunks(response):
            for event in stream.feed(chunk):
                if event.kind == "message":
                    self._outbox.hand_on(event.data, None)
                elif event.kind == "endpoint" and not address.done():
                    address.set_result(self._named(event))

    def _named(self, event: Event) -> str:
        """The address for posts.

        Raises:
            HttpFailure: it is no URL, or at another origin, where the headers must not go.
        """
        named = event.data.decode("utf-8", "replace").strip()
        try:
            address = urljoin(self._endpoint.url, named)
            own, other = urlsplit(self._endpoint.url), urlsplit(address)
        except ValueError:
            what = f"wants messages posted to {named[:100]!r}, which is no URL"
            raise HttpFailure(what) from None
        if (own.scheme, own.netloc) != (other.scheme, other.netloc):
            shown = f"{other.scheme}://{other.netloc.rpartition('@')[2]}"
            raise HttpFailure(f"wants messages posted to another origin, {shown}")
        return address
