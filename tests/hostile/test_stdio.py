"""Clients over stdio that mean harm or are badly made: what they send, and what they don't read."""

import logging
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.engine.puppets import Asked, Message, Puppet, text, tool
from tests.engine.scene import LIST_CHANGED, called, gateway
from tests.programs import PATIENCE, TOOLPICK, Process, end

from toolpick.engine import metatools
from toolpick.engine.status import status
from toolpick.turns.query import ROOM
from toolpick.wire.own import UNREAD_LIMIT

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and closed files of POSIX")
MEGABYTE = 1024 * 1024


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


# -- what they send


async def test_a_request_that_is_nested_too_deeply_is_refused_under_its_id() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await scene.client()
        client.line(
            b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"srv__echo",'
            b'"arguments":%b}}' % nested(100_000)
        )
        assert await client.answer(77) == {
            "jsonrpc": "2.0",
            "id": 77,
            "error": {
                "code": -32600,
                "message": "Invalid Request: the message is nested too deeply",
            },
        }


async def test_whatever_the_depth_of_arguments_every_call_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with gateway(Puppet("srv"), surface="search") as scene:
        client = await scene.client()
        await scene.settled()
        for name in (b"srv__echo", b"call_tool"):
            for levels in range(900, 1000):
                inner = nested(levels)
                if name == b"call_tool":
                    inner = b'{"name":"srv__echo","arguments":%b}' % inner
                client.line(
                    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%b",'
                    b'"arguments":%b}}' % (levels, name, inner)
                )
                answer = await client.answer(levels)
                code = answer.get("error", {}).get("code")
                assert code in (None, -32600, -32602), answer
            client.heard.clear()
    assert "event=bug" not in caplog.text


@pytest.mark.parametrize("id", ["null", "true", "{}", "[1]", "NaN"])
async def test_an_id_that_is_none_is_refused(id: str) -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await scene.client()
        client.line(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id.encode())
        assert client.heard[-1] == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {
                "code": -32600,
                "message": "Invalid Request: an id must be a string or a number",
            },
        }


async def test_an_answer_without_an_id_is_not_answered() -> None:
    async with gateway(Puppet("srv")) as scene:
        client = await scene.client()
        before = len(client.heard)
        client.line(b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}')
        assert await client.ask("ping") == {}
        assert len(client.heard) == before + 1


async def test_numbers_of_thousands_of_digits_are_checked_like_others() -> None:
    many = b"9" * 5000
    strict = tool("strict", inputSchema={"type": "object", "required": ["b"]})
    async with gateway(Puppet("srv", strict), surface="search") as scene:
        client = await scene.client()
        await scene.settled()
        asked = {
            b"call_tool": b'{"name":"srv__strict","arguments":{"a":-%b}}' % many,
            b"search_tools": b'{"query":"echo","limit":%b}' % many,
        }
        said = []
        for id, (name, arguments) in enumerate(asked.items(), 100):
            params = b'{"name":"%b","arguments":%b}' % (name, arguments)
            client.line(
                b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}' % (id, params)
            )
            said.append((await client.result(id))["content"][0]["text"])
    assert said == [
        "srv__strict was not called: arguments must have 'b'; expected ()",
        "search_tools: limit must be a number, not inf",
    ]


@pytest.mark.parametrize("arguments", [[], "x", 5, True])
async def test_arguments_of_call_tool_that_are_no_object_are_told_to_the_model(
    arguments: Any,
) -> None:
    async with gateway(Puppet("srv"), surface="search") as scene:
        client = await scene.client()
        assert await client.call("call_tool", arguments) == {
            "content": [
                {"type": "text", "text": "call_tool: the arguments must be an object with a name"}
            ],
            "isError": True,
        }


async def test_a_client_whose_name_is_megabytes_long_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with gateway(Puppet("srv")) as scene:
        client = await scene.client(name="name " * 1_000_000)
        await client.tools()
        [session] = status(scene.engine)["sessions"]
        assert session["client"] == "name " * 40
    assert 0 < len(caplog.text) < 10_000


async def test_arguments_of_megabytes_are_passed_on_unchecked() -> None:
    strict = tool("strict", inputSchema={"type": "object", "required": ["b"]})
    async with gateway(Puppet("srv", strict), surface="search") as scene:
        client = await scene.client()
        await scene.settled()
        for size, said in ((10, "srv__strict was not called: "), (1_000_000, "strict was called")):
            found = await client.says("call_tool", called("srv__strict", {"a": "x" * size}))
            assert found.startswith(said)


async def test_of_a_search_of_megabytes_only_the_ends_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []
    plain = metatools.read_search

    def noted(*given: Any) -> Any:
        search = plain(*given)
        read.append(len(search.query))
        return search

    monkeypatch.setattr(metatools, "read_search", noted)
    async with gateway(Puppet("srv"), surface="search") as scene:
        client = await scene.client()
        await scene.settled()
        await client.call("search_tools", {"query": "echo " * MEGABYTE})
    assert read == [ROOM]


async def test_a_request_under_an_id_that_is_in_use_does_not_lose_the_other() -> None:
    held = anyio.Event()

    async def work(asked: Asked) -> Message:
        if asked.params["arguments"]["wait"]:
            await held.wait()
        return text("done")

    puppet = Puppet("srv")
    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client()
        await scene.settled()
        for wait in (False, True):
            params = called("srv__echo", {"wait": wait})
            client.write({"id": 7, "method": "tools/call", "params": params})
        await client.answer(7)
        client.notify("notifications/cancelled", {"requestId": 7})
        assert (await puppet.hears("notifications/cancelled"))["params"]["reason"]
        held.set()
        await client.ask("ping")
        assert len([message for message in client.heard if message.get("id") == 7]) == 1


