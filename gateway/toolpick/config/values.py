"""Raw values of a table, checked against its keys: right type, in bounds, variables filled in.

Knows the types of ``keys``, but no rule that is about one key alone or about two together. Nothing
is raised: a mistake is noted, and the key is missing from the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from toolpick.config import keys
from toolpick.config.source import quoted
from toolpick.config.variables import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from toolpick.config.keys import Key, Table
    from toolpick.config.source import Place
    from toolpick.errors import Problem

LARGEST = 1_000_000_000
"""Of any number: more seconds than a person lives, and safe for every timer."""

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Field:
    """A key as a file has it. ``name`` is ours, ``place`` may call it as another client does."""

    name: str
    value: Any = field(repr=False)
    place: Place


@dataclass(slots=True)
class Reader:
    """Checks values and keeps what was wrong with them.

    With ``lenient`` a variable that is not set is no problem: of a server that is switched off
    nobody needs the token.
    """

    environ: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    lenient: bool = False
    used: set[str] = field(default_factory=set)
    """Variables whose values were filled in."""

    def table(self, table: Table, given: Iterable[Field]) -> dict[str, Any]:
        """Return the values of all keys that are known and right."""
        values = {}
        for item in given:
            key = table.get(item.name)
            if key is None:
                known = keys.names(table.keys)
                what = f"is not a key of [{table.name}]; {instead(item.name, known)}"
                self.problems.append(item.place.problem(what))
                continue
            value = self.value(key, item.value, item.place)
            if value is not None:
                values[key.name] = value
        return values

    def value(self, key: Key, raw: Any, place: Place) -> Any:
        """Return the value that ``raw`` stands for, or None after noting what is wrong with it."""
        readers: Mapping[str, Callable[[Key, Any, Place], Any]] = {
            keys.TEXT: self._text,
            keys.FLAG: self._flag,
            keys.COUNT: self._number,
            keys.SECONDS: self._number,
            keys.CHOICE: self._choice,
            keys.TEXTS: self._texts,
            keys.MAPPING: self._mapping,
        }
        return readers[key.type](key, raw, place)

    def text(self, raw: Any, place: Place, *, secret: bool = False) -> str | None:
        """Return a string with its variables filled in."""
        if not isinstance(raw, str):
            self.wrong(place, raw, "is not a string; write it in double quotes", secret)
            return None
        if "\0" in raw or any("\ud800" <= char <= "\udfff" for char in raw):
            self.bad(place, "holds a NUL or half a character; take it out")
            return None
        filled = fill(raw, self.environ)
        self.used.update(filled.used)
        for name in filled.nested:
            self.bad(place, f"the default of {name} holds another ${{; write one without variables")
        if not self.lenient:
            for name in filled.unset:
                remedy = f"set it, or write ${{{name}:-default}}"
                self.bad(place, f"the variable {name} is not set; {remedy}")
        return None if filled.nested or (filled.unset and not self.lenient) else filled.text

    def bad(self, place: Place, what: str) -> None:
        """Note a problem."""
        self.problems.append(place.problem(what))

    def wrong(self, place: Place, raw: Any, what: str, secret: bool = False) -> None:
        """Note a problem of a value, which is shown unless it may be a secret."""
        self.bad(place, f"{'the value' if secret else shown(raw)} {what}")

    def _text(self, key: Key, raw: Any, place: Place) -> str | None:
        return self.text(raw, place, secret=key.secret)

    def _flag(self, key: Key, raw: Any, place: Place) -> bool | None:
        if isinstance(raw, bool):
            return raw
        self.wrong(place, raw, "is not a flag; write true or false")
        return None

    def _number(self, key: Key, raw: Any, place: Place) -> int | float | None:
        counted = key.type == keys.COUNT
        if isinstance(raw, bool) or not isinstance(raw, int if counted else int | float):
            kind = "whole number" if counted else "number of seconds"
            remedy = f"write one, such as {example(key)}"
            self.wrong(place, raw, f"is not a {kind}; {remedy}")
            return None
        if not 0 <= raw <= LARGEST or (raw == 0 and not key.zero):
            least = "0 or more" if key.zero else "more than 0"
            self.wrong(place, raw, f"is out of bounds; write {least}, at most {LARGEST}")
            return None
        return raw if counted else float(raw)

    def _choice(self, key: Key, raw: Any, place: Place) -> str | None:
        value = self.text(raw, place)
        if value is None or value in key.choices:
            return value
        what = f"is not one of {', '.join(key.choices)}"
        likely = nearest(value, key.choices)
        self.wrong(place, value, f'{what}; write "{likely or key.choices[0]}"')
        return None

    def _texts(self, key: Key, raw: Any, place: Place) -> tuple[str, ...] | None:
        if not isinstance(raw, list):
            what = f'is not an array of strings; write {key.name} = ["one", "two"]'
            self.wrong(place, raw, what, key.secret)
            return None
        values = [
            self.text(item, place.at(index), secret=key.secret) for index, item in enumerate(raw)
        ]
        whole = tuple(value for value in values if value is not None)
        return whole if len(whole) == len(values) else None

    def _mapping(self, key: Key, raw: Any, place: Place) -> dict[str, str] | None:
        if not isinstance(raw, dict):
            remedy = f'write {key.name} = {{ NAME = "value" }}'
            self.wrong(place, raw, f"is not a table of strings; {remedy}", key.secret)
            return None
        values = {
            name: self.text(item, place.at(name), secret=key.secret) for name, item in raw.items()
        }
        whole = {name: value for name, value in values.items() if value is not None}
        return whole if len(whole) == len(values) else None


def example(key: Key) -> str:
    """Return a number that ``key`` could have."""
    return "20" if key.type == keys.COUNT else "2.5"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that ``name`` was probably meant to be, or ""."""
    folded = {item.casefold().replace("-", "_"): item for item in known}
    close = get_close_matches(name.casefold().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def instead(name: str, known: Iterable[str]) -> str:
    """Return what to write in place of an unknown ``name``: the nearest known one, or all."""
    known = tuple(known)
    likely = nearest(name[:_LONGEST], known)
    return f"write {likely}" if likely else f"the keys are {', '.join(known)}"


def shown(raw: Any) -> str:
    """Return a value as a message shows it: short, on one line, in the words of the file."""
    if isinstance(raw, str):
        return quoted(raw if len(raw) <= _LONGEST else raw[: _LONGEST - 1] + "…")
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, float) or (isinstance(raw, int) and abs(raw) < 10**18):
        return repr(raw)
    names: Mapping[type, str] = {int: "the number", list: "an array", dict: "a table"}
    return "null" if raw is None else names.get(type(raw), "a date or time")
