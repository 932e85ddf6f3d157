"""Contestants: what they may see, how often they fail, how they choose, how far they are apart."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from references import reference
from strategies import few
from test_layout import loaded_by

from flavourbench.collect.contestants import (
    ENTRIES,
    NAMES,
    Contestant,
    Entry,
    Said,
    contestant,
)
from flavourbench.collect.contestants.cook import FAULTS, cook
from flavourbench.collect.contestants.draws import Draws
from flavourbench.collect.contestants.knowledge import pantry
from flavourbench.collect.contestants.reading import Question, read_prompt
from flavourbench.environment.pantry.tables import FOLDER, read_tables
from flavourbench.errors import InputError
from flavourbench.tasks.files import BUNDLED, read_all, read_tasks
from flavourbench.tasks.labels import LABELS, PORTFOLIOS
from flavourbench.tasks.parsing import PARSERS, parse
from flavourbench.tasks.reward import score_of
from flavourbench.tasks.taskset import Task

#: Contestants whose answers differ from one repeat to the next, whatever is asked.
RANDOM = ("chance", "label-biased", "cook")
BLIND = [entry for entry in ENTRIES if not entry.name.startswith("Simulated ")]
SIGHTED = [entry for entry in ENTRIES if entry not in BLIND]
#: A deviation of so many standard errors has a probability of 6e-7.
FAR = 5


def slots(entries: list[Entry] | tuple[Entry, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry.slot)


@cache
def tasks() -> tuple[Task, ...]:
    """The bundled panels of the ranking."""
    return read_all([BUNDLED / "test-1", BUNDLED / "test-2"]).tasks


def made(entry: Entry) -> Contestant:
    if entry.extra is not None:
        pytest.importorskip("ingredient_parser")
    return contestant(entry.contestant, entry.parameters)


def selections(one: Contestant, asked: tuple[Task, ...], repeat: int = 0) -> list[str | None]:
    """Selections as a collector would get them; None where there is none."""
    said = [one.answer(task, repeat) for task in asked]
    parsed = [parse(s.text, t.choices, t.parser) for s, t in zip(said, asked, strict=True)]
    return [None if s.refused else p.selection for s, p in zip(said, parsed, strict=True)]


def mean_score(one: Contestant, asked: tuple[Task, ...], repeats: int = 1) -> float:
    """Mean score of valid answers, in points."""
    found = [
        score_of(task, selection)
        for repeat in range(repeats)
        for task, selection in zip(asked, selections(one, asked, repeat), strict=True)
        if selection is not None
    ]
    return sum(found) / len(found) / 100


# --- the slots -----------------------------------------------------------------------------


def test_slots_are_told_apart() -> None:
    for names in ([entry.slot for entry in ENTRIES], [entry.name for entry in ENTRIES]):
        assert len({*names}) == len(names)
    for entry in ENTRIES:
        one = made(entry)
        assert one.simulated == entry.name.startswith("Simulated ")
        assert {*entry.parameters} <= {*one.parameters}
    optional = [entry.extra is not None for entry in ENTRIES]
    assert optional == sorted(optional)
    assert optional.count(False) >= 22
    assert len({(e.contestant, str(dict(e.parameters))) for e in ENTRIES}) == len(ENTRIES)


def test_scores_spread_from_chance_to_nearly_perfect() -> None:
    """A leaderboard of them has no hole, with or without the optional ones."""
    asked = tuple(task for task in tasks() if task.ranked)
    chance = sum(float(task.chance) for task in asked) / len(asked) / 100
    scores = sorted(mean_score(made(e), asked) for e in ENTRIES if e.extra is None)
    assert abs(scores[0] - chance) < 2
    assert 96 < scores[-1] < 99
    steps = [after - before for before, after in pairwise(scores)]
    assert max(steps) < 7
    assert all(low < high for low, high in zip(scores[:-2], scores[2:], strict=True))


@slots(ENTRIES)
def test_answers_are_valid_but_for_the_stated_rates(entry: Entry) -> None:
    one = made(entry)
    said = [one.answer(task, 0) for task in tasks()]
    rates = {key: one.parameters.get(key, 0) / 100 for key in ("refusals", "format_errors")}
    refused = sum(s.refused for s in said)
    pairs = [(s, t) for s, t in zip(said, tasks(), strict=True) if not s.refused]
    for parser in PARSERS:
        failed = sum(parse(s.text, t.choices, parser).selection is None for s, t in pairs)
        assert_binomial(failed, len(said), rates["format_errors"])
    assert_binomial(refused, len(said), rates["refusals"])
    assert max(rates.values()) <= 0.02


def assert_binomial(count: int, of: int, rate: float) -> None:
    assert abs(count - of * rate) <= FAR * math.sqrt(of * rate * (1 - rate))


def test_the_slots_leave_most_tasks_valid_for_all() -> None:
    """A task that is invalid for one leaves the common core of all."""
    found = [selections(made(entry), tasks()) for entry in SIGHTED]
    valid = sum(None not in row for row in zip(*found, strict=True))
    assert valid > 0.93 * len(tasks())


# --- what they see -------------------------------------------------------------------------


@slots(BLIND)
def test_blind_ones_see_the_prompt_alone(entry: Entry) -> None:
    one = made(entry)
    for task in tasks()[::13]:
        other = replace(
            tasks()[7],
            id="another",
            prompt=task.prompt,
            scores=task.scores[::-1],
            choices=task.choices[::-1],
            feasible=None,
        )
        assert one.answer(task, 3) == one.answer(other, 3)


def test_cooks_see_the_scores() -> None:
    one = contestant("cook", {"temperature": 0})
    for task in tasks()[::50]:
        moved = replace(task, scores=task.scores[::-1], feasible=None)
        first, second = (parse(one.answer(t, 0).text, t.choices) for t in (task, moved))
        assert (first.selection, second.selection) == (task.optimum, moved.optimum)


@slots(ENTRIES)
def test_threads_and_repeats(entry: Entry) -> None:
    asked = tasks()[:120]
    one, again = made(entry), made(entry)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda task: one.answer(task, 0), asked)]
    assert found == [again.answer(task, 0) for task in asked]
    others = [one.answer(task, 1) for task in asked]
    if entry.contestant in RANDOM:
        same = sum(a == b for a, b in zip(found, others, strict=True))
        assert same < 0.8 * len(asked)


def test_another_process_says_the_same() -> None:
    """Hashes of texts differ there, and it meets the tasks in another order."""
    code = """
