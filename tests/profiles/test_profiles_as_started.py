"""Profiles of a gateway as its users start it: on the command line, from a settings file."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.programs import PATIENCE, SERVERS, end, free_port, listening, mounting, serve
from tests.raw_client import Client, Http, Pipes

SETTINGS = """
[selector]
kind = "lexical"
limit = 1
minimum = 1

[profiles.pictures]
allow = ["all__*image*", "all__*audio*"]
surface = "turn"
query = "an audio clip"
token = "p-token"

[profiles.words]
allow = ["all__test_simple_text"]
"""
META_TOOLS = ["search_tools", "call_tool"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    found = mounting(tmp_path, {"all": [sys.executable, str(SERVERS / "everything.py")]})
    found.write_text(found.read_text() + SETTINGS)
    return found


@contextmanager
def piped(command: list[str], modern: bool) -> Iterator[Client]:
    """A client that started this gateway."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        client = Pipes(process, modern)
        client.open()
        yield client
    finally:
        end(process)


def names(client: Client) -> list[str]:
    result = json.loads(bytes(client.request("tools/list", {}).result))
    return [tool["name"] for tool in result["tools"]]


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
def test_a_client_gets_the_profile_that_its_command_names(config: Path, modern: bool) -> None:
    with piped(serve(config, "--profile", "pictures"), modern) as client:
        assert names(client) == [*META_TOOLS, "all__test_audio_content"]
        answer = client.request("tools/call", {"name": "all__test_simple_text"}, arguments=b"{}")
        assert b"Unknown tool: 'all__test_simple_text'" in bytes(answer.error)


def test_the_command_line_goes_before_the_profile(config: Path) -> None:
    query = serve(config, "--profile", "pictures", "--query", "an image")
    with piped(query, modern=True) as client:
        assert names(client) == [*META_TOOLS, "all__test_image_content"]
    surface = serve(config, "--profile", "pictures", "--surface", "search")
    with piped(surface, modern=True) as client:
        assert names(client) == META_TOOLS


def test_a_profile_that_there_is_not_stops_the_start(config: Path) -> None:
    ended = subprocess.run(serve(config, "--profile", "picture"), capture_output=True, check=False)

    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.decode() == (
        f"toolpick: {config}: there is no profile 'picture'; there are: pictures, words\n"
    )


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
def test_paths_and_tokens_choose_over_http(tmp_path: Path, config: Path, modern: bool) -> None:
    config.write_text(config.read_text().replace("[gateway]\n", '[gateway]\ntoken = "all"\n'))
    port = free_port()
    with listening(serve(config, "--http", "--port", str(port)), port, tmp_path):
        shown = []
        for path, token in (("/mcp", "p-token"), ("/mcp/words", "all"), ("/mcp", "all")):
            client = Http(port, modern, path, token)
            client.open()
            shown.append(names(client))
            client.close()

    assert shown[0] == [*META_TOOLS, "all__test_audio_content"]
    assert shown[1] == ["all__test_simple_text"]
    assert {"all__test_simple_text", "all__test_tool_with_logging"} <= set(shown[2])


def test_one_profile_alone_may_be_served_over_http(tmp_path: Path, config: Path) -> None:
    port = free_port()
    command = serve(config, "--http", "--port", str(port), "--profile", "words")
    with listening(command, port, tmp_path):
        client = Http(port, modern=True)
        client.open()
        assert names(client) == ["all__test_simple_text"]
        client.close()
        other = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        other.request("POST", "/mcp/pictures", b"{}", {"Content-Type": "application/json"})
        assert other.getresponse().status == 404
        other.close()
