"""``toolpick install`` and ``uninstall``: what they write for each client, and what they leave."""

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.registration.conftest import Desk

from toolpick.clients.known import CLIENTS, USER, located, roots
from toolpick.clients.plan import backup_of
from toolpick.clients.registration import client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="paths are those of Linux")

JSON_BEFORE = """\
{
    "theme": "dark",
    "mcpServers": {
        "git": {"command": "git", "env": {"TOKEN": "s3cret"}}
    },
    "hooks": {
        "UserPromptSubmit": [
            {"matcher": "", "hooks": [{"type": "command", "command": "log.sh"}]}
        ]
    }
}
"""
JSONC_BEFORE = """\
// my settings
{
  "theme": "dark", /* at night */
  "servers": {},
  "context_servers": {
    // "off": {},
  },
}
"""
TOML_BEFORE = """\
model = "o" # mine

[features]
# nothing yet

[mcp_servers.git]
command = "git"
"""
HOOKS_BEFORE = '{"version": 1, "hooks": {"beforeSubmitPrompt": [{"command": "log.sh"}]}}'
BEFORE = {"zed": JSONC_BEFORE, "vscode": JSONC_BEFORE, "codex": TOML_BEFORE}

SCOPES = [(each.id, scope) for each in CLIENTS for scope in each.scopes]


def places(desk: Desk, id: str, scope: str) -> list[Path]:
    """The files of a client: that of the servers, and that of the hooks if it is another."""
    known = client(id)
    folders = roots(desk.home, desk.project, {}, "linux")
    spots = [known.servers, *([known.hook.spot] if known.hook else [])]
    return list(dict.fromkeys(located(spot.file(scope), folders)[0] for spot in spots))


def fill(desk: Desk, id: str, scope: str) -> None:
    """Give the client files as its user may have them."""
    for path in places(desk, id, scope):
        path.parent.mkdir(parents=True, exist_ok=True)
        text = HOOKS_BEFORE if "hooks" in path.name else BEFORE.get(id, JSON_BEFORE)
        path.write_bytes(text.encode())


def serving(desk: Desk) -> dict[str, Any]:
    settings = str(desk.project / "servers.toml")
    return {"command": desk.command, "args": ["serve", "--config", settings]}


def servers(path: Path, id: str) -> Any:
    """The servers in a client's file, comments disregarded."""
    from toolpick.clients.json_text import read

    text = path.read_text()
    tree = tomllib.loads(text) if path.suffix == ".toml" else read(text)
    for key in client(id).servers.path:
        tree = tree[key]
    return tree


# -- what is written


@pytest.mark.parametrize(
    ("id", "file", "entry"),
    [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", {}),
        ("claude-code", ".claude.json", {"type": "stdio"}),
        ("cursor", ".cursor/mcp.json", {}),
        ("vscode", ".config/Code/User/mcp.json", {"type": "stdio"}),
        (
            "codex",
            ".codex/config.toml",
            {"required": True, "startup_timeout_sec": 30, "tool_timeout_sec": 300},
        ),
        ("gemini-cli", ".gemini/settings.json", {}),
        ("zed", ".config/zed/settings.json", {"source": "custom"}),
        ("windsurf", ".codeium/windsurf/mcp_config.json", {}),
    ],
)
def test_the_server_is_written_where_the_client_looks(
    desk: Desk, id: str, file: str, entry: dict[str, Any]
) -> None:
    assert desk.run("install", id)[0] == 0

    assert servers(desk.home / file, id) == {"toolpick": {**serving(desk), **entry}}


@pytest.mark.parametrize(
    ("id", "file"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini-cli", ".gemini/settings.json"),
        ("zed", ".zed/settings.json"),
    ],
)
def test_a_project_has_files_of_its_own(desk: Desk, id: str, file: str) -> None:
    assert desk.run("install", id, "--scope", "project")[0] == 0

    assert "toolpick" in servers(desk.project / file, id)
    assert not any(desk.home.iterdir())


