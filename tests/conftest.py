"""Settings of the test runner. Fixtures stand beside the tests that use them."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("toolpick", deadline=None)  # a busy machine is no failure
settings.load_profile("toolpick")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Take back what a command that ran in this process set up for its log."""
    loggers = [logging.getLogger(name) for name in ("toolpick", "toolpick_selectors")]
    before = [(logger, logger.handlers[:], logger.level) for logger in loggers]
    yield
    for logger, handlers, level in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
