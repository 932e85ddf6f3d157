"""``python -m flavourbench`` is ``fb``."""

from flavourbench.cli.entry import run

run()