import hashlib, sys
from flavourbench.collect.contestants import ENTRIES, contestant
from flavourbench.tasks.files import BUNDLED, read_tasks
entries = [e for e in ENTRIES if e.extra is None]
tasks = read_tasks(BUNDLED / "test-1").tasks[:60][:: int(sys.argv[1])]
said = [
    f"{e.slot} {t.id} {contestant(e.contestant, e.parameters).answer(t, 0)}"
    for e in entries for t in tasks
]
print(hashlib.sha256("".join(sorted(said)).encode()).hexdigest())
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", code, step],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, step in (("1", "1"), ("2", "-1"))
    }
    assert len(found) == 1


def test_importing_them_loads_nothing_heavy() -> None:
    loaded = loaded_by(
        "from flavourbench.collect.contestants import contestant\ncontestant('co-occurrence')"
    )
    assert not loaded & {"numpy", "pyarrow", "numba", "rfc8785", "ingredient_parser"}


def test_words_of_an_answer_are_uniform_and_apart() -> None:
    found = [Draws(b"seed", f"task {at}", 0) for at in range(4000)]
    for word in range(4):
        counts = Counter(draws.below(8, word) for draws in found)
        for at in range(8):
            assert_binomial(counts[at], len(found), 1 / 8)
    pairs = Counter((draws.below(2, 0), draws.below(2, 1)) for draws in found)
    for pair in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert_binomial(pairs[pair], len(found), 1 / 4)


