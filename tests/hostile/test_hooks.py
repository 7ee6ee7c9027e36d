"""Hooks and control sockets among hosts, files and callers that are badly made."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.front.test_control import ask, beacon, controlled, say
from tests.hook.test_asking import gateways, soon
from tests.programs import PATIENCE

from toolpick.hook import beacons
from toolpick.hook.asking import ask as ask_gateways
from toolpick.hook.hosts import joined

HOOK = [sys.executable, "-c", "import sys; from toolpick.cli import main; sys.exit(main())", "hook"]
PROMPT = {
    "hook_event_name": "UserPromptSubmit",
    "prompt": "is it going to rain",
    "session_id": "s",
    "cwd": "/",
}
posix = pytest.mark.skipif(sys.platform == "win32", reason="pipes and closed files of POSIX")


def environ(folder: Path) -> dict[str, str]:
    return {**os.environ, "TOOLPICK_RUNTIME_DIR": str(folder / "run")}


# -- the hook and its host


@posix
@pytest.mark.parametrize("written", [b"", b'{"hook', json.dumps(PROMPT).encode()])
def test_a_host_that_does_not_close_what_it_writes_to_gets_its_answer(
    tmp_path: Path, written: bytes
) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(HOOK, stdin=pipe, stdout=pipe, env=environ(tmp_path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(written)
        process.stdin.flush()
        assert process.stdout.readline() == b"{}\n"
        assert process.wait(PATIENCE) == 0


@posix
def test_a_large_prompt_in_an_open_pipe_is_read_whole(tmp_path: Path) -> None:
    said = json.dumps(
        {**PROMPT, "hook_event_name": "beforeSubmitPrompt", "prompt": "}" * 3_000_000}
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(HOOK, stdin=pipe, stdout=pipe, env=environ(tmp_path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(said.encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"continue": True}
        assert process.wait(PATIENCE) == 0


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_hook_without_some_of_its_files_ends_well(tmp_path: Path, closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *HOOK]
    done = subprocess.run(
        command,
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env=environ(tmp_path),
        timeout=PATIENCE,
        check=False,
    )
    expected = b"" if ">&- " in f"{closed} ".replace("2>&-", "") else b"{}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")


# -- what lies beside the sockets


@posix
def test_what_is_no_beacon_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    for name, text in {
        "deep": "[" * 60_000,
        "far": '{"pid": 1, "tcp": 70000}',
        "below": '{"pid": 1, "tcp": -70000}',
        "endless": '{"pid": 1e999}',
        "long": '{"pid": ' + "9" * 5000 + "}",
        "torn": '{"pid": 1, "parents": [[1]]}',
        "list": "[]",
    }.items():
        (folder / f"{name}.json").write_text(text)
    beacons.write(str(folder / "good.json"), {"pid": 7})

    assert [found.pid for found in beacons.read_all(environ(tmp_path))] == [7]


# -- several gateways


def test_a_gateway_that_answers_garbage_costs_the_others_nothing(tmp_path: Path) -> None:
    answers = (b"[" * 100_000 + b"\n", b"\xff\n", b'{"context": "good"}\n')
    with gateways(tmp_path, *answers) as made:
        found = ask_gateways([each.beacon for each in made], {"command": "x"}, soon())
    assert found == [{"context": "good"}]


def test_half_a_character_in_a_context_does_not_cost_the_others() -> None:
    assert joined(["a", "\ud800", "b"]) == "a\n\n\ud800\n\nb"


# -- the control socket


@pytest.mark.parametrize("tcp", [False, True])
async def test_half_a_character_for_a_secret_is_a_wrong_one(tmp_path: Path, tcp: bool) -> None:
    async with controlled(tmp_path, tcp=tcp):
        found = beacon(tmp_path)
        answer = json.loads(await say(found, b'{"command": "status", "secret": "\\ud800"}\n'))
        assert ("error" in answer) is tcp
        again: Any = await ask(found, command="status", secret=found.secret)
        assert again["transport"] == "http"


@pytest.mark.parametrize("wait", ["NaN", "Infinity", "-1", "1" + "0" * 400, '"x"', "[]", "true"])
async def test_a_wait_that_is_no_number_of_seconds_is_brought_into_bounds(
    tmp_path: Path, wait: str
) -> None:
    async with controlled(tmp_path):
        line = f'{{"command": "prompt", "prompt": "will it rain", "wait": {wait}}}\n'
        assert json.loads(await say(beacon(tmp_path), line.encode())) == {}
