"""JSON files that were written for other clients."""

from collections.abc import Callable
from pathlib import Path

import pytest

from toolpick.config.load import Loaded
from toolpick.config.settings import GatewaySettings, ServerSettings

Read = Callable[..., Loaded]
Mistakes = Callable[..., list[str]]


def test_the_common_shape_is_read_wherever_toml_is(read: Read, tmp_path: Path) -> None:
    loaded = read(
        """{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "${PKG:-pkg}", "${env:HOME}"], "env": {"A": "1"}},
    "docs": {"type": "streamable-http", "url": "https://h/mcp", "headers": {"X": "${T}"}},
    "old": {"type": "sse", "url": "https://h/sse", "disabled": true, "timeout": 9, "deny": ["x"]},
    "local": {"type": "stdio", "command": "./run", "includeTools": ["a"], "excludeTools": ["b"]}
  }
}""",
        "claude_desktop_config.json",
        HOME="/home/kim",
        T="t",
    )

    assert loaded.problems == loaded.remarks == ()
    assert loaded.settings.servers == (
        ServerSettings("files", command="npx", args=("-y", "pkg", "/home/kim"), env={"A": "1"}),
        ServerSettings("docs", "http", url="https://h/mcp", headers={"X": "t"}),
        ServerSettings("old", "sse", url="https://h/sse", enabled=False, timeout=9.0, deny=("x",)),
        ServerSettings("local", command=str(tmp_path / "run"), allow=("a",), deny=("b",)),
    )


def test_our_own_tables_may_stand_beside_the_servers_of_others(read: Read) -> None:
    text = '{"servers": {"a": {"command": "c"}}, "inputs": [], "gateway": {"surface": "full"}}'
    loaded = read(text, "mcp.json")

    assert loaded.settings.gateway == GatewaySettings(surface="full")
    assert loaded.settings.servers == (ServerSettings("a", command="c"),)


def test_what_concerns_the_other_client_is_left_aside_with_a_remark(read: Read) -> None:
    loaded = read(
        """{"mcpServers": {
  "Brave Search": {"command": "c", "alwaysAllow": ["x"],
                   "watch": true}}}""",
        "x.json",
    )

    assert loaded.settings.servers == (ServerSettings("Brave-Search", command="c"),)
    assert [str(remark) for remark in loaded.remarks] == [
        'x.json:2: mcpServers."Brave Search": is called "Brave-Search" here',
        'x.json:2: mcpServers."Brave Search".alwaysAllow: '
        "is a key of other clients and has no effect here",
        'x.json:3: mcpServers."Brave Search".watch: '
        "is a key of other clients and has no effect here",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{\n"mcpServers": {"a": {"comand": "c"}}}',
            "2: mcpServers.a.comand: is not a key of [servers.NAME]; write command",
        ),
        (
            '{"mcpServers": {"a": {"command": "c", "disabled": 1}}}',
            "1: mcpServers.a.disabled: 1 is not a flag; write true or false",
        ),
        (
            '{"mcpServers": {"a": {"command": "c", "cwd": null}}}',
            "1: mcpServers.a.cwd: null is not a string; write it in double quotes",
        ),
        (
            '{"mcpServers": {"a": {"command": "c",\n "env": {"K": "${input:k}"}}}}',
            "2: mcpServers.a.env.K: asks a question that only the other client can ask; "
            "write ${NAME} and set NAME",
        ),
        (
            '{"mcpServers": {"a": {"command": "c",\n "command": "d"}}}',
            "2: mcpServers.a.command: is given twice, first in line 1; keep one of the two",
        ),
        (
            '{"mcpServers": {"a b": {"command": "c"},\n "a.b": {"command": "d"}}}',
            '2: mcpServers."a.b": becomes "a-b", as mcpServers."a b" does; rename one of them',
        ),
        (
            '{"mcpServers": {},\n "mcpServers": {}}',
            "2: mcpServers: is given twice, first in line 1; keep one of the two",
        ),
        (
            '{"mcpServers": {"?": {}}}',
            '1: mcpServers."?": the name "?" is not allowed; '
            "write letters, digits, _ and - only, a letter or digit first, at most 32",
        ),
        (
            '{"mcpServers": {"a": {"command": "\\ud800"}}}',
            "1: mcpServers.a.command: holds a NUL or half a character; take it out",
        ),
        ('{\n"mcpServer": {}}', '2: mcpServer: the file holds no servers; write "mcpServers"'),
        ("{}", '1: the file holds no servers; write "mcpServers"'),
        ("[]", '1: is not a JSON object; write {"mcpServers": {...}}'),
        (
            '{\n// "a"\n}',
            "2: is not valid JSON: expecting property name enclosed in double quotes in column 1; "
            "JSON has no comments, take this one out",
        ),
        (
            '{"a": 1,\n x}',
            "2: is not valid JSON: expecting property name enclosed in double quotes in column 2",
        ),
        ('{"a": ' + "9" * 5000 + "}", " a whole number has too many digits; no setting needs that"),
        (
            '{"a": ' + "[" * 100_000,
            " tables or arrays are nested too deeply; no setting needs that",
        ),
    ],
)
def test_a_mistake_in_json(mistakes: Mistakes, text: str, message: str) -> None:
    assert mistakes(text, "x.json") == [f"x.json:{message}"]


def test_what_is_given_twice_outside_of_our_tables_does_not_matter(read: Read) -> None:
    assert read('{"mcpServers": {}, "theme": 1, "theme": 2}', "x.json").problems == ()


def test_json_is_recognised_by_its_brace_under_any_name(read: Read) -> None:
    assert read('\n {"mcpServers": {}}', "settings").settings.servers == ()
