"""Runs a selector on behalf of turns, within its contract and a deadline."""

from toolpick.selection.runner import Outcome, Runner
from toolpick.selection.tools import ToolViews

__all__ = ["Outcome", "Runner", "ToolViews"]
