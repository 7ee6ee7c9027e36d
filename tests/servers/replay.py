"""A raw stdio server that says, byte for byte, what a test tells it to; standard library, no SDK.

`python replay.py PORT` connects to the test at PORT of the loopback interface. Each line from
there is a word, a blank and raw JSON: `tools [...]` sets the list and announces the change,
`result {...}` sets what every call answers; each line is answered `done`. Told to the test: `ready`
when the client would hear of a change, and the raw line of each `tools/call`. Both protocol eras,
on one process, whatever the client begins with.
"""

import json
import socket
import sys
import threading
from typing import Any, BinaryIO

MODERN = "2026-07-28"
CAPABILITIES = {"tools": {"listChanged": True}}
ABOUT = {"name": "replay", "version": "1"}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Replay:
    """One client over our pipes, one test over a socket."""

    def __init__(self, test: BinaryIO) -> None:
        self._test = test
        self._tools = b'[{"name":"any_tool","inputSchema":{"type":"object"}}]'
        self._result = b'{"resultType":"complete","content":[]}'
        self._listening: list[Any] = []
        self._greeted = False
        self._lock = threading.Lock()

    def obey(self) -> None:
        """Do what the test says, until it hangs up."""
        for line in self._test:
            word, _, raw = line.rstrip(b"\n").partition(b" ")
            if word == b"tools":
                self._tools = raw
                self._announce()
            else:
                self._result = raw
            self._tell(b"done")

    def serve(self) -> None:
        """Answer the client until stdin ends."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message.get("method") == "notifications/initialized":
                self._tell(b"ready")
            elif "method" in message and "id" in message:
                self._answer(message["id"], message["method"], message.get("params") or {}, line)

    def _answer(self, number: Any, method: str, params: dict[str, Any], line: bytes) -> None:
        if method == "tools/call":
            self._tell(line.rstrip(b"\n"))
            self._write(number, self._result)
        elif method == "tools/list":
            freshness = b'"resultType":"complete","ttlMs":0,"cacheScope":"private",'
            self._write(number, b"{" + freshness + b'"tools":' + self._tools + b"}")
        elif method == "initialize":
            self._greeted = True
            told = {"protocolVersion": params["protocolVersion"], "serverInfo": ABOUT}
            self._write(number, json.dumps({**told, "capabilities": CAPABILITIES}).encode())
        elif method == "server/discover":
            told = {"supportedVersions": [MODERN], "capabilities": CAPABILITIES}
            kept = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            meta = {"_meta": {"io.modelcontextprotocol/serverInfo": ABOUT}}
            self._write(number, json.dumps({**told, **kept, **meta}).encode())
        elif method == "subscriptions/listen":
            self._listening.append(number)
            wanted = {"notifications": params.get("notifications", {})}
            self._notify("notifications/subscriptions/acknowledged", number, wanted)
            self._tell(b"ready")
        else:
            self._write(number, b"{}")

    def _announce(self) -> None:
        method = "notifications/tools/list_changed"
        for number in self._listening:
            self._notify(method, number, {})
        if self._greeted:
            self._put(json.dumps({"jsonrpc": "2.0", "method": method}).encode())

    def _notify(self, method: str, number: Any, params: dict[str, Any]) -> None:
        stamped = {**params, "_meta": {SUBSCRIPTION: number}}
        self._put(json.dumps({"jsonrpc": "2.0", "method": method, "params": stamped}).encode())

    def _write(self, number: Any, result: bytes) -> None:
        self._put(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(number).encode(), result))

    def _put(self, line: bytes) -> None:
        with self._lock:
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()

    def _tell(self, line: bytes) -> None:
        self._test.write(line + b"\n")
        self._test.flush()


def main() -> None:
    """Connect to the test and serve."""
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    replay = Replay(connection.makefile("rwb"))  # type: ignore[arg-type]
    threading.Thread(target=replay.obey, daemon=True).start()
    replay.serve()


if __name__ == "__main__":
    main()