async def test_an_answer_to_one_tool_does_not_go_on_with_another() -> None:
    async def work(asked: Asked) -> Message:
        await asked.ask("elicitation/create", {"message": "Sure?"})
        return text("asked")

    puppet = Puppet("srv", tool("one"), tool("two"), eras=("legacy",))
    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client("modern", elicitation={})
        asked = await client.call("srv__one")
        back = {
            "requestState": asked["requestState"],
            "inputResponses": {key: {"action": "accept"} for key in asked["inputRequests"]},
        }
        error = await client.fails("tools/call", {**called("srv__two"), **back})
        assert error["message"] == "unknown or expired requestState; call again without it"
        assert (await client.ask("tools/call", {**called("srv__one"), **back}))["content"]


async def test_a_message_that_ends_the_session_is_worth_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with gateway(Puppet("srv")) as scene:
        (await scene.client()).front.lost("the client closed stdin")
        (await scene.client()).front.lost("the client sent a message of more than 5 bytes")
    levels = [record.levelname for record in caplog.records if "event=end" in record.message]
    assert levels == ["INFO", "WARNING"]


# -- what they don't read


async def test_a_client_that_does_not_read_is_sent_what_it_waits_for_and_no_more() -> None:
    async def work(asked: Asked) -> Message:
        await asked.progress(1)
        refused = await asked.ask("roots/list")
        return text(repr(refused["error"]["message"]))

    puppet = Puppet("srv", eras=("legacy",))
    puppet.on["tools/call"] = work
    async with gateway(puppet) as scene:
        client = await scene.client(roots={})
        await client.tools()
        client.wire.behind = True
        said = await client.call("srv__echo", progressToken="t")
        assert said["content"] == text("'the client takes no questions now'")["content"]
        assert client.notices("notifications/progress") == []

        await puppet.changes(tool("new"))
        await client.notice(LIST_CHANGED)


@contextmanager
def serving(folder: Path, *options: str, **files: Any) -> Iterator[Process]:
    settings = folder / "servers.toml"
    settings.write_text("")
    environ = {**os.environ, "TOOLPICK_RUNTIME_DIR": str(folder / "run")}
    command = [TOOLPICK, "serve", "--config", str(settings), *options]
    pipe = subprocess.PIPE
    given = {"stdin": pipe, "stdout": pipe, "stderr": pipe, **files}
    process = subprocess.Popen(command, env=environ, **given)
    try:
        yield process
    finally:
        end(process)
        if process.stderr is not None:
            process.stderr.close()


def ping(id: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":"%b","method":"ping"}\n' % id.encode()


def write_until_blocked(process: Process, line: bytes, most: int) -> int:
    """Write lines until no more is taken for half a second; how many bytes were."""
    assert process.stdin is not None
    number = process.stdin.fileno()
    os.set_blocking(number, False)
    written = 0
    while written < most and select.select([], [number], [], 0.5)[1]:
        written += os.write(number, line[written % len(line) :])
    os.set_blocking(number, True)
    return written


@posix
def test_of_a_client_that_reads_no_answers_no_more_is_read(tmp_path: Path) -> None:
    line = ping("x" * MEGABYTE)
    with serving(tmp_path) as process:
        assert process.stdout is not None
        most = 3 * UNREAD_LIMIT
        written = write_until_blocked(process, line, most)
        assert UNREAD_LIMIT <= written < most

        answers = sum(
            process.stdout.readline().startswith(b"{") for _ in range(written // len(line))
        )
        assert answers == written // len(line)

        process.stdin.write(line[written % len(line) :])  # type: ignore[union-attr]
        process.stdin.close()  # type: ignore[union-attr]
        assert process.stdout.readline().endswith(b'"result":{}}\n')
        assert process.wait(PATIENCE) == 0


@posix
def test_a_client_that_reads_nothing_and_closes_stdin_is_gone(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        write_until_blocked(process, ping("x" * MEGABYTE), 3 * UNREAD_LIMIT)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


@posix
def test_a_client_that_closes_stdout_is_gone(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(ping("a"))
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 0


# -- how they are started


@posix
def test_one_socket_serves_for_stdin_and_stdout(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    with ours, serving(tmp_path, stdin=theirs, stdout=theirs) as process:
        theirs.close()
        lines = ours.makefile("rb")
        for id in ("a", "b"):
            ours.sendall(ping(id))
            assert lines.readline() == b'{"jsonrpc":"2.0","id":"%b","result":{}}\n' % id.encode()
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(PATIENCE) == 0
        lines.close()


@posix
def test_a_client_that_is_dev_null_is_gone(tmp_path: Path) -> None:
    with serving(tmp_path, stdin=subprocess.DEVNULL) as process:
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, b"", b"")


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_gateway_without_some_of_its_files_ends_well(tmp_path: Path, closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", TOOLPICK, "serve", "--config", "/dev/null"]
    environ = {**os.environ, "TOOLPICK_RUNTIME_DIR": str(tmp_path / "run")}
    done = subprocess.run(
        command, input=b"", capture_output=True, env=environ, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
