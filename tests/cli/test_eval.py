import json
import sys

import pytest
from tests.programs import SERVERS, mounting

from toolpick.cli import main
from toolpick.cli.plot import svg

TOOLS = [
    {
        "server": "mail",
        "name": "send_message",
        "description": "Delivers an email.",
        "inputSchema": {},
    },
    {"server": "sky", "name": "forecast", "description": "Predicts rain and wind."},
    {"server": "files", "name": "read_file", "description": "Returns the text of a file."},
    {"server": "files", "name": "read_file", "description": "The same again."},
]
QUERIES = [
    {"id": "1", "query": "send an email to my boss", "gold": ["mail/send_message"]},
    {"id": "2", "query": "will it rain?", "gold_groups": [["sky/forecast", "sky/radar"]]},
    {"id": "3", "query": "what is love?", "gold": []},
]
FIGURES = [
    "selector", "queries", "tools", "recall@1", "recall@3", "recall@5", "recall@8", "recall@10",
    "completeness@8", "completeness@selected", "selected_mean", "ndcg@8", "mrr", "tokens_mean",
    "p50_ms", "p95_ms", "index_ms",
]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    """Write a catalog and queries; returns the options that name them."""

    def write(tools=TOOLS, queries=QUERIES):
        options = []
        for name, lines in (("tools", tools), ("queries", queries)):
            path = tmp_path / f"{name}.jsonl"
            text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            path.write_text("\n".join(text) + "\n\n", encoding="utf-8")
            options += [f"--{name}", str(path)]
        return options

    return write


def test_one_object_a_selector_with_every_figure(files, capsys):
    assert (
        main(["eval", *files(), "--selector", "hybrid,lexical", "--selector", "static", "--json"])
        == 0
    )
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["selector"] for row in rows] == ["hybrid", "lexical", "static"]
    assert all(list(row) == FIGURES for row in rows)
    assert (rows[0]["queries"], rows[0]["tools"], rows[0]["recall@1"]) == (2, 3, 1.0)


def test_a_table_for_people(files, capsys):
    assert main(["eval", *files()]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 queries over 3 tools\n")
    assert "recall@8               100.0 %" in out


def test_a_missed_floor_is_exit_code_one(files, capsys):
    assert main(["eval", *files(), "--min", "recall@8=0.8"]) == 0
    assert main(["eval", *files(), "--selector", "static", "--min", "recall@1=0.9"]) == 1
    assert "static: recall@1 is 0.5, less than 0.9" in capsys.readouterr().err


@pytest.mark.parametrize("floor", ["recal@8=0.8", "recall@8=x", "recall@8"])
def test_a_floor_that_makes_no_sense_is_refused(files, floor, capsys):
    with pytest.raises(SystemExit):
        main(["eval", *files(), "--min", floor])
    assert "--min" in capsys.readouterr().err


def test_labels_that_name_no_tool_are_told(files, capsys):
    queries = [
        {"id": "9", "query": "x y", "gold": ["mail/sned", "mail__send_message"]},
        QUERIES[0],
    ]
    assert main(["eval", *files(queries=queries)]) == 0
    said = capsys.readouterr().err
    assert "query '9': no tool 'mail/sned'\n" in said
    assert "query '9': no tool 'mail__send_message'; write server/tool\n" in said


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{"], "queries.jsonl:1: is no JSON"),
        (["[]"], "queries.jsonl:1: is no JSON object"),
        ([QUERIES[0], {"query": "x"}], 'queries.jsonl:2: a query needs "query" and "gold"'),
        ([{"query": "x", "gold_groups": ["a"]}], "queries.jsonl:1: a query needs"),
        ([{"query": 1, "gold": []}], "queries.jsonl:1: a query needs"),
    ],
)
def test_a_wrong_line_is_named(files, capsys, lines, message):
    assert main(["eval", *files(queries=lines)]) == 3
    assert message in capsys.readouterr().err