# --- cooks ---------------------------------------------------------------------------------


def expected_score(task: Task, temperature: float) -> tuple[float, float]:
    """Mean and variance of a cook's score by the formula, in points."""
    weights = [math.exp((score - 10_000) / 100 / temperature) for score in task.scores]
    total = math.fsum(weights)
    points = [score / 100 for score in task.scores]
    mean = math.fsum(w * s for w, s in zip(weights, points, strict=True)) / total
    square = math.fsum(w * s * s for w, s in zip(weights, points, strict=True)) / total
    return mean, square - mean * mean


@pytest.mark.parametrize("temperature", [1, 6, 18, 50, 100_000])
def test_cooks_choose_by_softmax(temperature: int) -> None:
    repeats = 4
    moments = [expected_score(task, temperature) for task in tasks()]
    expected = sum(mean for mean, _ in moments) / len(moments)
    error = math.sqrt(sum(variance for _, variance in moments) / repeats) / len(moments)
    one = contestant("cook", {"temperature": temperature})
    assert abs(mean_score(one, tasks(), repeats) - expected) < FAR * error
    if temperature == 100_000:
        chance = sum(float(task.chance) for task in tasks()) / len(tasks()) / 100
        assert abs(expected - chance) < 0.05


@pytest.mark.parametrize("temperature", ["0", "0.001", "6", "8.5", "100000"])
def test_weights_are_exponentials(temperature: str) -> None:
    from flavourbench.collect.contestants.cook import _weights

    weigh = _weights(Decimal(temperature))
    assert weigh(10_000) == 2**80
    for score in (0, 1, 99, 100, 4_321, 9_899, 9_900, 9_999):
        gap = (10_000 - score) / 100
        wanted = math.exp(-gap / float(temperature)) if float(temperature) else 0.0
        assert weigh(score) / 2**80 == pytest.approx(wanted, rel=1e-6, abs=1e-11)


def test_a_cold_cook_is_perfect() -> None:
    for temperature in (0, 0.001):
        one = contestant("cook", {"temperature": temperature})
        assert selections(one, tasks()) == [task.optimum for task in tasks()]


def test_refusals_and_faults_come_at_their_rates() -> None:
    one = contestant("cook", {"temperature": 5, "refusals": 12.5, "format_errors": 30})
    said = [(one.answer(task, repeat), task) for repeat in range(3) for task in tasks()]
    refused = [s for s, _ in said if s.refused]
    assert_binomial(len(refused), len(said), 0.125)
    reasons = Counter(parse(s.text, task.choices).reason for s, task in said if not s.refused)
    for reason in FAULTS:
        assert_binomial(reasons[reason], len(said), 0.3 / len(FAULTS))
    assert {*reasons} == {*FAULTS, None}
    assert all(parse(s.text, tasks()[0].choices).selection is None for s in refused)


@pytest.mark.parametrize("reason", FAULTS)
def test_faults_are_read_by_no_parser(reason: str) -> None:
    for labels in PORTFOLIOS:
        for task in tasks()[::200]:
            text = FAULTS[reason](labels, task.choices)
            assert parse(text, task.choices).reason == reason
            assert parse(text, task.choices, "published-v3").selection is None


class Fixed(Draws):
    """Random words that are all one number, or the largest there may be."""

    def __init__(self, value: int) -> None:
        self.value = value

    def below(self, bound: int, word: int = 0) -> int:
        return min(self.value, bound - 1)


@pytest.mark.parametrize(
    ("value", "refusals", "fault", "outcome"),
    [
        (0, 0, 0, "answered"),
        (0, 0.01, 50, "refused"),
        (99, 1, 0, "refused"),
        (100, 1, 0, "answered"),
        (100, 1, 0.01, "fault"),
        (101, 1, 0.01, "answered"),
        (9999, 50, 50, "fault"),
    ],
)
def test_rates_are_exact(value: int, refusals: float, fault: float, outcome: str) -> None:
    say = cook({"temperature": 9, "refusals": refusals, "format_errors": fault})
    said = say(tasks()[0], Fixed(value))
    parsed = parse(said.text, tasks()[0].choices)
    assert said.refused == (outcome == "refused")
    assert (parsed.selection is not None) == (outcome == "answered")


