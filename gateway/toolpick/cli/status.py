"""``toolpick status``: what every running gateway of this user shows to whom, why, at what cost."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

PATIENCE = 2.0
"""Seconds that gateways have to answer."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "status",
        help="show what running gateways show to whom, and why",
        description="Ask every running gateway of this user what it shows to which client, why, "
        "and how its servers are.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a gateway")


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    gateways = asked(os.environ)
    if args.json:
        for gateway in gateways:
            print(json.dumps(gateway, ensure_ascii=False))
    elif not gateways:
        print("no gateway is running")
    else:
        from toolpick.cli.table import plain

        texts = ("\n".join(map(plain, _described(gateway))) for gateway in gateways)
        print("\n\n".join(texts))
    return 0


def asked(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """What each running gateway says of itself, by process id; those that hang are left out."""
    from toolpick.hook.asking import ask
    from toolpick.hook.beacons import read_all

    answers = ask(read_all(environ), {"command": "status"}, time.monotonic() + PATIENCE)
    return sorted((each for each in answers if "sessions" in each), key=lambda each: each["pid"])


def _described(gateway: Mapping[str, Any]) -> Iterator[str]:
    settings = gateway["settings"] or "no settings file"
    port = f" at port {gateway['port']}" if gateway.get("port") else ""
    yield f"gateway {gateway['pid']}  {gateway['transport']}{port}  {settings}"
    yield f"  in {gateway['cwd']}, selector {gateway['selector']}"
    if not gateway["sessions"]:
        yield "  no client is connected"
    for session in gateway["sessions"]:
        yield ""
        yield from _session(session)


def _session(session: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {_client(session)}  {session['era']} {session['version']}".rstrip()
    yield f"    surface  {session['surface']}: {session['why']}"
    if session["list"] and session["list"] != session["why"]:
        yield f"    list     {session['list']}"
    source = session["query_source"] or "none"
    yield f"    query    {source}; {_many(session['turns'], 'turn')}"
    yield f"    tools    {session['tools_shown']} shown of {session['tools_total']}"
    yield f"    tokens   about {session['tokens_shown']:,} shown of {session['tokens_total']:,}"
    changes, cost = session["list_changes"], session["tokens_reread"]
    yield f"    changes  {_many(changes, 'list change')}, about {cost:,} tokens read again"
    for server in session["servers"]:
        yield f"    server   {_server(server)}"


def _client(session: Mapping[str, Any]) -> str:
    name = f"{session['client']} {session['client_version']}".strip() or "a client without a name"
    if session["shared"]:
        name = "all clients of 2026-07-28"
    profile = session.get("profile", "")
    return f"{name}, profile {profile}" if profile else name


def _server(server: Mapping[str, Any]) -> str:
    text = f"{server['name']}: {server['state']}, {_many(server['tools'], 'tool')}"
    if server["starts"] > 1:
        text += f", started {server['starts']} times"
    return f"{text}; {server['problem']}" if server["problem"] else text


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
