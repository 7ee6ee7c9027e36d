"""Requests and their ends: answers, deadlines, cancellation, loss."""

import json
from typing import Any

import anyio
import pytest
from tests.wire.recorder import Recorder

from toolpick.errors import RpcError
from toolpick.wire import peer as peers
from toolpick.wire.peer import Peer, Reply
from toolpick.wire.wire import Outgoing, Receiver


class MemoryWire:
    """Keeps what is sent; ``tells`` is what ``abandon`` says."""

    def __init__(self, tells: bool = False) -> None:
        self.sent: list[Any] = []
        self.about: list[Outgoing | None] = []
        self.abandoned: list[int] = []
        self.closed = False
        self._tells = tells

    async def start(self, receiver: Receiver) -> None:
        self.sent.append("start")

    def send(self, frame: bytes, about: Outgoing | None = None) -> None:
        self.sent.append(json.loads(frame))
        self.about.append(about)

    def abandon(self, id: int) -> bool:
        self.abandoned.append(id)
        return self._tells

    async def close(self) -> None:
        self.closed = True


class Scene:
    """A peer on a memory wire, and the replies that came."""

    def __init__(self, tells: bool = False) -> None:
        self.wire = MemoryWire(tells)
        self.listener = Recorder()
        self.peer = Peer(self.wire, self.listener)
        self.replies: dict[int, Reply] = {}
        self._more = anyio.Event()

    def request(self, method: str = "m", **options: Any) -> int:
        id = options.pop("id", 0) or self.peer.reserve()

        def done(reply: Reply) -> None:
            assert id not in self.replies
            self.replies[id] = reply
            self._more.set()
            self._more = anyio.Event()

        return self.peer.request(method, b"", done, id=id, **options)

    async def reply(self, id: int) -> Reply:
        with anyio.fail_after(5):
            while id not in self.replies:
                await self._more.wait()
        return self.replies[id]

    def outcome(self, id: int) -> tuple[int, str, bool]:
        reply = self.replies[id]
        error = json.loads(bytes(reply.error))
        return error["code"], error["message"], reply.ours


def cancelled(id: int, reason: str) -> dict[str, Any]:
    params = {"requestId": id, "reason": reason}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


async def test_a_request_says_to_the_wire_what_its_headers_need():
    scene = Scene()
    await scene.peer.start()
    scene.request("tools/call", name="t", headers={"a": "b"})
    assert scene.wire.sent == ["start", {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}]
    assert scene.wire.about == [Outgoing(1, "tools/call", "t", {"a": "b"})]


@pytest.mark.parametrize("id", [b"1", b'"1"'])
async def test_an_answer_ends_its_request_once(id: bytes):
    scene = Scene()
    scene.request()
    for result in (b'{"a":1.0}', b"{}"):
        scene.peer.received(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, result), None)
    assert {key: bytes(reply.result) for key, reply in scene.replies.items()} == {1: b'{"a":1.0}'}
    assert (scene.peer.in_flight, scene.listener.heard) == (0, [])


async def test_asking_gives_the_result_or_raises_the_error():
    scene = Scene()

    async def answer(frame: bytes) -> None:
        await anyio.wait_all_tasks_blocked()
        scene.peer.received(frame, None)

    async with anyio.create_task_group() as group:
        group.start_soon(answer, b'{"jsonrpc":"2.0","id":1,"result":{"x":1}}')
        assert await scene.peer.ask("m") == b'{"x":1}'
        group.start_soon(answer, b'{"jsonrpc":"2.0","id":2,"error":{"code":7,"message":"no"}}')
        with pytest.raises(RpcError, match=r"^no$") as caught:
            await scene.peer.ask("m")
    assert (caught.value.code, caught.value.raw) == (7, b'{"code":7,"message":"no"}')


@pytest.mark.parametrize("tells", [False, True])
async def test_asking_no_longer_cancels_the_request(tells: bool):
    scene = Scene(tells)
    async with anyio.create_task_group() as group:
        group.start_soon(scene.peer.ask, "m")
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert (scene.wire.abandoned, scene.peer.in_flight) == ([1], 0)
    assert scene.wire.sent[1:] == ([] if tells else [cancelled(1, "no longer needed")])


async def test_a_cancelled_request_is_told_and_never_done():
    scene = Scene()
    scene.request()
    assert (scene.peer.cancel(1, "user"), scene.peer.cancel(1, "user")) == (True, False)
    scene.peer.received(b'{"jsonrpc":"2.0","id":1,"result":{}}', None)
    assert scene.wire.sent[1:] == [cancelled(1, "user")]
    assert (scene.replies, scene.listener.heard) == ({}, [])


async def test_initialize_is_never_cancelled_on_the_wire():
    scene = Scene()
    scene.request("initialize")
    assert scene.peer.cancel(1, "user")
    assert (len(scene.wire.sent), scene.wire.abandoned) == (1, [1])


