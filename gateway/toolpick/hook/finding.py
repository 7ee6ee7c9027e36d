"""Which gateways belong to the conversation that a hook runs for. Values in, values out.

In order: the conversation's id is the same (Claude Code gives it to servers and hooks); the client
is above both in the process tree; the working directory is the same, for gateways that no client
started. The first way that finds any decides.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolpick.hook.beacons import Beacon

FAR = 6
"""Most processes between a hook, or a gateway, and the client that started it."""
NO_CLIENTS = frozenset(
    (
        *("init", "systemd", "launchd", "tini", "dumb-init", "docker-init", "containerd-shim"),
        *("sh", "bash", "zsh", "fish", "dash", "ksh", "tcsh", "csh", "nu", "pwsh", "busybox"),
        *("login", "su", "sudo", "sshd", "cron", "make", "env", "xargs", "timeout", "script"),
        *("tmux", "tmux: server", "screen", "SCREEN", "zellij", "mosh-server"),
        *("Terminal", "iTerm2", "kitty", "alacritty", "wezterm-gui", "ghostty", "foot"),
        *("gnome-terminal-", "konsole", "xterm", "WindowsTerminal", "explorer"),
    )
)
"""Programs that start clients but are none: two clients below one of them have nothing to do
with each other."""


def of_conversation(
    beacons: Sequence[Beacon],
    *,
    session: str,
    parents: Callable[[], Sequence[tuple[int, str]]],
    cwd: str,
    port: int = 0,
) -> list[Beacon]:
    """The gateways to be told. ``port`` names one over HTTP, which then is the only one.

    ``parents`` finds the processes above the hook; it is not asked where the ids say enough.
    """
    if port:
        return [beacon for beacon in beacons if beacon.transport == "http" and beacon.port == port]
    same = [beacon for beacon in beacons if session and beacon.session == session]
    if same and all(beacon.session or beacon.transport != "stdio" for beacon in beacons):
        return same
    related = _related(beacons, parents())
    # a client may start a second gateway for a conversation, one that knows no id yet
    unnamed = [beacon for beacon in related if not beacon.session]
    if same or related:
        return same + unnamed or related
    return [
        beacon
        for beacon in beacons
        if cwd and beacon.cwd == cwd and (beacon.transport == "http" or not beacon.parents)
    ]


def _related(beacons: Iterable[Beacon], parents: Sequence[tuple[int, str]]) -> list[Beacon]:
    """The gateways whose nearest common ancestor is the nearest to the hook, if it is a client."""
    height = {pid: at for at, (pid, name) in enumerate(parents[:FAR]) if client(name)}
    shared = {
        beacon: min((height[pid] for pid, _ in beacon.parents[:FAR] if pid in height), default=FAR)
        for beacon in beacons
        if beacon.transport == "stdio"
    }
    nearest = min(shared.values(), default=FAR)
    return [beacon for beacon, at in shared.items() if at == nearest < FAR]


def client(name: str) -> bool:
    """Whether a program of this name may be a client."""
    return name.lstrip("-") not in NO_CLIENTS
