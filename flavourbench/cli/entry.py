"""The console script: what an interrupt meets before the command line is loaded."""

from __future__ import annotations

import sys


def run() -> None:
    """Load and run ``fb``; an interrupt while loading exits like one later."""
    try:
        from flavourbench.cli.main import run as loaded
    except KeyboardInterrupt:
        sys.stderr.write("fb: interrupted\n")
        sys.exit(130)
    loaded()
