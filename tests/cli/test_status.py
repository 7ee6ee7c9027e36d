"""``toolpick status`` against gateways that run, that hang, and that are gone."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.programs import SERVERS, end, free_port, listening, mounting, serve
from tests.raw_client import Http, Pipes

from toolpick.cli import main
from toolpick.hook import beacons

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets are files here")

PROFILE = (
    '\n[profiles.pictures]\nallow = ["all__*image*"]\nsurface = "search"\nquery = "pictures"\n'
)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings with one server and one profile; gateways and hooks meet in a folder of the test."""
    folder = tmp_path / "run"
    monkeypatch.setenv(beacons.FOLDER, str(folder))
    monkeypatch.chdir(tmp_path)
    found = mounting(tmp_path, {"all": [sys.executable, str(SERVERS / "everything.py")]})
    found.write_text(found.read_text() + PROFILE)
    return found


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What the command prints; it never fails."""

    def run(*words: str) -> str:
        assert main(["status", *words]) == 0
        return capsys.readouterr().out

    return run


def without(said: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name not in names}


def test_no_gateway_is_no_error(config: Path, status: Callable[..., str]) -> None:
    assert status() == "no gateway is running\n"
    assert status("--json") == ""


def test_what_a_gateway_left_behind_that_is_gone_is_no_gateway(
    config: Path, status: Callable[..., str]
) -> None:
    folder = Path(beacons.own_folder({beacons.FOLDER: str(config.parent / "run")}))
    beacons.write(str(folder / "1-a.json"), {"pid": 1})
    (folder / "2-b.json").write_text("garbage")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "1-a.sock"))

    assert status() == "no gateway is running\n"


def test_a_gateway_over_stdio_tells_of_its_client(
    config: Path, status: Callable[..., str], tmp_path: Path
) -> None:
    process = subprocess.Popen(
        serve(config, "--query", "an image"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    client = Pipes(process, modern=False)
    try:
        client.open()
        client.request("tools/list", {})
        said = json.loads(status("--json"))
        text = status()
    finally:
        end(process)

    [session] = said["sessions"]
    [server] = session["servers"]
    assert (said["pid"], said["transport"], said["settings"], said["cwd"]) == (
        process.pid,
        "stdio",
        str(config),
        str(tmp_path),
    )
    shown = without(session, "tokens_shown", "tokens_total", "servers", "list", "known_as", "why")
    total = session["tools_total"]
    assert shown == {
        "client": "raw",
        "client_version": "1",
        "profile": "",
        "era": "legacy",
        "version": "2025-11-25",
        "shared": False,
        "surface": "full",
        "query_source": "command",
        "turns": 0,
        "selected": 0,
        "listed": True,
        "tools_shown": total,
        "tools_total": total,
        "list_changes": 0,
        "tokens_reread": 0,
    }
    assert without(server, "started_in") == {
        "name": "all",
        "state": "up",
        "problem": "",
        "tools": total,
        "starts": 1,
    }
    tokens = f"{session['tokens_total']:,}"
    assert text.splitlines() == [
        f"gateway {process.pid}  stdio  {config}",
        f"  in {tmp_path}, selector {said['selector']}",
        "",
        "  raw 1  legacy 2025-11-25",
        '    surface  full: surface = "full" is set',
        "    query    command; 0 turns",
        f"    tools    {total} shown of {total}",
        f"    tokens   about {tokens} shown of {tokens}",
        "    changes  0 list changes, about 0 tokens read again",
        f"    server   all: up, {total} tools",
    ]


def test_a_gateway_over_http_tells_of_each_profile(
    config: Path, status: Callable[..., str], tmp_path: Path
) -> None:
    port = free_port()
    with listening(serve(config, "--http", "--port", str(port)), port, tmp_path):
        assert "  no client is connected" in status().splitlines()
        clients = [Http(port, modern=False, path="/mcp/pictures"), Http(port, modern=True)]
        for client in clients:
            client.open()
            client.request("tools/list", {})
        said = json.loads(status("--json"))
        text = status()
        for client in clients:
            client.close()

    shown = [
        (
            each["client"],
            each["profile"],
            each["era"],
            each["surface"],
            each["query_source"],
            each["tools_shown"],
            each["tools_total"],
        )
        for each in said["sessions"]
    ]
    total = said["sessions"][1]["tools_total"]
    assert shown == [
        ("raw", "pictures", "legacy", "search", "profile", 2, 1),
        ("raw", "", "modern", "full", "", total, total),
    ]
    assert text.startswith(f"gateway {said['pid']}  http at port {port}  {config}\n")
    assert "  raw 1, profile pictures  legacy 2025-11-25" in text
    assert "  all clients of 2026-07-28  modern 2026-07-28" in text


def test_a_gateway_that_hangs_is_left_out(
    config: Path, status: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolpick.cli.status.PATIENCE", 0.05)
    folder = Path(beacons.own_folder({beacons.FOLDER: str(config.parent / "run")}))
    beacons.write(str(folder / "1-a.json"), {"pid": 1})
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / "1-a.sock"))
        silent.listen()
        assert status() == "no gateway is running\n"


def test_a_server_in_trouble_is_shown_with_its_problem(
    tmp_path: Path, config: Path, status: Callable[..., str]
) -> None:
    config.write_text('[servers.gone]\ncommand = "no-such-program-here"\n')
    port = free_port()
    with listening(serve(config, "--http", "--port", str(port)), port, tmp_path):
        client = Http(port, modern=False)
        client.open()
        client.request("tools/list", {})
        lines = [line for line in status().splitlines() if "server   gone" in line]
        client.close()

    assert len(lines) == 1
    assert "gone: waiting, 0 tools" in lines[0]
    assert "no-such-program-here" in lines[0]
