"""The task design: every number, seed and text of the compiler, read from one TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

from flavourbench.environment.taxonomy import DIETS, NOVA_LEVELS, REGIONS
from flavourbench.errors import InputError, listed, shown
from flavourbench.identity import json_sha256
from flavourbench.settings import Table, plain_values, read_toml, template_fields

_PACKAGED = resources.files("flavourbench.data") / "design.toml"
#: Kinds of candidate rules, pool relations and feasibility (:mod:`flavourbench.tasks.pools`).
RULES = ("spaced", "sparse", "poles")
RELATIONS = ("same_category", "complementary", "shared_region", "no_shared_word", "nova_known")
FEASIBLE = ("always", "demands", "distinct_categories")
#: Fields of texts.
_LAYOUT = frozenset({"context", "family", "question", "candidates", "instruction"})
_QUESTION = frozenset({"anchor", "category", "diet", "max_nova", "region"})
_TASK_ID = frozenset({"code", "panel", "family", "number"})
_UNFIT_ID = re.compile(r"[^A-Za-z0-9._{}-]")
#: A concrete answer in a prompt would anchor answers.
ANCHORING = re.compile(r"FINAL_SELECTION\s*:\s*[A-H]\s*,\s*[A-H]\s*,\s*[A-H]", re.IGNORECASE)
#: Three labels in a row, however they are parted.
_AND = r"\b\W{1,9}(?:(?:and|or)\W{1,9})?"
_THREE = re.compile(rf"\b[A-H]{_AND}[A-H]{_AND}[A-H]\b")


@dataclass(frozen=True, slots=True)
class Family:
    """One family of tasks.

    Attributes
    ----------
    name : str; ranked : bool, whether it enters the ranking
    weights : of relevance and coherence, integers without a common divisor
    rule : one of :data:`RULES`, how candidates are drawn
    pool : some of :data:`RELATIONS`, which items are candidates of an anchor
    least_pool : int; among : int, how many of the pool are drawn from
    least_spread : Fraction, in cosines
    diets, nova_caps : variants of "sparse"; ``vegetarian_step`` : Fraction, their difficulty
    feasible : one of :data:`FEASIBLE`
    title, question : texts of the prompt
    """

    name: str
    ranked: bool
    weights: tuple[int, int]
    rule: str
    pool: tuple[str, ...]
    least_pool: int
    among: int
    least_spread: Fraction
    diets: tuple[str, ...]
    nova_caps: tuple[int, ...]
    vegetarian_step: Fraction
    feasible: str
    title: str
    question: str


@dataclass(frozen=True, slots=True)
class PanelDesign:
    """One panel.

    Attributes
    ----------
    name, split, seed : str
    per_stratum : int, tasks of a family
    regions : target regions that it asks for
    apart : bool, whether anchors of earlier panels are barred (else they come last)
    """

    name: str
    split: str
    seed: str
    per_stratum: int
    regions: tuple[str, ...]
    apart: bool


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """Layout with its context and instruction; fields in braces."""

    layout: str
    context: str
    instruction: str


@dataclass(frozen=True, slots=True)
class TaskDesign:
    """A whole design; see ``flavourbench/data/design.toml`` for the meaning of each value.

    Attributes
    ----------
    content : what the file says, as JSON values; manifests hold it
    """

    name: str
    task_id: str
    excluded: tuple[str, ...]
    least_feasible: int
    least_range: Fraction
    strata: int
    per_category: int
    least_categories: int
    prompt: PromptTexts
    panels: tuple[PanelDesign, ...]
    families: tuple[Family, ...]
    content: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        """Digest of :attr:`content`: comments and layout of the file play no part."""
        return json_sha256(self.content)


def read_design(path: Path | None = None) -> TaskDesign:
    """Read a design file; the one of the package by default.

    Raises
    ------
    InputError
        It cannot be read, or says something that is no design, with the value.
    """
    if path is not None:
        return read_toml(path, parse_design)
    with resources.as_file(_PACKAGED) as packaged:
        return read_toml(packaged, parse_design)


def design_text() -> str:
    """The design file of the package."""
    return _PACKAGED.read_text("utf-8")


def parse_design(content: Mapping[str, Any]) -> TaskDesign:
    """A design from the values of its file, or from those in a manifest.

    Raises
    ------
    InputError
        A value is missing, unknown, of another kind or out of range.
    """
    top = Table("", content)
    acceptance, selection = top.table("acceptance"), top.table("selection")
    texts = top.table("prompt")
    found = TaskDesign(
        name=top.slug("name"),
        task_id=top.template("task_id", _TASK_ID, all_of=True),
        excluded=tuple(top.texts("excluded")),
        least_feasible=acceptance.integer("feasible_portfolios", 2, 56),
        least_range=acceptance.number("utility_range", 0, 1),
        strata=selection.integer("strata", 1, 9),
        per_category=selection.integer("per_category", 1, 10_000),
        least_categories=selection.integer("categories", 1, 14),
        prompt=PromptTexts(
            texts.template("layout", _LAYOUT, all_of=True),
            texts.template("context", frozenset({"environment"})),
            texts.text("instruction"),
        ),
        panels=tuple(_panel(table) for table in top.tables("panels")),
        families=tuple(_family(table) for table in top.tables("families")),
        content=plain_values(content),
    )
    for table in (top, acceptance, selection, texts):
        table.done()
    for what, names in (
        ("panels", [panel.name for panel in found.panels]),
        ("families", [family.name for family in found.families]),
        ("seeds", [panel.seed for panel in found.panels]),
    ):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"{what}: {listed(twice)} occurs twice: use different ones")
    _check_texts(found)
    if _UNFIT_ID.search(found.task_id):
        raise InputError(f"task_id is '{shown(found.task_id)}': use letters, digits, '.', '-', '_'")
    return found


def _panel(table: Table) -> PanelDesign:
    found = PanelDesign(
        name=table.slug("name"),
        split=table.slug("split"),
        seed=table.text("seed"),
        per_stratum=table.integer("per_stratum", 1, 10_000),
        regions=tuple(table.texts("regions", REGIONS)),
        apart=table.flag("apart", default=False),
    )
    table.done()
    return found


def check_no_answer(text: str) -> None:
    """Refuse a text of prompts that shows three labels.

    Raises
    ------
    InputError
        With the text.
    """
    found = ANCHORING.search(text) or _THREE.search(text)
    if found is not None:
        raise InputError(f"'{shown(found[0])}' in a prompt is an answer: leave the labels out")


def _family(table: Table) -> Family:
    rule = table.choice("rule", RULES)
    sparse = rule == "sparse"
    found = Family(
        name=table.slug("name"),
        ranked=table.flag("ranked"),
        weights=read_weights(table),
        rule=rule,
        pool=() if rule == "poles" else tuple(table.texts("pool", RELATIONS)),
        least_pool=table.integer("least_pool", 8, 10_000) if rule == "spaced" else 0,
        among=table.integer("among", 4 if rule != "spaced" else 8, 10_000),
        least_spread=Fraction(0) if sparse else table.number("least_spread", 0, 2),
        diets=tuple(table.texts("diets", DIETS, least=1)) if sparse else (),
        nova_caps=table.integers("nova_caps", NOVA_LEVELS) if sparse else (),
        vegetarian_step=table.number("vegetarian_step", 0, 1) if sparse else Fraction(0),
        feasible=table.choice("feasible", FEASIBLE),
        title=table.text("title"),
        question=table.template("question", _QUESTION),
    )
    table.done()
    _check_question(found)
    if (found.feasible == "demands") != sparse:
        raise InputError(f"family {found.name}: feasible = demands belongs to rule = sparse")
    return found


def read_weights(table: Table) -> tuple[int, int]:
    """Weights of relevance and coherence as integers without a common divisor.

    Raises
    ------
    InputError
        ``weights`` of the table are missing, or no weights.
    """
    what = "two weights of at most two decimals that sum to 1 or less, as in [0.8, 0.2]"
    parts = [100 * number for number in table.numbers("weights", 2, what)]
    if any(part < 0 or part.denominator > 1 for part in parts) or not 0 < sum(parts) <= 100:
        raise table.wrong("weights", what)
    ratio = Fraction(parts[0], sum(parts))
    return ratio.numerator, ratio.denominator - ratio.numerator


def _check_question(family: Family) -> None:
    """Refuse a question without what makes it one, or with fields that have no value."""
    needed = {"region"} if family.rule == "poles" else {"anchor"}
    needed |= {"diet", "max_nova"} if family.rule == "sparse" else set()
    known = needed | (set() if family.rule == "poles" else {"category"})
    fields = template_fields(family.question)
    for names, problem in (
        (fields - known, "has no value in this family: leave it out"),
        (needed - fields, "is missing, which the question depends on"),
    ):
        if names:
            raise InputError(f"question of family {family.name}: {{{min(names)}}} {problem}")


def _check_texts(design: TaskDesign) -> None:
    texts = [*astuple(design.prompt), *(t for f in design.families for t in (f.title, f.question))]
    for text in texts:
        check_no_answer(text)
    if "FINAL_SELECTION:" not in design.prompt.instruction:
        raise InputError("prompt.instruction does not name the marker FINAL_SELECTION:")
