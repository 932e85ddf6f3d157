"""``fb stability``: how the ranks of a release move under other choices."""

from __future__ import annotations

from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.studies import ReleaseArgument, reading, release_named

EXAMPLES = """\b
Examples:
  fb stability                           the newest release here
  fb stability --weights 0.5,0.5 --weights 0.9,0.1
  fb stability release --env epicure-cooc --json"""


def command(
    release: ReleaseArgument = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weights",
            metavar="R,C",
            help="Weights of relevance and coherence in every family; repeatable.  [default: each"
            " alone, both equal, and those of the design with 0.1 more or less relevance]",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="NAME",
            help="Stored environment, or an environment folder, to score the choices with;"
            " repeatable.",
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """Show how ranks move without a family, panel or category, or with other score maps.

    No model is asked again: the stored selections are scored under other weights, and as other
    environments see them. All of it is descriptive; the ranking is that of the release.
    """
    load_arrow()
    from flavourbench.analysis.release import read_release
    from flavourbench.analysis.stability import stability
    from flavourbench.cli.tasks.shared import scoring_environment
    from flavourbench.environment import open_environment
    from flavourbench.tasks.remapped import WEIGHINGS, parse_weighing

    weighings = {parse_weighing(text): None for text in weights or ()} or WEIGHINGS
    environments = {name: open_environment(name) for name in env or ()}
    path = release_named(release)
    with reading(path):
        stored = read_release(path)
        evidence = stored.evidence
        own = None if evidence is None else scoring_environment(evidence.tasks, None)
        found = stability(stored, [*weighings], environments, own)
        if json_output:
            echo_json(found)
            return
        from flavourbench.report.stability import print_stability

        print_stability(found, footer=None if release is not None else f"Release: {path}")
