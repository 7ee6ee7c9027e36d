"""``toolpick tools`` and the profile part of ``toolpick check``, over a real server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.programs import SERVERS, TOOLPICK, mounting

from toolpick.cli import main
from toolpick.cli.fragments import fragment
from toolpick.model import ToolEntry

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PROFILE = """
[selector]
kind = "lexical"
always = ["all__test_simple_text"]

[profiles.pictures]
allow = ["all__*image*", "all__test_audio_content", "none__*"]
deny = ["*__test_audio*"]
always = ["all__test_image_content", "all__test_simple_text"]
"""


def entry(server: str, name: str, **definition: Any) -> ToolEntry:
    exposed = f"{server}__{name}"
    body = {"name": exposed, "inputSchema": {"type": "object"}, **definition}
    return ToolEntry(server, name, exposed, json.dumps(body).encode())


CATALOG = {
    each.exposed: each
    for each in (
        entry("docs", "read", description="Read it.", annotations={"readOnlyHint": True}),
        entry("docs", "write", title="Write"),
        entry("git", "log", outputSchema={"type": "object"}, _meta={"a": 1}),
    )
}
EMPTY = {"type": "object"}


def test_the_messages_api_gets_its_search_and_deferred_tools() -> None:
    made = fragment("anthropic", CATALOG, ["git__log", "gone__tool"])

    assert made == {
        "tools": [
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
            {"name": "git__log", "description": "", "input_schema": EMPTY},
            {
                "name": "docs__read",
                "description": "Read it.",
                "input_schema": EMPTY,
                "defer_loading": True,
            },
            {
                "name": "docs__write",
                "description": "Write",
                "input_schema": EMPTY,
                "defer_loading": True,
            },
        ]
    }


def test_the_responses_api_gets_its_search_and_deferred_functions() -> None:
    made = fragment("openai", CATALOG, ["docs__read"])

    assert made == {
        "tools": [
            {"type": "tool_search"},
            {
                "type": "function",
                "name": "docs__read",
                "description": "Read it.",
                "parameters": EMPTY,
                "strict": False,
            },
            {
                "type": "function",
                "name": "docs__write",
                "description": "Write",
                "parameters": EMPTY,
                "strict": False,
                "defer_loading": True,
            },
            {
                "type": "function",
                "name": "git__log",
                "description": "",
                "parameters": EMPTY,
                "strict": False,
                "defer_loading": True,
            },
        ]
    }


def test_namespaces_hold_what_is_deferred_of_each_server() -> None:
    made = fragment("openai", CATALOG, ["docs__read"], namespaces=True)

    assert [(tool["type"], tool.get("name")) for tool in made["tools"]] == [
        ("tool_search", None),
        ("function", "docs__read"),
        ("namespace", "docs"),
        ("namespace", "git"),
    ]
    assert made["tools"][2]["description"] == "Tools of docs: write"
    assert [tool["name"] for tool in made["tools"][3]["tools"]] == ["git__log"]


@pytest.mark.parametrize("format", ["anthropic", "openai"])
def test_where_nothing_is_deferred_there_is_no_search(format: str) -> None:
    made = fragment(format, CATALOG, list(CATALOG))

    assert [tool["name"] for tool in made["tools"]] == list(CATALOG)
    assert not any("defer_loading" in tool for tool in made["tools"])


@pytest.mark.parametrize("namespaces", [False, True])
@pytest.mark.parametrize("format", ["anthropic", "openai"])
def test_the_vendors_own_types_take_it(format: str, namespaces: bool) -> None:
    made = fragment(format, CATALOG, ["docs__read"], namespaces=namespaces)

    if format == "anthropic":
        from anthropic.types import ToolUnionParam

        adapter: TypeAdapter[Any] = TypeAdapter(list[ToolUnionParam])
    else:
        from openai.types.responses import ToolParam

        adapter = TypeAdapter(list[ToolParam])
    adapter.validate_python(made["tools"])


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run a command over a real server of many tools; gives its exit code and output."""
    config = mounting(tmp_path, {"all": [sys.executable, str(SERVERS / "everything.py")]})
    config.write_text(config.read_text() + PROFILE)

    def run(*words: str) -> tuple[int, str]:
        code = main([*words, "--config", str(config)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


@pytest.mark.parametrize("format", ["anthropic", "openai"])
def test_the_whole_catalog_is_printed_for_an_api(
    shown: Callable[..., tuple[int, str]], format: str
) -> None:
    code, out = shown("tools", "--format", format, "--query", "an image with some text")

    search, always, first, *rest = json.loads(out)["tools"]
    assert (code, always["name"]) == (0, "all__test_simple_text")
    assert search["type"].startswith("tool_search")
    assert first["name"] == "all__test_image_content"
    names = [tool["name"] for tool in (always, first, *rest)]
    assert len(names) == len(set(names))
    assert all(LEGAL.fullmatch(name) for name in names)
    schemas = [tool.get("input_schema") or tool["parameters"] for tool in (always, first, *rest)]
    assert all(schema["type"] == "object" for schema in schemas)
    assert not any({"oneOf", "anyOf", "allOf"} & schema.keys() for schema in schemas)
    deferred = [tool["name"] for tool in rest if tool.get("defer_loading")]
    assert 0 < len(deferred) < len(names)


def test_a_profile_shows_its_own_tools(shown: Callable[..., tuple[int, str]]) -> None:
    code, out = shown("tools", "--profile", "pictures", "--json")

    names = [json.loads(line)["name"] for line in out.splitlines()]
    assert (code, names) == (0, ["all__test_image_content"])
    _, out = shown("tools", "--profile", "pictures", "--format", "openai")
    assert [tool["name"] for tool in json.loads(out)["tools"]] == ["all__test_image_content"]


def test_a_table_is_printed_for_people(shown: Callable[..., tuple[int, str]]) -> None:
    code, out = shown("tools", "--query", "an image")

    head, first, *_ = out.splitlines()
    assert (code, head.split()) == (0, ["tool", "score", "tokens", "description"])
    assert first.startswith("all__test_image_content")
    assert re.search(r"\n\d+ tools? of \d+, about [\d,]+ tokens of [\d,]+\n\Z", out)


def test_a_profile_that_there_is_not_is_said(shown: Callable[..., tuple[int, str]]) -> None:
    code, out = shown("tools", "--profile", "pictrues")

    assert code == 1
    assert out.endswith("servers.toml: there is no profile 'pictrues'; there are: pictures\n")


def test_what_a_profile_names_in_vain_is_a_problem(shown: Callable[..., tuple[int, str]]) -> None:
    code, out = shown("check", "--json")

    said = json.loads(out)
    assert code == 3
    assert [problem.partition(": ")[2] for problem in said["problems"]] == [
        "profiles.pictures.allow[2]: 'none__*' matches no tool of this profile",
        "profiles.pictures.always[1]: the profile has no 'all__test_simple_text'; toolpick tools "
        "--profile lists the names",
    ]


def test_servers_that_are_not_there_are_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = mounting(tmp_path, {"one": ["no-such-command"], "two": ["no-such-command"]})

    assert main(["tools", "--config", str(config)]) == 0
    assert capsys.readouterr().err == "toolpick: without one, two; toolpick check says why\n"


def test_a_character_that_the_terminal_lacks_is_shown_as_another(tmp_path: Path) -> None:
    catalog = tmp_path / "tools.jsonl"
    catalog.write_text('{"server": "s", "name": "größe", "description": "size"}', encoding="utf-8")
    env = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}

    ended = subprocess.run(
        [TOOLPICK, "explain", "size", "--tools", str(catalog)],
        env=env, capture_output=True, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"s/gr??e" in ended.stdout


def test_namespaces_without_their_format_are_a_mistake(
    shown: Callable[..., tuple[int, str]],
) -> None:
    assert shown("tools", "--namespaces") == (1, "toolpick: --namespaces is for --format openai\n")
