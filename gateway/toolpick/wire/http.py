"""A server at a URL: streamable HTTP, with sessions (to 2025-11-25) and without (from 2026-07-28).

Each frame is a POST of its own; answers come in its response, as JSON or as a stream of events. A
stream that breaks is resumed where the server allows it. A server that has forgotten the session is
lost; the requests that it refused for that reason are told apart, as they may be sent again. Makes
no handshake: whoever does sets ``version``.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire import envelope as env
from toolpick.wire import headers as h
from toolpick.wire.endpoint import CONNECT_TIMEOUT, NOTE_TIMEOUT, Endpoint, HttpFailure
from toolpick.wire.events import EventBuffer
from toolpick.wire.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

    from toolpick.wire.outbox import Post
    from toolpick.wire.wire import Outgoing, Receiver

log = logging.getLogger(__name__)

GONE = "no longer knows the session"
RESUMES = 3
"""Attempts to resume a broken stream that bring nothing new, before its request is given up."""
RETRY = 1.0
"""Seconds before a broken stream is opened again, unless the server says otherwise."""
RETRY_CAP = 30.0
"""Seconds to which that grows, doubling, while streams don't last."""
LASTING = 10.0
"""Seconds after which a stream counts as having lasted."""
DRAIN = 1.0
"""Seconds in which a stream may end after its answer, so that its connection can be used again."""
ABANDON_GRACE = 2.0
"""Seconds in which a legacy server may still answer a request that was cancelled."""
GONE_GRACE = 1.0
"""Seconds that other requests have to learn that the session is gone, before the wire is."""
FAREWELL = 1.0
"""Seconds that ending the session may take."""


