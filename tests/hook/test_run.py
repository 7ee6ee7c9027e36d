import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.programs import PATIENCE, TOOLPICK

from toolpick.cli import hook, main, parser
from toolpick.hook import beacons, hosts
from toolpick.hook.run import LONGEST, WAIT, Options, answered

PROMPT = {
    "hook_event_name": "UserPromptSubmit",
    "session_id": "s",
    "cwd": "/p",
    "prompt": "Send a letter.",
}
LIGHT = """
import sys
before = set(sys.modules)
from toolpick.cli import main
code = main(["hook"])
heavy = {"typing", "dataclasses", "argparse", "asyncio", "anyio", "inspect", "pathlib", "logging"}
heavy |= {"msgspec", "subprocess", "numpy", "socket", "importlib.metadata"}
print(sorted(heavy & (set(sys.modules) - before)), file=sys.stderr)
sys.exit(code)
"""


class Gateway:
    """A beacon, and a socket that gives one answer to all it is asked."""

    def __init__(self, folder: Path, answer: dict[str, Any], **said: Any) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.heard: list[dict[str, Any]] = []
        path = folder / f"{len(list(folder.iterdir()))}.json"
        beacons.write(str(path), {"pid": 1, **said})
        self._answer = json.dumps(answer).encode() + b"\n"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path.with_suffix(".sock")))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                self.heard.append(json.loads(lines.readline()))
                connection.sendall(self._answer)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._listener.close()


def run(said: Any, folder: Path, *options: str, **environ: str) -> dict[str, Any]:
    call = hosts.read(json.dumps(said).encode())
    environ = {"TOOLPICK_RUNTIME_DIR": str(folder / "run"), **environ}
    return answered(call, Options(["--wait", str(PATIENCE), *options]), environ, time.monotonic())


def started(given: bytes, folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "TOOLPICK_RUNTIME_DIR": str(folder / "run")}
    return subprocess.run(
        [TOOLPICK, "hook", *options],
        input=given,
        env=environ,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_gateway_of_the_conversation_gets_the_prompt_and_the_host_the_context(
    tmp_path: Path,
) -> None:
    gateway = Gateway(tmp_path / "run", {"context": "Call post__send."}, session="s")

    answer = run(PROMPT, tmp_path, "--server", "mine", ENABLE_TOOL_SEARCH="false", SECRET="x")

    assert answer == {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": "Call post__send.",
        }
    }
    [heard] = gateway.heard
    assert 0 < heard.pop("wait") < PATIENCE
    assert heard == {
        "command": "prompt",
        "host": "claude-code",
        "prompt": "Send a letter.",
        "session_id": "s",
        "cwd": "/p",
        "server": "mine",
        "profile": "",
        "environ": {"ENABLE_TOOL_SEARCH": "false"},
    }
    gateway.close()


def test_contexts_of_two_gateways_are_joined(tmp_path: Path) -> None:
    made = [
        Gateway(tmp_path / "run", {"context": text}, session="s") for text in ("one", "two", "")
    ]

    answer = run(PROMPT, tmp_path)

    said = answer["hookSpecificOutput"]["additionalContext"]
    assert sorted(said.split("\n\n")) == ["one", "two"]
    for gateway in made:
        gateway.close()


def test_a_gateway_of_another_conversation_hears_nothing(tmp_path: Path) -> None:
    other = Gateway(tmp_path / "run", {"context": "no"}, session="t", cwd="/q")

    assert run(PROMPT, tmp_path) == {}
    assert other.heard == []
    other.close()


def test_a_gateway_over_http_is_named_by_its_port(tmp_path: Path) -> None:
    shared = Gateway(tmp_path / "run", {"context": "yes"}, transport="http", port=8931, cwd="/")

    assert run(PROMPT, tmp_path) == {}
    assert run(PROMPT, tmp_path, "--port=8931")["hookSpecificOutput"]["additionalContext"] == "yes"
    shared.close()


def test_an_empty_prompt_goes_to_nobody(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path / "run", {"context": "no"}, session="s")

    assert run({**PROMPT, "prompt": " \n"}, tmp_path) == {}
    assert gateway.heard == []
    gateway.close()


def test_the_choice_of_functions_is_only_given_when_it_is_asked_for(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path / "run", {"names": ["call_tool", "a__b"]}, session="s")
    question = {"hook_event_name": "BeforeToolSelection", "session_id": "s", "cwd": "/p"}

    assert run(question, tmp_path) == {}
    assert gateway.heard == []
    answer = run(question, tmp_path, "--tool-selection")
    assert answer["hookSpecificOutput"]["toolConfig"]["allowedFunctionNames"] == [
        "mcp_toolpick_call_tool",
        "mcp_toolpick_a__b",
    ]
    gateway.close()


