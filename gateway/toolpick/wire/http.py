"""A server at a URL: streamable HTTP, with sessions (to 2025-11-25) and without (from 2026-07-28).

Each frame is a POST of its own; answers come in its response, as JSON or as a stream of events. A
server that has forgotten the session is lost; the requests that it refused for that reason are told
apart, as they may be sent again. Makes no handshake: whoever does sets ``version``.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from toolpick.wire import answers
from toolpick.wire import envelope as env
from toolpick.wire import headers as h
from toolpick.wire.endpoint import CONNECT_TIMEOUT, NOTE_TIMEOUT, Endpoint
from toolpick.wire.failures import HttpFailure
from toolpick.wire.outbox import Outbox
from toolpick.wire.streams import SessionGone, Streams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

    from toolpick.wire.outbox import Post
    from toolpick.wire.wire import Outgoing, Receiver

log = logging.getLogger(__name__)

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
        self._streams = Streams(self._endpoint, self._hand_on)
        self._session = ""
        self._listening = False
        self._gone = False

    async def start(self, receiver: Receiver) -> None:
        """Make ready; nothing is sent. Raises OSError when the URL or a header can't be used."""
        await self._endpoint.open()
        self._outbox.receiver = receiver

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        """Post one frame."""
        self._outbox.put(frame, about, self._headers(about))

    def abandon(self, id: int) -> bool:
        """Close the stream of a request: at once where that cancels it, else after a while."""
        post = self._outbox.requests.get(id)
        if post is None or post.task is None:
            return self.version >= h.MODERN
        if _is_modern(post) or not post.sent.is_set():
            post.task.cancel()
            return True
        asyncio.get_running_loop().call_later(ABANDON_GRACE, post.task.cancel)
        return False

    def listen(self, on_gap: Callable[[], None] | None = None) -> None:
        """Open the stream for what the server sends unasked, if it has one, and keep it open.

        ``on_gap`` is called when it had to be opened anew in a way that may have lost messages.
        """
        if not self._listening and not self._outbox.lost:
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
                self._outbox.drop(post, str(SessionGone()), session_gone=True)
            else:
                await self._exchange(post)
        except SessionGone as gone:
            # while its stream was to be resumed: it may have been run
            self._outbox.drop(post, str(gone))
            self._forgotten()
        finally:
            self._heard(post)

    async def _exchange(self, post: Post) -> None:
        response = await self._endpoint.send(
            "POST",
            post.headers,
            post.frame,
            lambda: self._outbox.written(post),
            patience=None if post.about else NOTE_TIMEOUT,
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
            self._session = _session_id(response)
        kind = h.media_type(response.headers.get("content-type", ""))
        if kind == h.EVENTS:
            resumable = post.about is not None and not _is_modern(post)
            resume = self._headers(None) if resumable else None
            why = await self._streams.follow(response, post.id, resume)
            if why:
                self._outbox.drop(post, why)
        elif post.about is not None and response.status_code not in (202, 204):
            body = await self._endpoint.body(response)
            if body[:1] in (b"{", b"[") or "json" in kind:
                self._hand_on(body, post.id)
            shown = self._endpoint.excerpt(body)
            self._outbox.drop(post, f"sent {kind or 'something'} that is no answer: {shown}")
        elif not self._listening:
            # with a stream open, the answer may still come there
            status = response.status_code
            self._outbox.drop(post, f"answered with HTTP status {status} and nothing else")

    def _refused(self, post: Post, response: httpx2.Response, body: bytes) -> None:
        status = response.status_code
        error = answers.error_in(body)
        if h.SESSION in post.headers and answers.forgot_session(status, body, error):
            self._outbox.drop(post, str(SessionGone()), session_gone=True)
            self._forgotten()
        elif post.about and error:
            self._hand_on(env.failure(b"%d" % post.about.id, error), post.about.id)
        else:
            self._outbox.drop(post, answers.refusal(status, self._endpoint.excerpt(body)))

    def _hand_on(self, frame: bytes, id: int | None) -> bool:
        """Give the receiver a frame; True when it answers request ``id``."""
        frame, is_answer = (frame, False) if id is None else answers.addressed(frame, id)
        self._outbox.hand_on(frame, id, answers=is_answer)
        return is_answer

    def _headers(self, about: Outgoing | None) -> dict[str, str]:
        made = {"accept": f"application/json, {h.EVENTS}", "content-type": "application/json"}
        if self._session:
            made[h.SESSION] = self._session
        if self.version and (about is None or about.method != "initialize"):
            made[h.VERSION] = self.version
        if about:
            made.update((name.lower(), value) for name, value in about.headers.items())
            if made.get(h.VERSION, "") >= h.MODERN:
                made[h.METHOD] = about.method
                if about.name:
                    made[h.NAME] = h.encoded(about.name)
        return made

    # -- the server's own stream, and the end of the session

    async def _listen(self, on_gap: Callable[[], None] | None) -> None:
        try:
            await self._streams.listen(lambda: self._headers(None), on_gap)
        except SessionGone:
            self._forgotten()
            self._settle()
        except HttpFailure as failure:
            self._outbox.lose(str(failure))
        except Exception:
            # the server is of use without this stream
            log.exception("event=bug stream=own")
        finally:
            self._listening = False

    def _forgotten(self) -> None:
        if not self._gone:
            self._gone = True
            reason = str(SessionGone())
            asyncio.get_running_loop().call_later(GONE_GRACE, self._outbox.lose, reason)

    def _heard(self, post: Post) -> None:
        post.heard = True
        self._settle()

    def _settle(self) -> None:
        """Once the session is gone and every request knows its fate, so is the wire."""
        if self._gone and all(post.heard for post in self._outbox.requests.values()):
            self._outbox.lose(str(SessionGone()))


def _session_id(response: httpx2.Response) -> str:
    """The session that a server opened, "" for none.

    Raises:
        HttpFailure: it can't be sent back.
    """
    id: str = response.headers.get(h.SESSION, "")
    if h.unusable({h.SESSION: id}):
        raise HttpFailure("gave a session id that no header can carry")
    return id


def _is_modern(post: Post) -> bool:
    return post.headers.get(h.VERSION, "") >= h.MODERN
