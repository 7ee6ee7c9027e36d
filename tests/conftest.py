"""Settings of the test runner. Fixtures stand beside the tests that use them."""

from hypothesis import settings

settings.register_profile("toolpick", deadline=None)  # a busy machine is no failure
settings.load_profile("toolpick")
