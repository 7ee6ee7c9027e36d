"""Selectors by name: finds them through the entry points of installed packages.

A package offers a selector by an entry point in the group ``toolpick.selectors`` that leads to a
class or function whose keyword-only parameters are the options that a person may set::

    [project.entry-points."toolpick.selectors"]
    longest = "my_package:Longest"

A parameter called ``parts`` is no option: it receives a ``Parts`` with what the host lends. The
built-in selectors come through the same door.
"""

from __future__ import annotations

import inspect
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

GROUP = "toolpick.selectors"


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


def build(
    kind: str, options: Mapping[str, Any] | None = None, parts: Parts | None = None
) -> Selector | AsyncSelector:
    """Make the selector called ``kind``.

    Raises:
        SelectionError: no such kind or option, an unusable value, or the selector can't be loaded.
    """
    factory = _load(kind)
    given = dict(options or {})
    known = {
        name: parameter
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "parts"
    }
    for name, value in given.items():
        if name not in known:
            raise SelectionError(
                f"selector {kind!r} has no option {name!r}{nearest(name, known, 'options')}"
            )
        _check(kind, name, value, known[name].default)
    if "parts" in inspect.signature(factory).parameters:
        given["parts"] = parts or Parts()
    try:
        made: Selector | AsyncSelector = factory(**given)
    except (TypeError, ValueError, LookupError) as error:
        raise SelectionError(f"selector {kind!r} can't be built: {error}") from error
    return made


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """The end of an error about an unknown name: the nearest known one, or all of them."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; {what}: {', '.join(names)}" if names else f"; it has no {what}"


def _load(kind: str) -> Callable[..., Selector | AsyncSelector]:
    found: tuple[EntryPoint, ...] = tuple(entry_points(group=GROUP, name=kind))
    if not found:
        raise SelectionError(f"there is no selector {kind!r}{nearest(kind, kinds(), 'selectors')}")
    origins = sorted({point.value for point in found})
    if len(origins) > 1:
        both = " and ".join(origins)
        raise SelectionError(f"selector {kind!r} is offered twice, by {both}; remove one package")
    try:
        factory: Callable[..., Selector | AsyncSelector] = found[0].load()
    except (ImportError, AttributeError) as error:
        raise SelectionError(
            f"selector {kind!r} can't be loaded from {origins[0]!r}: {error}"
        ) from error
    return factory


def _check(kind: str, name: str, value: object, default: object) -> None:
    """Hold ``value`` against the type of the option's default; without one the option is free."""
    wanted: type | tuple[type, ...]
    if isinstance(default, bool):
        wanted, what = bool, "true or false"
    elif isinstance(default, int):
        wanted, what = int, "a whole number"
    elif isinstance(default, float):
        wanted, what = (int, float), "a number"
    elif isinstance(default, str):
        wanted, what = str, "a text"
    elif isinstance(default, tuple):
        wanted, what = (list, tuple), "a list"
    elif isinstance(default, Mapping):
        wanted, what = Mapping, "a table"
    else:
        return
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise SelectionError(f"selector {kind!r}: option {name!r}: {value!r} is not {what}")