def test_once_a_function_was_called_at_any_gateway_the_model_may_speak(tmp_path: Path) -> None:
    made = [
        Gateway(tmp_path / "run", {"names": ["a__b"], "called": called}, session="s")
        for called in (False, True)
    ]
    question = {"hook_event_name": "BeforeToolSelection", "session_id": "s", "cwd": "/p"}

    assert run(question, tmp_path, "--tool-selection") == {}
    for gateway in made:
        gateway.close()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (WAIT, 0, "toolpick", False)),
        (["--wait", "2", "--port", "80", "--server", "x"], (2.0, 80, "x", False)),
        (["--wait=1.5", "--tool-selection", "--server=x"], (1.5, 0, "x", True)),
        (["--wait", "soon", "--port", "", "--other", "1"], (WAIT, 0, "toolpick", False)),
        (["--wait", "nan"], (WAIT, 0, "toolpick", False)),
        (["--wait", "-1"], (0.0, 0, "toolpick", False)),
        (["--wait", "1e9"], (LONGEST, 0, "toolpick", False)),
        (["--wait"], (WAIT, 0, "toolpick", False)),
    ],
)
def test_options_that_make_no_sense_are_passed_over(
    arguments: list[str], expected: tuple[float, int, str, bool]
) -> None:
    made = Options(arguments)

    assert (made.wait, made.port, made.server, made.selection) == expected


@pytest.mark.parametrize(
    "given", [b"", b"garbage", b"\xff\x00", json.dumps(PROMPT).encode(), b"[" * 200_000]
)
def test_without_a_gateway_the_host_is_let_go_on(tmp_path: Path, given: bytes) -> None:
    done = started(given, tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")


def test_a_dead_socket_is_no_hindrance_and_is_removed(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path / "run", {}, session="s")
    gateway.close()

    done = started(json.dumps(PROMPT).encode(), tmp_path)

    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert list((tmp_path / "run").iterdir()) == []


def test_a_gateway_that_hangs_holds_the_prompt_up_no_longer_than_the_wait(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    beacons.write(str(folder / "a.json"), {"pid": 1, "session": "s"})
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "a.sock"))
        listener.listen()

        done = started(json.dumps(PROMPT).encode(), tmp_path, "--wait", "0.05")

    assert (done.returncode, done.stdout) == (0, b"{}\n")


def test_whatever_goes_wrong_the_prompt_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(PROMPT).encode())))
    monkeypatch.setattr("toolpick.hook.run.found", lambda *_: 1 // 0)

    assert main(["hook"]) == 0
    assert capsys.readouterr() == ("{}\n", "toolpick hook: ZeroDivisionError\n")


def test_a_host_that_does_not_read_the_answer_is_no_failure(tmp_path: Path) -> None:
    environ = {**os.environ, "TOOLPICK_RUNTIME_DIR": str(tmp_path / "run")}
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [TOOLPICK, "hook"],
        input=b"{}",
        stdout=write,
        stderr=subprocess.PIPE,
        env=environ,
        timeout=PATIENCE,
        check=False,
    )
    os.close(write)

    assert (process.returncode, process.stderr) == (0, b"")


def test_a_hook_without_a_gateway_imports_next_to_nothing(tmp_path: Path) -> None:
    environ = {**os.environ, "TOOLPICK_RUNTIME_DIR": str(tmp_path / "run")}
    environ.pop("COVERAGE_PROCESS_CONFIG", None)
    done = subprocess.run(
        [sys.executable, "-c", LIGHT],
        input=json.dumps(PROMPT).encode(),
        env=environ,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"[]\n")


def test_the_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["hook", "--help"])

    assert ended.value.code == 0
    assert "--tool-selection" in capsys.readouterr().out


def test_the_commands_own_parser_understands_the_same_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = Gateway(tmp_path / "run", {"context": "yes"}, transport="http", port=8931)
    monkeypatch.setenv("TOOLPICK_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(PROMPT).encode())))

    args = parser().parse_args(["hook", "--port", "8931", "--server", "mine", "--wait", "5"])

    assert hook.run(args) == 0
    assert "yes" in capsys.readouterr().out
    assert gateway.heard[0]["server"] == "mine"
    gateway.close()