@pytest.mark.parametrize(
    ("id", "file", "event", "element"),
    [
        (
            "claude-code",
            ".claude/settings.json",
            "UserPromptSubmit",
            {"hooks": [{"type": "command", "command": "{hook}", "timeout": 10}]},
        ),
        (
            "codex",
            ".codex/hooks.json",
            "UserPromptSubmit",
            {"hooks": [{"type": "command", "command": "{hook}", "timeout": 10}]},
        ),
        (
            "gemini-cli",
            ".gemini/settings.json",
            "BeforeAgent",
            {
                "hooks": [
                    {
                        "name": "toolpick",
                        "type": "command",
                        "command": "{hook}",
                        "timeout": 10000,
                    }
                ]
            },
        ),
        ("cursor", ".cursor/hooks.json", "beforeSubmitPrompt", {"command": "{hook}"}),
        (
            "vscode",
            ".copilot/hooks/toolpick.json",
            "UserPromptSubmit",
            {"type": "command", "command": "{hook}", "timeout": 10},
        ),
    ],
)
def test_the_hook_is_written_where_the_host_looks(
    desk: Desk, id: str, file: str, event: str, element: dict[str, Any]
) -> None:
    desk.run("install", id)

    written = json.loads((desk.home / file).read_text())
    wanted = json.loads(json.dumps(element).replace("{hook}", f"{desk.command} hook"))
    assert written["hooks"] == {event: [wanted]}
    if id in ("cursor", "vscode"):
        assert written["version"] == 1


def test_codex_is_told_to_run_hooks(desk: Desk) -> None:
    desk.run("install", "codex")

    assert tomllib.loads((desk.home / ".codex/config.toml").read_text())["features"] == {
        "hooks": True
    }


def test_hooks_that_codex_was_told_not_to_run_stay_off(desk: Desk) -> None:
    path = desk.home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text("[features]\nhooks = false\n")

    desk.run("install", "codex")
    assert tomllib.loads(path.read_text())["features"] == {"hooks": False}

    desk.run("uninstall", "codex")
    assert path.read_text() == "[features]\nhooks = false\n"


def test_the_hook_can_be_left_out(desk: Desk) -> None:
    desk.run("install", "claude-code", "--no-hook")

    assert list(desk.files()) == [".claude.json", "servers.toml"]


def test_the_hook_knows_another_name_of_the_server(desk: Desk) -> None:
    desk.run("install", "cursor", "--name", "all-tools")

    assert "all-tools" in servers(desk.home / ".cursor/mcp.json", "cursor")
    hooks = json.loads((desk.home / ".cursor/hooks.json").read_text())["hooks"]
    assert hooks["beforeSubmitPrompt"][0]["command"] == f"{desk.command} hook --server all-tools"


def test_a_program_in_a_folder_with_blanks_is_quoted_in_the_hook(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "my programs" / "toolpick"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])

    desk.run("install", "cursor")

    hooks = json.loads((desk.home / ".cursor/hooks.json").read_text())["hooks"]
    assert hooks["beforeSubmitPrompt"] == [{"command": f"'{program}' hook"}]
    assert servers(desk.home / ".cursor/mcp.json", "cursor")["toolpick"]["command"] == str(program)
    assert desk.run("uninstall", "cursor")[0] == 0
    assert not any(desk.home.iterdir())


@pytest.mark.parametrize(
    ("variable", "id", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("GEMINI_CLI_HOME", "gemini-cli", ".gemini/settings.json"),
        ("XDG_CONFIG_HOME", "zed", "zed/settings.json"),
    ],
)
def test_the_variables_of_clients_are_heeded(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, id: str, file: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))

    desk.run("install", id)

    assert "toolpick" in servers(tmp_path / "elsewhere" / file, id)
    assert not any(desk.home.iterdir())


