"""How long a prompt waits for `toolpick hook`: `python benchmarks/hook.py [--selector KIND]`.

Ten synthetic servers of fifty tools behind one gateway over stdio, and a client that lists again
as soon as it is told to. Each figure is the whole life of a hook's process. Also measured: what a
list of a turn whose tools are chosen costs more than one of all tools. Exit status: 1 when a
target is missed.
"""

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import toolpick

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "gateway"))

from synthetic import NOUNS, VERBS  # noqa: E402

HELD, ALONE, MORE = 120.0, 100.0, 0.5
"""Targets in ms: a hook, one without a gateway, what a turn's list takes beyond a full one."""
PROMPTS = (
    "list the open issues of this repository",
    "create an invoice for the customer",
    "search my messages for the last metric export",
    "archive the old pages",
    "update the secret of that branch",
)


class Client:
    """Speaks for a client that follows changes of the list; `name` decides what toolpick does."""

    def __init__(self, folder: Path, config: Path, name: str) -> None:
        environ = {**os.environ, "TOOLPICK_RUNTIME_DIR": str(folder / "run")}
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*toolpick(), "serve", "--config", str(config)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environ,
            )
        self.changes = 0
        self._number = 0
        self._lock = threading.Lock()
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        info = {"name": name, "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.request("initialize", hello)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request and its answer."""
        number = self._ask(method, params or {})
        while True:
            answer = self._answers.get(timeout=60)
            if answer["id"] == number:
                return answer

    def _ask(self, method: str, params: dict[str, Any]) -> int:
        with self._lock:
            self._number += 1
            number = self._number
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("method") == "notifications/tools/list_changed":
                self.changes += 1
                self._ask("tools/list", {})
            elif "id" in message:
                self._answers.put(message)


@contextmanager
def gateway(folder: Path, surface: str, selector: str, name: str) -> Iterator[Client]:
    """A running gateway with 500 tools, listed once."""
    parts = [f'[gateway]\nsurface = "{surface}"\nlist_wait = 60\nlist_changes = 0\n']
    parts.append(f'[selector]\nkind = "{selector}"\n')
    for number in range(10):
        arguments = [str(HERE / "gateway" / "synthetic.py"), f"s{number}", "50"]
        command = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(arguments)}\n"
        parts.append(f"[servers.s{number}]\n{command}")
    config = folder / f"{surface}.toml"
    config.write_text("".join(parts))
    client = Client(folder, config, name)
    try:
        client.request("tools/list")
        yield client
    finally:
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.process.wait(10)


def hook(folder: Path, event: str, prompt: str) -> tuple[float, bool]:
    """Milliseconds of one hook, and whether it added context."""
    environ = {**os.environ, "TOOLPICK_RUNTIME_DIR": str(folder / "run")}
    said = {"hook_event_name": event, "prompt": prompt, "session_id": "s", "cwd": str(folder)}
    began = time.perf_counter()
    done = subprocess.run(
        [*toolpick(), "hook"], input=json.dumps(said).encode(), capture_output=True, env=environ
    )
    spent = 1000 * (time.perf_counter() - began)
    return spent, b"additionalContext" in done.stdout


def held_up(folder: Path, event: str, runs: int) -> list[float]:
    """Milliseconds of many hooks, a different prompt each time."""
    return [hook(folder, event, f"{PROMPTS[n % 5]} {n}")[0] for n in range(runs)]


def following(folder: Path, client: Client, runs: int) -> tuple[list[float], list[float]]:
    """Milliseconds of hooks that changed the list, and of those that did not."""
    changed: list[float] = []
    kept: list[float] = []
    for number in range(runs):
        before = client.changes
        prompt = f"{PROMPTS[number % 5]} {VERBS[number % 9]} {NOUNS[number * 2 % 9]}"
        spent, _ = hook(folder, "BeforeAgent", prompt)
        (changed if client.changes > before else kept).append(spent)
    return changed, kept


def listing(client: Client, runs: int) -> float:
    """Median milliseconds of a list."""
    spent = []
    for _ in range(runs):
        began = time.perf_counter()
        client.request("tools/list")
        spent.append(1000 * (time.perf_counter() - began))
    return statistics.median(spent)


def main() -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--selector", default="hybrid")
    parser.add_argument("--runs", type=int, default=40)
    given = parser.parse_args()
    rows: list[tuple[str, list[float], float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows.append(("no gateway", held_up(folder, "BeforeAgent", given.runs), ALONE))
        # a client that lists again, but takes no context: its list follows every prompt
        with gateway(folder, "turn", given.selector, "opencode") as client:
            first = [hook(folder, "BeforeAgent", "merge two branches")[0]]
            rows.append(("first prompt, list changed", first, 0))
            changed, kept = following(folder, client, given.runs)
            rows.append((f"list changed, {len(changed)} times", changed, HELD))
            rows.append((f"list kept, {len(kept)} times", kept, HELD))
            turn = listing(client, 200)
        with gateway(folder, "search", given.selector, "codex-mcp-client"):
            first = [hook(folder, "UserPromptSubmit", "merge two branches")[0]]
            rows.append(("first prompt, tools named", first, 0))
            rows.append(("tools named", held_up(folder, "UserPromptSubmit", given.runs), HELD))
        with gateway(folder, "full", given.selector, "bench") as client:
            full = listing(client, 200)
    missed = turn - full > MORE
    for label, spent, target in rows:
        if not spent:
            continue
        p50, p90 = statistics.median(spent), sorted(spent)[int(0.9 * (len(spent) - 1))]
        missed |= bool(target) and p50 > target
        print(f"{label:28} p50 {p50:6.1f} ms  p90 {p90:6.1f} ms", f"({target:g})" if target else "")
    print(f"list of a turn {turn:.2f} ms, of all tools {full:.2f} ms ({MORE:g} more at most)")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
