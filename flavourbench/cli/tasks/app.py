"""The subcommands of ``fb tasks``."""

from __future__ import annotations

from flavourbench.cli.common import command_group
from flavourbench.cli.tasks import export, importing, listing, show, stats, template, verify

app = command_group(
    "Look at panels and their tasks; import, export and verify them.",
    {
        "list": listing,
        "show": show,
        "stats": stats,
        "verify": verify,
        "template": template,
        "import": importing,
        "export": export,
    },
)
