"""One run of ``toolpick hook``: from the host's words on stdin to the answer on stdout.

Always ends with 0 and an answer that lets the host go on: a prompt is never lost or held up for
what is wrong here.
"""

from __future__ import annotations

import json
import os
import sys
import time

from toolpick.hook import hosts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TextIO

    from toolpick.hook.beacons import Beacon

WAIT = 0.4
"""Seconds that a hook may take in all, unless it is told another number."""
LONGEST = 30.0
SERVER = "toolpick"
"""The name under which clients know the gateway, unless the hook is told another."""
MARGIN = 0.03
"""Seconds of these that are left for the way back."""
HINTS = ("ENABLE_TOOL_SEARCH",)
"""Variables of the host that a gateway over HTTP can't see, and that say how it treats lists."""


class Options:
    """What the command line asks for."""

    __slots__ = ("port", "profile", "selection", "server", "wait")

    def __init__(self, arguments: Sequence[str]) -> None:
        """Take what can be understood; a hook must not fail for the rest."""
        self.wait = WAIT
        self.port = 0
        self.server = SERVER
        self.profile = ""
        self.selection = "--tool-selection" in arguments
        rest = [part for text in arguments for part in text.split("=", 1)]
        for name, value in zip(rest, rest[1:], strict=False):  # noqa: RUF007 - one import less
            if name == "--server":
                self.server = value
            elif name == "--profile":
                self.profile = value
            elif name == "--wait":
                self.wait = min(max(_number(value, WAIT), 0.0), LONGEST)
            elif name == "--port":
                self.port = int(_number(value, 0))


def _number(text: str, otherwise: float) -> float:
    try:
        number = float(text)
    except ValueError:
        return otherwise
    return number if number == number else otherwise


def run(arguments: Sequence[str]) -> int:
    """Answer the host; 0."""
    began = time.monotonic()
    call = None
    answer: dict[str, Any] = {}
    try:
        options = Options(arguments)
        call = hosts.read(given())
        answer = answered(call, options, os.environ, began)
    except Exception as error:  # noqa: BLE001 - whatever is wrong here, the prompt must go on
        _say(sys.stderr, f"toolpick hook: {type(error).__name__}")
        answer = hosts.answer(call, "")
    _say(sys.stdout, json.dumps(answer))
    return 0


def _say(stream: TextIO | None, line: str) -> None:
    if stream is None:
        return  # the host closed it before it started us
    try:
        stream.write(line + "\n")
        stream.flush()
    except OSError:
        # nobody listens; keep the interpreter from trying again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def given() -> bytes:
    """What the host writes on stdin, until its end, a whole JSON object, or a silence of ``WAIT``.

    Not every host closes what it writes to.
    """
    if sys.stdin is None:
        return b""
    stream = sys.stdin.buffer
    try:
        source = stream.fileno()
    except OSError:
        return stream.read()
    if sys.platform == "win32":
        return stream.read()  # pipes can't be waited for there
    from select import select

    said = bytearray()
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        at_once = select([source], [], [], 0)[0]
        if not at_once and (_whole(said) or not select([source], [], [], WAIT)[0]):
            break
        part = os.read(source, 1_000_000)
        if not part:
            break
        said += part
    return bytes(said)


def _whole(said: bytearray) -> bool:
    if said[-20:].rstrip()[-1:] != b"}":
        return False
    try:
        return isinstance(json.loads(said), dict)
    except (ValueError, RecursionError):
        return False


def answered(
    call: hosts.Call | None, options: Options, environ: Mapping[str, str], began: float
) -> dict[str, Any]:
    """The answer to one call; gateways are asked until ``options.wait`` after ``began``."""
    if call is None:
        return {}
    if call.event == hosts.SELECTION:
        return _selection(call, options, environ, began) if options.selection else {}
    if not call.prompt:
        return hosts.answer(call, "")
    request = {
        "command": "prompt",
        "host": call.host,
        "prompt": call.prompt,
        "session_id": call.session,
        "cwd": call.cwd,
        "server": options.server,
        "profile": options.profile,
        "environ": {name: environ[name] for name in HINTS if name in environ},
    }
    answers = _ask(call, options, environ, began, request)
    return hosts.answer(call, hosts.joined([str(each.get("context", "")) for each in answers]))


def _selection(
    call: hosts.Call, options: Options, environ: Mapping[str, str], began: float
) -> dict[str, Any]:
    request = {
        "command": "selection",
        "host": call.host,
        "session_id": call.session,
        "profile": options.profile,
    }
    answers = _ask(call, options, environ, began, request)
    if any(each.get("called") for each in answers):
        return {}  # so that the model may speak
    names = [name for each in answers for name in each.get("names", ())]
    return hosts.selection(list(dict.fromkeys(names)), options.server or SERVER)


def _ask(
    call: hosts.Call,
    options: Options,
    environ: Mapping[str, str],
    began: float,
    request: dict[str, Any],
) -> list[dict[str, Any]]:
    gateways = found(call, options, environ)
    if not gateways:
        return []
    from toolpick.hook.asking import ask

    deadline = began + options.wait
    left = max(deadline - time.monotonic() - MARGIN, 0.0)
    return ask(gateways, {**request, "wait": round(left, 3)}, deadline)


def found(call: hosts.Call, options: Options, environ: Mapping[str, str]) -> list[Beacon]:
    """The gateways of the conversation that the hook runs for."""
    from toolpick.hook.beacons import read_all

    beacons = read_all(environ)
    if not beacons:
        return []
    from toolpick.hook.ancestors import ancestors
    from toolpick.hook.finding import of_conversation

    return of_conversation(
        beacons,
        session=call.session,
        parents=lambda: ancestors(os.getpid()),
        cwd=call.cwd or os.getcwd(),
        port=options.port,
    )