@pytest.mark.parametrize(
    ("platform", "file"),
    [
        ("linux", "/h/.config/Claude/claude_desktop_config.json"),
        ("darwin", "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "/r/Claude/claude_desktop_config.json"),
    ],
)
def test_every_system_has_a_folder_of_its_own(platform: str, file: str) -> None:
    folders = roots(Path("/h"), Path("/p"), {"APPDATA": "/r"}, platform)

    assert located(client("claude-desktop").servers.file(USER), folders)[0] == Path(file)


# -- addresses and tokens


@pytest.mark.parametrize(
    ("id", "file", "entry"),
    [
        ("claude-code", ".claude.json", {"type": "http", "url": "{url}", "headers": "{auth}"}),
        ("cursor", ".cursor/mcp.json", {"url": "{url}", "headers": "{auth}"}),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            {"type": "http", "url": "{url}", "headers": "{auth}"},
        ),
        (
            "codex",
            ".codex/config.toml",
            {
                "url": "{url}",
                "http_headers": "{auth}",
                "required": True,
                "startup_timeout_sec": 30,
                "tool_timeout_sec": 300,
            },
        ),
        ("gemini-cli", ".gemini/settings.json", {"httpUrl": "{url}", "headers": "{auth}"}),
        (
            "zed",
            ".config/zed/settings.json",
            {"source": "custom", "url": "{url}", "headers": "{auth}"},
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            {"serverUrl": "{url}", "headers": "{auth}"},
        ),
    ],
)
def test_an_address_with_a_token_is_written_in_each_clients_words(
    desk: Desk, id: str, file: str, entry: dict[str, Any]
) -> None:
    url = "http://127.0.0.1:8931/mcp/docs"

    code, out, _ = desk.run("install", id, "--http", url, "--token", "t0ken")

    filled = {"{url}": url, "{auth}": {"Authorization": "Bearer t0ken"}}
    wanted = {key: filled.get(str(value), value) for key, value in entry.items()}
    path = desk.home / file
    assert (code, servers(path, id)) == (0, {"toolpick": wanted})
    assert "t0ken" not in out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert desk.run("uninstall", id)[0] == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("id", "file", "key", "value"),
    [
        ("claude-code", ".claude.json", "headers", {"Authorization": "Bearer ${TEAM}"}),
        ("cursor", ".cursor/mcp.json", "headers", {"Authorization": "Bearer ${env:TEAM}"}),
        ("codex", ".codex/config.toml", "bearer_token_env_var", "TEAM"),
    ],
)
def test_a_token_can_stay_in_a_variable(
    desk: Desk, id: str, file: str, key: str, value: Any
) -> None:
    desk.run("install", id, "--http", "https://tools.example/mcp", "--token-env", "TEAM")

    assert servers(desk.home / file, id)["toolpick"][key] == value


def test_a_hook_asks_a_local_gateway_at_its_port(desk: Desk) -> None:
    desk.run("install", "cursor", "--http", "http://localhost:8931/mcp")

    hooks = json.loads((desk.home / ".cursor/hooks.json").read_text())["hooks"]
    assert hooks["beforeSubmitPrompt"] == [{"command": f"{desk.command} hook --port 8931"}]
    desk.run("install", "cursor", "--http", "http://localhost:8931/mcp/docs")
    hooks = json.loads((desk.home / ".cursor/hooks.json").read_text())["hooks"]
    words = "hook --port 8931 --profile docs"
    assert hooks["beforeSubmitPrompt"] == [{"command": f"{desk.command} {words}"}]


def test_there_is_no_hook_for_a_gateway_elsewhere(desk: Desk) -> None:
    desk.run("install", "cursor", "--http", "https://tools.example/mcp")

    assert list(desk.files()) == [".cursor/mcp.json", "servers.toml"]


def test_from_starting_to_an_address_nothing_of_the_former_is_left(desk: Desk) -> None:
    desk.run("install", "claude-code")
    path = desk.home / ".claude.json"
    tree = json.loads(path.read_text())
    tree["mcpServers"]["toolpick"]["alwaysLoad"] = True
    path.write_text(json.dumps(tree))

    desk.run("install", "claude-code", "--http", "https://tools.example/mcp")

    assert servers(path, "claude-code")["toolpick"] == {
        "type": "http",
        "url": "https://tools.example/mcp",
        "alwaysLoad": True,
    }


