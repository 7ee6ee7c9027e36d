"""Settings of the test runner. Fixtures stand beside the tests that use them."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("toolpick", deadline=None)  # a busy machine is no failure
settings.load_profile("toolpick")

if sys.platform != "win32" and len(tempfile.gettempdir()) > 20:
    # tests have sockets in their folders, whose paths may have about a hundred characters
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/tmp")


@pytest.fixture(scope="session", autouse=True)
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the gateways of tests and of whoever runs them from each other."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("TOOLPICK_")]:
            patch.delenv(name)
        patch.setenv("TOOLPICK_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        yield


@pytest.fixture(autouse=True)
def logging_as_it_is() -> None:
    """Take back what a command that ran in this process set up for its log."""
    for name in ("toolpick", "toolpick_selectors"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.setLevel(logging.NOTSET)