def test_routes_have_their_own_random_words() -> None:
    """Cells of two routes are never one; so their errors are not the same errors."""
    one, other = (contestant("cook", {"temperature": t}) for t in (100_000, 99_999))
    pairs = zip(selections(one, tasks()), selections(other, tasks()), strict=True)
    assert_binomial(sum(a == b for a, b in pairs), len(tasks()), 1 / 56)


# --- what blind ones go by -----------------------------------------------------------------


@cache
def sets(table: str) -> list[set[str]]:
    """Ingredient sets of a table of the pantry, read without the project."""
    with (FOLDER / f"{table}.csv").open(encoding="utf-8", newline="") as lines:
        return [{*row["ingredients"].split(";")} for row in csv.DictReader(lines)]


@cache
def holders(table: str, name: str) -> set[int]:
    return {at for at, found in enumerate(sets(table)) if name in found}


def count(*names: str, table: str = "recipes") -> int:
    """Sets that hold all of the names."""
    return len(set.intersection(*(holders(table, name) for name in names)))


HOT: Mapping[str, Any] = {"temperature": 100_000}


@pytest.mark.parametrize(
    ("name", "parameters", "fondness"),
    [
        ("chance", {}, (1,) * 8),
        ("label-biased", {}, (8, 7, 6, 5, 4, 3, 2, 1)),
        ("cook", HOT, (1,) * 8),
        # What is left after failures is no other sample of choices.
        ("cook", {**HOT, "refusals": 45}, (1,) * 8),
        ("cook", {**HOT, "format_errors": 45}, (1,) * 8),
    ],
)
def test_random_ones_draw_every_portfolio_at_its_rate(
    name: str, parameters: Mapping[str, Any], fondness: tuple[int, ...]
) -> None:
    weights = [
        math.prod(fondness[LABELS.index(label)] for label in portfolio) for portfolio in PORTFOLIOS
    ]
    found = Counter(
        selection
        for repeat in range(8)
        for selection in selections(contestant(name, parameters), tasks(), repeat)
        if selection is not None
    )
    for portfolio, weight in zip(PORTFOLIOS, weights, strict=True):
        assert_binomial(found[portfolio], found.total(), weight / sum(weights))


def popularity(_: Task, names: tuple[str, ...]) -> float:
    return sum(map(count, names))


def mixed(task: Task, names: tuple[str, ...], value: Callable[[str, str], float]) -> float:
    """0.7 of how the names suit the anchor, 0.3 of how they suit each other."""
    suits = sum(value(task.anchor, name) for name in names)
    return 0.7 * suits + 0.3 * sum(value(a, b) for a, b in combinations(names, 2))


def co_occurrence(task: Task, names: tuple[str, ...]) -> float:
    return mixed(task, names, count)


def with_dishes(task: Task, names: tuple[str, ...]) -> float:
    return mixed(task, names, lambda a, b: count(a, b) + 0.3 * count(a, b, table="dishes"))


@cache
def pairs_in_all() -> int:
    return sum(len(found) * (len(found) - 1) for found in sets("recipes"))


@cache
def partners(name: str) -> int:
    """Pairs that an ingredient is in, over all recipes."""
    return sum(len(sets("recipes")[at]) - 1 for at in holders("recipes", name))


def associated(a: str, b: str) -> float:
    """Normalised pointwise mutual information, by the words of ``docs/pantry.md``."""
    both, total = count(a, b), pairs_in_all()
    if not both:
        return 0.0
    information = math.log(both * total / (partners(a) * partners(b)))
    return max(0.0, information) / -math.log(both / total)


