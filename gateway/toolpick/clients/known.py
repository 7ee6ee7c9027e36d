"""The clients that toolpick can be registered with, as data: which files, and what stands in them.

The shapes were seen with released versions of Claude Code, Codex and Gemini CLI, and are those of
the makers' documentation for the others. A path begins with the name of a root in ``{}``; see
``roots``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

USER, PROJECT = SCOPES = ("user", "project")
SECONDS = 10
"""Seconds that a host waits for the hook; it takes a fraction of one."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A file of a client, for each scope that it has, and the way to a table in it."""

    path: tuple[str, ...]
    user: str = ""
    project: str = ""
    toml: bool = False

    def file(self, scope: str) -> str:
        """The file of a scope, "" where there is none."""
        return self.user if scope == USER else self.project


@dataclass(frozen=True, slots=True)
class Hook:
    """Where a host keeps the commands that it runs at each prompt.

    An element of the array holds ``keys``, with the command in its place; in a ``grouped`` one they
    stand in an array ``hooks`` of their own. ``beside`` are keys that the file needs, and ``flag``
    is a switch at a path of keys in the file of the servers.
    """

    spot: Spot
    keys: Mapping[str, Any] = field(default_factory=dict)
    grouped: bool = False
    beside: Mapping[str, Any] = field(default_factory=dict)
    flag: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Client:
    """How a client is told of a server.

    ``stdio`` and ``http`` are keys beside command or address. ``url`` and ``headers`` are what it
    calls an address and its headers, "" where it takes none. ``variable`` is how a value is taken
    from the environment, with ``NAME`` for the name; ``bearer`` the key that names a variable with
    a token instead. ``after`` says what its user has to do.
    """

    id: str
    title: str
    servers: Spot
    stdio: Mapping[str, Any] = field(default_factory=dict)
    url: str = "url"
    headers: str = "headers"
    http: Mapping[str, Any] = field(default_factory=dict)
    variable: str = ""
    bearer: str = ""
    hook: Hook | None = None
    after: str = ""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that it has."""
        return tuple(scope for scope in SCOPES if self.servers.file(scope))


_COMMAND = {"type": "command", "command": ""}

CLIENTS = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        Spot(("mcpServers",), "{config}/Claude/claude_desktop_config.json"),
        url="",
        after="Restart Claude Desktop.",
    ),
    Client(
        "claude-code",
        "Claude Code",
        Spot(("mcpServers",), "{claude-home}/.claude.json", "{project}/.mcp.json"),
        stdio={"type": "stdio"},
        http={"type": "http"},
        variable="${NAME}",
        hook=Hook(
            Spot(
                ("hooks", "UserPromptSubmit"),
                "{claude}/settings.json",
                "{project}/.claude/settings.json",
            ),
            keys={**_COMMAND, "timeout": SECONDS},
            grouped=True,
        ),
        after="Start a new session; in a project Claude Code asks once whether to use the server.",
    ),
    Client(
        "cursor",
        "Cursor",
        Spot(("mcpServers",), "{home}/.cursor/mcp.json", "{project}/.cursor/mcp.json"),
        variable="${env:NAME}",
        hook=Hook(
            Spot(
                ("hooks", "beforeSubmitPrompt"),
                "{home}/.cursor/hooks.json",
                "{project}/.cursor/hooks.json",
            ),
            keys={"command": ""},
            beside={"version": 1},
        ),
        after="Turn the server on under Settings, MCP, and restart Cursor for the hook.",
    ),
    Client(
        "vscode",
        "VS Code",
        Spot(("servers",), "{config}/Code/User/mcp.json", "{project}/.vscode/mcp.json"),
        stdio={"type": "stdio"},
        http={"type": "http"},
        variable="${env:NAME}",
        hook=Hook(
            Spot(
                ("hooks", "UserPromptSubmit"),
                "{home}/.copilot/hooks/toolpick.json",
                "{project}/.github/hooks/toolpick.json",
            ),
            keys={**_COMMAND, "timeout": SECONDS},
            beside={"version": 1},
        ),
        after="Run MCP: List Servers and start it; VS Code asks once whether to trust it.",
    ),
    Client(
        "codex",
        "Codex",
        Spot(("mcp_servers",), "{codex}/config.toml", "{project}/.codex/config.toml", toml=True),
        stdio={"required": True, "startup_timeout_sec": 30, "tool_timeout_sec": 300},
        http={"required": True, "startup_timeout_sec": 30, "tool_timeout_sec": 300},
        headers="http_headers",
        bearer="bearer_token_env_var",
        hook=Hook(
            Spot(
                ("hooks", "UserPromptSubmit"), "{codex}/hooks.json", "{project}/.codex/hooks.json"
            ),
            keys={**_COMMAND, "timeout": SECONDS},
            grouped=True,
            flag=("features", "hooks"),
        ),
        after="Start Codex and trust the hook when it asks, or under /hooks.",
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        Spot(("mcpServers",), "{gemini}/settings.json", "{project}/.gemini/settings.json"),
        url="httpUrl",
        variable="${NAME}",
        hook=Hook(
            Spot(
                ("hooks", "BeforeAgent"),
                "{gemini}/settings.json",
                "{project}/.gemini/settings.json",
            ),
            keys={"name": "toolpick", **_COMMAND, "timeout": SECONDS * 1000},
            grouped=True,
        ),
        after="Start a new session.",
    ),
    Client(
        "zed",
        "Zed",
        Spot(("context_servers",), "{zed}/settings.json", "{project}/.zed/settings.json"),
        stdio={"source": "custom"},
        http={"source": "custom"},
    ),
    Client(
        "windsurf",
        "Windsurf",
        Spot(("mcpServers",), "{home}/.codeium/windsurf/mcp_config.json"),
        url="serverUrl",
        variable="${env:NAME}",
        after="Refresh the servers under Settings, Cascade, MCP servers.",
    ),
)


def roots(
    home: Path, project: Path, environ: Mapping[str, str], platform: str
) -> Mapping[str, Path]:
    """The folders that paths begin with, by name. Clients' own variables are heeded."""

    def named(variable: str, usual: Path) -> Path:
        value = environ.get(variable)
        return project / value if value else usual

    roaming = named("APPDATA", home / "AppData" / "Roaming")
    xdg = named("XDG_CONFIG_HOME", home / ".config")
    config = {"win32": roaming, "darwin": home / "Library" / "Application Support"}
    return {
        "home": home,
        "project": project,
        "config": config.get(platform, xdg),
        "claude-home": named("CLAUDE_CONFIG_DIR", home),
        "claude": named("CLAUDE_CONFIG_DIR", home / ".claude"),
        "codex": named("CODEX_HOME", home / ".codex"),
        "gemini": named("GEMINI_CLI_HOME", home) / ".gemini",
        "zed": {"win32": roaming / "Zed", "darwin": home / ".config" / "zed"}.get(
            platform, xdg / "zed"
        ),
    }


def located(template: str, roots: Mapping[str, Path]) -> tuple[Path, Path]:
    """The file that a path stands for, and the folder above it that is not ours to remove."""
    name, _, rest = template.removeprefix("{").partition("}/")
    path = roots[name] / rest
    above = (roots["home"], roots["project"])
    return path, next((folder for folder in above if folder in path.parents), roots[name])
