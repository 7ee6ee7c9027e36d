"""The folder `selectors/` must never hide the standard library's module of that name."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("folder", [".", "gateway", "selectors", "tests"])
def test_python_started_in_the_checkout_finds_the_standard_selectors(folder: str) -> None:
    script = "import asyncio, selectors, subprocess; print(selectors.DefaultSelector.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT / folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("Selector")


def test_neither_source_root_is_a_package() -> None:
    assert not (ROOT / "selectors" / "__init__.py").exists()
    assert not (ROOT / "gateway" / "__init__.py").exists()
