"""``python -m toolpick``, where no script is on the way."""

import sys

from toolpick.cli import main

if __name__ == "__main__":
    sys.exit(main())
