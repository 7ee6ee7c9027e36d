"""``toolpick check``: what it says of settings and servers, and its exit codes."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.programs import SERVERS

from toolpick.cli import main

GOOD = f"""
[servers.good]
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(SERVERS / "everything.py"))}]
"""
BROKEN = f"""
[servers.broken]
command = {json.dumps(sys.executable)}
args = ["-c", "import sys; sys.exit('no disk left')"]
start_timeout = 5
"""
OFF = """
[servers.off]
command = "nothing"
enabled = false
"""

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Check settings; gives the exit code, stdout, and stderr with the file's bare name."""

    def run(settings: str, *options: str) -> tuple[int, str, str]:
        config = tmp_path / "servers.toml"
        config.write_text(settings, encoding="utf-8")
        code = main(["check", "--config", str(config), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err.replace(str(config), "servers.toml")

    return run


def test_servers_that_start_are_shown_with_era_and_tools(check: Check) -> None:
    code, out, err = check(GOOD + OFF)

    head, good, off, _, summary = out.splitlines()
    assert (code, err) == (0, "")
    assert head.split() == ["server", "state", "era", "transport", "tools", "start", "problem"]
    assert good.split()[:4] == ["good", "ok", "modern", "stdio"]
    assert off.split() == ["off", "off"]
    assert re.fullmatch(r".*servers.toml: 1 of 1 servers work, \d+ tools", summary)


def test_an_optional_server_that_fails_is_shown_with_its_last_words(check: Check) -> None:
    code, out, _ = check(GOOD + BROKEN)

    assert code == 1
    assert "broken  failed" in out
    assert "  broken stderr: no disk left" in out


def test_colours_of_a_servers_last_words_do_not_reach_the_terminal(check: Check) -> None:
    _, out, _ = check(BROKEN.replace("no disk left", r"\\x1b[31mno\\tdisk\\x1b[0m\\x07"))

    assert "  broken stderr: no disk \n" in out


def test_settings_without_a_server_are_said(check: Check) -> None:
    code, out, err = check("")

    assert (code, err) == (0, "")
    assert out.endswith("servers.toml: no servers\n")


@pytest.mark.parametrize("command", ["check", "tools", "serve"])
def test_without_any_settings_there_is_nothing_to_do(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("TOOLPICK_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert main([command]) == 3
    assert capsys.readouterr().err == (
        "servers.toml: is neither here nor in your settings folder; write it, or name one with "
        "--config\n"
    )


def test_a_required_server_that_fails_has_an_exit_code_of_its_own(check: Check) -> None:
    code, out, _ = check(GOOD + BROKEN + "required = true")

    assert code == 2
    assert "failed (required)" in out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[gateway]\nsurface = "ful"', 'servers.toml:2: gateway.surface: "ful" is not one of'),
        ('[selector]\nkind = "lexicl"', "servers.toml:1: selector.lexicl: there is no selector"),
        (
            "[selector.hybird]\nwords = 0.3",
            "servers.toml:1: selector.hybird: is no selector and no embedder; did you mean",
        ),
        (
            "[selector.hybrid]\nword = 0.3",
            "servers.toml:1: selector.hybrid: selector 'hybrid' has no option 'word'; did you mean",
        ),
        ('[selector]\nalways = ["a__b"]', "servers.toml:2: selector.always[0]: no server offers"),
        (GOOD + 'deny = ["nothing*"]', "servers.toml:5: servers.good.deny: deny 'nothing*'"),
    ],
)
def test_every_mistake_is_told_with_its_line(check: Check, settings: str, said: str) -> None:
    code, _, err = check(settings)

    assert code == 3
    assert err.startswith(said)


def test_the_same_comes_as_one_json_object(check: Check) -> None:
    code, out, _ = check(GOOD + BROKEN, "--json")

    found = json.loads(out)
    by_name = {row["server"]: row for row in found["servers"]}
    assert (code, found["ok"], found["problems"]) == (1, False, [])
    assert by_name["good"]["state"] == "ok"
    assert by_name["good"]["tools"] > 5
    assert by_name["broken"]["stderr"] == ["no disk left"]


def test_settings_that_can_not_be_read_are_json_too(check: Check) -> None:
    code, out, err = check("[gateway", "--json")

    found = json.loads(out)
    assert (code, found["ok"], found["servers"], err) == (3, False, [], "")
    assert "is not valid TOML" in found["problems"][0]
