"""Selectors by name: finds them through the entry points of installed packages.

A package offers a selector by an entry point in the group ``toolpick.selectors`` that leads to a
class or function whose keyword-only parameters are the options that a person may set::

    [project.entry-points."toolpick.selectors"]
    longest = "my_package:Longest"

A parameter called ``parts`` is no option: it receives a ``Parts`` with what the host lends. The
built-in selectors come through the same door, and so do embedders, in ``toolpick.embedders``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from toolpick_selectors.contract import SelectionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from toolpick_selectors.contract import AsyncSelector, Selector
    from toolpick_selectors.embedders import Embedder

GROUP = "toolpick.selectors"
EMBEDDERS = "toolpick.embedders"
_SECRET = re.compile(r"(?:^|_)(?:key|token|secret|password)$")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a host lends to the selectors that it builds.

    ``options`` holds the options of all kinds, for a selector that builds another one; ``folder``
    is where caches may be kept, None for nowhere; ``sample`` asks the connected client's own model;
    ``progress`` is told, in one line, about long work such as a download.
    """

    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: Path | None = None
    sample: Callable[..., Any] | None = None
    progress: Callable[[str], None] | None = None


def kinds() -> tuple[str, ...]:
    """The names of all selectors that can be built, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def tables() -> tuple[str, ...]:
    """The names under which options may stand: those of all selectors and embedders, sorted."""
    points = (*entry_points(group=GROUP), *entry_points(group=EMBEDDERS))
    return tuple(sorted({point.name for point in points}))


def build(
    kind: str, options: Mapping[str, Any] | None = None, parts: Parts | None = None
) -> Selector | AsyncSelector:
    """Make the selector called ``kind``.

    Raises:
        SelectionError: no such kind or option, an unusable value, or the selector can't be loaded.
    """
    made: Selector | AsyncSelector = _make("selector", GROUP, kind, options or {}, parts or Parts())
    return made


def options(kind: str) -> tuple[str, ...]:
    """The names of the options of the selector called ``kind``.

    Raises:
        SelectionError: there is no such selector, or it can't be loaded.
    """
    return tuple(_known(_load("selector", GROUP, kind)))


def build_embedder(kind: str, parts: Parts) -> Embedder:
    """Make the embedder called ``kind`` with the options that ``parts`` holds under that name.

    Raises:
        SelectionError: as ``build``.
    """
    options = parts.options.get(kind, {})
    made: Embedder = _make("embedder", EMBEDDERS, kind, options, parts)
    return made


def _make(what: str, group: str, kind: str, options: Mapping[str, Any], parts: Parts) -> Any:
    factory = _load(what, group, kind)
    known = _known(factory)
    for name, value in options.items():
        if name not in known:
            hint = nearest(name, known, "options")
            raise SelectionError(f"{what} {kind!r} has no option {name!r}{hint}")
        shown = "the value" if _SECRET.search(name) else repr(value)
        _check(f"{what} {kind!r}: option {name!r}: {shown}", value, known[name].default)
    try:
        takes_parts = "parts" in inspect.signature(factory).parameters
        return factory(**options, **({"parts": parts} if takes_parts else {}))
    except (TypeError, ValueError, LookupError) as error:
        raise SelectionError(f"{what} {kind!r} can't be built: {error}") from error


def _known(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {
        name: parameter
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "parts"
    }


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """The end of an error about an unknown name: the nearest known one, or all of them."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; {what}: {', '.join(names)}" if names else f"; it has no {what}"


def _load(what: str, group: str, kind: str) -> Callable[..., Any]:
    found: tuple[EntryPoint, ...] = tuple(entry_points(group=group, name=kind))
    if not found:
        names = {point.name for point in entry_points(group=group)}
        raise SelectionError(f"there is no {what} {kind!r}{nearest(kind, names, f'{what}s')}")
    origins = sorted({point.value for point in found})
    if len(origins) > 1:
        both = " and ".join(origins)
        raise SelectionError(f"{what} {kind!r} is offered twice, by {both}; remove one package")
    try:
        factory: Callable[..., Any] = found[0].load()
    except (ImportError, AttributeError) as error:
        where = f"{what} {kind!r} can't be loaded from {origins[0]!r}"
        raise SelectionError(f"{where}: {error}") from error
    return factory


def _check(given: str, value: object, default: object) -> None:
    """Hold ``value`` against the type of the option's default; without one the option is free.

    ``given`` is the beginning of an error: where it is, and what, unless that is a secret.
    """
    kinds: tuple[tuple[type, type | tuple[type, ...], str], ...] = (
        (bool, bool, "true or false"),
        (int, int, "a whole number"),
        (float, (int, float), "a number"),
        (str, str, "a text"),
        (tuple, (list, tuple), "a list"),
        (Mapping, Mapping, "a table"),
    )
    for type_of_default, wanted, what in kinds:
        if isinstance(default, type_of_default):
            truth = isinstance(value, bool) and wanted is not bool
            if truth or not isinstance(value, wanted):
                raise SelectionError(f"{given} is not {what}")
            return
