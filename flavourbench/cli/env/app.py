"""The subcommands of ``fb env``."""

from __future__ import annotations

from flavourbench.cli.common import command_group
from flavourbench.cli.env import (
    build,
    evaluate,
    feasible,
    importing,
    info,
    listing,
    morph,
    neighbors,
    pairings,
    pull,
    recipes,
    region,
    remove,
    resolve,
    substitutes,
    verify,
)

app = command_group(
    "Ask environments for neighbours, substitutes, pairings; import, build, measure them.",
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
        "build": build,
        "evaluate": evaluate,
        "recipes": recipes,
        "verify": verify,
        "remove": remove,
    },
)
