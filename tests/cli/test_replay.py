import json
import re
import sys
from pathlib import Path

import pytest
from tests.programs import SERVERS, mounting

from toolpick.cli import main
from toolpick.cli.conversations import Turn, Written, read_catalog, read_conversations
from toolpick.cli.playing import Player
from toolpick.config.settings import SelectorSettings, Settings
from toolpick.engine.selections import Selections
from toolpick.errors import ConfigError

TOOLS = [
    {
        "server": "sky",
        "name": "forecast",
        "description": "Rain, wind and temperature in a city. It takes any city of the world.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
    {"server": "sky", "name": "alerts", "description": "Storm warnings in force for a region."},
    {"server": "My Notes", "name": "write note", "description": "Keeps a text for later."},
    {"server": "money", "name": "convert", "description": "Turns euros into another currency."},
    *(
        {"server": f"other{n}", "name": f"part_{n}", "description": f"Measures the gizmo {n}."}
        for n in range(30)
    ),
]
RAIN = {
    "id": "rain",
    "turns": [
        {"prompt": "will it rain in Oslo?", "needs": [["sky/forecast", "sky/radar"]]},
        {"prompt": "and Bergen", "needs": [["sky/forecast"]]},
        {"prompt": "thanks!"},
        {"prompt": "convert 20 euros into another currency", "needs": [["money/convert"]]},
    ],
}
NOTE = {"turns": [{"prompt": "gizmo 7", "needs": [["other7/part_7"], ["My Notes/write note"]]}]}
KEYS = [
    "surface", "conversations", "turns", "turns_complete", "shown_mean", "tokens_mean",
    "tokens_full", "list_changes_mean", "fresh_tokens_mean",
]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    """Write conversations and a catalog; returns the arguments that name them."""

    def write(conversations=(RAIN, NOTE), tools=TOOLS):
        paths = []
        for name, lines in (("conversations", conversations), ("tools", tools)):
            path = tmp_path / f"{name}.jsonl"
            text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            path.write_text("\n".join(text) + "\n\n", encoding="utf-8")
            paths.append(str(path))
        return [paths[0], "--tools", paths[1]]

    return write


@pytest.fixture
def play(files):
    """Play one conversation on one surface."""

    async def played(mode, conversation=RAIN, hook=True, kind="hybrid", **selector):
        conversations, _, tools = files((conversation,))
        settings = Settings("", selector=SelectorSettings(kind, **selector))
        generation = read_catalog(Path(tools))
        selections = Selections(settings.selector, {"HOME": "/nowhere"})
        await selections.prepare(tuple(generation.tools.values()))
        player = Player(mode, generation, settings, selections, hook=hook)
        return await player.play(read_conversations(Path(conversations))[0])

    return played


def rows(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_one_object_a_surface_with_every_figure(files, capsys):
    assert main(["replay", *files(), "--json"]) == 0

    found = rows(capsys)
    assert [row["surface"] for row in found] == ["turn", "search", "stubs", "full"]
    assert all(list(row) == KEYS for row in found)
    assert {(row["conversations"], row["turns"]) for row in found} == {(2, 5)}
    turn, search, stubs, full = found
    assert (full["turns_complete"], full["shown_mean"], full["list_changes_mean"]) == (1.0, 34, 0)
    assert full["tokens_mean"] == full["tokens_full"]
    assert (stubs["turns_complete"], stubs["shown_mean"]) == (1.0, 36)
    assert search["list_changes_mean"] == 0
    assert search["tokens_mean"] < turn["tokens_mean"] < full["tokens_full"]


def test_only_the_surfaces_that_were_asked_for(files, capsys):
    assert main(["replay", *files(), "--surface", "full, search", "--json"]) == 0

    assert [row["surface"] for row in rows(capsys)] == ["full", "search"]


def test_a_table_for_people(files, capsys):
    assert main(["replay", *files(), "--surface", "full"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 conversations, 5 turns; means"
    assert (
        " ".join(lines[2].split()) == "surface complete shown tokens of full changes fresh tokens"
    )
    assert lines[3].startswith("full     100.0 %   34.0")


def test_every_turn_for_those_who_want_to_see_what_was_missing(files, capsys):
    assert main(["replay", *files((NOTE,)), "--surface", "search", "--no-hook", "--verbose"]) == 0

    head, turn, figures, *missing = capsys.readouterr().out.splitlines()[:5]
    assert (head, turn) == ("1 (search)", "  no 'gizmo 7'")
    assert re.fullmatch(
        r"     2 listed, 0 named, (\d+) tokens, \1 of them fresh; the list never changes", figures
    )
    assert missing == ["     missing: other7/part_7", "     missing: My Notes/write note"]


async def test_a_follow_up_is_served_by_what_the_conversation_used(play):
    turns = await play("turn")

    assert [turn.missing for turn in turns] == [(), (), (), ()]
    assert [turn.needs for turn in turns] == [True, True, False, True]


async def test_the_list_changes_with_the_topic_only(play):
    turns = await play("turn")

    assert [turn.changed for turn in turns] == [False, False, False, True]
    assert turns[1].fresh < turns[0].fresh
    assert turns[1].why == "the list stays while the topic does"


async def test_without_a_hook_the_list_must_change_to_show_anything(play):
    turns = await play("turn", hook=False)

    assert all(turn.named == () for turn in turns)
    assert turns[3].changed


async def test_what_is_named_is_not_listed(play):
    (turn,) = await play("search", NOTE)

    assert turn.shown == 2 + len(turn.named)
    assert "other7__part_7" in turn.named
    assert turn.tokens == turn.fresh


async def test_stubs_that_were_used_are_whole_from_then_on(play):
    turns = await play("stubs", hook=False)

    assert [turn.changed for turn in turns] == [False, True, False, False]
    assert turns[1].tokens > turns[0].tokens
    assert turns[2].fresh == 0


async def test_a_selector_that_fails_shows_how_surfaces_fail_open(play):
    turns = await play("turn", kind="embedding", options={"embedding": {"embedder": "nobody"}})

    assert [turn.needs and bool(turn.missing) for turn in turns] == [False] * 4
    assert "since" in turns[0].why
    assert turns[0].shown == 36


async def test_nothing_is_left_of_one_conversation_for_the_next(play):
    assert await play("turn") == await play("turn")


def test_conversations_are_read_with_their_needs(files):
    path, *_ = files()

    assert read_conversations(Path(path)) == [
        Written(
            "rain",
            (
                Turn("will it rain in Oslo?", (("sky/forecast", "sky/radar"),)),
                Turn("and Bergen", (("sky/forecast",),)),
                Turn("thanks!"),
                Turn("convert 20 euros into another currency", (("money/convert",),)),
            ),
        ),
        Written("2", (Turn("gizmo 7", (("other7/part_7",), ("My Notes/write note",))),)),
    ]


def test_tools_are_named_as_those_of_servers_are(files):
    *_, path = files()

    tools = read_catalog(Path(path)).tools
    assert "sky__forecast" in tools
    assert [entry.server for entry in tools.values() if entry.name == "write note"] == ["My Notes"]
    assert all(b'"server"' not in entry.raw for entry in tools.values())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"turns": [{"needs": []}]}', "is no conversation: Object missing required field"),
        ('{"turns": [{"prompt": "x", "needs": ["a/b"]}]}', "is no conversation: Expected `array`"),
        ("nonsense", "is no conversation: JSON is malformed"),
        ("[" * 5000, "is no conversation: "),
    ],
)
def test_a_wrong_conversation_is_named_by_its_line(files, line, problem):
    path, *_ = files((RAIN, line, line))

    with pytest.raises(ConfigError) as caught:
        read_conversations(Path(path))

    assert len(caught.value.problems) == 2
    assert f"{path}:2: {problem}" in str(caught.value)


def test_a_wrong_tool_is_named_by_its_line(files):
    *_, path = files(tools=(TOOLS[0], {"server": "x"}))

    with pytest.raises(ConfigError, match=r"tools\.jsonl:2: is no tool: Object missing"):
        read_catalog(Path(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="can't be read"):
        read_conversations(tmp_path / "none.jsonl")


def test_a_step_that_no_tool_serves_is_said(files, capsys):
    stranger = {"id": "s", "turns": [{"prompt": "gizmo", "needs": [["sky/radar", "sea/radar"]]}]}

    assert main(["replay", *files((stranger,)), "--surface", "full"]) == 0

    captured = capsys.readouterr()
    assert "'s': no tool 'sky/radar' or 'sea/radar'" in captured.err
    assert "full     0.0 %" in captured.out


def test_no_turns_at_all_are_a_mistake(files, capsys):
    assert main(["replay", *files(({"turns": []},))]) != 0
    assert "no turn to play" in capsys.readouterr().err


def test_a_selector_that_is_not_there_is_named(files, capsys):
    assert main(["replay", *files(), "--selector", "best"]) != 0
    assert "there is no selector 'best'" in capsys.readouterr().err


def test_a_surface_that_is_not_there_is_named(files, capsys):
    with pytest.raises(SystemExit):
        main(["replay", *files(), "--surface", "all"])
    assert "'all' can't be played; surfaces: turn, search, stubs, full" in capsys.readouterr().err


def test_ones_own_servers_are_played_too(files, tmp_path, capsys):
    config = mounting(tmp_path, {"every": [sys.executable, str(SERVERS / "everything.py")]})
    needs = [["every/test_image_content"]]
    path, *_ = files(({"turns": [{"prompt": "an image with some text", "needs": needs}]},))

    assert main(["replay", path, "--config", str(config), "--surface", "turn", "--json"]) == 0

    (row,) = rows(capsys)
    assert (row["surface"], row["turns"], row["turns_complete"]) == ("turn", 1, 1.0)
