"""Real clients in front of toolpick, all at once: `python benchmarks/lab/run.py LAB [OPTION...]`.

LAB is the folder of the client lab. Runs its scenarios in all set-ups over stdio and HTTP with
`surface = "turn"` and `"auto"`, then `turn` again without the hook, where it must fail. With
"auto" Claude Code without tool search gets a list that never changes, so its tools are named, not
listed: that set-up is judged as those that can't follow. Exit status: 0 all as expected, 1 not,
3 a client is missing.
"""

import argparse
import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SURFACES = ("turn", "auto")
TRANSPORTS = ("stdio", "http")


def subject(scenarios: Any, surface: str, transport: str) -> dict[str, Any]:
    """What the lab is to start."""
    suffix = "-http" if transport == "http" else ""
    loaded: dict[str, Any] = scenarios.load_subject(HERE / f"toolpick-{surface}{suffix}.json")
    return loaded


def variant(scenarios: Any, name: str, surface: str) -> Any:
    """A client's set-up, and what is to be expected of it with this surface."""
    known = scenarios.VARIANTS[name]
    if surface == "auto" and name == "claude-code-all":
        return replace(known, same_turn=False)
    return known


def hooks_of(result: dict[str, Any]) -> list[float]:
    """Milliseconds of each prompt's hook."""
    return [
        1000 * hook["seconds"]
        for turn in result.get("turns", ())
        for hook in turn["hooks"]
        if hook["event"] != "BeforeToolSelection"
    ]


def changes_of(result: dict[str, Any]) -> int:
    """How often a list changed for a prompt."""
    return sum(len(turn["list_changed"]) for turn in result.get("turns", ()))


def main() -> int:
    """Run the matrix."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lab", type=Path)
    parser.add_argument("--surface", action="append", choices=SURFACES)
    parser.add_argument("--transport", action="append", choices=TRANSPORTS)
    parser.add_argument("--scenario", action="append", help="default: all three")
    parser.add_argument("--variant", action="append", help="default: all five")
    parser.add_argument("--without-hook", action="store_true", help="only the runs that must fail")
    parser.add_argument("--results", type=Path, help="folder for what was recorded")
    given = parser.parse_args()
    sys.path.insert(0, str(given.lab.resolve()))
    import scenarios

    cells = [
        (surface, transport, scenario, name, hooked)
        for surface in given.surface or SURFACES
        for transport in given.transport or TRANSPORTS
        for hooked in ((False,) if given.without_hook else (True, False))
        for scenario in (given.scenario or scenarios.SCENARIOS if hooked else ("turn",))
        for name in given.variant or scenarios.VARIANTS
    ]
    wrong, spent = 0, []
    for surface, transport, scenario, name, hooked in cells:
        tested = subject(scenarios, surface, transport)
        if not hooked:
            tested = {k: v for k, v in tested.items() if k not in ("hook", "tool_selection_hook")}
        try:
            outcome = scenarios.run(scenario, variant(scenarios, name, surface), tested)
        except scenarios.NotInstalled as problem:
            print(f"lab: {problem}", file=sys.stderr)
            return 3
        # without a hook the run must come to its end, and an assertion must fail
        fine = outcome.ok if hooked else not outcome.ok and outcome.result.get("ok", False)
        wrong += not fine
        spent += hooks_of(outcome.result)
        verdict = ("pass" if hooked else "fails, as it must") if fine else "NOT AS EXPECTED"
        label = f"{surface} {transport} {scenario}{'' if hooked else ' (no hook)'}"
        seen = f"{changes_of(outcome.result)} changes, {scenarios.figures(outcome.result)}"
        print(f"{label:30} {name:22} {verdict:18} {seen}", flush=True)
        for failure in outcome.failures if not fine else ():
            print(f"        {failure[:300]}", flush=True)
        if given.results:
            given.results.mkdir(parents=True, exist_ok=True)
            file = given.results / f"{label.replace(' ', '-')}-{name}.json"
            file.write_text(json.dumps(outcome.result, indent=2) + "\n")
    held = f"; hook p50 {statistics.median(spent):.0f} ms of {len(spent)}" if spent else ""
    print(f"{len(cells)} runs, {wrong} not as expected{held}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
