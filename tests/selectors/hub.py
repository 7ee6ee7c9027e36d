"""A place on loopback that models are fetched from, speaking as much of the hub's API as is used."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves the files of ``folder`` as the repository ``repo``; ``mode`` is how it behaves.

    ``good``; ``error``: 503; ``html``: a page; ``missing``: 404; ``cut``: half of every large file;
    ``stall``: answers about the model, and never sends a file.
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

    def tree(self) -> list[dict[str, object]]:
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
            path = urlsplit(self.path).path
            hub.requests.append(f"{self.command} {path}")
            model, files = f"/api/models/{hub.repo}", f"/{hub.repo}/resolve/{COMMIT}/"
            if hub.mode == "error":
                self.answer(b"busy", status=503)
            elif hub.mode == "html":
                self.answer(b"<html>Sign in</html>", kind="text/html")
            elif hub.mode == "missing":
                self.answer(b"{}", {"X-Error-Code": "RepoNotFound"}, status=404)
            elif path in (model, f"{model}/revision/main"):
                siblings = [{"rfilename": name} for name in hub.files]
                about = {"id": hub.repo, "sha": COMMIT, "siblings": siblings, "private": False}
                self.answer(json.dumps(about).encode())
            elif path == f"{model}/tree/{COMMIT}":
                self.answer(json.dumps(hub.tree()).encode())
            elif path.startswith(files) and path.removeprefix(files) in hub.files:
                self.send_file(hub.files[path.removeprefix(files)])
            else:
                self.answer(b"{}", status=404)

        do_HEAD = do_GET

        def send_file(self, body: bytes) -> None:
            if hub.mode == "stall" and self.command == "GET":
                hub.over.wait()
                return
            headers = {"ETag": f'"{_digest(body)}"', "X-Repo-Commit": COMMIT}
            half = hub.mode == "cut" and len(body) > 500 and self.command == "GET"
            self.answer(body, headers, sent=len(body) // 2 if half else len(body))

        def answer(
            self,
            body: bytes,
            headers: dict[str, str] | None = None,
            *,
            kind: str = "application/json",
            status: int = 200,
            sent: int | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[:sent])

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