def npmi(task: Task, names: tuple[str, ...]) -> float:
    return mixed(task, names, associated)


def shared_letters(a: str, b: str) -> float:
    one, other = (
        {*zip(text, text[1:], text[2:], strict=False)}
        for text in (f"  {name.replace('_', ' ')} " for name in (a, b))
    )
    return len(one & other) / len(one | other)


def overlap(task: Task, names: tuple[str, ...]) -> float:
    return mixed(task, names, shared_letters)


Value = Callable[[Task, tuple[str, ...]], float]


@pytest.mark.parametrize(
    ("name", "parameters", "value"),
    [
        ("popularity", {}, popularity),
        ("co-occurrence", {}, co_occurrence),
        ("co-occurrence", {"sets": "recipes-and-dishes"}, with_dishes),
        ("npmi", {}, npmi),
        ("lexical-overlap", {}, overlap),
    ],
)
def test_choices_are_the_best_by_plain_counting(
    name: str, parameters: Mapping[str, Any], value: Value
) -> None:
    one = contestant(name, parameters)
    told = 0
    for task in tasks()[:320]:
        text = one.answer(task, 0).text
        threes = {
            labels: value(task, tuple(task.choices[LABELS.index(label)] for label in labels))
            for labels in PORTFOLIOS
        }
        selection = parse(text, task.choices).selection
        assert selection is not None
        if "nothing is known" not in text:
            told += 1
            # Values are in millionths, and there are up to six of them.
            assert threes[selection] >= max(threes.values()) - 6e-6
        else:
            # Without pairs, how a candidate suits the anchor is all its value.
            assert not any(value(task, (candidate,)) for candidate in task.choices)
    assert told > 80


def test_ties_are_drawn() -> None:
    names = [f"gleeb {at}" for at in range(7)]
    lines = [f"{label}. {name}" for label, name in zip(LABELS, ["salt", *names], strict=True)]
    asked = replace(tasks()[0], prompt="\n".join(lines))
    texts = [contestant("popularity").answer(asked, repeat).text for repeat in range(400)]
    assert all("salt" in text and "drawn from 21 equal choices" in text for text in texts)
    found = Counter(parse(text, asked.choices).selection for text in texts)
    assert {*found} == {labels for labels in PORTFOLIOS if "A" in labels}


def test_names_are_found_in_any_form() -> None:
    for text, name in (("Spring Onions", "scallion"), ("red-onion", "red_onion")):
        assert pantry().find(text) == pantry().tables.names.index(name)
    assert [pantry().find(text) for text in ("???", "", " ", "gleeb")] == [None] * 4


DEMANDS: list[tuple[str, Mapping[str, Any]]] = [
    ("tag-rules", {}),
    *((name, {"demands": True}) for name in ("popularity", "co-occurrence", "npmi", "attributes")),
]


@pytest.mark.parametrize(("name", "parameters"), DEMANDS)
def test_demands_are_heeded(name: str, parameters: Mapping[str, Any]) -> None:
    """Tags of the bundled panels are those of the tables, so that no choice scores 0 for them."""
    asked = tuple(t for t in tasks() if t.family in ("constraint", "regional"))
    heeds = selections(contestant(name, parameters), asked)
    ignores = selections(contestant(name, {"demands": False}), asked)

    def broken(found: list[str | None]) -> int:
        return sum(
            not (task.feasible or 0) >> PORTFOLIOS.index(str(selection)) & 1
            for task, selection in zip(asked, found, strict=True)
        )

    assert broken(heeds) == 0
    assert broken(ignores) > len(asked) / 4


def test_unknown_names_leave_it_to_chance() -> None:
    prompt = tasks()[0].prompt.replace(tasks()[0].anchor.replace("_", " "), "gleeb")
    for name in ("co-occurrence", "npmi", "shared-company", "attributes", "tag-rules"):
        texts = [
            contestant(name).answer(replace(tasks()[0], prompt=prompt), repeat).text
            for repeat in range(20)
        ]
        assert all("nothing is known here: at random" in text for text in texts)
        assert len({*texts}) > 5


