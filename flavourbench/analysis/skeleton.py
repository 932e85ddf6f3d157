"""The files of a new study, as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from flavourbench.analysis.plan import Plan
from flavourbench.analysis.study import LARGEST, STUDY, Study, read_study
from flavourbench.collect.contestants import ENTRIES
from flavourbench.collect.contestants.entries import Entry
from flavourbench.collect.roster import demo_roster
from flavourbench.folders import is_file, new_file

#: Contestants that a new roster begins with: they need no key and no other package.
_FIRST = ("chance", "lexical-overlap", "popularity", "co-occurrence")
PANELS = ("test-1", "test-2")
_STUDY = """\
# A study: who is ranked, on what, and how. Paths are relative to this file.

# What the panels were compiled from: a stored environment (fb env list). Remove the line for
# panels that do not say where they come from.
environment = "pantry"

# Panel folders, published task files, or bundled panels (fb tasks list).
panels = {panels}

# Who is asked, and where the answers are kept (fb collect).
roster = "roster.toml"
journal = "journal.sqlite"
# Or, instead of these two, answers in hand: a folder with a file SLOT.jsonl for each model.
# responses = "responses"
# Their display names stand at the end of this file, where they differ: [names] and SLOT = "Name".

# The common core (fb freeze): tasks that every model answered validly, chosen blind to scores.
[core]
seed = "{seed}"
size = "{largest}"        # tasks of each panel and family: "{largest}", or a number such as 89

# The analysis (fb infer).
[plan]
draws = {draws}           # bootstrap draws
flips = {flips}          # sign flips
seed = {seed}
alpha = {alpha:g}
"""
_ROSTER_HEAD = """\
# Who is ranked. Each model once; docs/collect.md has all keys. These contestants answer in this
# process, so that the study can run at once: replace them by your models.
"""
_ROSTER_TAIL = """
# [[model]]
# slot = "herb-2"                     # its id everywhere
# name = "Herb 2 (low effort)"
# dialect = "openai-chat"             # or openai-responses, anthropic, gemini
# base_url = "https://api.example.com/v1"
# model = "herb-2-2026-09"            # exactly
# key_env = "HERB_KEY"                # the variable that holds the key, never the key
# max_output_tokens = 2048
# effort = "low"
#
# [model.prices]                      # dollars a million tokens
# date = 2026-11-01
# input = 1.25
# output = 10
"""


def skeleton() -> Mapping[str, str]:
    """Name and text of the files of a new study."""
    first = [entry for entry in ENTRIES if entry.slot in _FIRST]
    return {
        STUDY: study_text(Plan()),
        "roster.toml": _ROSTER_HEAD + roster_text(first) + _ROSTER_TAIL,
    }


def demo_study(folder: Path, plan: Plan) -> tuple[Study, list[str]]:
    """The study of the demonstration, begun where there is none, and slots it has to do without.

    Raises
    ------
    InputError
        The folder holds another study's files that cannot be read, or cannot be written.
    """
    roster, missing = demo_roster()
    slots = [route.slot for route in roster.routes]
    texts = {
        "roster.toml": roster_text(entry for entry in ENTRIES if entry.slot in slots),
        STUDY: study_text(plan),  # last: it makes the study
    }
    for name, text in texts.items():
        if not is_file(folder / name):
            new_file(folder / name, text.encode())
    return read_study(folder), missing


def study_text(plan: Plan) -> str:
    """A commented ``study.toml`` on the bundled panels."""
    return _STUDY.format(
        panels=json.dumps([*PANELS]),
        largest=LARGEST,
        seed=plan.seed,
        draws=plan.draws,
        flips=plan.flips,
        alpha=plan.alpha,
    )


def roster_text(entries: Iterable[Entry]) -> str:
    """Contestants as the tables of a roster."""
    tables = []
    for entry in entries:
        rows = {"slot": entry.slot, "name": entry.name, "dialect": f"local:{entry.contestant}"}
        lines = ["[[model]]", *(f"{key} = {json.dumps(value)}" for key, value in rows.items())]
        if entry.parameters:
            pairs = (f"{key} = {json.dumps(value)}" for key, value in entry.parameters.items())
            lines.append(f"parameters = {{ {', '.join(pairs)} }}")
        tables.append("\n".join(lines) + "\n")
    return "\n" + "\n".join(tables)
