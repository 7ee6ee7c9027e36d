"""Packages from npm, and a node new enough to run them, in a folder of the checkout.

Several checks drive other people's programs: the conformance suite, the Inspector, the TypeScript
SDK. They need node 22, which many systems lack, but npm offers it as a package. Everything goes
into `lab/npm` (or `TOOLPICK_LAB`), pinned; what is already there is not fetched again.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

NODE = "node@22.23.3"
ROOT = Path(__file__).resolve().parent.parent


class Unavailable(Exception):
    """Npm or a package can't be had here; the message says why."""


def lab() -> Path:
    """The folder for what checks install."""
    return Path(os.environ.get("TOOLPICK_LAB", ROOT / "lab"))


def installed(name: str, *packages: str) -> Path | None:
    """The folder of this name, if it holds node and just these packages."""
    record = lab() / "npm" / name / "installed.json"
    if record.exists() and json.loads(record.read_text()) == [NODE, *packages]:
        return record.parent
    return None


def install(name: str, *packages: str) -> Path:
    """Install node and the packages into a folder of this name, and return the folder.

    Raises:
        Unavailable: There is no npm, no registry, or no such package.
    """
    there = installed(name, *packages)
    if there is not None:
        return there
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    folder = lab() / "npm" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", NODE, *packages]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        raise Unavailable("npm did not finish within 300 s") from None
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise Unavailable(f"npm could not install {', '.join(packages)}: {last[-1]}")
    (folder / "installed.json").write_text(json.dumps([NODE, *packages]))
    return folder


def node(folder: Path) -> str:
    """The node binary of a folder that `install` returned."""
    return str(folder / "node_modules" / ".bin" / "node")
