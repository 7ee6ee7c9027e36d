"""docs/clients.md names exactly the clients and files that there are."""

import re
from pathlib import Path

import pytest

from toolpick.clients.known import CLIENTS, PROJECT, USER, Client

TEXT = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
WRITTEN = {
    "{home}": "~",
    "{project}/": "",
    "{claude-home}": "~",
    "{claude}": "~/.claude",
    "{codex}": "~/.codex",
    "{gemini}": "~/.gemini",
    "{zed}": "~/.config/zed",
}


def written(template: str) -> str:
    """A file as the table has it."""
    for root, text in WRITTEN.items():
        template = template.replace(root, text)
    return f"`{template}`" if template else ""


def row(client: Client) -> str:
    hook = client.hook.spot if client.hook else None
    hooks = ", ".join(written(hook.file(scope)) for scope in (USER, PROJECT)) if hook else ""
    files = [written(client.servers.file(scope)) for scope in (USER, PROJECT)]
    return f"| `{client.id}` | {files[0]} | {files[1]} | {hooks} |"


def test_the_table_lists_every_client_and_file() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]

    assert [" ".join(line.split()) for line in rows] == [
        " ".join(row(client).split()) for client in CLIENTS
    ]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_who_takes_a_token_from_a_variable_is_said(client: Client) -> None:
    [said] = re.findall(r"where it can: ([^.]*)\.", " ".join(TEXT.split()))

    assert (client.title in said) == bool(client.variable or client.bearer)
