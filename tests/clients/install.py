"""Fetches the other side of the client tests: `python -m tests.clients.install`.

The Python SDK of the 1.x line in an environment of its own, the TypeScript SDK of both lines and
the Inspector with a node that runs them, all pinned, in the checkout's `lab` folder. The tests
never fetch anything; without this they skip what is not there.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.npm import Unavailable, install, installed, lab

OLD_SDK = "mcp==1.30.0"
NPM = (
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/inspector@2.12.0",
)
HINT = "fetch it with: python -m tests.clients.install"


def old_python() -> Path | None:
    """The interpreter of the environment with the 1.x SDK, if it is there."""
    folder = lab() / "python-sdk-1"
    if not (folder / OLD_SDK).exists():
        return None
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def node_folder() -> Path | None:
    """The folder of the npm packages, if they are there."""
    return installed("clients", *NPM)


def install_old_python() -> None:
    """Make the environment with the 1.x SDK.

    Raises:
        Unavailable: The package can't be had.
    """
    if old_python() is not None:
        return
    folder = lab() / "python-sdk-1"
    venv.create(folder, with_pip=True, clear=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    command = [str(python), "-m", "pip", "install", "--quiet", OLD_SDK]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Unavailable(f"pip could not install {OLD_SDK}: {last[0]}")
    (folder / OLD_SDK).touch()


def main() -> int:
    """Fetch what can be had, say what can't; only that nothing works is no failure."""
    for title, fetch in (
        ("Python SDK 1.x", install_old_python),
        ("TypeScript SDK and Inspector", lambda: install("clients", *NPM)),
    ):
        try:
            fetch()
        except Unavailable as problem:
            print(f"testing without the clients of the {title}: {problem}")
        else:
            print(f"testing with the clients of the {title}, too")
    return 0


if __name__ == "__main__":
    sys.exit(main())
