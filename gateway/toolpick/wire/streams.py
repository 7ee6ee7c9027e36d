"""Event streams of a streamable-HTTP server: read, resumed when they break, kept open.

A server may end a stream before the answer and let the client ask for the rest, by the id of the
last event (specification 2025-11-25, basic/transports, "Resumability and Redelivery"). What the
messages are is not known here: whoever takes them says which one was the answer.
"""

from __future__ import annotations

import asyncio
from asyncio import sleep
from typing import TYPE_CHECKING

from toolpick.errors import FrameError
from toolpick.wire import answers
from toolpick.wire import headers as h
from toolpick.wire.events import EventBuffer
from toolpick.wire.failures import HttpFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

    from toolpick.wire.endpoint import Endpoint

RESUMES = 3
"""Attempts to resume a broken stream that bring nothing new, before its request is given up."""
RETRY = 1.0
"""Seconds before a broken stream is opened again, unless the server says otherwise."""
RETRY_CAP = 30.0
"""Seconds to which that grows, doubling, while streams neither last nor bring anything."""
RETRY_FLOOR, RETRY_CEILING = 0.05, 300.0
"""Seconds between which a delay is kept that a server asks for."""
LASTING = 10.0
"""Seconds after which a stream counts as having lasted."""
DRAIN = 1.0
"""Seconds in which a stream may end after its answer, so that its connection can be used again."""


class SessionGone(HttpFailure):
    """The server no longer knows the session."""

    def __init__(self) -> None:
        """There is only one thing to say."""
        super().__init__("no longer knows the session")


class Streams:
    """Reads the event streams of one server."""

    def __init__(self, endpoint: Endpoint, hand_on: Callable[[bytes, int | None], bool]) -> None:
        """``hand_on`` takes a message and whose it is; it says whether that was the answer."""
        self._endpoint = endpoint
        self._hand_on = hand_on

    async def follow(
        self, response: httpx2.Response, id: int | None, resume: Mapping[str, str] | None
    ) -> str:
        """Read until the answer to request ``id`` has come; why it has not, "" when it has.

        ``resume`` are the headers with which a broken stream may be asked for again.

        Raises:
            SessionGone: when asked for the rest, the server does not know the session.
            HttpFailure: the server can't be reached any more.
        """
        stream = EventBuffer()
        why = await self._read(response, stream, id)
        await response.aclose()
        tries = 0
        while why and resume is not None and stream.last_id and tries < RESUMES:
            tries += 1
            seen = stream.last_id
            await sleep(RETRY if stream.retry is None else _bounded(stream.retry))
            why = await self._resume(stream, id, resume)
            if stream.last_id != seen:
                tries = 0
        return why

    async def _resume(self, stream: EventBuffer, id: int | None, headers: Mapping[str, str]) -> str:
        response = await self._open(stream, headers)
        try:
            if response.status_code == 404 and h.SESSION in headers:
                raise SessionGone
            if not _is_stream(response):
                status = response.status_code
                return f"broke the stream, and to resuming it answered HTTP status {status}"
            return await self._read(response, stream, id)
        finally:
            await response.aclose()

    async def _open(self, stream: EventBuffer, headers: Mapping[str, str]) -> httpx2.Response:
        stream.restart()
        asked = {**headers, "accept": h.EVENTS}
        if stream.last_id:
            asked[h.LAST_EVENT_ID] = stream.last_id
        return await self._endpoint.send("GET", asked)

    async def _read(self, response: httpx2.Response, stream: EventBuffer, id: int | None) -> str:
        """Hand on what a stream brings until it ends; why there is no answer, "" when there was."""
        self._endpoint.keep_watch(response)
        answered = False
        why = "ended the stream without an answer"
        try:
            async with asyncio.timeout(None) as patience:
                async for chunk in self._endpoint.chunks(response):
                    for event in stream.feed(chunk):
                        if event.kind != "message" or not self._hand_on(event.data, id):
                            continue
                        if not answered:
                            answered = True
                            patience.reschedule(asyncio.get_running_loop().time() + DRAIN)
        except HttpFailure as failure:
            why = str(failure)
        except FrameError as error:
            # asking for it again would bring it again
            stream.last_id = ""
            why = f"sent {error}"
        except TimeoutError:
            pass
        return "" if answered else why

    async def listen(
        self, headers: Callable[[], Mapping[str, str]], on_gap: Callable[[], None] | None
    ) -> None:
        """Read what the server sends unasked until it turns out to have no such stream.

        ``on_gap`` is called when messages may have been lost between two streams.

        Raises:
            SessionGone: the server does not know the session.
            HttpFailure: it can't be reached.
        """
        loop = asyncio.get_running_loop()
        stream = EventBuffer()
        wait = RETRY / 2
        opened = False
        while True:
            began, seen = loop.time(), stream.last_id
            try:
                response = await self._open(stream, headers())
                try:
                    if _is_stream(response):
                        if opened and on_gap is not None and not stream.last_id:
                            on_gap()
                        opened = True
                        await self._read(response, stream, None)
                    elif await self._has_none(response, h.SESSION in headers(), opened):
                        return
                finally:
                    await response.aclose()
            except HttpFailure as failure:
                if failure.unreachable or isinstance(failure, SessionGone):
                    raise
            of_use = loop.time() - began > LASTING or stream.last_id != seen
            wait = RETRY if of_use else min(2 * wait, RETRY_CAP)
            asked = wait if stream.retry is None else _bounded(stream.retry)
            await sleep(asked if of_use else max(asked, wait))

    async def _has_none(self, response: httpx2.Response, in_session: bool, opened: bool) -> bool:
        """Whether a refusal means that the server has no such stream.

        405 says so; servers that don't know the method at all say 404, which is also what is said
        of an unknown session, by JSON-RPC.

        Raises:
            SessionGone: it means that.
        """
        unknown = response.status_code == 404 and in_session
        if unknown and (opened or answers.error_in(await self._endpoint.error_body(response))):
            raise SessionGone
        return response.status_code != 429 and response.status_code < 500


def _bounded(retry: float) -> float:
    """The delay that a server asks for, within reason."""
    return min(max(retry, RETRY_FLOOR), RETRY_CEILING)


def _is_stream(response: httpx2.Response) -> bool:
    kind = h.media_type(response.headers.get("content-type", ""))
    return response.status_code == 200 and kind == h.EVENTS
