"""docs/selectors.md lists exactly the options there are, and its examples work."""

import json
import re
import tomllib
from collections.abc import Mapping
from importlib.metadata import entry_points
from inspect import signature
from pathlib import Path

import pytest

from toolpick_selectors import registry
from toolpick_selectors.testing import check_selector

TEXT = (Path(__file__).parents[2] / "docs" / "selectors.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", TEXT, re.MULTILINE))
POINTS = {
    **{f"`{point.name}`": point for point in entry_points(group=registry.GROUP)},
    **{f"Embedder `{point.name}`": point for point in entry_points(group=registry.EMBEDDERS)},
}


def options(title):
    """Names and defaults, as one writes them in TOML."""
    found = {}
    for name, parameter in signature(POINTS[title].load()).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and name != "parts":
            default = parameter.default
            found[name] = json.dumps(dict(default) if isinstance(default, Mapping) else default)
    return found


def test_every_selector_and_embedder_has_its_section():
    assert set(SECTIONS) == {*POINTS, "Your own"}


@pytest.mark.parametrize("title", POINTS)
def test_a_section_lists_exactly_the_options_there_are(title):
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", SECTIONS[title], re.MULTILINE)
    assert dict(rows) == options(title)


def test_the_example_of_settings_can_be_built():
    [text] = re.findall(r"```toml\n(\[selector\]\n.*?)```", TEXT, re.DOTALL)
    table = tomllib.loads(text)["selector"]
    kind = table.pop("kind")
    parts = registry.Parts(options=table)
    assert hasattr(registry.build(kind, table[kind], parts), "select")


def test_the_example_of_a_selector_keeps_the_contract():
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names = {}
    exec(code, names)
    check_selector(names["Longest"])
