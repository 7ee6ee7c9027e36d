"""What a client is to be told of the gateway: wishes for each of its files.

Knows the table of clients and what was asked for; reads no file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolpick.clients.known import CLIENTS
from toolpick.clients.wishes import LOOPBACK, Command, Server, Setting, quoted
from toolpick.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick.clients.known import Client
    from toolpick.clients.wishes import Wish


@dataclass(frozen=True, slots=True)
class Registration:
    """How the gateway is to be reached: started with ``program`` and ``args``, or at ``url``.

    ``token`` is sent as a bearer token; ``token_variable`` names a variable that holds it.
    """

    name: str
    program: tuple[str, ...]
    args: tuple[str, ...] = ()
    url: str = ""
    token: str = field(default="", repr=False)
    token_variable: str = ""
    hook: bool = True
    platform: str = "linux"


def client(id: str) -> Client:
    """The client of an id.

    Raises:
        GatewayError: there is none.
    """
    found = next((each for each in CLIENTS if each.id == id), None)
    if found is None:
        known = ", ".join(each.id for each in CLIENTS)
        raise GatewayError(f"{id!r} is no client that is known here; there are {known}")
    return found


def wishes(client: Client, asked: Registration, scope: str) -> Mapping[str, tuple[Wish, ...]]:
    """What each file of the client is to hold, by the file's template.

    Raises:
        GatewayError: the client can't do what was asked.
    """
    template = client.servers.file(scope)
    if not template:
        raise GatewayError(f"{client.title} has no settings of scope {scope!r}; leave --scope out")
    found: dict[str, tuple[Wish, ...]] = {
        template: (Server((*client.servers.path, asked.name), entry(client, asked)),)
    }
    if client.hook is None or not asked.hook or not _same_machine(asked.url):
        return found
    hook = client.hook
    if hook.flag:
        found[template] = (*found[template], Setting(hook.flag, True))
    beside = tuple(Setting((key,), value) for key, value in hook.beside.items())
    command = Command(hook.spot.path, hook_command(asked), hook.keys, hook.grouped)
    place = hook.spot.file(scope)
    found[place] = (*found.get(place, ()), *beside, command)
    return found


def entry(client: Client, asked: Registration) -> dict[str, Any]:
    """The client's entry for the gateway.

    Raises:
        GatewayError: the client can't do what was asked.
    """
    if not asked.url:
        program, *rest = asked.program
        return _ordered({**client.stdio, "command": program, "args": [*rest, *asked.args]})
    if not client.url:
        raise GatewayError(
            f"{client.title} takes addresses in its own settings only, under Connectors; "
            "leave --http out to have it start toolpick"
        )
    made = {**client.http, client.url: asked.url}
    if asked.token_variable and client.bearer:
        made[client.bearer] = asked.token_variable
    elif asked.token_variable and not client.variable:
        raise GatewayError(
            f"{client.title} takes no variables in headers; give the token itself with --token"
        )
    elif asked.token_variable or asked.token:
        variable = client.variable.replace("NAME", asked.token_variable)
        made[client.headers] = {"Authorization": f"Bearer {asked.token or variable}"}
    return _ordered(made)


def hook_command(asked: Registration) -> str:
    """The command that the host is to run at each prompt."""
    words = [*asked.program, "hook"]
    if asked.name != "toolpick":
        words += ["--server", asked.name]
    if asked.url:
        parts = urlsplit(asked.url)
        words += ["--port", str(parts.port or {"https": 443}.get(parts.scheme, 80))]
        profile = parts.path.removeprefix("/mcp").strip("/")
        words += ["--profile", profile] if profile else []
    return quoted(words, asked.platform)


def _same_machine(url: str) -> bool:
    """Whether a hook on this machine can find the gateway."""
    return not url or urlsplit(url).hostname in LOOPBACK


def _ordered(made: dict[str, Any]) -> dict[str, Any]:
    """The entry with the kind first, then how it is reached, as clients write it themselves."""
    first = ("type", "source", "command", "args", "url", "httpUrl", "serverUrl")
    return {**{key: made[key] for key in first if key in made}, **made}
