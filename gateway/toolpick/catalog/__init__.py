"""What all servers offer, as one immutable value.

Snapshots go in, generations come out. No I/O, no clock, no sessions.
"""

from toolpick.catalog.definitions import legacy_form
from toolpick.catalog.filters import allowed, filtered
from toolpick.catalog.generation import Difference, Generation, Route, diff, listing, merge
from toolpick.catalog.links import rewrite_links
from toolpick.catalog.shelf import Rules, Shelf, settle, shelve
from toolpick.model import Snapshot

__all__ = [
    "Difference",
    "Generation",
    "Route",
    "Rules",
    "Shelf",
    "Snapshot",
    "allowed",
    "diff",
    "filtered",
    "legacy_form",
    "listing",
    "merge",
    "rewrite_links",
    "settle",
    "shelve",
]
