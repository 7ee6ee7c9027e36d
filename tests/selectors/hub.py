"""A place on loopback that models are fetched from: as much of the hub's API as is used."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Answer:
    body: bytes
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


BROKEN = {
    "error": Answer(b"busy", 503),
    "html": Answer(b"<html>Sign in</html>", kind="text/html"),
    "missing": Answer(b"{}", 404, headers={"X-Error-Code": "RepoNotFound"}),
}


class Hub:
    """Serves the files of ``folder`` as the repository ``repo``; ``mode`` is how it behaves.

    ``good``; ``error``, ``html`` and ``missing``: see ``BROKEN``; ``stall``: tells what there
    is, and never sends a file.
    """

    def __init__(self, repo: str, folder: Path) -> None:
        self.url = ""
        self.repo = repo
        self.mode = "good"
        self.requests: list[str] = []
        self.over = threading.Event()
        self.files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    @property
    def fetched(self) -> list[str]:
        """Names of the files that were sent, in order."""
        start = f"GET /{self.repo}/resolve/{COMMIT}/"
        return [line.removeprefix(start) for line in self.requests if line.startswith(start)]

    def reply(self, command: str, path: str) -> Answer | None:
        """What is sent back, None for nothing at all."""
        self.requests.append(f"{command} {path}")
        if self.mode in BROKEN:
            return BROKEN[self.mode]
        model, files = f"/api/models/{self.repo}", f"/{self.repo}/resolve/{COMMIT}/"
        if path in (model, f"{model}/revision/main"):
            siblings = [{"rfilename": name} for name in self.files]
            about = {"id": self.repo, "sha": COMMIT, "siblings": siblings, "private": False}
            return Answer(json.dumps(about).encode())
        if path == f"{model}/tree/{COMMIT}":
            return Answer(json.dumps(self._tree()).encode())
        body = self.files.get(path.removeprefix(files)) if path.startswith(files) else None
        return Answer(b"{}", 404) if body is None else self._file(command, body)

    def _file(self, command: str, body: bytes) -> Answer | None:
        if self.mode == "stall" and command == "GET":
            self.over.wait()
            return None
        headers = {"ETag": f'"{_digest(body)}"', "X-Repo-Commit": COMMIT}
        return Answer(body, headers=headers)

    def _tree(self) -> list[dict[str, object]]:
        return [
            {"type": "file", "path": name, "size": len(body), "oid": _digest(body)}
            for name, body in self.files.items()
        ]


def _digest(body: bytes) -> str:
    return hashlib.sha1(body).hexdigest()


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = hub.reply(self.command, urlsplit(self.path).path)
            if answer is None:
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(answer.body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        hub.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
