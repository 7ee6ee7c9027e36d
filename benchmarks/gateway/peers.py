"""Published figures of other gateways, for the table's right-hand side.

Measured once, with ten servers of fifty tools on a machine of two cores like the one that ours are
measured on, by a bench with the same method; not measured again here. None: not applicable, or not
tried.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """One gateway's figures; times in milliseconds, memory in MB."""

    name: str
    call: float
    cpu: float
    per_second: float
    listing: float | None
    burst: float | None
    memory: float
    hang: str
    back: str


PEERS = (
    Peer("dmcp (Rust, 2 meta tools)", 0.13, 0.085, 5600, None, 1630, 11, "served at once", "never"),
    Peer("slm-hub (3 meta tools)", 0.54, 0.44, 1700, None, 1667, 85, "served at once", "never"),
    Peer("mcp-hub (SSE)", 0.60, 0.56, 1640, 4.7, 114, 119, "no tools for > 35 s", "never"),
    Peer("1mcp (HTTP)", 1.1, 1.4, 981, 10, 188, 290, "unanswered for > 35 s", "not tried"),
    Peer("FastMCP 4, connected clients", 2.2, 2.2, 236, 145, None, 102, "not tried", "not tried"),
    Peer("FastMCP 4, mounted proxies", 2.4, 2.5, 181, 185, 219, 103, "list hangs > 30 s", "0.5 s"),
    Peer("toolmux", 2.7, 2.7, 239, 119, 160, 88, "list hangs > 30 s", "0.4 s"),
    Peer("magg", 3.0, 3.0, 191, 104, 240, 158, "list hangs > 28 s", "0.4 s"),
    Peer("mcp-combiner (HTTP)", 4.4, 4.5, 161, 27, 181, 112, "list after 21 s", "0.4 s"),
    Peer("ContextForge (HTTP, SQLite)", 57, 54, 16, 48, None, 1155, "not tried", "not tried"),
)
