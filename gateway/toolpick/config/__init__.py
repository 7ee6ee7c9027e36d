"""The settings file: where it is, what it says, and every mistake in it by file and line."""
