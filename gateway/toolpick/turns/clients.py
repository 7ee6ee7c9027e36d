"""How known clients treat lists, as data. What is not known of a client counts as the safe answer.

Each fact has its source: a version in which it was seen (through real clients against a scripted
model), the client's documentation, or a report. ``recognise`` finds a row by the name that a client
gives itself; ``in_environment`` adds what only the client's environment says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TOOL_SEARCH = "ENABLE_TOOL_SEARCH"
"""Claude Code's variable for its own search of tools; servers that it starts inherit it."""
WINDOW = 200_000
"""Tokens of the context that ``ENABLE_TOOL_SEARCH=auto:N`` is a percentage of."""
PERCENT = 10


@dataclass(frozen=True, slots=True)
class ClientTraits:
    """How a client treats lists. Every default is the safe answer for one that nobody knows.

    ``relists``: it reads the list again when told; ``in_turn``: what a prompt hook changed is then
    in the first model request of the same turn; ``exact``: it forgets what is gone from the list;
    ``keeps_order``: it passes our order on; ``first_page_only``: it reads no second page;
    ``defers``: it hides tools behind a search of its own, but runs any that is listed; ``unsure``:
    whether it does so can't be seen from here.

    ``most``: how many tools it takes; ``name_room``: characters of a name with the client's own
    prefix; ``description_room``: characters of a description; 0 where no limit is known.

    ``hook``: what a prompt hook calls this host, "" where it has none; ``takes_context``: the hook
    may add context.
    """

    name: str
    relists: bool = False
    in_turn: bool = False
    exact: bool = False
    keeps_order: bool = False
    first_page_only: bool = False
    defers: bool = False
    unsure: bool = False
    most: int = 0
    name_room: int = 0
    description_room: int = 0
    hook: str = ""
    takes_context: bool = False

    @property
    def follows(self) -> bool:
        """Whether a list may change with every turn, at no cost but that of what is new."""
        return self.relists and self.in_turn and self.exact and self.keeps_order


@dataclass(frozen=True, slots=True)
class Row:
    """One client: the names it gives itself, as a pattern, its traits, and where these are from."""

    pattern: str
    traits: ClientTraits
    sources: Mapping[str, str] = field(default_factory=dict)


UNKNOWN = ClientTraits("unknown")

_CLAUDE_CODE = "seen: Claude Code 2.1.332"
_CODEX = "seen: Codex 0.171.0"
_GEMINI = "seen: Gemini CLI 0.61.0"
_VSCODE_HOOKS = "documentation: code.visualstudio.com/docs/agents/reference/hooks-reference"

ROWS = (
    Row(
        r"claude-code",
        ClientTraits(
            "claude-code",
            relists=True,
            defers=True,
            name_room=128,
            description_room=4_100,
            hook="claude-code",
            takes_context=True,
        ),
        {
            "relists": f"{_CLAUDE_CODE}, within 10 ms, at most once a second",
            "defers": f"{_CLAUDE_CODE}, unless {TOOL_SEARCH} says otherwise",
            "name_room": f"{_CLAUDE_CODE}: longer ones are dropped without a word",
            "description_room": f"{_CLAUDE_CODE}: 5,000 characters became 4,109",
            "hook": _CLAUDE_CODE,
            "takes_context": f"{_CLAUDE_CODE}, about 10 kB",
        },
    ),
    Row(
        r"codex-mcp-client|codex",
        ClientTraits("codex", name_room=128, hook="codex", takes_context=True),
        {
            "name_room": f"{_CODEX}: longer ones are cut and get a hash",
            "hook": _CODEX,
            "takes_context": f"{_CODEX}, about 10 kB",
        },
    ),
    Row(
        r"gemini-cli.*",
        ClientTraits(
            "gemini-cli",
            relists=True,
            in_turn=True,
            exact=True,
            keeps_order=True,
            first_page_only=True,
            name_room=63,
            hook="gemini-cli",
            takes_context=True,
        ),
        {
            "relists": f"{_GEMINI}, within 25 ms, over HTTP up to 80",
            "in_turn": _GEMINI,
            "exact": _GEMINI,
            "keeps_order": _GEMINI,
            "first_page_only": _GEMINI,
            "name_room": f"{_GEMINI}: the middle of longer ones is cut out",
            "hook": _GEMINI,
            "takes_context": f"{_GEMINI}, 40 kB and more",
        },
    ),
    Row(
        r"cursor.*",
        ClientTraits("cursor", most=80, name_room=60, hook="cursor"),
        {
            "most": "reported: a warning from 80 tools on (September 2025)",
            "name_room": "documentation: server and tool together; longer ones are left out",
            "hook": "documentation of beforeSubmitPrompt, which takes no context",
        },
    ),
    Row(
        r"visual[ -]studio[ -]code.*|vscode.*",
        ClientTraits("vscode", relists=True, most=128, hook="vscode", takes_context=True),
        {
            "relists": "reported: microsoft/vscode#254684; the model sees it at the next message",
            "most": "documentation: at most 128 tools in a request",
            "hook": _VSCODE_HOOKS,
            "takes_context": _VSCODE_HOOKS,
        },
    ),
    Row(
        r"claude-ai|claude-desktop",
        ClientTraits("claude-desktop", name_room=64),
        {"name_room": "reported: its API took names of at most 64 characters"},
    ),
    Row(
        r"zed",
        ClientTraits("zed", relists=True),
        {"relists": "documentation: reloads at notifications/tools/list_changed"},
    ),
    Row(
        r"windsurf.*",
        ClientTraits("windsurf", most=100),
        {"most": "reported: 100 tools in all"},
    ),
    Row(
        r"opencode",
        ClientTraits("opencode", relists=True),
        {"relists": "reported: anomalyco/opencode#5913 (December 2025)"},
    ),
    Row(r"(mcp-)?inspector.*", ClientTraits("inspector")),
)
_PATTERNS = [(re.compile(row.pattern, re.IGNORECASE), row.traits) for row in ROWS]


def recognise(name: str) -> ClientTraits:
    """The traits of the client that gives itself this name; ``UNKNOWN`` for any other.

    A bridge such as ``mcp-remote`` appends itself in brackets, and passes lists on as they are.
    """
    bare = name.partition(" (via ")[0].strip()
    for pattern, traits in _PATTERNS:
        if pattern.fullmatch(bare):
            return traits
    return UNKNOWN


def in_environment(
    traits: ClientTraits, environ: Mapping[str, str] | None, tokens: int
) -> ClientTraits:
    """The traits of a client whose variables are known; None where they are not.

    They decide whether Claude Code's tool search is on: off, it offers all that is listed, changes
    in the same turn; with ``auto:N`` it is on for catalogs of more ``tokens`` than N percent of its
    context.
    """
    if not traits.defers:
        return traits
    if environ is None:
        return replace(traits, unsure=True)
    setting = environ.get(TOOL_SEARCH, "").strip().lower()
    if setting in ("false", "0", "no", "off"):
        on = False
    elif setting.startswith("auto"):
        percent = setting.partition(":")[2]
        share = int(percent) if percent.isascii() and percent.isdigit() else PERCENT
        on = tokens > WINDOW * share / 100
    else:
        on = True
    return traits if on else replace(traits, defers=False, in_turn=True)
