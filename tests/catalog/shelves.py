"""Makes snapshots and shelves for the tests of the catalog."""

import json

from toolpick.catalog import Rules, Shelf, Snapshot, shelve


def tool(name, description="A test tool.", **more):
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def encoded(items):
    return tuple(json.dumps(item, ensure_ascii=False).encode() for item in items)


def snapshot(tools=(), prompts=(), resources=(), templates=()):
    return Snapshot(encoded(tools), encoded(prompts), encoded(resources), encoded(templates))


def shelf(server="s", *tools, prompts=(), resources=(), templates=(), **rules) -> Shelf:
    chosen = Rules(server, rules.pop("prefix", server), **rules)
    return shelve(chosen, snapshot(tools, prompts, resources, templates))


def listed(entries):
    return [json.loads(entry.raw) for entry in entries]
