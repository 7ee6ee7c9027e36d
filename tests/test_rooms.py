"""Who may import whom: every import statement, wherever it stands."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GATEWAY = ROOT / "gateway" / "toolpick"
SELECTORS = ROOT / "selectors" / "toolpick_selectors"

BELOW_ENGINE = {
    "errors",
    "model",
    "config",
    "wire",
    "downstream",
    "catalog",
    "turns",
    "selection",
    "toolpick_selectors",
}
MAY_IMPORT = {
    "errors": {"model"},
    "model": {"errors"},
    "config": {"errors", "model"},
    "wire": {"errors"},
    "downstream": {"errors", "model", "config", "wire"},
    "catalog": {"errors", "model"},
    "turns": {"errors", "model", "catalog"},
    "selection": {"errors", "model", "toolpick_selectors"},
    "engine": BELOW_ENGINE,
    "hook": set(),
    "clients": {"errors", "model"},
    "front": {*BELOW_ENGINE, "engine", "hook"},
    "cli": {*BELOW_ENGINE, "engine", "front", "hook", "clients"},
}


def modules(source: str) -> Iterator[str]:
    """Yield the dotted name of everything that is imported, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.Call(
                func=ast.Name("import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module


def rooms(source: str) -> set[str]:
    """Return the rooms that are imported; the package's own name is no room."""
    found = set()
    for module in modules(source):
        package, _, rest = module.partition(".")
        if package == "toolpick" and rest not in ("", "__version__"):
            found.add(rest.partition(".")[0])
        elif package == "toolpick_selectors":
            found.add(package)
    return found


def room(path: Path) -> str:
    """Return the room that a file of the gateway is in; `python -m toolpick` belongs to the CLI."""
    first = path.relative_to(GATEWAY).parts[0].removesuffix(".py")
    return "cli" if first == "__main__" else first


FILES = [path for path in sorted(GATEWAY.rglob("*.py")) if path != GATEWAY / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(GATEWAY)))
def test_a_room_imports_only_what_lies_below_it(path: Path) -> None:
    here = room(path)

    assert here in MAY_IMPORT, f"{path} is in no room"
    assert rooms(path.read_text(encoding="utf-8")) - {here} <= MAY_IMPORT[here]


@pytest.mark.parametrize(
    "path", sorted(SELECTORS.rglob("*.py")), ids=lambda path: str(path.relative_to(SELECTORS))
)
def test_the_selectors_know_nothing_of_the_gateway(path: Path) -> None:
    assert rooms(path.read_text(encoding="utf-8")) <= {"toolpick_selectors"}


def test_the_package_itself_imports_no_room() -> None:
    assert rooms((GATEWAY / "__init__.py").read_text(encoding="utf-8")) == set()


def test_no_import_escapes_the_walk() -> None:
    source = """
import toolpick, toolpick.errors as e
from toolpick import model, __version__
from toolpick.config.load import load
if TYPE_CHECKING:
    from toolpick_selectors.contract import Pick
def late():
    import os, toolpick.wire.peer
    importlib.import_module("toolpick.front.http")
"""

    assert rooms(source) == {
        "errors",
        "model",
        "config",
        "toolpick_selectors",
        "wire",
        "front",
    }