# -- there and back


@pytest.mark.parametrize(("id", "scope"), SCOPES)
def test_installing_and_uninstalling_leaves_every_byte(desk: Desk, id: str, scope: str) -> None:
    fill(desk, id, scope)
    before = desk.files()

    assert desk.run("install", id, "--scope", scope)[0] == 0
    between = desk.files()
    assert desk.run("uninstall", id, "--scope", scope)[0] == 0

    assert desk.files() == before
    for path in places(desk, id, scope):
        name = str(path.relative_to(desk.home if scope == USER else desk.project))
        assert between[name] != before[name]
        assert between[str(backup_of(Path(name)))] == before[name]


@pytest.mark.parametrize(("id", "scope"), SCOPES)
def test_files_and_folders_that_were_made_are_gone_again(desk: Desk, id: str, scope: str) -> None:
    before = desk.files()

    desk.run("install", id, "--scope", scope)
    desk.run("uninstall", id, "--scope", scope)

    assert desk.files() == before
    assert desk.folders() == set()


@pytest.mark.parametrize(("id", "scope"), SCOPES)
def test_what_changed_meanwhile_stays(desk: Desk, id: str, scope: str) -> None:
    fill(desk, id, scope)
    before = desk.files()
    desk.run("install", id, "--scope", scope)
    for path in places(desk, id, scope):
        text = path.read_text()
        path.write_text(text + "# more\n" if path.suffix == ".toml" else f"\n{text}")

    assert desk.run("uninstall", id, "--scope", scope)[0] == 0

    for path in places(desk, id, scope):
        name = str(path.relative_to(desk.home if scope == USER else desk.project))
        former = before[name].decode()
        wanted = former + "# more\n" if path.suffix == ".toml" else f"\n{former}"
        assert path.read_text() == wanted
        assert backup_of(path).read_bytes() == before[name]


@pytest.mark.parametrize(("id", "scope"), SCOPES)
def test_a_second_time_there_is_nothing_to_change(desk: Desk, id: str, scope: str) -> None:
    fill(desk, id, scope)
    desk.run("install", id, "--scope", scope)
    after = desk.files()

    code, out, _ = desk.run("install", id, "--scope", scope)

    assert (code, desk.files()) == (0, after)
    assert [line.rpartition(": ")[2] for line in out.splitlines()] == ["nothing to change"] * len(
        places(desk, id, scope)
    )
    desk.run("uninstall", id, "--scope", scope)
    left = desk.files()
    _, out, _ = desk.run("uninstall", id, "--scope", scope)
    assert (out.count("nothing to change"), desk.files()) == (len(places(desk, id, scope)), left)


@pytest.mark.parametrize(("id", "scope"), SCOPES)
def test_a_dry_run_shows_the_change_and_makes_none(desk: Desk, id: str, scope: str) -> None:
    fill(desk, id, scope)
    before = desk.files()

    _, shown, _ = desk.run("install", id, "--scope", scope, "--dry-run")

    assert desk.files() == before
    _, out, _ = desk.run("install", id, "--scope", scope)
    assert shown.replace("would keep", "kept").splitlines() == [
        line for line in out.splitlines() if line != client(id).after
    ]


def test_the_lines_that_change_are_shown_and_no_secret_beside_them(desk: Desk) -> None:
    fill(desk, "cursor", USER)
    path = desk.home / ".cursor/mcp.json"

    _, out, _ = desk.run("install", "cursor", "--no-hook")

    assert out == (
        f"--- {path}\n"
        f"+++ {path}\n"
        "@@ line 4 @@\n"
        "+…,\n"
        '+        "toolpick": {\n'
        f'+            "command": "{desk.command}",\n'
        '+            "args": [\n'
        '+                "serve",\n'
        '+                "--config",\n'
        f'+                "{desk.project}/servers.toml"\n'
        "+            ]\n"
        "+        }\n"
        f"kept {path}.toolpick-backup\n"
        "Turn the server on under Settings, MCP, and restart Cursor for the hook.\n"
    )


