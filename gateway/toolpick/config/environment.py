"""Which of the gateway's environment variables a stdio server gets to see.

A server needs to find programs, a home, a language, proxies and certificates; it has no business
with the rest, which may hold the secrets of other servers. Neither name nor value is interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
    *("LANG", "LANGUAGE", "TZ", "TEMP", "TMP", "TMPDIR"),
    *("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("all_proxy", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_DIR", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
    *("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
)
"""Inherited on every system."""

INHERITED_FAMILIES = ("LC_", "XDG_")
"""Every variable whose name begins so is inherited."""

INHERITED_ON_WINDOWS = (
    *(
        "ALLUSERSPROFILE",
        "APPDATA",
        "COMMONPROGRAMFILES",
        "COMMONPROGRAMFILES(X86)",
        "COMPUTERNAME",
    ),
    *("COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT"),
    *("PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432"),
    *("PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR"),
)
"""Inherited where they exist; without SYSTEMROOT a program on Windows can't open a socket."""


def public(names: Iterable[str]) -> set[str]:
    """Those of some variables that every server inherits, which hold no secrets."""
    known = {*INHERITED, *INHERITED_ON_WINDOWS}
    return {name for name in names if name in known or name.startswith(INHERITED_FAMILIES)}


def inherited(environ: Mapping[str, str], extra_names: Iterable[str] = ()) -> dict[str, str]:
    """Return the part of ``environ`` that every stdio server gets; its own ``env`` goes on top.

    ``extra_names`` is ``pass_env`` of the settings. Functions that a shell exported (their value
    begins with ``()``) are left out unless named there.
    """
    names, extra = public(environ), set(extra_names)
    return {
        name: value
        for name, value in environ.items()
        if name in extra or (name in names and not value.startswith("()"))
    }
