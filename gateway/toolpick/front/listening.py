"""The sockets that the HTTP front listens on."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack

from toolpick.errors import GatewayError

BACKLOG = 1024
"""Connections that the system holds until they are accepted: many may come at once."""
ACCEPTED = 64
"""Connections that are accepted in one turn of the loop."""


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on every address that ``host`` stands for; port 0 takes a free one, the same for all.

    Raises:
        GatewayError: the port is taken or not allowed, or the host is unknown.
    """
    with ExitStack() as opened:
        sockets: list[socket.socket] = []
        for family, address in _addresses(host, port):
            made = opened.enter_context(_socket(family))
            if port == 0 and sockets:
                address = (address[0], port_of(sockets), *address[2:])
            try:
                _bind(made, address)
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL and (sockets or family == socket.AF_INET6):
                    continue  # localhost stands for an address family that this machine lacks
                raise GatewayError(_why(host, port, error)) from error
            sockets.append(made)
        if not sockets:
            raise GatewayError(f"http: no address of {host!r} belongs to this machine")
        opened.pop_all()
        return sockets


def lengthen_queues(sockets: list[socket.socket]) -> None:
    """Let the system hold as many connections as ``listen`` said.

    asyncio takes one number for this and for how many it accepts at a time, and sets both.
    """
    for each in sockets:
        each.listen(BACKLOG)


def port_of(sockets: list[socket.socket]) -> int:
    """The port that the sockets listen on."""
    return int(sockets[0].getsockname()[1])


def url_of(host: str, port: int) -> str:
    """Where clients find the endpoint."""
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise GatewayError(f"http: {host!r} is no address to listen on: {error}") from error
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def _socket(family: socket.AddressFamily) -> socket.socket:
    # with the protocol said: asyncio turns Nagle's algorithm off only where it sees TCP
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)


def _bind(made: socket.socket, address: tuple[object, ...]) -> None:
    if os.name == "posix":
        # on Windows the option would let two programs share the port
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if made.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind(address)
    made.listen(BACKLOG)
    made.setblocking(False)


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"http: port {port} of {host!r} is taken by another program; choose another port"
    if error.errno == errno.EACCES:
        return f"http: port {port} of {host!r} is not allowed; choose one above 1023"
    return f"http: can't listen on {host!r}, port {port}: {error.strerror}"
