"""The subcommands of ``fb release``."""

from __future__ import annotations

from flavourbench.cli.common import command_group
from flavourbench.cli.release import export, importing

app = command_group(
    "Import and export releases in the published layout.",
    {"import": importing, "export": export},
)
