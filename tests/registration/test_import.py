"""``toolpick install --import``: a client's own servers move behind toolpick, and back."""

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.registration.conftest import Desk

from toolpick.clients.imports import Stays, moved
from toolpick.clients.plan import backup_of
from toolpick.clients.registration import client
from toolpick.config.load import load

SERVERS = {
    "Brave Search": {
        "command": "npx",
        "args": ["-y", "brave"],
        "env": {"KEY": "s3cret-key", "HOST": "${env:HOST_NAME}"},
    },
    "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${env:DOCS}"}},
    "asks": {"command": "x", "env": {"KEY": "${input:key}"}},
    "time": {"command": "mcp-server-time"},
}


@pytest.fixture
def cursor(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cursor's file, with servers of all kinds in it, and the variables that these need."""
    monkeypatch.setenv("HOST_NAME", "box")
    monkeypatch.setenv("DOCS", "d0c")
    path = desk.home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": SERVERS}, indent=2))
    return path


def test_servers_move_into_the_settings_and_the_client_starts_toolpick(
    desk: Desk, cursor: Path
) -> None:
    settings = desk.project / "servers.toml"
    before = settings.read_text()

    code, out, err = desk.run("install", "cursor", "--import", "--no-hook")

    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        f"servers of Cursor, to {settings}",
        "  Brave Search becomes [servers.Brave-Search]: npx",
        "  docs becomes [servers.docs]: docs.example",
        "  asks stays: '${input:key}' is something that only Cursor can fill in",
        "  time stays: there is a [servers.time] already",
    ]
    assert "s3cret-key" not in out
    left = json.loads(cursor.read_text())["mcpServers"]
    assert list(left) == ["asks", "time", "toolpick"]
    assert left["toolpick"]["args"] == ["serve", "--config", str(settings)]
    assert settings.read_text().startswith(before)
    loaded = load(settings, {"HOST_NAME": "box", "DOCS": "d0c"}).settings
    [time, brave, docs] = loaded.servers
    assert (time.command, brave.command, brave.args) == ("mcp-server-time", "npx", ("-y", "brave"))
    assert brave.env == {"KEY": "s3cret-key", "HOST": "box"}
    assert (docs.url, docs.headers) == (
        "https://docs.example/mcp",
        {"Authorization": "Bearer d0c"},
    )
    assert backup_of(settings).read_text() == before


