"""Turns: what they are about, what a conversation is shown, and the gateway's own tools.

No I/O and no clock. Selections come in as ranked names; surfaces and texts go out.
"""

from toolpick.turns.arguments import arguments_problem
from toolpick.turns.clients import UNKNOWN, ClientTraits, in_environment, recognise
from toolpick.turns.context import context
from toolpick.turns.conversation import Conversation, Failure, Picks, Policy
from toolpick.turns.estimate import (
    ESTIMATE_METHOD,
    estimate_reread,
    estimate_tokens,
    estimate_total,
)
from toolpick.turns.metatools import (
    BadSearch,
    Search,
    arguments_text,
    definitions,
    read_search,
    search_answer,
    text_result,
    with_text,
)
from toolpick.turns.past import Past, Pasts
from toolpick.turns.query import read_meta, resolve
from toolpick.turns.signature import signature
from toolpick.turns.stubs import hinted, loaded, stub
from toolpick.turns.surface import Surface, choose_mode, fixed_surface, with_quota

__all__ = [
    "ESTIMATE_METHOD",
    "UNKNOWN",
    "BadSearch",
    "ClientTraits",
    "Conversation",
    "Failure",
    "Past",
    "Pasts",
    "Picks",
    "Policy",
    "Search",
    "Surface",
    "arguments_problem",
    "arguments_text",
    "choose_mode",
    "context",
    "definitions",
    "estimate_reread",
    "estimate_tokens",
    "estimate_total",
    "fixed_surface",
    "hinted",
    "in_environment",
    "loaded",
    "read_meta",
    "read_search",
    "recognise",
    "resolve",
    "search_answer",
    "signature",
    "stub",
    "text_result",
    "with_quota",
    "with_text",
]
