"""Commands in odd surroundings: one clear sentence, the right exit code, never a traceback."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.engine.scene import greeting
from tests.hostile.test_stdio import ping, serving
from tests.programs import PATIENCE, TOOLPICK, Process, end

from toolpick.config import source
from toolpick.config.load import load
from toolpick.engine.selections import cache_folder
from toolpick.errors import ConfigError
from toolpick.front.descriptors import WANTED

posix = pytest.mark.skipif(sys.platform == "win32", reason="files and limits of POSIX")
TOOLS = '{"server": "time", "name": "now", "inputSchema": {"type": "object"}}\n'


def run(folder: Path, *command: str, **options: Any) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command with empty settings."""
    settings = folder / "servers.toml"
    settings.touch()
    environ = {
        **os.environ,
        "TOOLPICK_RUNTIME_DIR": str(folder / "run"),
        "TOOLPICK_CONFIG": str(settings),
        **options.pop("env", {}),
    }
    files: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        env=environ,
        cwd=folder,
        timeout=PATIENCE,
        check=False,
        text=True,
        **files,
    )
    return done.returncode, done.stdout, done.stderr


@posix
@pytest.mark.parametrize("command", ["check", "tools", "status"])
def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        code, _, err = run(tmp_path, TOOLPICK, command, stdout=full)
    assert (code, err) == (1, "toolpick: No space left on device\n")


def test_a_level_of_logs_that_is_none_is_said_in_a_sentence(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, TOOLPICK, "check", env={"TOOLPICK_LOG": "loud"})
    said = "argument --log-level: 'loud' is not one of debug, info, warning, error"
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == f"toolpick check: error: {said}"


@pytest.mark.parametrize("level", ["", "ERROR"])
def test_an_empty_level_and_one_in_capitals_are_understood(tmp_path: Path, level: str) -> None:
    assert run(tmp_path, TOOLPICK, "check", env={"TOOLPICK_LOG": level})[0] == 0


@posix
def test_a_working_directory_that_is_gone_is_said_in_a_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd {gone} && rmdir {gone} && exec "$@"'
    code, out, err = run(tmp_path, "sh", "-c", script, "sh", TOOLPICK, "tools")
    said = "toolpick: the working directory is gone; change to another one"
    assert (code, out, err.splitlines()[-1]) == (1, "", said)


@pytest.mark.parametrize("port", ["99999", "-1", "x", "65536"])
def test_a_port_that_is_none_is_refused(tmp_path: Path, port: str) -> None:
    code, _, err = run(tmp_path, TOOLPICK, "serve", "--http", "--port", port)
    assert (code, err.splitlines()[-1]) == (
        2,
        f"toolpick serve: error: argument --port: '{port}' is no port; write 0 to 65535",
    )


@pytest.mark.parametrize("limit", ["0", "-5", "x"])
@pytest.mark.parametrize("command", [("explain", "what time is it"), ("eval", "--queries", "q")])
def test_a_limit_that_leaves_nothing_is_refused(
    tmp_path: Path, command: tuple[str, ...], limit: str
) -> None:
    code, _, err = run(tmp_path, TOOLPICK, *command, "--limit", limit)
    assert code == 2
    said = f"argument --limit: '{limit}' is no whole number above 0"
    assert err.splitlines()[-1].endswith(said)


def test_queries_that_are_nested_too_deeply_are_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "tools.jsonl").write_text(TOOLS)
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    command = ("eval", "--tools", "tools.jsonl", "--queries", "deep.jsonl")
    code, out, err = run(tmp_path, TOOLPICK, *command)
    assert (code, out) == (3, "")
    assert err.startswith("deep.jsonl:1: is no JSON: ")
    assert err.count("\n") == 1


@posix
def test_settings_and_queries_without_an_end_are_not_read_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LARGEST", 1000)
    with pytest.raises(ConfigError, match=r"^/dev/zero: is larger than 1000 bytes"):
        load(Path("/dev/zero"), {})

    command = (TOOLPICK, "serve", "--query-file", "/dev/zero")
    assert run(tmp_path, *command) == (0, "", "")


@posix
def test_a_low_limit_of_open_files_is_raised(tmp_path: Path) -> None:
    said = (
        "from toolpick.front.descriptors import raise_limit, most_connections; import resource;"
        "raise_limit(); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], most_connections())"
    )
    script = 'ulimit -Sn 256; exec "$@"'
    code, out, _ = run(tmp_path, "sh", "-c", script, "sh", sys.executable, "-c", said)
    limit, connections = map(int, out.split())
    assert code == 0
    assert 256 <= limit <= max(WANTED)
    assert connections == limit // 2


@posix
def test_a_limit_of_open_files_that_can_not_be_raised_is_lived_with(tmp_path: Path) -> None:
    said = "from toolpick.front.descriptors import *; raise_limit(); print(most_connections())"
    script = 'ulimit -n 64; exec "$@"'
    command = ("sh", "-c", script, "sh", sys.executable, "-c", said)
    assert run(tmp_path, *command) == (0, "32\n", "")


def test_without_a_home_no_cache_is_kept_in_the_working_directory() -> None:
    assert cache_folder({}).is_absolute()
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/toolpick")
    assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/toolpick")


# -- signals


def answered(process: Process) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(ping("a"))
    process.stdin.flush()
    assert process.stdout.readline()


@posix
def test_a_closed_terminal_ends_the_gateway_in_good_order(tmp_path: Path) -> None:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        pytest.skip("nohup runs these tests, and what they start")
    with serving(tmp_path) as process:
        answered(process)
        process.send_signal(signal.SIGHUP)
        assert process.wait(PATIENCE) == 0
        assert list((tmp_path / "run").iterdir()) == []


STUCK = """
import sys, time
from toolpick.cli import main
from toolpick_selectors.lexical import Lexical

def select(*_):
    print("at work", file=sys.stderr, flush=True)
    time.sleep(600)

Lexical.select = select
sys.exit(main(["serve", "--config", sys.argv[1]]))
"""


@posix
def test_a_selector_that_is_stuck_does_not_keep_the_gateway(tmp_path: Path) -> None:
    server = Path(__file__).parents[1] / "small_server.py"
    settings = tmp_path / "servers.toml"
    settings.write_text(
        f'''
        gateway.surface = "search"
        selector.kind = "lexical"
        servers.srv.command = "{sys.executable}"
        servers.srv.args = ["{server}", "echo"]
        '''
    )
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(settings)],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**os.environ, "TOOLPICK_RUNTIME_DIR": str(tmp_path / "run")},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        search = {"name": "search_tools", "arguments": {"query": "echo"}}
        for id, (method, params) in enumerate(
            [("initialize", greeting({})), ("tools/call", search)], 1
        ):
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        said = b""
        while b"at work" not in said:
            assert select.select([process.stderr], [], [], PATIENCE)[0], said
            said += os.read(process.stderr.fileno(), 1000)
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    finally:
        process.stderr.close()
        end(process)


@posix
def test_a_gateway_that_ignores_closed_terminals_stays(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with serving(tmp_path) as process:
            answered(process)
            process.send_signal(signal.SIGHUP)
            answered(process)
    finally:
        signal.signal(signal.SIGHUP, before)