async def test_a_deadline_ends_a_request_and_tells_the_server():
    scene = Scene()
    scene.request("tools/call", timeout=0.01)
    await scene.reply(1)
    text = "did not answer tools/call within 0.01 s"
    assert scene.outcome(1) == (peers.TIMED_OUT, text, True)
    assert scene.wire.sent[1:] == [cancelled(1, "timeout")]


async def test_progress_pushes_the_deadline_out_to_a_cap(monkeypatch):
    monkeypatch.setattr(peers, "HARD_CAP", 3)
    scene = Scene()
    scene.request(timeout=60)
    pending = scene.peer._pending[1]
    first = pending.timer
    scene.peer.extend(1)
    assert first.cancelled()
    assert pending.timer.when() >= first.when()
    pending.latest = scene.peer._loop.time() - 1
    scene.peer.extend(1)
    await scene.reply(1)
    scene.peer.extend(1)
    assert scene.outcome(1)[0] == peers.TIMED_OUT


async def test_progress_without_a_deadline_changes_nothing():
    scene = Scene()
    scene.request()
    scene.peer.extend(1)
    assert scene.peer._pending[1].timer is None


async def test_a_clock_that_is_paused_twice_runs_after_the_second_resume():
    scene = Scene()
    scene.request(timeout=0.01)
    pending = scene.peer._pending[1]
    scene.peer.pause(1)
    scene.peer.pause(1)
    scene.peer.resume(1)
    assert pending.timer is None
    scene.peer.resume(1)
    await scene.reply(1)
    for change in (scene.peer.pause, scene.peer.resume):
        change(1)
    assert scene.outcome(1)[0] == peers.TIMED_OUT


async def test_a_paused_request_without_a_deadline_gets_none():
    scene = Scene()
    scene.request(timeout=0)
    scene.peer.pause(1)
    scene.peer.resume(1)
    assert scene.peer._pending[1].timer is None


async def test_what_the_server_starts_is_routed_by_its_shape():
    scene = Scene()
    for frame in (
        b'{"jsonrpc":"2.0","id":"s-1","method":"roots/list"}',
        b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{"x":1.0}}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":"notifications/odd"}',
    ):
        scene.peer.received(frame, 3)
    assert scene.listener.heard == [
        ("request", b'"s-1"', "roots/list", b"", 3),
        ("request", b"0", "ping", b'{"x":1.0}', 3),
        ("notification", "notifications/message", b"{}", 3),
        ("notification", "notifications/odd", b"", 3),
    ]


async def test_notifications_replies_and_refusals_are_sent_while_the_peer_lives():
    scene = Scene()
    for _ in range(2):
        scene.peer.notify("n", b"{}")
        scene.peer.respond(b'"s-1"', b"{}")
        scene.peer.refuse(b"2", b'{"code":1,"message":""}')
        scene.peer.lost("gone")
    assert scene.wire.sent == [
        {"jsonrpc": "2.0", "method": "n", "params": {}},
        {"jsonrpc": "2.0", "id": "s-1", "result": {}},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": ""}},
    ]


async def test_noise_is_told_and_hurts_nobody():
    scene = Scene()
    scene.request()
    noise = [b"starting", b'{"level":"info","id":1}', b"[]", b'{"id":"x","result":{}}']
    for line in noise:
        scene.peer.received(line, None)
    assert scene.listener.heard == [("noise", line) for line in noise]
    assert scene.peer.in_flight == 1


async def test_a_bug_in_whoever_listens_costs_one_message(caplog):
    class Buggy(Recorder):
        def on_notification(self, method: str, params: bytes, origin: int | None) -> None:
            if method == "bug":
                raise KeyError(method)
            if method == "refused":
                raise RpcError(-32602, "params")
            super().on_notification(method, params, origin)

    scene = Scene()
    scene.peer._listener = listener = Buggy()
    for method in (b"bug", b"refused", b"fine"):
        scene.peer.received(b'{"jsonrpc":"2.0","method":"%b"}' % method, None)
    assert listener.heard == [
        ("noise", b'{"jsonrpc":"2.0","method":"refused"}'),
        ("notification", "fine", b"", None),
    ]
    assert [record.getMessage() for record in caplog.records] == ["event=bug bytes=32"]


async def test_a_torn_answer_fails_its_request_at_once():
    scene = Scene()
    scene.request()
    torn = b'{"jsonrpc":"2.0","id":1,"result":{"a":"'
    scene.peer.received(torn, None)
    assert scene.outcome(1) == (peers.LOST, "sent an answer that is no JSON", True)
    assert scene.listener.heard == [("noise", torn)]


DEEP = b'{"jsonrpc":"2.0","id":1,"result":{"a":' + b"[" * 200_000 + b"]" * 200_000 + b',"b":1}}'


async def test_an_answer_that_is_too_deep_fails_its_request_at_once():
    scene = Scene()
    scene.request()
    scene.peer.received(DEEP, None)
    expected = (peers.LOST, "sent an answer that is nested too deeply to be read", True)
    assert scene.outcome(1) == expected


