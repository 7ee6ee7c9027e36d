"""Help, version, and mistakes on the command line: at once, and without what only work needs."""

import os
import subprocess
import sys

import pytest
from tests.programs import TOOLPICK

from toolpick import __version__
from toolpick.cli import COMMANDS, main

HEAVY = ("mcp", "numpy", "anyio", "httpx2", "uvicorn", "fastembed", "jsonschema", "msgspec")
COUNT = """
import sys
from toolpick.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_that_is_slow_to_import(argument: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", COUNT, argument], capture_output=True, text=True, check=True
    )

    imported = ended.stderr.split()
    assert [name for name in HEAVY if name in imported] == []
    assert "argparse" in imported


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: toolpick {command}")


def test_help_names_every_command_and_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])

    said = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n    {name}" not in said] == []
    assert "examples:\n  toolpick check" in said


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert (ended.value.code, capsys.readouterr().out) == (0, f"toolpick {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["serve", "--port", "many"],
        ["serve", "--port", "65536"],
        ["check", "--no-such"],
    ],
)
def test_a_mistake_on_the_command_line_is_said_and_ends_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: toolpick" in capsys.readouterr().err


def test_without_a_command_help_is_shown_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert "examples:\n  toolpick check" in said.err


def test_output_that_nobody_reads_is_no_crash() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        ended = subprocess.run(
            [TOOLPICK, "check", "--config", os.devnull], stdout=nobody, stderr=subprocess.PIPE,
            check=False,
        )  # fmt: skip

    assert b"Traceback" not in ended.stderr


def test_it_runs_as_a_module_too() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "toolpick", "--version"], capture_output=True, text=True, check=True
    )

    assert ended.stdout == f"toolpick {__version__}\n"