def test_other_wrong_input_is_one_clear_sentence(files, capsys, tmp_path):
    assert main(["eval", *files(tools=[{"server": "x"}])]) == 3
    assert main(["eval", *files(queries=[QUERIES[2]])]) == 1
    assert main(["eval", *files(), "--selector", "hybird"]) == 1
    assert main(["eval", "--tools", str(tmp_path / "no"), "--queries", str(tmp_path / "no")]) == 3
    err = capsys.readouterr().err
    assert "tools.jsonl:1: a tool needs a name and a server" in err
    assert "0 queries over 3 tools: nothing to measure" in err
    assert "there is no selector 'hybird'; did you mean 'hybrid'?" in err
    assert "can't be read" in err


def test_recall_against_tokens_is_drawn(files, tmp_path):
    plot = tmp_path / "curve.svg"
    assert main(["eval", *files(), "--selector", "hybrid,lexical", "--plot", str(plot)]) == 0
    drawn = plot.read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert drawn.count("<polyline") == 2


def test_a_plot_that_can_not_be_drawn_is_a_clear_error(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["eval", *files(), "--plot", str(tmp_path / "x.gif")]) == 1
    assert main(["eval", *files(), "--plot", str(tmp_path / "no" / "x.svg")]) == 1
    assert main(["eval", *files(), "--plot", str(tmp_path / "x.png")]) == 1
    err = capsys.readouterr().err
    assert "ends in neither .svg nor .png" in err
    assert "can't be written" in err
    assert "install toolpick[plot]" in err


def test_names_are_escaped_in_the_drawing():
    assert "&lt;b&gt;" in svg({"<b>": [(10.0, 0.5), (20.0, 0.7)]})
    assert "<svg" in svg({})


def test_explain_shows_what_a_score_is_made_of_and_what_was_cut(files, capsys):
    tools = files()[:2]
    assert (
        main(["explain", "send an email", *tools, "--selector", "hybrid", "--limit", "1", "--json"])
        == 0
    )
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0]["tool"] == "mail/send_message"
    assert rows[0]["selected"] is True
    assert rows[0]["parts"] == {"words": 1.0, "meaning": 1.0}
    assert rows[0]["tokens"] > 0
    assert {row["cut"] for row in rows[1:]} == {"beyond the limit of 1"}


def test_explain_for_people(files, capsys):
    tools = files()[:2]
    assert main(["explain", "send an email", *tools, "--selector", "lexical", "--all"]) == 0
    assert main(["explain", "", *tools]) == 0
    assert main(["explain", "x", *tools, "--selector", "nope"]) == 1
    out, err = capsys.readouterr()
    assert "*  mail/send_message" in out
    assert "less than it could be: the query has no words" in out
    assert "there is no selector 'nope'" in err


def test_the_catalog_of_ones_own_servers_is_measured_and_explained(tmp_path, capsys):
    config = mounting(tmp_path, {"all": [sys.executable, str(SERVERS / "everything.py")]})
    queries = tmp_path / "queries.jsonl"
    labelled = {"query": "an image with some text", "gold": ["all/test_image_content"]}
    queries.write_text(json.dumps(labelled), encoding="utf-8")
    options = ["--config", str(config), "--json"]
    assert main(["eval", "--queries", str(queries), *options]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["selector"], row["queries"], row["recall@8"]) == ("hybrid", 1, 1.0)
    assert main(["explain", "show me an image", *options, "--selector", "lexical"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "all/test_image_content" in [row["tool"] for row in rows if row["selected"]]


def test_what_the_tools_command_prints_is_a_catalog_for_the_others(tmp_path, capsys):
    config = mounting(tmp_path, {"all": [sys.executable, str(SERVERS / "everything.py")]})
    assert main(["tools", "--json", "--config", str(config)]) == 0
    catalog, queries = tmp_path / "tools.jsonl", tmp_path / "queries.jsonl"
    catalog.write_text(capsys.readouterr().out, encoding="utf-8")
    gold = "all/test_image_content"
    queries.write_text(json.dumps({"query": "an image", "gold": [gold]}), encoding="utf-8")
    turn = {"turns": [{"prompt": "an image", "needs": [[gold]]}]}
    conversations = tmp_path / "conversations.jsonl"
    conversations.write_text(json.dumps(turn), encoding="utf-8")

    assert main(["eval", "--tools", str(catalog), "--queries", str(queries), "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    command = ["replay", str(conversations), "--tools", str(catalog), "--surface", "full"]
    assert main([*command, "--json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    assert (evaluated["recall@1"], replayed["turns_complete"]) == (1.0, 1.0)
