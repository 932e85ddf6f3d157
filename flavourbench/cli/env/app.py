"""The subcommands of ``fb env``."""

from __future__ import annotations

from flavourbench.cli.common import command_group
from flavourbench.cli.env import (
    feasible,
    importing,
    info,
    listing,
    morph,
    neighbors,
    pairings,
    pull,
    region,
    remove,
    resolve,
    substitutes,
    verify,
)

app = command_group(
    "Import environments and ask them: neighbours, substitutes, pairings, regions.",
    {
        "list": listing,
        "info": info,
        "neighbors": neighbors,
        "substitutes": substitutes,
        "pairings": pairings,
        "feasible": feasible,
        "region": region,
        "morph": morph,
        "resolve": resolve,
        "import": importing,
        "pull": pull,
        "verify": verify,
        "remove": remove,
    },
)
