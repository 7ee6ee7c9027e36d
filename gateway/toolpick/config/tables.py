"""The ``[gateway]`` and ``[selector]`` tables made into settings: rules beyond a value's type.

Which kinds of selector exist, and what the keys of ``[selector.KIND]`` mean, is left to whoever
builds the selector; here those tables only have their variables filled in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from toolpick.config.keys import GATEWAY, SELECTOR
from toolpick.config.settings import GatewaySettings, SelectorSettings
from toolpick.config.source import quoted
from toolpick.config.values import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolpick.config.source import Place
    from toolpick.config.values import Field
    from toolpick.errors import Problem

_TOKEN = re.compile(r"[\x21-\x7e]*")
_EXPOSED = re.compile(r"[A-Za-z0-9_-]+")


def gateway(given: list[Field], reader: Reader) -> GatewaySettings:
    """Return the ``[gateway]`` table; mistakes go to ``reader``."""
    values = reader.table(GATEWAY, given)
    places = {item.name: item.place for item in given}
    check_token(values, places, reader)
    for index, name in enumerate(values.get("pass_env", ())):
        if not name or set("=*?") & set(name):
            what = f"{quoted(name)} is no name of a variable; write each name in full"
            reader.bad(places["pass_env"].at(index), what)
    return GatewaySettings(**values)


def selector(given: list[Field], reader: Reader, remarks: list[Problem]) -> SelectorSettings:
    """Return the ``[selector]`` table; mistakes go to ``reader``.

    Where a table of a kind that is not in use lacks a variable, that is only a remark, and the key
    is left out.
    """
    known = [item for item in given if SELECTOR.get(item.name) or not isinstance(item.value, dict)]
    values = reader.table(SELECTOR, known)
    places = {item.name: item.place for item in given}
    if always := values.get("always"):
        check_always(always, places["always"], reader)
    defaults = SelectorSettings()
    least, most = values.get("minimum", defaults.minimum), values.get("limit", defaults.limit)
    if least > most and "minimum" in values:
        what = f"{least} is more than the limit, which is {most}; write at most {most}"
        reader.bad(places["minimum"], what)
    values["minimum"] = min(least, most)
    values["options"] = {
        item.name: _filled(
            item.value,
            item.place,
            reader
            if item.name == values.get("kind", defaults.kind)
            else Reader(reader.environ, remarks),
        )
        for item in given
        if item not in known
    }
    return SelectorSettings(**values)


def check_token(values: Mapping[str, Any], places: Mapping[str, Place], reader: Reader) -> None:
    """Note a token that no header can carry."""
    if not _TOKEN.fullmatch(values.get("token", "")):
        what = "the value holds a blank or another character that no token has; take it out"
        reader.bad(places["token"], what)


def check_always(always: tuple[str, ...], place: Place, reader: Reader) -> None:
    """Note names that no tool can have, and those given twice."""
    first: dict[str, int] = {}
    for index, name in enumerate(always):
        here = place.at(index)
        if not _EXPOSED.fullmatch(name):
            remedy = "write it as `toolpick tools` prints it, such as time__get_current_time"
            reader.bad(here, f"{quoted(name)} is no name of a tool; {remedy}")
        elif name in first:
            line = place.at(first[name]).line
            reader.bad(here, f"{quoted(name)} is given twice, first in line {line}; keep one")
        first.setdefault(name, index)


def _filled(raw: Any, place: Place, reader: Reader) -> Any:
    """Return ``raw`` with the variables of all strings in it filled in; what can't be is None."""
    if isinstance(raw, str):
        return reader.text(raw, place)
    if isinstance(raw, list):
        return [_filled(item, place.at(index), reader) for index, item in enumerate(raw)]
    if isinstance(raw, dict):
        found = {name: _filled(item, place.at(name), reader) for name, item in raw.items()}
        return {name: value for name, value in found.items() if value is not None}
    return raw
