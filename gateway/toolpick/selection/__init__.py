"""Runs a selector on behalf of turns: builds it, holds it to its contract and its deadline, fails open."""

from toolpick.selection.runner import Outcome, Runner
from toolpick.selection.tools import ToolViews

__all__ = ["Outcome", "Runner", "ToolViews"]
