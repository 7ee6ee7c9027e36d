"""Where the text comes from that says what a turn is about, and which source wins.

``SOURCES`` is the whole precedence, strongest first. Knows no transport: texts come in, a Query
goes out. What a model passes to ``search_tools`` is no turn's query and never gets here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolpick.model import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

META_QUERY = "io.toolpick/query"
META_CONVERSATION = "io.toolpick/conversation"
HEADER = "X-Toolpick-Query"
ROOM = 8000
"""Most characters of a query; of a longer one the beginning and the end are kept."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source of queries: its name in logs and status, and where it is read."""

    name: str
    where: str


SOURCES = (
    Source("meta", f'_meta["{META_QUERY}"] of the request'),
    Source("hook", "the host's prompt hook, through the control socket"),
    Source("header", f"the header {HEADER}"),
    Source("profile", "query of the profile that the client chose"),
    Source("command", "--query, --query-file or TOOLPICK_QUERY"),
)


def resolve(
    *,
    meta_query: str | None = None,
    hook_query: str | None = None,
    header_query: str | None = None,
    profile_query: str | None = None,
    command_query: str | None = None,
    conversation: str = "",
) -> Query | None:
    """The query of the strongest source that has one; blank texts count as none."""
    texts = (meta_query, hook_query, header_query, profile_query, command_query)
    for source, text in zip(SOURCES, texts, strict=True):
        if text and text.strip():
            return Query(bounded(text.strip()), source.name, conversation)
    return None


def read_meta(meta: Mapping[str, Any]) -> tuple[str, str]:
    """The query and the conversation that a request's ``_meta`` names, "" for what it doesn't."""
    query, conversation = meta.get(META_QUERY), meta.get(META_CONVERSATION)
    return (
        query if isinstance(query, str) else "",
        conversation if isinstance(conversation, str) else "",
    )


def bounded(text: str) -> str:
    """A text of at most ``ROOM`` characters: people ask at the beginning or at the end."""
    if len(text) <= ROOM:
        return text
    tail = ROOM // 4
    return f"{text[: ROOM - tail - 5]}\n...\n{text[-tail:]}"
