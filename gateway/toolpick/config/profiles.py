"""One profile's table made into ``ProfileSettings``, and what profiles may not have in common.

Which tools exist is not known here. A mistake in a profile makes the file unusable: a boundary that
was drawn wrongly is no boundary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolpick.config.keys import PROFILE
from toolpick.config.servers import check_patterns
from toolpick.config.settings import ProfileSettings
from toolpick.config.source import quoted
from toolpick.config.tables import check_always, check_token
from toolpick.config.values import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from toolpick.config.source import Place
    from toolpick.config.values import Field, Reader


def profile(
    name: str, given: list[Field], servers: Collection[str], reader: Reader
) -> ProfileSettings:
    """Return the settings of one profile; mistakes go to ``reader``.

    ``servers`` are the names of all servers of the file.
    """
    values = reader.table(PROFILE, given)
    places = {item.name: item.place for item in given}
    check_patterns(values, places, reader)
    check_token(values, places, reader)
    if always := values.get("always"):
        check_always(always, places["always"], reader)
    if "servers" in values and not values["servers"]:
        reader.bad(places["servers"], "is empty, so nothing is left; leave it out for all servers")
    for index, wanted in enumerate(values.get("servers", ())):
        if wanted not in servers:
            likely = nearest(wanted, servers)
            remedy = f"write {likely}" if likely else f"there are {', '.join(servers) or 'none'}"
            what = f"{quoted(wanted)} is no server of this file; {remedy}"
            reader.bad(places["servers"].at(index), what)
    return ProfileSettings(name, **values)


def check_tokens(
    gateway: str,
    profiles: Iterable[ProfileSettings],
    places: Mapping[str, Place],
    reader: Reader,
) -> None:
    """Note tokens that are not of one profile alone, since a token chooses it."""
    owners = {gateway: "gateway"} if gateway else {}
    for each in profiles:
        if not each.token:
            continue
        if each.token in owners:
            what = f"the value is the token of {owners[each.token]}, too; give each its own"
            reader.bad(places[each.name].at("token"), what)
        owners.setdefault(each.token, f"profiles.{each.name}")
