"""What ``check`` and ``tools`` print for programs: every member of it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolpick.cli import main

SERVER = Path(__file__).parents[1] / "small_server.py"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with settings; gives its exit code and stdout."""

    def ran(settings: str, *words: str) -> tuple[int, str]:
        path = tmp_path / "servers.toml"
        path.write_text(settings, encoding="utf-8")
        code = main([*words, "--config", str(path)])
        return code, capsys.readouterr().out

    return ran


def mounted(name: str, *arguments: str, more: str = "") -> str:
    args = json.dumps([str(SERVER), *arguments])
    return f"[servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n{more}\n"


def test_check_tells_everything_of_each_server(run: Run) -> None:
    settings = (
        mounted("good", "read", "write")
        + mounted("bad", "--die", "no disk left", more="required = true")
        + mounted("off", more="enabled = false")
    )

    code, out = run(settings, "check", "--json")

    found = json.loads(out)
    by_name = {row.pop("server"): row for row in found.pop("servers")}
    assert (code, found) == (2, {"ok": False, "problems": []})
    assert by_name["good"].pop("seconds") > 0
    assert by_name == {
        "good": {
            "state": "ok",
            "required": False,
            "transport": "stdio",
            "era": "legacy",
            "version": "2025-11-25",
            "tools": 2,
            "prompts": 0,
            "resources": 0,
            "problem": "",
            "stderr": [],
        },
        "bad": {
            "state": "failed",
            "required": True,
            "transport": "stdio",
            "era": "",
            "version": "",
            "tools": 0,
            "prompts": 0,
            "resources": 0,
            "seconds": 0.0,
            "problem": "exited with code 7; its last stderr line: 'no disk left'",
            "stderr": ["no disk left"],
        },
        "off": {"state": "off", "problem": "", "required": False},
    }


def test_tools_tells_everything_of_each_tool(run: Run) -> None:
    code, out = run(mounted("srv", "read", "write"), "tools", "--json")

    rows = [json.loads(line) for line in out.splitlines()]
    tokens = [row.pop("tokens") for row in rows]
    assert code == 0
    assert all(10 < count < 100 for count in tokens)
    assert rows == [row("read"), row("write")]


def row(name: str, **more: Any) -> dict[str, Any]:
    definition = {
        "name": f"srv__{name}",
        "description": f"Can {name} things.",
        "inputSchema": SCHEMA,
    }
    return {
        "name": f"srv__{name}",
        "server": "srv",
        "tool": name,
        "definition": definition,
        **more,
    }


def test_a_query_shows_what_it_selects_best_first_with_scores(run: Run) -> None:
    settings = '[selector]\nkind = "lexical"\n' + mounted("srv", "rename", "forecast", "rename_all")

    code, out = run(settings, "tools", "--json", "--query", "rename it")

    rows = [json.loads(line) for line in out.splitlines()]
    scores = [row["score"] for row in rows]
    assert code == 0
    assert rows[0]["name"] == "srv__rename"
    assert "srv__forecast" not in [row["name"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


def test_no_servers_is_no_failure(run: Run) -> None:
    assert run("", "check", "--json") == (
        0,
        json.dumps({"ok": True, "problems": [], "servers": []}) + "\n",
    )
    assert run("", "tools", "--json") == (0, "")