def test_of_a_file_on_one_line_only_what_differs_is_shown(desk: Desk) -> None:
    path = desk.home / ".codeium/windsurf/mcp_config.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers":{"git":{"command":"git","env":{"TOKEN":"s3cret"}}},"more":true}')

    _, out, _ = desk.run("install", "windsurf")

    assert out.splitlines()[2:4] == [
        "@@ line 1 @@",
        f'+…,"toolpick":{{"command":"{desk.command}",'
        f'"args":["serve","--config","{desk.project}/servers.toml"]}}…',
    ]


# -- what is in the way


def test_a_server_of_that_name_that_is_not_toolpick_stays(desk: Desk) -> None:
    path = desk.home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"toolpick": {"command": "npx"}}}')
    before = desk.files()

    code, _, err = desk.run("install", "cursor")

    assert (code, desk.files()) == (1, before)
    assert err.startswith(
        f"toolpick: {path}: mcpServers.toolpick is another server; choose a name with --name"
    )
    assert desk.run("uninstall", "cursor")[0] == 0
    assert desk.files() == before


def test_an_address_like_ours_may_be_any_servers(desk: Desk) -> None:
    path = desk.home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"docs": {"url": "https://docs.example/mcp"}}}')
    before = desk.files()

    assert desk.run("install", "cursor", "--name", "docs")[0] == 1
    assert desk.files() == before
    url = "https://docs.example/mcp/team"
    assert desk.run("install", "cursor", "--name", "docs", "--http", url)[0] == 0
    assert servers(path, "cursor")["docs"] == {"url": url}


@pytest.mark.parametrize(
    ("id", "text", "what"),
    [
        ("cursor", '{"mcpServers": {', ":1: lacks a text in double quotes in column 17; mend it"),
        ("cursor", '{"mcpServers": []}', ":1: mcpServers is no object; mend it"),
        ("zed", "// nothing\n", ":2: lacks a value in column 1; mend it"),
        ("codex", "a = 1\na = 2\n", ": cannot overwrite a value in column 6; mend it"),
        ("codex", "mcp_servers = {}\n", ": mcp_servers.toolpick is written in a way that only"),
        ("cursor", b"\xff\xfe", ":1: is not UTF-8; save it so"),
    ],
)
def test_a_file_that_can_not_be_changed_stays_and_is_named(
    desk: Desk, id: str, text: str | bytes, what: str
) -> None:
    path = places(desk, id, USER)[0]
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = desk.files()

    code, out, err = desk.run("install", id)

    assert (code, out, desk.files()) == (1, "", before)
    assert err.startswith(f"toolpick: {path}")
    assert what in err.splitlines()[0]
    if isinstance(text, str):
        assert desk.command in err, "what to write by hand is shown"


def test_nothing_is_half_done_when_the_second_file_is_broken(desk: Desk) -> None:
    fill(desk, "claude-code", USER)
    (desk.home / ".claude/settings.json").write_text("{")
    before = desk.files()

    assert desk.run("install", "claude-code")[0] == 1
    assert desk.files() == before


def test_nothing_is_half_done_when_the_second_file_can_not_be_written(desk: Desk) -> None:
    fill(desk, "claude-code", USER)
    folder = desk.home / ".claude"
    folder.chmod(0o555)
    before = desk.files()
    try:
        code, out, err = desk.run("install", "claude-code")
    finally:
        folder.chmod(0o755)

    assert (code, out, desk.files()) == (1, "", before)
    assert err.startswith(f"toolpick: {folder / 'settings.json'}: can't be written: ")


