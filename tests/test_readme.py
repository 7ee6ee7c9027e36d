"""The README says what the code does: its keys, its commands, its example."""

import re
from pathlib import Path

import pytest

from toolpick.cli import COMMANDS, parser
from toolpick.clients.known import CLIENTS
from toolpick.config.keys import TABLES, Table
from toolpick.config.load import load

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_readme_names_exactly_the_keys_there_are(table: Table) -> None:
    line = re.search(rf"^- `\[{re.escape(table.name)}\]`: (.*?)(?=^- |^$)", TEXT, re.M | re.S)

    assert line is not None
    assert re.findall(r"`(\w+)`", line[1]) == [key.name for key in table.keys]


def test_the_example_loads(tmp_path: Path) -> None:
    example = re.search(r"^```toml\n(\[gateway\].*?)^```$", TEXT, re.M | re.S)
    assert example is not None
    path = tmp_path / "servers.toml"
    path.write_text(example[1], encoding="utf-8")

    assert load(path, {"HOME": "/home/kim", "DOCS_TOKEN": "x"}).problems == ()


def test_every_command_that_the_readme_shows_is_understood() -> None:
    shown = set(re.findall(r"`(?:/path/to/)?toolpick ([a-z]+)", TEXT))

    assert shown <= set(COMMANDS)
    assert parser() is not None


def test_the_readme_names_exactly_the_clients_that_can_be_installed_into() -> None:
    named = TEXT.partition("It knows ")[2].partition(".\n")[0]

    assert sorted(re.findall(r"`([a-z-]+)`", named)) == sorted(client.id for client in CLIENTS)
