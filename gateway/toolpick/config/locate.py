"""Where the settings file is. Looks whether files exist; reads none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "servers.toml"


def locate(
    explicit: Path | None,
    environ: Mapping[str, str],
    cwd: Path,
    home: Path,
    platform: str = sys.platform,
) -> Path | None:
    """Return the file to read, or None when nobody named one and none of the usual ones exists.

    ``explicit`` (``--config``) goes before ``TOOLPICK_CONFIG``, ``./servers.toml`` and the user's
    folder. The first two are returned whether or not they exist: a file that was asked for by
    name and is missing is an error, not a reason to read another one.
    """
    if explicit is not None:
        return explicit
    if named := environ.get("TOOLPICK_CONFIG"):
        return cwd / named
    usual = (
        cwd / FILE,
        *(folder / "toolpick" / FILE for folder in _folders(environ, cwd, home, platform)),
    )
    return next((path for path in usual if path.is_file()), None)


def _folders(environ: Mapping[str, str], cwd: Path, home: Path, platform: str) -> tuple[Path, ...]:
    """Return the folders in which programs keep their settings on this system, best first."""
    folders = []
    if named := environ.get("XDG_CONFIG_HOME"):
        folders.append(cwd / named)
    if platform == "win32":
        roaming = environ.get("APPDATA")
        folders.append(cwd / roaming if roaming else home / "AppData" / "Roaming")
    else:
        folders.append(home / ".config")
    if platform == "darwin":
        folders.append(home / "Library" / "Application Support")
    return tuple(folders)