def test_a_folder_that_can_not_be_made_leaves_nothing_behind(desk: Desk) -> None:
    (desk.home / ".claude").write_text("a file")
    before = desk.files()

    code, _, err = desk.run("install", "claude-code")

    assert (code, desk.files()) == (1, before)
    assert err.startswith(f"toolpick: {desk.home}/.claude/settings.json: can't be read: ")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(desk: Desk) -> None:
    path = desk.home / ".claude.json"
    os.mkfifo(path)

    code, _, err = desk.run("install", "claude-code")

    assert (code, err) == (1, f"toolpick: {path}: is a pipe; put a file in its place\n")
    assert path.is_fifo()


def test_a_read_only_file_stays(desk: Desk) -> None:
    fill(desk, "windsurf", USER)
    path = places(desk, "windsurf", USER)[0]
    path.chmod(0o444)
    before = desk.files()

    code, _, err = desk.run("install", "windsurf")

    assert (code, desk.files()) == (1, before)
    assert err == f"toolpick: {path}: can't be written: it is read-only\n"


def test_a_link_is_followed_and_stays_a_link(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "mcp.json"
    target.parent.mkdir()
    target.write_text(JSON_BEFORE)
    target.chmod(0o640)
    path = desk.home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.symlink_to(target)

    desk.run("install", "cursor", "--no-hook")
    assert path.is_symlink()
    assert "toolpick" in servers(target, "cursor")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert backup_of(path).read_text() == JSON_BEFORE

    desk.run("uninstall", "cursor")
    assert path.is_symlink()
    assert target.read_text() == JSON_BEFORE
    assert list(target.parent.iterdir()) == [target]


def test_permissions_stay_as_they_were_also_those_of_the_copy(desk: Desk) -> None:
    fill(desk, "claude-code", USER)
    path = desk.home / ".claude.json"
    path.chmod(0o600)

    desk.run("install", "claude-code")

    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, backup_of(path))]
    assert modes == [0o600, 0o600]


def test_a_byte_order_mark_and_windows_line_ends_stay(desk: Desk) -> None:
    path = desk.home / ".cursor/mcp.json"
    path.parent.mkdir()
    before = b"\xef\xbb\xbf" + JSON_BEFORE.replace("\n", "\r\n").encode()
    path.write_bytes(before)

    desk.run("install", "cursor", "--no-hook")
    between = path.read_bytes()
    desk.run("uninstall", "cursor")

    assert between.startswith(b"\xef\xbb\xbf{\r\n")
    assert between.count(b"\n") == between.count(b"\r\n")
    assert path.read_bytes() == before


def test_a_file_that_was_broken_since_is_not_touched_by_uninstalling(desk: Desk) -> None:
    desk.run("install", "windsurf")
    path = places(desk, "windsurf", USER)[0]
    path.write_text(path.read_text().replace("}", "", 1))
    before = desk.files()

    code, out, err = desk.run("uninstall", "windsurf")

    assert (code, out, desk.files()) == (1, "", before)
    assert err.endswith("; mend it first\n")


# -- copies that are not to be trusted


def test_an_old_copy_does_not_come_back_over_what_was_written_since(desk: Desk) -> None:
    path = places(desk, "windsurf", USER)[0]
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers": {"new": {"command": "n"}}}')
    backup_of(path).write_text('{"mcpServers": {"old": {"command": "o"}}}')

    desk.run("install", "windsurf")
    desk.run("uninstall", "windsurf")

    assert path.read_text() == '{"mcpServers": {"new": {"command": "n"}}}'
    assert not backup_of(path).exists()


def test_a_copy_of_a_file_that_was_deleted_since_does_not_come_back(desk: Desk) -> None:
    path = places(desk, "windsurf", USER)[0]
    path.parent.mkdir(parents=True)
    backup_of(path).write_text('{"mcpServers": {"old": {"command": "o"}}}')

    desk.run("install", "windsurf")
    desk.run("uninstall", "windsurf")

    assert not path.exists()


def test_an_unreadable_copy_is_no_hindrance(desk: Desk) -> None:
    fill(desk, "windsurf", USER)
    path = places(desk, "windsurf", USER)[0]
    desk.run("install", "windsurf")
    backup_of(path).write_bytes(b"\xff")

    assert desk.run("uninstall", "windsurf")[0] == 0
    assert path.read_text() == JSON_BEFORE


