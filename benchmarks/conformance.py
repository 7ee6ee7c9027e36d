"""The official conformance suite against toolpick, in one command.

Starts the everything server of `tests/servers`, `toolpick serve --http` in front of it, runs the
required scenarios of both protocol revisions and names those that fail. `--direct` tests the
fixture itself: what fails there can't pass through a gateway.

Exit status: 0 all required scenarios pass, or the suite can't be had here (it says so), else 1.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from npm import Unavailable, install, node
from programs import ROOT, Broken, free_port, listening, toolpick

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
REVISIONS = ("2025-11-25", "2026-07-28")
FIXTURE = ROOT / "tests" / "servers" / "everything.py"
CONFIG = """\
[gateway]
surface = "full"
[servers.everything]
url = "http://127.0.0.1:{port}/mcp"
prefix = ""
"""


@dataclass(frozen=True, slots=True)
class Score:
    """What one revision's requirement set gave."""

    revision: str
    required: tuple[str, ...]
    failed: dict[str, list[str]]
    unscored: dict[str, list[str]]

    def line(self) -> str:
        """The score, as `30/30`."""
        passed = len(self.required) - len(self.failed)
        return f"{self.revision}: {passed}/{len(self.required)} required scenarios"


def required_scenarios(suite: Path, revision: str) -> tuple[str, ...]:
    """The server scenarios that a revision requires, as the suite's own list has them."""
    text = (suite / "requirements" / f"{revision}.yaml").read_text()
    block = re.search(r"^server:\n((?:  - .*\n|\s*#.*\n|\n)+)", text, re.MULTILINE)
    if block is None:
        raise Broken(f"the suite's list for {revision} has no server scenarios")
    return tuple(re.findall(r"^  - (\S+)", block[1], re.MULTILINE))


def run_suite(folder: Path, url: str, revision: str, results: Path) -> Score:
    """Run one requirement set against a URL and read what it recorded."""
    suite = folder / "node_modules" / SUITE
    command = [node(folder), str(suite / "dist" / "index.js"), "server", "--url", url]
    command += ["--requirements", revision, "-o", str(results)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=500)
    checks = dict(_recorded(results))
    required = required_scenarios(suite, revision)
    failed = {name: checks.get(name, ["did not run"]) for name in required}
    unscored = {name: failures for name, failures in checks.items() if name not in required}
    return Score(
        revision, required, {k: v for k, v in failed.items() if v}, _without_tasks(unscored)
    )


def _recorded(results: Path) -> Iterator[tuple[str, list[str]]]:
    for path in sorted(results.glob("server-*/checks.json")):
        name = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT[\dZ-]+$", r"\1", path.parent.name)
        checks = json.loads(path.read_text())
        yield name, [_told(check) for check in checks if check["status"] == "FAILURE"]


def _told(check: dict[str, str]) -> str:
    return f"{check['id']}: {check.get('errorMessage') or check.get('description')}"


def _without_tasks(unscored: dict[str, list[str]]) -> dict[str, list[str]]:
    # The tasks extension is not announced, neither by the fixture nor by toolpick.
    return {name: why for name, why in unscored.items() if why and not name.startswith("tasks-")}


def measure(folder: Path, revisions: Sequence[str], direct: bool) -> list[Score]:
    """Start what is to be tested and run the sets, one after the other."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        port = free_port()
        fixture = [sys.executable, str(FIXTURE), "--port", str(port)]
        stack.enter_context(listening(fixture, port, scratch))
        if not direct:
            config = scratch / "servers.toml"
            config.write_text(CONFIG.format(port=port))
            port = free_port()
            command = [*toolpick(), "serve", "--http", "--config", str(config), "--port", str(port)]
            stack.enter_context(listening(command, port, scratch))
        url = f"http://127.0.0.1:{port}/mcp"
        return [run_suite(folder, url, revision, scratch / revision) for revision in revisions]


def report(scores: Sequence[Score]) -> None:
    """Print the scores, and each failed scenario with its first failed checks."""
    for score in scores:
        print(score.line())
        for title, failures in (("FAILED", score.failed), ("not scored", score.unscored)):
            for name, reasons in failures.items():
                print(f"  {title} {name}")
                for reason in reasons[:3]:
                    print(f"    {reason[:300]}")


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--direct", action="store_true", help="test the fixture itself")
    parser.add_argument("revisions", nargs="*", default=REVISIONS, help="default: both")
    options = parser.parse_args()
    try:
        folder = install("conformance", f"{SUITE}@{VERSION}")
    except Unavailable as problem:
        print(f"conformance: skipped, {problem}")
        return 0
    try:
        scores = measure(folder, options.revisions, options.direct)
    except Broken as problem:
        print(f"conformance: {problem}", file=sys.stderr)
        return 1
    report(scores)
    return 1 if any(score.failed for score in scores) else 0


if __name__ == "__main__":
    sys.exit(main())
