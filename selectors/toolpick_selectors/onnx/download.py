"""Has a model's files fetched by a child process, and watches over it.

Blocks; called from a thread. The child is ended when nothing moved for ``STALL_SECONDS``, when it
takes too long altogether, and when this process is about to end.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from toolpick_selectors.onnx.fetch import FOLDER, NETWORK
from toolpick_selectors.providers.credential import redact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STALL_SECONDS = 60.0
MOST_SECONDS = 2 * 3600.0
POLL_SECONDS = 0.2
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
ON = ("1", "ON", "YES", "TRUE")


@dataclass(frozen=True, slots=True)
class Files:
    """What makes up a model: the repository, the model's own files (the first is the graph)."""

    repo: str
    names: tuple[str, ...]


class DownloadError(Exception):
    """The files can't be had: why, from where, which variable may help; part of a sentence."""


def download(
    files: Files,
    folder: Path,
    *,
    mark: list[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
    stall: float = STALL_SECONDS,
) -> None:
    """Fetch ``files`` into ``folder``; ``mark`` is that of a damaged graph file to replace.

    ``progress`` is told bytes done and bytes in all, 0 while unknown. Several processes may ask for
    the same model at a time: one fetches it, the others wait for that.

    Raises:
        DownloadError: see there.
    """
    forbidden = [name for name in OFFLINE if os.environ.get(name, "").strip().upper() in ON]
    if forbidden:
        missing = f"it is not whole in '{folder}'"
        raise DownloadError(f"{missing}, and {forbidden[0]} forbids to fetch it; unset that once")
    asked = {"repo": files.repo, "files": files.names, "folder": str(folder), "mark": mark}
    with _child(asked) as child:
        try:
            last = _watch(child, progress, stall)
        finally:
            child.kill()
    if "ok" in last:
        return
    if "failed" not in last:
        raise DownloadError(f"the process that fetched it into '{folder}' ended early; {FOLDER}")
    origin = redact(str(last["from"]))
    raise DownloadError(
        f"it can't be fetched from {origin} into '{folder}': {redact(str(last['failed']))}; "
        f"{last['hint']}"
    )


def _child(asked: dict[str, Any]) -> subprocess.Popen[str]:
    # -P: the folder that the gateway was started in holds whatever it holds.
    command = [sys.executable, "-P", "-m", "toolpick_selectors.onnx.fetch", json.dumps(asked)]
    quiet = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_SYMLINKS_WARNING": "1"}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **quiet},
        text=True,
        encoding="utf-8",
    )


def _watch(
    child: subprocess.Popen[str], progress: Callable[[int, int], None] | None, stall: float
) -> dict[str, Any]:
    """Return the child's last word, or what stands for it. Raises ``DownloadError`` on a stall."""
    assert child.stdout is not None
    said: queue.Queue[dict[str, Any] | None] = queue.Queue()
    threading.Thread(target=_listen, args=(child.stdout, said), daemon=True).start()
    began = heard = time.monotonic()
    furthest = -1
    while True:
        try:
            message = said.get(timeout=POLL_SECONDS)
        except queue.Empty:
            now = time.monotonic()
            if now - heard > stall or now - began > MOST_SECONDS:
                raise DownloadError(
                    f"fetching it stalled for {now - heard:.0f} s at {max(furthest, 0)} bytes; "
                    f"{NETWORK}"
                ) from None
            if not threading.main_thread().is_alive():
                raise DownloadError("fetching it was ended with the process") from None
            continue
        if message is None:
            return {}
        if "done" not in message and "waiting" not in message:
            return message
        if "waiting" in message or message["done"] > furthest:
            heard = time.monotonic()
        furthest = max(furthest, message.get("done", furthest))
        if progress is not None and "done" in message:
            progress(furthest, message["total"])


def _listen(stream: IO[str], said: queue.Queue[dict[str, Any] | None]) -> None:
    """Pass on the child's lines, and None when there are no more."""
    try:
        for line in stream:
            said.put(json.loads(line))
    except ValueError:  # not a line of ours, or the stream was closed
        pass
    said.put(None)