def test_after_toolpick_moved_the_copy_is_still_of_the_file_before_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(desk, "claude-code", USER)
    before = desk.files()
    desk.run("install", "claude-code")
    moved = tmp_path / "elsewhere" / "toolpick"
    moved.parent.mkdir()
    moved.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(moved)])

    desk.run("install", "claude-code")
    entry = servers(desk.home / ".claude.json", "claude-code")["toolpick"]
    hooks = json.loads((desk.home / ".claude/settings.json").read_text())["hooks"]
    desk.run("uninstall", "claude-code")

    assert entry["command"] == str(moved)
    assert [group["hooks"][0]["command"] for group in hooks["UserPromptSubmit"]] == [
        "log.sh",
        f"{moved} hook",
    ]
    assert desk.files() == before


def test_two_names_come_and_go_on_their_own(desk: Desk) -> None:
    fill(desk, "windsurf", USER)
    path = places(desk, "windsurf", USER)[0]
    for name in ("a", "b"):
        desk.run("install", "windsurf", "--name", name)
    for name in ("a", "b"):
        desk.run("uninstall", "windsurf", "--name", name)

    assert path.read_text() == JSON_BEFORE


# -- what was asked for


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ["install", "emacs"],
            "'emacs' is no client that is known here; there are claude-desktop, claude-code, "
            "cursor, vscode, codex, gemini-cli, zed, windsurf",
        ),
        (
            ["install", "windsurf", "--scope", "project"],
            "Windsurf has no settings of scope 'project'; leave --scope out",
        ),
        (
            ["install", "claude-desktop", "--http", "http://127.0.0.1:8931/mcp"],
            "Claude Desktop takes addresses in its own settings only, under Connectors; "
            "leave --http out to have it start toolpick",
        ),
        (
            ["install", "zed", "--http", "http://h/mcp", "--token-env", "T"],
            "Zed takes no variables in headers; give the token itself with --token",
        ),
        (
            ["install", "zed", "--http", "127.0.0.1:8931"],
            "--http '127.0.0.1:8931' is no address; write http://HOST:PORT/mcp",
        ),
        (
            ["install", "zed", "--http", "http://[::1/mcp"],
            "--http 'http://[::1/mcp' is no address; write http://HOST:PORT/mcp",
        ),
        (
            ["install", "zed", "--token", "x"],
            "--token and --token-env go with --http only; leave them out",
        ),
        (
            ["install", "zed", "--http", "http://h/mcp", "--profile", "docs"],
            "--profile goes without --http; put its name behind the address",
        ),
        (
            ["install", "zed", "--name", "a b"],
            "--name 'a b' is not allowed; write letters, digits, _ and - only, a letter or digit "
            "first, at most 32",
        ),
        (
            ["install", "zed", "--config", "none.toml"],
            "--config 'none.toml' is no file; name the settings file",
        ),
    ],
)
def test_what_can_not_be_is_said_in_one_sentence(desk: Desk, words: list[str], what: str) -> None:
    assert desk.run(*words) == (1, "", f"toolpick: {what}\n")


def test_without_settings_there_is_nothing_to_serve(desk: Desk) -> None:
    (desk.project / "servers.toml").unlink()

    assert desk.run("install", "zed") == (
        1,
        "",
        "toolpick: there are no settings to serve; write a servers.toml, or name one with "
        "--config\n",
    )


def test_a_profile_is_served_if_there_is_one(desk: Desk) -> None:
    with (desk.project / "servers.toml").open("a") as file:
        file.write('[profiles.docs]\nallow = ["time__*"]\n')

    assert desk.run("install", "windsurf", "--profile", "docs")[0] == 0
    path = places(desk, "windsurf", USER)[0]
    assert servers(path, "windsurf")["toolpick"]["args"][-2:] == ["--profile", "docs"]
    assert desk.run("install", "windsurf", "--profile", "dosc")[0] == 1
