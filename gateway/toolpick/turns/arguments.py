"""Checks arguments against a tool's real schema, where the client could not see it.

For ``call_tool`` and for stubs. In doubt a call passes: the server has the last word, so a schema
that can't be used, a reference to another document or a check that takes too long is no problem of
the caller's. Nothing is ever fetched. Regular expressions are not tried (``pattern``,
``patternProperties``): the servers' dialect is another one, and a hostile one could stop the
gateway, as no thread runs beside one that is at it.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from toolpick.turns.excerpts import one_line
from toolpick.turns.signature import signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEPT = 256
"""Compiled validators that are kept."""
LARGEST = 1_000_000
"""Bytes of arguments, as JSON, beyond which they need not be checked: errors quote them."""
STEPS = 50_000
"""What one check may cost before the arguments pass unchecked: 1 for each value that is looked at.

That is half a second at most.
"""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_REFERENCE = 50
"""What following a reference costs."""
_OPEN = ("unevaluatedProperties", "unevaluatedItems")

_budget = threading.local()


def arguments_problem(schema: bytes, arguments: Any) -> str:
    """What is wrong with arguments, in one sentence that says what was expected; "" if nothing is.

    ``schema`` is the tool's inputSchema as JSON. None stands for no arguments.
    """
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return "arguments must be an object with the tool's arguments by name"
    checker = _checker(schema)
    return checker.problem(arguments) if checker else ""


class _TooMuchWork(Exception):
    pass


def _counted(key: str, check: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """A keyword's check that takes from the budget of the thread that it runs in."""

    def limited(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _budget.left -= _cost(key, value, instance)
        if _budget.left < 0:
            raise _TooMuchWork
        if key != "additionalProperties" or "patternProperties" not in schema:
            # else only a regular expression can tell which properties are additional
            yield from check(validator, value, instance, schema)

    return limited


def _untried(*_: Any) -> tuple[()]:
    return ()


def _cost(key: str, value: Any, instance: Any) -> int:
    """How many values a keyword looks at by itself, at most."""
    if key in _REFERENCES:
        return _REFERENCE
    size = len(instance) if isinstance(instance, list | dict) else 0
    if key == "uniqueItems":
        size *= size
    return 1 + size + (len(value) if isinstance(value, list | dict) else 0)


class _Checker:
    """A compiled schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        from jsonschema import Draft202012Validator, validators
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

        self._schema = schema
        draft = validators.validator_for(schema, default=Draft202012Validator)
        counted = {key: _counted(key, check) for key, check in draft.VALIDATORS.items()}
        untried = ["pattern", "patternProperties"]
        if b'"patternProperties"' in msgspec.json.encode(schema):
            untried += _OPEN
        limited = validators.extend(draft, {**counted, **dict.fromkeys(untried, _untried)})
        self._validator = limited(schema, registry=REGISTRY)

    def problem(self, arguments: dict[str, Any]) -> str:
        from jsonschema.exceptions import best_match

        _budget.left = STEPS
        try:
            error = best_match(islice(self._validator.iter_errors(arguments), 20))
        except Exception:  # noqa: BLE001 - whatever a schema does to the validator, the server decides
            return ""
        if error is None:
            return ""
        return f"{_said(error)}; expected {signature(self._schema)}"


@lru_cache(maxsize=KEPT)
def _checker(schema: bytes) -> _Checker | None:
    try:
        tree = msgspec.json.decode(schema)
        return _Checker(tree) if isinstance(tree, dict) else None
    except Exception:  # noqa: BLE001 - a schema that can't be compiled checks nothing
        return None


def _said(error: Any) -> str:
    """A jsonschema error as the beginning of a sentence, the place first."""
    place = ".".join(str(part) for part in error.absolute_path)
    where = f"argument {place!r}" if place else "arguments"
    value = one_line(repr(error.instance), 60)
    match error.validator:
        case "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            return f"{where} must have {', '.join(map(repr, missing))}"
        case "type":
            kinds = error.validator_value
            wanted = " or ".join(kinds) if isinstance(kinds, list) else kinds
            return f"{where} must be of type {wanted}, not {value}"
        case "enum":
            wanted = ", ".join(map(repr, error.validator_value))
            return f"{where} must be one of {one_line(wanted, 300)}, not {value}"
        case _:
            return f"{where}: {one_line(error.message, 300)}"
