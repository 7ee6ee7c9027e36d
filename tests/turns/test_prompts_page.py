"""docs/prompts.md says of sources and clients what the code does."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from toolpick.turns.clients import ROWS, ClientTraits
from toolpick.turns.query import SOURCES

TEXT = (Path(__file__).parents[2] / "docs" / "prompts.md").read_text(encoding="utf-8")
COLUMNS = (
    *("relists", "in_turn", "exact", "keeps_order", "first_page_only", "defers", "most"),
    *("name_room", "description_room", "hook", "takes_context"),
)


def rows(heading: str) -> list[list[str]]:
    """The cells of the table that a line of headings begins, without the first two lines."""
    table = TEXT.partition(f"{heading}\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return str(value) if value else ""
    return "yes" if value else ""


def test_the_sources_of_queries_are_those_there_are() -> None:
    expected = [[f"`{source.name}`", source.where] for source in SOURCES]

    assert [
        [name, where.replace("`", "")] for name, where in rows("| source | where |")
    ] == expected


def test_the_table_of_clients_says_what_is_known() -> None:
    expected = [
        [row.traits.name, *(cell(getattr(row.traits, name)) for name in COLUMNS)] for row in ROWS
    ]

    heading = TEXT[TEXT.index("| client | lists again") :].splitlines()[0]
    assert rows(heading) == expected


def test_the_table_of_clients_has_a_column_for_every_fact() -> None:
    facts = [field.name for field in fields(ClientTraits)]

    assert [name for name in facts if name not in ("name", "unsure")] == list(COLUMNS)
