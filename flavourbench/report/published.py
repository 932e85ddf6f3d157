"""What was exported, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, show


def print_export(made: Mapping[str, Any]) -> None:
    """Print what an export holds, and what it lacks.

    Parameters
    ----------
    made : what :func:`flavourbench.analysis.published.export_release` returns
    """
    lines = [f"{made['folder']}: {', '.join(made['files'])}"]
    if made["core_seed"] is None:
        lines.append(f"No task file and no observations: {made['root']['says']}.")
    else:
        lines.append(
            f"Core: {made['core_size']} tasks of each panel and family, seed {made['core_seed']}."
        )
    if made["label"] is not None:
        lines.append(f"Label: {made['label']}.")

    def draw(out: Console, screen: Screen) -> None:
        for line in lines:
            out.print(Text(screen.text(line, 4096)), soft_wrap=True)

    show(draw, whole=True)
