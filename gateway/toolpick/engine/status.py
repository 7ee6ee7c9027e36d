"""What is going on, as plain values: for ``toolpick status``, and whoever else wants to show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolpick.engine.forms import total_tokens
from toolpick.engine.session import client_info
from toolpick.turns import ESTIMATE_METHOD, estimate_total

if TYPE_CHECKING:
    from toolpick.downstream.link import Link
    from toolpick.engine.engine import Engine
    from toolpick.engine.session import Session


def status(engine: Engine) -> dict[str, Any]:
    """All sessions. Holds no prompt and no setting that may be secret."""
    return {
        "transport": "http" if engine.client_environ is None else "stdio",
        "settings": engine.settings.path,
        "selector": engine.settings.selector.kind,
        "tokens_are": ESTIMATE_METHOD,
        "sessions": [of_session(engine, session) for session in engine.sessions],
    }


def of_session(engine: Engine, session: Session) -> dict[str, Any]:
    """One session: who it is, what it is shown and why, and what that has cost."""
    name, version = client_info(session.client)
    query = engine.turns.standing_query(session)
    mode, why = engine.turns.mode(session, query is not None)
    surface = session.surface or engine.turns.surface(session, query is not None)
    shown = engine.turns.forms.of(session, surface)
    head = () if surface.mode == "full" else engine.turns.forms.meta_tools(session)
    return {
        "client": name,
        "client_version": version,
        "known_as": session.traits.name,
        "profile": session.profile.name,
        "era": str(session.era),
        "version": session.version,
        "shared": session.out is None,
        "surface": mode,
        "why": why,
        "list": surface.reason,
        "query_source": query.source if query is not None else "",
        "turns": session.conversation.turn,
        "selected": len(session.picks),
        "listed": session.surface is not None,
        "tools_shown": len(shown) + len(head),
        "tools_total": len(session.pool.generation.tools),
        "tokens_shown": estimate_total((*head, *shown)),
        "tokens_total": total_tokens(session),
        "list_changes": session.changes,
        "tokens_reread": session.reread,
        "servers": [of_server(link) for link in session.pool.links.values()],
    }


def of_server(link: Link) -> dict[str, Any]:
    """One server: whether it is up, and what is wrong with it if not."""
    snapshot = link.snapshot
    return {
        "name": link.name,
        "state": str(link.state),
        "problem": link.problem,
        "tools": len(snapshot.tools) if snapshot is not None else 0,
        "starts": link.starts,
        "started_in": round(link.started_in, 3),
    }