async def test_an_answer_that_may_be_cut_loses_only_what_is_too_deep():
    scene = Scene()
    scene.request(shallow=True)
    scene.peer.received(DEEP, None)
    result = json.loads(bytes(scene.replies[1].result))
    assert result["b"] == 1
    assert scene.listener.heard == []


async def test_a_torn_answer_is_not_mended_by_cutting():
    scene = Scene()
    scene.request(shallow=True)
    scene.peer.received(DEEP[:-100], None)
    assert scene.outcome(1)[0] == peers.LOST


@pytest.mark.parametrize(
    ("members", "result", "error"),
    [
        (b'"result":{},"error":null', b"{}", b""),
        (b'"method":null,"result":{},"error":null', b"{}", b""),
        (b'"result":null,"error":{"code":1,"message":"m"}', b"", b'{"code":1,"message":"m"}'),
        (b'"result":{},"error":{"code":1,"message":"m"}', b"", b'{"code":1,"message":"m"}'),
        (b'"error":"boom"', b"", b'{"code":-32603,"message":"boom"}'),
    ],
)
async def test_an_answer_is_a_result_or_an_error(members: bytes, result: bytes, error: bytes):
    scene = Scene()
    scene.request()
    scene.peer.received(b'{"jsonrpc":"2.0","id":1.0,%b}' % members, None)
    reply = scene.replies[1]
    assert (bytes(reply.result), bytes(reply.error), reply.ours) == (result, error, False)


async def test_messages_behind_noise_and_in_batches_are_read():
    scene = Scene()
    for _ in range(3):
        scene.request()
    scene.peer.received(b'ready {"jsonrpc":"2.0","id":1,"result":1}', None)
    scene.peer.received(
        b'[{"jsonrpc":"2.0","id":2,"result":2},{"jsonrpc":"2.0","method":"n"},'
        b'{"jsonrpc":"2.0","id":3,"result":3}]',
        None,
    )
    assert {id: bytes(reply.result) for id, reply in scene.replies.items()} == {
        1: b"1",
        2: b"2",
        3: b"3",
    }
    assert scene.listener.heard == [("notification", "n", b"", None)]


async def test_an_error_to_nobody_belongs_to_the_only_request_there_is():
    scene = Scene()
    frame = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}'
    scene.request()
    scene.peer.received(frame, None)
    assert scene.outcome(1) == (-32700, "what?", False)
    scene.request()
    scene.request()
    scene.peer.received(frame, None)
    assert (scene.peer.in_flight, scene.listener.heard) == (2, [("noise", frame)])


@pytest.mark.parametrize("id", [b"1.5", b"-1", b'"1_0"', b"9" * 40, b'"\xc2\xb2"', b"[1]"])
async def test_ids_that_we_never_gave_are_noise(id: bytes):
    scene = Scene()
    scene.request()
    frame = b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id
    scene.peer.received(frame, None)
    assert scene.listener.heard == [("noise", frame)]


async def test_a_dropped_request_says_whether_it_may_be_sent_again():
    scene = Scene()
    for _ in range(3):
        scene.request()
    scene.peer.dropped(1, "HTTP says no")
    scene.peer.dropped(2, "forgot us", session_gone=True)
    scene.peer.dropped(2, "again")
    assert (scene.outcome(1), scene.outcome(2)) == (
        (peers.LOST, "HTTP says no", True),
        (peers.SESSION_GONE, "forgot us", True),
    )
    assert scene.peer.in_flight == 1


async def test_a_lost_wire_fails_everything_once_and_what_comes_later_too():
    scene = Scene()
    scene.request()
    scene.request(timeout=60)
    scene.peer.lost("exited with code 3")
    scene.peer.lost("again")
    scene.request()
    expected = (peers.LOST, "exited with code 3", True)
    assert [scene.outcome(id) for id in (1, 2, 3)] == [expected] * 3
    assert scene.listener.heard == [("lost", "exited with code 3")]
    assert len(scene.wire.sent) == 2


async def test_closing_fails_what_is_pending_and_closes_the_wire():
    scene = Scene()
    scene.request()
    await scene.peer.close()
    assert scene.outcome(1) == (peers.LOST, "the connection was closed", True)
    assert (scene.wire.closed, scene.peer.closed) == (True, "the connection was closed")


async def test_idle_is_when_nothing_is_in_flight():
    scene = Scene()
    ended = []

    async def wait() -> None:
        await scene.peer.idle()
        ended.append(scene.peer.in_flight)

    await scene.peer.idle()
    scene.request()
    scene.request()
    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        scene.peer.received(b'{"jsonrpc":"2.0","id":1,"result":{}}', None)
        await anyio.wait_all_tasks_blocked()
        assert ended == []
        scene.peer.cancel(2, "done")
    assert ended == [0, 0]
