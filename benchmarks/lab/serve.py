"""Starts toolpick for the client lab: `python3 serve.py LAB RUN SURFACE [OPTION...]`.

The client lab runs real clients against a scripted model; it is not part of this checkout. LAB is
its folder, whose reference gateway can be the plain server of ten names; RUN is the private folder
of one run, where the configuration goes. More options are passed on to `toolpick serve`.
"""

import json
import os
import sys
from pathlib import Path

SERVERS = (
    *("weather", "currency", "calendar", "issues", "files"),
    *("mail", "music", "translate", "shipping", "clock"),
)


def configuration(lab: Path, surface: str) -> str:
    """Ten servers, one tool of which is always shown."""
    # A catalog as small as this one would be listed in full, and of its 13 tools the usual 6 to 16
    # would be selected: then no prompt would leave anything out.
    gateway = f'[gateway]\nsurface = "{surface}"\nthreshold_tokens = 0\n'
    parts = [f'{gateway}[selector]\nalways = ["clock__now"]\nlimit = 1\nminimum = 1\n']
    for name in SERVERS:
        arguments = [str(lab / "dyn_gateway.py"), "--downstream", name]
        started = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(arguments)}\n"
        parts.append(f"[servers.{name}]\n{started}")
    return "".join(parts)


def main() -> None:
    """Write the configuration and become toolpick."""
    lab, run, surface, *options = sys.argv[1:]
    config = Path(run) / f"{os.getpid()}-servers.toml"
    config.write_text(configuration(Path(lab), surface))
    toolpick = str(Path(sys.executable).with_name("toolpick"))
    os.execv(toolpick, [toolpick, "serve", "--config", str(config), *options])


if __name__ == "__main__":
    main()
