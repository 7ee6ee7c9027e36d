"""Turns: what they are about, what a conversation is shown, and the gateway's own tools.

No I/O and no clock. Selections come in as ranked names; surfaces and texts go out.
"""

from toolpick.turns.arguments import arguments_problem
from toolpick.turns.conversation import Conversation, Failure, Picks, Policy
from toolpick.turns.estimate import ESTIMATE_METHOD, estimate_tokens, estimate_total
from toolpick.turns.metatools import (
    BadSearch,
    Search,
    catalog_size,
    definitions,
    read_search,
    search_answer,
    text_result,
)
from toolpick.turns.query import SOURCES, read_header, read_meta, resolve
from toolpick.turns.signature import signature
from toolpick.turns.stubs import stub
from toolpick.turns.surface import (
    ClientTraits,
    Surface,
    choose_mode,
    fixed_surface,
    with_quota,
)

__all__ = [
    "ESTIMATE_METHOD",
    "SOURCES",
    "BadSearch",
    "ClientTraits",
    "Conversation",
    "Failure",
    "Picks",
    "Policy",
    "Search",
    "Surface",
    "arguments_problem",
    "catalog_size",
    "choose_mode",
    "definitions",
    "estimate_tokens",
    "estimate_total",
    "fixed_surface",
    "read_header",
    "read_meta",
    "read_search",
    "resolve",
    "search_answer",
    "signature",
    "stub",
    "text_result",
    "with_quota",
]
