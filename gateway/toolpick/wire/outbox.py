"""Frames on their way out over HTTP: one task for each, all owned here.

Requests run side by side. A notification or a reply goes out once the requests before it have been
written and the notification or reply before it has been taken. What became of a request is told to
the receiver once, and nothing at all after the wire is lost. Of HTTP only its failures are known.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from toolpick.wire.failures import HttpFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from toolpick.wire.wire import Outgoing, Receiver

log = logging.getLogger(__name__)

INITIALIZED = b'"notifications/initialized"'
"""No request passes this notification: servers refuse those that do."""
ORDERLY = 1.0
"""Seconds that a notification waits for the one before it: a cancellation can't wait for ever."""


class Post:
    """One frame on its way, with the headers that were right when it was put in.

    ``sent`` is set once it is written, ``heard`` once the server has said whether it takes it,
    ``answered`` once the receiver has its answer or knows that there will be none.
    """

    __slots__ = ("about", "answered", "frame", "headers", "heard", "sent", "task")

    def __init__(self, frame: bytes, about: Outgoing | None, headers: Mapping[str, str]) -> None:
        """``about`` is given for requests only."""
        self.frame = frame
        self.about = about
        self.headers = headers
        self.sent = asyncio.Event()
        self.heard = False
        self.answered = False
        self.task: asyncio.Task[None] | None = None

    @property
    def id(self) -> int | None:
        """The id of a request, None for anything else."""
        return self.about.id if self.about else None


class Outbox:
    """Starts a task for each frame that is put in, and ends them all when it is closed."""

    def __init__(self, deliver: Callable[[Post], Awaitable[None]]) -> None:
        """``deliver`` sends a post and sees to its answer; what it raises fails that post alone."""
        self.receiver: Receiver | None = None
        """Nothing is taken in before it is set."""
        self.lost = False
        """Nothing is told to the receiver any more."""
        self.requests: dict[int, Post] = {}
        """The requests whose delivery has not ended, by id."""
        self._deliver = deliver
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsent: dict[Post, None] = {}
        self._initialized: asyncio.Task[None] | None = None
        self._last_note: asyncio.Task[None] | None = None

    def put(self, frame: bytes, about: Outgoing | None, headers: Mapping[str, str]) -> None:
        """Send a frame after those that must precede it."""
        if self.lost or self.receiver is None:
            return
        post = Post(frame, about, headers)
        if about:
            post.task = self.own(self._run(post, self._initialized, None, ()))
            self.requests[about.id] = post
            self._unsent[post] = None
        else:
            unsent = tuple(self._unsent)
            post.task = self._last_note = self.own(
                self._run(post, self._last_note, ORDERLY, unsent)
            )
            if INITIALIZED in frame[:80]:
                self._initialized = post.task
        # not in a finally clause: a task that is cancelled before its first step never gets there
        post.task.add_done_callback(lambda _: self._ended(post))

    def own(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run ``work`` until it ends or the outbox is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(
        self,
        post: Post,
        after: asyncio.Task[None] | None,
        seconds: float | None,
        unsent: tuple[Post, ...],
    ) -> None:
        if after is not None and not after.done():
            await asyncio.wait([after], timeout=seconds)
        for earlier in unsent:
            await earlier.sent.wait()
        try:
            await self._deliver(post)
        except HttpFailure as failure:
            self.drop(post, str(failure))
            if failure.unreachable:
                self.lose(str(failure))
        except Exception:
            log.exception("event=bug bytes=%d", len(post.frame))
            self.drop(post, "could not be sent a message")

    def written(self, post: Post) -> None:
        """Take note that a post has left; those that wait for it may go."""
        post.sent.set()
        self._unsent.pop(post, None)

    def _ended(self, post: Post) -> None:
        self.written(post)
        if post.about and self.requests.get(post.about.id) is post:
            del self.requests[post.about.id]

    # -- what the receiver hears

    def hand_on(self, frame: bytes, id: int | None, *, answers: bool = False) -> None:
        """Give the receiver a frame that came on the stream of request ``id``, or elsewhere."""
        if self.lost or self.receiver is None:
            return
        if answers and id in self.requests:
            self.requests[id].answered = True
        self.receiver.received(frame, id)

    def drop(self, post: Post, reason: str, *, session_gone: bool = False) -> None:
        """Tell that a request will have no answer, unless it had one."""
        if post.about and not post.answered and not self.lost and self.receiver is not None:
            post.answered = True
            self.receiver.dropped(post.about.id, reason, session_gone=session_gone)

    def lose(self, reason: str) -> None:
        """Tell that nothing more will come, once, and cancel everything but the caller's task."""
        if not self.lost and self.receiver is not None:
            self.stop()
            self.receiver.lost(reason)

    def stop(self) -> None:
        """Cancel everything but the caller's task; the receiver hears no more."""
        self.lost = True
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()

    async def close(self) -> None:
        """Stop, and wait until every task has ended."""
        self.stop()
        rest = self._tasks - {asyncio.current_task()}
        if rest:
            await asyncio.wait(rest)