def test_a_variable_that_is_not_set_is_told(
    desk: Desk, cursor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCS")

    code, _, err = desk.run("install", "cursor", "--import")

    assert code == 0
    assert err.startswith(f"{desk.project / 'servers.toml'}:")
    assert "servers.docs.headers.Authorization: the variable DOCS is not set" in err


def test_a_second_time_nothing_moves(desk: Desk, cursor: Path) -> None:
    desk.run("install", "cursor", "--import")
    after = desk.files()

    code, out, _ = desk.run("install", "cursor", "--import")

    assert (code, desk.files()) == (0, after)
    assert out.count("nothing to change") == 2


def test_uninstalling_brings_the_servers_back(desk: Desk, cursor: Path) -> None:
    before = cursor.read_bytes()
    desk.run("install", "cursor", "--import")

    desk.run("uninstall", "cursor")

    assert cursor.read_bytes() == before
    assert not backup_of(cursor).exists()


def test_a_server_that_its_user_removed_since_does_not_come_back(desk: Desk, cursor: Path) -> None:
    desk.run("install", "cursor")
    tree = json.loads(cursor.read_text())
    del tree["mcpServers"]["asks"]
    cursor.write_text(json.dumps(tree, indent=2))

    desk.run("uninstall", "cursor")

    assert list(json.loads(cursor.read_text())["mcpServers"]) == ["Brave Search", "docs", "time"]


def test_a_dry_run_moves_nothing(desk: Desk, cursor: Path) -> None:
    before = desk.files()

    code, out, _ = desk.run("install", "cursor", "--import", "--dry-run")

    assert (code, desk.files()) == (0, before)
    assert "[servers.Brave-Search]" in out


def test_settings_are_made_where_there_are_none(desk: Desk, cursor: Path) -> None:
    (desk.project / "servers.toml").unlink()

    code, _, _ = desk.run("install", "cursor", "--import")

    settings = desk.home / ".config/toolpick/servers.toml"
    assert code == 0
    assert list(tomllib.loads(settings.read_text())["servers"]) == ["Brave-Search", "docs", "time"]
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600


def test_without_settings_and_servers_there_is_nothing_to_serve(desk: Desk) -> None:
    (desk.project / "servers.toml").unlink()

    code, out, err = desk.run("install", "windsurf", "--import")

    assert (code, err) == (
        1,
        "toolpick: there are no settings to serve, and no servers to make them of\n",
    )
    assert out.splitlines()[1:] == ["  there are none"]
    assert not any(desk.home.iterdir())


@pytest.mark.parametrize(
    ("words", "text", "what"),
    [
        (
            ["--http", "http://127.0.0.1:8931/mcp"],
            "",
            "--import moves servers into a settings file; leave --http out",
        ),
        (
            [],
            "{",
            "is no TOML file that servers can move into; name another with --config",
        ),
        (["--profile", "x"], "[gateway]\n", "there is no profile 'x'; there are: none"),
        ([], "[gateway]\nsurfce = 1\n", "with these servers the settings can't be used"),
    ],
)
def test_what_can_not_move_is_said_and_nothing_is_changed(
    desk: Desk, cursor: Path, words: list[str], text: str, what: str
) -> None:
    (desk.project / "servers.toml").write_text(text)
    before = desk.files()

    code, _, err = desk.run("install", "cursor", "--import", *words)

    assert (code, desk.files()) == (1, before)
    assert what in err


@pytest.mark.parametrize(
    ("id", "entry", "table"),
    [
        (
            "claude-code",
            {"type": "stdio", "command": "x", "args": [], "env": {"A": "${B:-c}"}},
            {"command": "x", "env": {"A": "${B:-c}"}},
        ),
        (
            "claude-desktop",
            {"command": "x", "args": ["${B}", "$C"]},
            {"command": "x", "args": ["$${B}", "$C"]},
        ),
        (
            "gemini-cli",
            {
                "command": "x",
                "env": {"A": "$B"},
                "timeout": 5000,
                "trust": True,
                "includeTools": ["a"],
                "excludeTools": ["b"],
            },
            {
                "command": "x",
                "env": {"A": "${B}"},
                "timeout": 5.0,
                "allow": ["a"],
                "deny": ["b"],
            },
        ),
        ("gemini-cli", {"httpUrl": "https://h/mcp"}, {"url": "https://h/mcp"}),
        ("cursor", {"type": "sse", "url": "https://h"}, {"url": "https://h", "transport": "sse"}),
        (
            "windsurf",
            {"serverUrl": "https://h", "disabled": True},
            {"url": "https://h", "enabled": False},
        ),
        (
            "codex",
            {
                "command": "x",
                "cwd": "/w",
                "env": {"A": "1"},
                "env_vars": ["B"],
                "startup_timeout_sec": 20,
                "tool_timeout_sec": 60,
                "enabled": False,
            },
            {
                "command": "x",
                "cwd": "/w",
                "env": {"B": "${B:-}", "A": "1"},
                "start_timeout": 20,
                "timeout": 60,
                "enabled": False,
            },
        ),
        (
            "codex",
            {
                "url": "https://h/mcp",
                "bearer_token_env_var": "T",
                "http_headers": {"X": "1"},
                "env_http_headers": {"Y": "V"},
            },
            {
                "url": "https://h/mcp",
                "headers": {"X": "1", "Y": "${V}", "Authorization": "Bearer ${T}"},
            },
        ),
    ],
)
def test_each_clients_words_become_ours(
    id: str, entry: dict[str, Any], table: dict[str, Any]
) -> None:
    assert moved(client(id), entry) == table


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (5, "it is no table"),
        ({}, "it has neither a command nor an address, or both"),
        ({"command": "x", "url": "https://h"}, "it has neither a command nor an address, or both"),
        (
            {"command": "${workspaceFolder}/x"},
            "'${workspaceFolder}' is something that only VS Code can fill in",
        ),
    ],
)
def test_what_stays_is_told_why(entry: Any, why: str) -> None:
    with pytest.raises(Stays) as caught:
        moved(client("vscode"), entry)

    assert str(caught.value) == why


def test_servers_of_codex_move_with_their_tables(desk: Desk) -> None:
    path = desk.home / ".codex/config.toml"
    path.parent.mkdir()
    before = 'model = "o"\n\n[mcp_servers.git]\ncommand = "git"\n\n[mcp_servers.git.env]\nA = "1"\n'
    path.write_text(before)

    assert desk.run("install", "codex", "--import")[0] == 0
    assert list(tomllib.loads(path.read_text())["mcp_servers"]) == ["toolpick"]
    served = tomllib.loads((desk.project / "servers.toml").read_text())["servers"]
    assert served["git"] == {"command": "git", "env": {"A": "1"}}

    assert desk.run("uninstall", "codex")[0] == 0
    assert path.read_text() == before
