"""What all servers offer, as one immutable value.

Snapshots go in, generations come out. No I/O, no clock, no sessions.
"""

from toolpick.catalog.definitions import legacy_form
from toolpick.catalog.filters import allowed, filtered
from toolpick.catalog.generation import Difference, Generation, Route, diff, listing, merge
from toolpick.catalog.links import rewrite_links
from toolpick.catalog.names import LIMIT, RESERVED, clean_prefix, exposed_name
from toolpick.catalog.shelf import Rules, Shelf, settle, shelve
from toolpick.catalog.uris import unwrap_uri, wrap_uri
from toolpick.model import Snapshot

__all__ = [
    "LIMIT",
    "RESERVED",
    "Difference",
    "Generation",
    "Route",
    "Rules",
    "Shelf",
    "Snapshot",
    "allowed",
    "clean_prefix",
    "diff",
    "exposed_name",
    "filtered",
    "legacy_form",
    "listing",
    "merge",
    "rewrite_links",
    "settle",
    "shelve",
    "unwrap_uri",
    "wrap_uri",
]
