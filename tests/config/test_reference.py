"""docs/configuration.md says exactly what the code does, and its examples load."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from toolpick.config.environment import INHERITED, INHERITED_FAMILIES, INHERITED_ON_WINDOWS
from toolpick.config.keys import TABLES, Key, Table
from toolpick.config.load import load
from toolpick.config.settings import ServerSettings, Settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(toml|json)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def literal(value: Any) -> str:
    """Return a default as one writes it in TOML."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`'
    if isinstance(value, int | float):
        return f"`{value:g}`"
    return "`{}`" if isinstance(value, dict) else "`[]`"


def row(table: Table, key: Key) -> str:
    kind = ", ".join(f"`{choice}`" for choice in key.choices) or key.type
    return f"| `{key.name}` | {kind} | {literal(table.default(key))} | {key.meaning} |"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_reference_lists_exactly_the_keys_there_are(table: Table) -> None:
    section = TEXT.partition(f"## `[{table.name}]`\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]

    assert rows == [row(table, key) for key in table.keys]


def test_every_setting_has_a_key() -> None:
    internal = {"name", "problem", "options", "secrets"}
    for table in TABLES:
        settings = set(table.settings.__dataclass_fields__) - internal
        assert settings == {key.name for key in table.keys}


def test_the_reference_lists_exactly_the_variables_that_are_inherited() -> None:
    section = TEXT.partition("## The environment of a server\n")[2].partition("\n## ")[0]
    named = re.findall(r"`([A-Za-z_0-9()]+\*?)`", section.partition("Not inherited")[0])

    families = [f"{family}*" for family in INHERITED_FAMILIES]
    assert named == [*INHERITED, *families, *INHERITED_ON_WINDOWS]


def test_there_are_examples() -> None:
    assert {kind for kind, _ in EXAMPLES} == {"toml", "json"}


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_every_example_loads(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"servers.{kind}"
    path.write_text(text, encoding="utf-8")

    loaded = load(path, {"HOME": "/home/kim", "DOCS_TOKEN": "x", "TEAM_TOKEN": "y"})

    assert loaded.problems == ()
    assert loaded.settings != Settings(str(path))


def test_the_example_file_mounts_the_six_servers_it_promises() -> None:
    loaded = load(ROOT / "servers.example.toml", {"HOME": "/home/kim"})

    assert loaded.problems == loaded.remarks == ()
    assert [(entry.name, entry.command) for entry in loaded.settings.servers] == [
        ("time", "mcp-server-time"),
        ("git", "mcp-server-git"),
        ("fetch", "mcp-server-fetch"),
        ("filesystem", "npx"),
        ("memory", "npx"),
        ("everything", "npx"),
    ]


def test_the_keys_that_the_example_file_has_commented_out_are_right(tmp_path: Path) -> None:
    text = (ROOT / "servers.example.toml").read_text(encoding="utf-8")
    path = tmp_path / "servers.toml"
    path.write_text(re.sub(r"^# (?=[\[a-z_]+[\]\w. ]* ?[=\]])", "", text, flags=re.MULTILINE))
    tomllib.loads(path.read_text())

    loaded = load(path, {"HOME": "/home/kim", "DOCS_TOKEN": "x"})

    assert loaded.problems == ()
    docs = next(entry for entry in loaded.settings.servers if entry.name == "docs")
    assert isinstance(docs, ServerSettings)
    assert docs.url.startswith("https://")
