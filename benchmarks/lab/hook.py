"""The prompt hook for the client lab: `python3 hook.py [OPTION...]` becomes `toolpick hook`."""

import os
import sys
from pathlib import Path

toolpick = str(Path(sys.executable).with_name("toolpick"))
os.execv(toolpick, [toolpick, "hook", *sys.argv[1:]])