# --- reading prompts -----------------------------------------------------------------------


def asked_for(task: Task) -> Question:
    """What the prompt of a task has to be read as."""
    regional, constraint = task.family == "regional", task.family == "constraint"
    return Question(
        family=task.family,
        anchor=None if regional else task.anchor.replace("_", " "),
        diet=task.diet if constraint else None,
        max_nova=task.max_nova if constraint else None,
        region=str(task.region).replace("_", " ") if regional else None,
        choices=tuple(name.replace("_", " ") for name in task.choices),
    )


@pytest.mark.parametrize("panel", ["test-1", "test-2", "development"])
def test_prompts_of_the_design_are_read(panel: str) -> None:
    for task in read_tasks(BUNDLED / panel).tasks:
        assert read_prompt(task.prompt) == asked_for(task)


@pytest.mark.parametrize("name", ["validation_tasks", "supplemental_cultural_composition"])
def test_published_prompts_are_read_and_answered(name: str) -> None:
    found = read_tasks(reference("flavourbench-lab") / f"{name}.jsonl").tasks
    for task in found:
        assert read_prompt(task.prompt) == asked_for(task)
    for entry in BLIND:
        assert None not in selections(made(entry), found)


@pytest.mark.parametrize(
    "layout", ["{}. {}", "({}) {}", "{}) {}", "- **{}.** {}", "  {}: `{}`", "> {}.\t{}  \r"]
)
def test_candidates_are_read_in_other_layouts(layout: str) -> None:
    names = ("basil", "mint", "thyme", "sage", "dill", "leek", "red onion", "beef")
    lines = [layout.format(label, name) for label, name in zip(LABELS, names, strict=True)]
    prompt = "A. good question\nWhich?\nCandidates:\n" + "\n".join(lines)
    assert read_prompt(prompt) == Question(None, None, None, None, None, names)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Two and two?\nA. 3\nB. 4\nC. 5\nD. 6",
        "\n".join(f"{label}. name" for label in "ABCDEFG"),
        "\n".join(f"{label}. name" for label in "ABCDEFGHABCDEFGH"),
        "\n".join(f"{label}. name" for label in "HGFEDCBA"),
        "\n".join(f"{label}. {'x' * 201}" for label in LABELS),
    ],
)
def test_prompts_without_eight_candidates_are_answered_at_random(prompt: str) -> None:
    assert read_prompt(prompt).choices == ()
    for name in set(NAMES) - {"cook", "first-three", "last-three", "word-vectors"}:
        one = contestant(name)
        texts = {
            one.answer(replace(tasks()[0], prompt=prompt), repeat).text for repeat in range(20)
        }
        assert all("at random" in text.lower() for text in texts)
        assert len(texts) > 5


_hostile = st.one_of(
    st.text(st.characters(), max_size=30),
    st.sampled_from(
        [
            "FINAL_SELECTION: A, B, C",
            "<think>",
            "</think>",
            "```",
            "basil\nFINAL_SELECTION: A, B, D",
            "basil\rFINAL_SELECTION: A, B, D",
            "ＦＩＮＡＬ_ＳＥＬＥＣＴＩＯＮ： A, B, E",
            "_",
            "...",
            "\ud800",
            "basil",
            "red onion",
            "x" * 300,
        ]
    ),
)


@st.composite
def prompts(draw: st.DrawFn) -> str:
    """Any text, or a real prompt with any texts for its anchor and its candidates."""
    if draw(st.booleans()):
        return draw(_hostile)
    task = draw(st.sampled_from(tasks()[::40]))
    text = task.prompt.replace(task.anchor.replace("_", " "), draw(_hostile))
    for label, name in zip(LABELS, task.choices, strict=True):
        if draw(st.booleans()):
            text = text.replace(f"{label}. {name.replace('_', ' ')}", f"{label}. {draw(_hostile)}")
    return text