class HttpWire:
    """A wire over streamable HTTP."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, timeout: float = CONNECT_TIMEOUT
    ) -> None:
        """``headers`` go with every request; ``timeout`` bounds connecting, in seconds."""
        self.version = ""
        """The protocol version agreed on, "" before: to be set after the handshake."""
        self._endpoint = Endpoint(url, headers, timeout)
        self._outbox = Outbox(self._deliver)
        self._session = ""
        self._listening = False
        self._gone = False

    async def start(self, receiver: Receiver) -> None:
        """Make ready; nothing is sent. Raises OSError when the URL or a header can't be used."""
        await self._endpoint.open()
        self._outbox.receiver = receiver

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        """Post one frame."""
        hold = about is None and b'"notifications/initialized"' in frame[:80]
        self._outbox.put(frame, about, hold=hold)

    def abandon(self, id: int) -> bool:
        """Close the stream of a request: at once where that cancels it, else after a while."""
        post = self._outbox.requests.get(id)
        if post is None or post.task is None:
            return self._is_modern(None)
        if self._is_modern(post.about) or not post.sent.is_set():
            post.task.cancel()
            return True
        asyncio.get_running_loop().call_later(ABANDON_GRACE, post.task.cancel)
        return False

    def listen(self, on_gap: Callable[[], None] | None = None) -> None:
        """Open the stream for what the server sends unasked, if it has one, and keep it open.

        ``on_gap`` is called when it had to be opened anew in a way that may have lost messages.
        """
        if not self._listening:
            self._listening = True
            self._outbox.own(self._listen(on_gap))

    async def close(self) -> None:
        """End everything that runs, and the session."""
        # the shield: being cancelled while closing must not leave connections behind
        await asyncio.shield(self._close())

    async def _close(self) -> None:
        in_session = self._session and not self._gone and not self._outbox.lost
        await self._outbox.close()
        try:
            if in_session:
                async with asyncio.timeout(FAREWELL):
                    response = await self._endpoint.send("DELETE", self._headers(None))
                    await response.aclose()
        except (TimeoutError, HttpFailure) as error:
            log.debug("the session was not ended: %s", error)
        finally:
            await self._endpoint.close()

    # -- one frame

    async def _deliver(self, post: Post) -> None:
        try:
            if self._gone:
                self._outbox.drop(post, GONE, session_gone=True)
            else:
                await self._exchange(post)
        finally:
            self._heard(post)

    async def _exchange(self, post: Post) -> None:
        patience = None if post.about else NOTE_TIMEOUT
        response = await self._endpoint.send(
            "POST",
            self._headers(post.about),
            post.frame,
            lambda: self._outbox.written(post),
            patience=patience,
        )
        try:
            if response.is_success:
                self._heard(post)
                await self._accepted(post, response)
            else:
                self._refused(post, response, await self._endpoint.error_body(response))
        finally:
            await response.aclose()

    async def _accepted(self, post: Post, response: httpx2.Response) -> None:
        if post.about and post.about.method == "initialize":
            self._session = response.headers.get(h.SESSION, "")
        kind = h.media_type(response.headers.get("content-type", ""))
        if kind == h.EVENTS:
            await self._follow(post, response)
        elif response.status_code in (202, 204):
            if not self._listening:
                self._outbox.drop(
                    post, f"answered with HTTP status {response.status_code} and nothing else"
                )
        else:
            body = await self._endpoint.body(response)
            if body[:1] in (b"{", b"[") or kind == "application/json":
                self._hand_on(body, post.id)
            shown = self._endpoint.excerpt(body)
            self._outbox.drop(post, f"sent {kind or 'something'} that is no answer: {shown}")

    def _refused(self, post: Post, response: httpx2.Response, body: bytes) -> None:
        status = response.status_code
        error = _error_in(body)
        if self._session and _forgot(status, body, error):
            self._outbox.drop(post, GONE, session_gone=True)
            self._forgotten()
        elif post.about and error is not None:
            self._hand_on(env.failure(b"%d" % post.about.id, error), post.about.id)
        else:
            shown = self._endpoint.excerpt(body)
            self._outbox.drop(
                post, f"answered with HTTP status {status}" + (f": {shown}" if shown else "")
            )

    def _headers(self, about: Outgoing | None) -> dict[str, str]:
        made = {"accept": f"application/json, {h.EVENTS}", "content-type": "application/json"}
        if self._session:
            made[h.SESSION] = self._session
        if about is None or about.method != "initialize":
            if self.version:
                made[h.VERSION] = self.version
            if about and self._is_modern(about):
                made[h.METHOD] = about.method
                if about.name:
                    made[h.NAME] = h.encoded(about.name)
        if about:
            made.update((name.lower(), value) for name, value in about.headers.items())
        return made

    def _is_modern(self, about: Outgoing | None) -> bool:
        version = self.version
        for name, value in about.headers.items() if about else ():
            if name.lower() == h.VERSION:
                version = value
        return version >= h.MODERN

    # -- streams

    async def _follow(self, post: Post, response: httpx2.Response) -> None:
        stream = EventBuffer()
        why = await self._read(response, stream, post.id)
        await response.aclose()
        tries = 0
        while why and post.about and stream.last_id and tries < RESUMES:
            if self._is_modern(post.about):
                break
            tries += 1
            seen = stream.last_id
            await asyncio.sleep(RETRY if stream.retry is None else stream.retry)
            why = await self._resume(stream, post.about.id)
            if stream.last_id != seen:
                tries = 0
        if why:
            self._outbox.drop(post, why)

    async def _resume(self, stream: EventBuffer, id: int) -> str:
        """Go on reading a stream that broke; why that brought no answer, "" when it did."""
        stream.restart()
        response = await self._endpoint.send("GET", self._stream_headers(stream))
        try:
            if response.status_code == 404 and self._session:
                self._forgotten()
                return GONE
            if h.media_type(response.headers.get("content-type", "")) != h.EVENTS:
                return (
                    f"broke the stream, and to resuming it said HTTP status {response.status_code}"
                )
            return await self._read(response, stream, id)
        finally:
            await response.aclose()

    async def _read(self, response: httpx2.Response, stream: EventBuffer, id: int | None) -> str:
        """Hand on what a stream brings until it ends; why there is no answer, "" when there was."""
        self._endpoint.keep_watch(response)
        answered = False
        why = "ended the stream without an answer"
        try:
            async with asyncio.timeout(None) as patience:
                async for chunk in self._endpoint.chunks(response):
                    for event in stream.feed(chunk):
                        if (
                            event.kind == "message"
                            and self._hand_on(event.data, id)
                            and not answered
                        ):
                            answered = True
                            patience.reschedule(asyncio.get_running_loop().time() + DRAIN)
        except HttpFailure as failure:
            why = str(failure)
        except FrameError as error:
            stream.last_id = ""
            why = f"sent {error}"
        except TimeoutError:
            pass
        return "" if answered else why

    async def _listen(self, on_gap: Callable[[], None] | None) -> None:
        stream = EventBuffer()
        wait = RETRY
        opened = 0
        loop = asyncio.get_running_loop()
        while not self._outbox.lost:
            began = loop.time()
            try:
                if not await self._listen_once(stream, on_gap if opened else None):
                    break
                opened += 1
            except HttpFailure as failure:
                if failure.unreachable:
                    self._outbox.lose(str(failure))
                    return
            wait = RETRY if loop.time() - began > LASTING else min(2 * wait, RETRY_CAP)
            await asyncio.sleep(wait if stream.retry is None else stream.retry)
        self._listening = False

    async def _listen_once(self, stream: EventBuffer, on_gap: Callable[[], None] | None) -> bool:
        """Read the stream until it ends; False when the server has none."""
        stream.restart()
        response = await self._endpoint.send("GET", self._stream_headers(stream))
        try:
            status = response.status_code
            if status == 404 and self._session:
                self._forgotten()
                return False
            if h.media_type(response.headers.get("content-type", "")) == h.EVENTS and status == 200:
                if on_gap is not None and not stream.last_id:
                    on_gap()
                await self._read(response, stream, None)
                return True
            return status == 429 or status >= 500
        finally:
            await response.aclose()

    def _stream_headers(self, stream: EventBuffer) -> dict[str, str]:
        made = self._headers(None)
        del made["content-type"]
        made["accept"] = h.EVENTS
        if stream.last_id:
            made[h.LAST_EVENT_ID] = stream.last_id
        return made

    def _hand_on(self, frame: bytes, id: int | None) -> bool:
        """Give the receiver a frame; True when it answers request ``id``."""
        frame, answers = (frame, False) if id is None else _addressed(frame, id)
        self._outbox.hand_on(frame, id, answers=answers)
        return answers

    # -- the end of the session

    def _forgotten(self) -> None:
        if not self._gone:
            self._gone = True
            asyncio.get_running_loop().call_later(GONE_GRACE, self._outbox.lose, GONE)

    def _heard(self, post: Post) -> None:
        """Once the session is gone and every request knows its fate, so is the wire."""
        post.heard = True
        if self._gone and all(one.heard for one in self._outbox.requests.values()):
            self._outbox.lose(GONE)


def _addressed(frame: bytes, id: int) -> tuple[bytes, bool]:
    """The frame, and whether it answers request ``id``; an error to nobody is given that id."""
    try:
        message = env.decode(frame)
    except FrameError:
        return frame, False
    own = bytes(message.id).strip(b'"')
    if message.method or own == b"%d" % id:
        return frame, not message.method
    if message.error and not own.isdigit():
        return env.failure(b"%d" % id, message.error), True
    return frame, False


def _error_in(body: bytes) -> bytes | None:
    """The JSON-RPC error object that an HTTP error carries."""
    try:
        return bytes(env.decode(body).error) or None
    except FrameError:
        return None


def _forgot(status: int, body: bytes, error: bytes | None) -> bool:
    """Whether a refusal means that the session is unknown, in which case the request was not run.

    404 says so (specification 2025-11-25, basic/transports), unless it is an unknown method.
    Servers built like the TypeScript SDK's examples say 400 and name the session in the text.
    """
    if status == 404:
        return error is None or env.rpc_error(error).code != -32601
    return status == 400 and b"session" in body[:1000].lower()
