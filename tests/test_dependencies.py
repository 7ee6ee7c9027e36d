"""pyproject.toml names exactly the packages that the code imports."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHERE_INSTALLED = {"loguru", "sniffio"}
"""Imported where they happen to be there; nothing is missing without them."""


def imported() -> set[str]:
    """Top-level modules of all import statements, the standard library's and our own left out."""
    found = set()
    for path in (*(ROOT / "gateway").rglob("*.py"), *(ROOT / "selectors").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"toolpick", "toolpick_selectors"}


def declared(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", each)[0] for each in requirements}


def test_what_is_imported_is_what_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {each for one in project["optional-dependencies"].values() for each in declared(one)}
    providers = packages_distributions()
    needed = {
        providers.get(module, [module])[0] for module in imported() - WHERE_INSTALLED - extras
    }

    assert {name.replace("_", "-") for name in needed} == declared(project["dependencies"])