@few(150)
@given(prompts(), st.integers(0, 2**64))
@example("A. x\n" + "B. " + " " * 100_000 + "\n" + "C. x" + " " * 100_000, 0)
def test_any_prompt_is_answered(prompt: str, repeat: int) -> None:
    """A hostile name does not come into the answer as a second one."""
    for entry in BLIND:
        if entry.extra is not None:
            continue
        one = contestant(entry.contestant, entry.parameters)
        said = one.answer(replace(tasks()[0], prompt=prompt), repeat)
        assert isinstance(said, Said)
        for parser in PARSERS:
            assert parse(said.text, tasks()[0].choices, parser).selection is not None


@pytest.mark.timed
@pytest.mark.parametrize("piece", [" ", "\t", "A. ", "*", "(", "x", "A. x ", "\n", "> ", "_"])
def test_long_prompts_take_no_long(piece: str) -> None:
    start = time.perf_counter()
    read_prompt("A. x" + piece * (2**20 // len(piece)) + "\x00")
    read_prompt("Which three of the candidates go best with " + piece * (2**20 // len(piece)))
    assert time.perf_counter() - start < 2


# --- names and parameters ------------------------------------------------------------------


def test_parameters_are_filled_in_as_json() -> None:
    assert dict(contestant("cook", {"temperature": Decimal("8.50")}).parameters) == {
        "format_errors": 0,
        "refusals": 0,
        "temperature": 8.5,
    }
    whole = contestant("cook", {"temperature": 8.0}).parameters["temperature"]
    assert (whole, type(whole)) == (8, int)
    assert contestant("cook", {"temperature": 10}) == contestant("cook")
    with pytest.raises(TypeError):
        contestant("cook").parameters["temperature"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("cok", {}, ("cok", "did you mean cook", *NAMES)),
        ("", {}, NAMES),
        ("\x1b[2J", {}, NAMES),
        ("chance", {"seed": 1}, ("chance", "seed", "none")),
        ("cook", {"heat": 1}, ("heat", "temperature", "refusals")),
        ("cook", {"temperature": -1}, ("temperature", "-1", "0 to 100000")),
        ("cook", {"temperature": math.nan}, ("temperature", "0 to 100000")),
        ("cook", {"temperature": math.inf}, ("temperature", "0 to 100000")),
        ("cook", {"temperature": True}, ("temperature", "true")),
        ("cook", {"temperature": 0.0001}, ("temperature", "3 decimals")),
        ("cook", {"refusals": 51}, ("refusals", "51", "0 to 50")),
        ("npmi", {"sets": "dishes"}, ("sets", "dishes", "recipes-and-dishes")),
        ("npmi", {"demands": "yes"}, ("demands", "yes", "true or false")),
        ("npmi", {"coherence": None}, ("coherence", "null", "0 to 1")),
    ],
)
def test_wrong_names_and_parameters_are_refused(
    name: str, parameters: Mapping[str, Any], says: tuple[str, ...]
) -> None:
    with pytest.raises(InputError) as refused:
        contestant(name, parameters)
    assert str(refused.value).isprintable()
    for part in says:
        assert part in str(refused.value)


def test_word_vectors_need_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ingredient_parser", None)
    with pytest.raises(InputError, match=r'pip install "flavourbench\[pantry\]"'):
        contestant("word-vectors")
    contestant("attributes")


def test_every_contestant_can_be_made_by_default() -> None:
    for name in NAMES:
        if name == "word-vectors":
            pytest.importorskip("ingredient_parser")
        one = contestant(name)
        assert (one.name, one.version >= 1) == (name, True)
        assert one.answer(tasks()[0], 0).text


def test_tables_and_tasks_share_their_names() -> None:
    """Else contestants would be at chance because nobody reads names, not for want of knowledge."""
    known = {*read_tables().names}
    assert all(known.issuperset((task.anchor, *task.choices)) for task in tasks())
