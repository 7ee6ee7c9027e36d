"""Fetches a model's files; runs as a process of its own, which can be ended when nothing moves.

    python -m toolpick_selectors.onnx.fetch '{"repo": …, "files": […], "folder": …, "mark": …}'

Writes one JSON object a line: ``{"done": bytes, "total": bytes}`` as it goes, ``{"waiting": true}``
while another process fetches the same model, at the end ``{"ok": true}`` or ``{"failed": why,
"hint": what to do, "from": endpoint}``. Ends when its standard input closes, so that it never
outlives whoever started it. Files go where fastembed looks for them.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SIDE_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "preprocessor_config.json",
)
WHY_CHARS = 160
REPORT_SECONDS = 0.2
LOCK_POLL_SECONDS = 2.0
NETWORK = "if this machine needs a proxy or a mirror, set HTTPS_PROXY or HF_ENDPOINT"
FOLDER = "name a folder that can be written to in FASTEMBED_CACHE_PATH"
STORAGE_ERRORS = (
    errno.EACCES,
    errno.EDQUOT,
    errno.EEXIST,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)


def main() -> None:
    """Fetch what the first argument asks for."""
    _end_with_parent()
    _trust_certificates()
    asked = json.loads(sys.argv[1])
    try:
        _fetch(asked)
    except Exception as error:  # noqa: BLE001 - the library raises anything; the parent is told
        from huggingface_hub import constants

        why, hint = explain(error)
        _say({"failed": why, "hint": hint, "from": constants.ENDPOINT})
    else:
        _say({"ok": True})


def mark(path: Path) -> list[int] | None:
    """What tells a file from its replacement, None when it isn't there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def explain(error: BaseException) -> tuple[str, str]:
    """Why it failed, in a few words, and what may help."""
    chain = [error]
    while (
        cause := chain[-1].__cause__ or chain[-1].__context__
    ) is not None and cause not in chain:
        chain.append(cause)
    names = {type(one).__name__ for one in chain}
    text = " ".join(str(one) for one in chain)
    storage = next(
        (one for one in chain if isinstance(one, OSError) and one.errno in STORAGE_ERRORS), None
    )
    if storage is not None:
        return storage.strerror or "the folder can't be used", FOLDER
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return "its certificate is not trusted", "set SSL_CERT_FILE to your network's certificates"
    if names & {"RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError"}:
        return "it has no such model for you", "check the name, or set HF_TOKEN"
    status = next((code for code in map(_status, chain) if code), 0)
    if status:
        return f"it answered HTTP {status}", NETWORK
    if names & {"JSONDecodeError", "ContentDecodingError"}:
        return "it answered with something else, perhaps a page to sign in", NETWORK
    if names & {"Timeout", "ConnectTimeout", "ReadTimeout"}:
        return "it did not answer in time", NETWORK
    root = chain[-1]
    said = (root.strerror if isinstance(root, OSError) else "") or str(root) or type(root).__name__
    return " ".join(said.split())[:WHY_CHARS], NETWORK


def _status(error: BaseException) -> int:
    return getattr(getattr(error, "response", None), "status_code", 0)


def _fetch(asked: dict[str, Any]) -> None:
    from huggingface_hub import HfApi, snapshot_download, try_to_load_from_cache

    folder, repo = Path(asked["folder"]), asked["repo"]
    folder.mkdir(parents=True, exist_ok=True)

    def current() -> list[int] | None:
        found = try_to_load_from_cache(repo, asked["files"][0], cache_dir=folder)
        return mark(Path(found)) if isinstance(found, str) else None

    with _locked(folder / (repo.replace("/", "--") + ".lock")):
        before = current()
        if before is not None and before != asked["mark"]:
            return  # another process has fetched it since
        HfApi().model_info(repo, timeout=15)  # says what is wrong, where the next call goes offline
        snapshot_download(
            repo,
            allow_patterns=[*asked["files"], *SIDE_FILES],
            cache_dir=folder,
            force_download=before is not None,
            tqdm_class=_bar(),
        )
        if current() in (None, asked["mark"]):
            raise ConnectionError("the connection was lost")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock that processes share, saying while it takes that this one waits."""
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=LOCK_POLL_SECONDS)
        except Timeout:
            _say({"waiting": True})
    try:
        yield
    finally:
        lock.release()


def _bar() -> Any:
    """A progress bar that reports instead of drawing."""
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    silent = Path(os.devnull).open("w")  # noqa: SIM115 - open as long as the process

    class Bar(tqdm):  # type: ignore[misc]
        said = 0.0

        def __init__(self, *args: Any, **options: Any) -> None:
            self.bytes = options.get("unit") == "B"
            super().__init__(*args, **(options | {"file": silent, "disable": False}))

        def update(self, n: float | None = 1) -> bool | None:
            drawn: bool | None = super().update(n)
            if self.bytes and time.monotonic() - Bar.said > REPORT_SECONDS:
                Bar.said = time.monotonic()
                _say({"done": self.n, "total": self.total or 0})
            return drawn

    return Bar


def _trust_certificates() -> None:
    """Honour the variables that other tools use for extra certificates."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if os.environ.get(name):
            os.environ.setdefault("SSL_CERT_FILE", os.environ[name])


def _end_with_parent() -> None:
    def watch() -> None:
        # Not through sys.stdin, whose lock would be in the way when this process ends by itself.
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
