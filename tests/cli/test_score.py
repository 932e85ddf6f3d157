"""``fb score``: answers to a panel, what they are worth, and what is refused or missing."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import statistics
from fractions import Fraction
from typing import Any

import pytest
from references import reference
from running import SMALL, Command, Run
from tables import write
from task_files import (
    FAMILIES,
    Row,
    answer,
    answers,
    best,
    chosen_at_random,
    larder,
    row,
    sealed,
    small_design,
    store,
    study,
    worst,
    write_rows,
)

ROWS = study(20, panels=2, regional=3)
RANKED = [made for made in ROWS if made["family"] in FAMILIES]
FIRST = ROWS[0]["task_id"]
KEYS = {
    *("comparable", "score", "families", "chance", "interval_95", "p_chance", "coverage"),
    *("invalid_reasons", "diagnostics", "warnings", "per_task"),
}
SCORE = ("score", "answers.jsonl", "--tasks", "tasks.jsonl", *SMALL)


@pytest.fixture
def score(fb: Command) -> Command:
    """``fb`` beside a task file and answers to all of it, all the best."""
    write_rows(fb.folder / "tasks.jsonl", ROWS)
    write_rows(fb.folder / "answers.jsonl", answers(ROWS, map(best, ROWS)))
    return fb


def given(fb: Command, rows: list[Row], *options: str) -> Run:
    """Score a file of answers."""
    write_rows(fb.folder / "answers.jsonl", rows)
    return fb(*SCORE, *options)


def points(made: Row, portfolio: str) -> float:
    return float(made["selection_scores_bps"][portfolio] / 100)


def mean_of_strata(rows: list[Row], portfolios: list[str]) -> float:
    """The equal mean of the means of panel and family, ranked families only."""
    strata: dict[tuple[str, str], list[int]] = {}
    for made, portfolio in zip(rows, portfolios, strict=True):
        if made["family"] in FAMILIES:
            own = strata.setdefault((made["source_panel"], made["family"]), [])
            own.append(made["selection_scores_bps"][portfolio])
    means = [Fraction(sum(own), len(own)) for own in strata.values()]
    return float(sum(means) / len(means) / 100)


# --- what answers are worth ------------------------------------------------------------------


def test_json_has_the_documented_keys(score: Command) -> None:
    found = score.json(*SCORE)
    assert found.keys() == KEYS
    assert found["coverage"] == {"tasks": 123, "valid": 123, "invalid": 0, "missing": 0}
    assert found["invalid_reasons"] == {}
    assert [*found["families"]] == [*FAMILIES, "regional"]
    assert found["per_task"] == [
        {"task_id": made["task_id"], "selection": best(made), "reason": None, "score": 100.0}
        for made in ROWS
    ]


@pytest.mark.parametrize(("choose", "worth"), [(best, 100.0), (worst, None)])
def test_the_ends_of_the_scale(score: Command, choose, worth) -> None:
    """The worst portfolio of a made-up task is worth little, of a real one nothing."""
    portfolios = [choose(made) for made in ROWS]
    write_rows(score.folder / "answers.jsonl", answers(ROWS, portfolios))
    found = score.json(*SCORE)
    expected = mean_of_strata(ROWS, portfolios) if worth is None else worth
    assert found["score"] == pytest.approx(expected, abs=1e-9)
    low, high = found["interval_95"]
    assert low <= found["score"] <= high
    assert found["p_chance"] <= 2 / 300
    assert found["comparable"]


@pytest.mark.parametrize(("choose", "worth"), [(best, 100), (worst, 0)])
def test_the_ends_of_the_scale_of_released_tasks(fb: Command, choose, worth) -> None:
    path = reference("flavourbench-lab/validation_tasks.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    write_rows(fb.folder / "answers.jsonl", answers(rows, map(choose, rows)))
    found = fb.json("score", "answers.jsonl", "--tasks", path, *SMALL)
    assert (found["score"], found["interval_95"]) == (worth, [worth, worth])
    assert {*found["families"].values()} == {worth}


def test_random_answers_are_worth_chance(score: Command) -> None:
    """An interval of 95 % misses one time in twenty: 2 of 12 leave a margin of 1 in 50."""
    missed = 0
    for seed in range(12):
        portfolios = chosen_at_random(ROWS, seed)
        write_rows(score.folder / "answers.jsonl", answers(ROWS, portfolios))
        found = score.json(*SCORE)
        low, high = found["interval_95"]
        missed += not low <= found["chance"] <= high
        assert found["score"] == pytest.approx(mean_of_strata(ROWS, portfolios), abs=1e-9)
        if found["p_chance"] < 0.02:
            assert not low <= found["chance"] <= high
    assert missed <= 2


def test_chance_is_the_mean_of_all_portfolios(score: Command) -> None:
    found = score.json(*SCORE)
    levels = [Fraction(sum(made["selection_scores_bps"].values()), 5600) for made in RANKED]
    # All strata of these tasks have the same size.
    assert found["chance"] == pytest.approx(float(sum(levels) / len(levels)), abs=1e-9)


def test_the_order_of_lines_and_panels_changes_nothing(score: Command) -> None:
    portfolios = chosen_at_random(ROWS, 1)
    rows = answers(ROWS, portfolios)
    write_rows(score.folder / "answers.jsonl", rows)
    found = score.json(*SCORE)
    random.Random(3).shuffle(rows)
    write_rows(score.folder / "answers.jsonl", rows)
    assert score.json(*SCORE) == found
    for name in ("panel_1", "panel_2"):
        own = [made for made in ROWS if made["source_panel"] == name]
        write_rows(score.folder / f"{name}.jsonl", own)
    panels = ("--tasks", "panel_2.jsonl", "--tasks", "panel_1.jsonl")
    other = score.json("score", "answers.jsonl", *panels, *SMALL)
    assert sorted(map(str, other.pop("per_task"))) == sorted(map(str, found.pop("per_task")))
    assert other == found


def test_a_panel_folder_scores_as_its_file(score: Command) -> None:
    assert score("tasks", "import", "tasks.jsonl", "--out", "panel").code == 0
    folder = score.json("score", "answers.jsonl", "--tasks", "panel", *SMALL)
    assert folder == score.json(*SCORE)


# --- against fb infer, and by hand -----------------------------------------------------------


@pytest.mark.parametrize(("tasks", "panels", "seed"), [(20, 2, 7), (13, 1, 2**53 - 1), (31, 3, 0)])
def test_score_interval_and_p_are_those_of_fb_infer(fb: Command, tasks, panels, seed) -> None:
    rows = study(tasks, panels=panels, regional=2)
    ranked = [made for made in rows if made["family"] in FAMILIES]
    own, other = chosen_at_random(rows, 1), chosen_at_random(ranked, 2)
    write_rows(fb.folder / "tasks.jsonl", rows)
    write_rows(fb.folder / "answers.jsonl", answers(rows, own))
    plan = ("--draws", "1000", "--flips", "2000", "--seed", str(seed))
    found = fb.json("score", "answers.jsonl", "--tasks", "tasks.jsonl", *plan)
    columns: dict[str, list[Any]] = {
        "task": [made["task_id"] for made in ranked],
        "panel": [made["source_panel"] for made in ranked],
        "family": [made["family"] for made in ranked],
        "anchor": [made["anchor_ingredient"] for made in ranked],
        "chance": [sum(made["selection_scores_bps"].values()) / 5600 for made in ranked],
        "own": [points(made, p) for made, p in zip(ranked, own, strict=False)],
        "other": [points(made, p) for made, p in zip(ranked, other, strict=True)],
    }
    table = write(fb.folder / "table.csv", columns)
    models = fb.json("infer", table, *plan)["models"]
    (model,) = (entry for entry in models if entry["id"] == "own")
    assert found["score"] == model["score"]
    assert found["interval_95"] == model["pointwise"]
    assert found["p_chance"] == model["chance"]["p"]
    assert found["chance"] == model["chance"]["score"]
    families = {name: found["families"][name] for name in FAMILIES}
    assert families == pytest.approx(model["family_scores"], abs=1e-9)


def test_the_interval_of_one_stratum_is_that_of_a_mean(fb: Command) -> None:
    """One task an anchor: the bootstrap error is s / √n, the interval ± 1.96 of it."""
    rows = study(300, ("pairing",))
    portfolios = chosen_at_random(rows, 4)
    write_rows(fb.folder / "tasks.jsonl", rows)
    write_rows(fb.folder / "answers.jsonl", answers(rows, portfolios))
    plan = ("--draws", "20000", "--flips", "100")
    found = fb.json("score", "answers.jsonl", "--tasks", "tasks.jsonl", *plan)
    values = [points(made, portfolio) for made, portfolio in zip(rows, portfolios, strict=True)]
    error = statistics.pstdev(values) / math.sqrt(len(values))
    assert found["score"] == pytest.approx(statistics.mean(values), abs=1e-9)
    low, high = found["interval_95"]
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.04)
    assert (low + high) / 2 == pytest.approx(found["score"], abs=0.1 * error)


def test_p_is_exact_where_all_signs_are_enumerated(fb: Command) -> None:
    """Eight anchors, all answers above chance: only two of 256 sign vectors are as extreme."""
    rows = study(8, ("pairing",))
    write_rows(fb.folder / "tasks.jsonl", rows)
    write_rows(fb.folder / "answers.jsonl", answers(rows, map(best, rows)))
    found = fb.json(*SCORE)
    assert found["p_chance"] == 2 / 256


def test_thin_strata_have_no_interval_and_say_so(fb: Command) -> None:
    rows = study(1)
    write_rows(fb.folder / "tasks.jsonl", rows)
    write_rows(fb.folder / "answers.jsonl", answers(rows, chosen_at_random(rows, 1)))
    found = fb.json(*SCORE)
    assert (found["comparable"], found["interval_95"]) == (True, None)
    assert 0 < found["p_chance"] <= 1
    (warning,) = found["warnings"]
    assert warning.startswith("No interval: stratum panel_1/")
    assert "No interval: stratum" in fb(*SCORE).out


# --- regional tasks --------------------------------------------------------------------------


def test_regional_tasks_stay_out_of_the_score(score: Command) -> None:
    portfolios = [best(m) if m["family"] in FAMILIES else worst(m) for m in ROWS]
    write_rows(score.folder / "answers.jsonl", answers(ROWS, portfolios))
    found = score.json(*SCORE)
    assert found["score"] == 100
    assert found["families"]["regional"] < 10
    assert "regional" in " ".join(found["warnings"])
    write_rows(score.folder / "tasks.jsonl", RANKED)
    write_rows(score.folder / "answers.jsonl", answers(RANKED, portfolios[: len(RANKED)]))
    without = score.json(*SCORE)
    for key in ("score", "chance", "interval_95", "p_chance"):
        assert without[key] == found[key]


def test_regional_tasks_are_needed_for_a_comparable_score(score: Command) -> None:
    run = given(score, answers(ROWS[:-1], map(best, ROWS[:-1])), "--json")
    assert (run.code, run.json["comparable"], run.json["score"]) == (1, False, None)
    assert ROWS[-1]["task_id"] in run.err[0]
    assert run.json["families"] == dict.fromkeys(FAMILIES, 100.0) | {"regional": None}


def test_a_panel_of_regional_tasks_alone_has_a_score(fb: Command) -> None:
    rows = study(0, regional=9)
    write_rows(fb.folder / "tasks.jsonl", rows)
    write_rows(fb.folder / "answers.jsonl", answers(rows, map(best, rows)))
    found = fb.json(*SCORE)
    assert (found["score"], found["families"]) == (100, {"regional": 100})


def test_a_family_that_the_design_does_not_rank_stays_out(
    fb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(fb.folder / "cache"))
    store(fb.folder / "cache", "larder", larder())
    head, name, rest = small_design(1).partition('name = "pairing"\n')
    design = head + name + rest.replace("ranked = true", "ranked = false", 1)
    (fb.folder / "design.toml").write_text(design, encoding="utf-8")
    assert fb("compile", "--design", "design.toml").code == 0
    assert fb("tasks", "export", "panels/p1", "tasks.jsonl").code == 0
    lines = (fb.folder / "tasks.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    write_rows(fb.folder / "answers.jsonl", answers(rows, chosen_at_random(rows, 3)))
    for place in ("panels/p1", "tasks.jsonl"):
        found = fb.json("score", "answers.jsonl", "--tasks", place, *SMALL)
        ranked = [found["families"][name] for name in ("substitution", "constraint")]
        assert found["score"] == pytest.approx(statistics.mean(ranked))
        assert found["warnings"][0] == "Not part of the score: pairing, regional (never ranked)."


# --- forms of answers ------------------------------------------------------------------------

TEXT = answer(best(ROWS[0]))
READ: list[Row] = [
    {"task_id": FIRST, "response": TEXT},
    {"task_id": FIRST, "completion": TEXT},
    {"task_id": FIRST, "answer": TEXT},
    {"task_id": FIRST, "answer_markdown": TEXT},
    {"task_id": FIRST, "generation": {"answer_markdown": TEXT, "finish_reason": "stop"}},
    {"task_id": FIRST, "response": {"answer_markdown": TEXT}},
    {"task_id": FIRST, "response": {"completion": TEXT, "task_id": FIRST, "status": "ok"}},
    {"response": {"task_id": FIRST, "generation": {"answer_markdown": TEXT}}},
    {
        "release_panel": "panel_1",
        "source_path": "x",
        "response": {
            "model_id": "m",
            "task_id": FIRST,
            "status": "completed",
            "generation": {"answer_markdown": TEXT},
        },
    },
    {"task_id": FIRST, "response": TEXT, "answer": TEXT},
    {"task_id": FIRST, "response": None, "answer": TEXT},
    {"task_id": FIRST, "response": TEXT, "status": "success", "model": "m", "choices": None},
    {"task_id": FIRST, "response": TEXT, "prompt": ROWS[0]["prompt"]},
    {"task_id": FIRST, "response": TEXT, "prompt_sha256": ROWS[0]["prompt_sha256"]},
]
MISSING: list[Row] = [
    *({"task_id": FIRST, key: None} for key in ("response", "completion", "answer")),
    *({"task_id": FIRST, key: ""} for key in ("response", "answer_markdown")),
    {"task_id": FIRST, "generation": {"answer_markdown": None}},
    {"task_id": FIRST, "response": {"generation": {"answer_markdown": ""}}},
    *(
        {"task_id": FIRST, "response": TEXT, "status": status}
        for status in ("failed", "timeout", "Completed", "", None, 200, ["ok"])
    ),
    {"task_id": FIRST, "response": {"answer": TEXT, "status": "refused"}},
    {"task_id": FIRST, "status": "ok", "response": {"answer": TEXT, "status": "failed"}},
    {"task_id": FIRST, "status": "failed"},
    {"task_id": FIRST, "status": "failed", "response": {"error": "429"}, "generation": None},
]
CHAT = {"role": "assistant", "content": TEXT}
OPENAI_CHAT = {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": CHAT}]}
OPENAI = {
    "id": "r",
    "object": "response",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": TEXT}]}],
}
ANTHROPIC = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": TEXT}],
    "stop_reason": "end_turn",
}
GEMINI = {"candidates": [{"content": {"parts": [{"text": TEXT}], "role": "model"}}]}
PROVIDERS = [OPENAI_CHAT, OPENAI, ANTHROPIC, GEMINI, OPENAI | {"status": "incomplete"}]
REFUSED: list[tuple[Row, tuple[str, ...]]] = [
    ({"task_id": FIRST, "response": [TEXT]}, ("response", "not a text or null")),
    ({"task_id": FIRST, "response": 5}, ("response is 5",)),
    ({"task_id": FIRST, "response": 0}, ("response is 0",)),
    ({"task_id": FIRST, "response": False}, ("response is false",)),
    ({"task_id": FIRST, "response": True}, ("response is true",)),
    ({"task_id": FIRST, "response": {}}, ("no text",)),
    ({"task_id": FIRST, "response": {"text": TEXT}}, ("no text",)),
    ({"task_id": FIRST, "response": {"response": {"answer": TEXT}}}, ("no text",)),
    ({"task_id": FIRST, "response": {"text": TEXT}, "answer": TEXT}, ("no text",)),
    ({"task_id": FIRST, "answer": {"answer_markdown": TEXT}}, ("answer is {",)),
    ({"task_id": FIRST, "completion": ["\x1b[31m"]}, ("completion", "u001b")),
    ({"task_id": FIRST, "generation": TEXT}, ("no text",)),
    ({"task_id": FIRST, "generation": {"text": TEXT}}, ("no text",)),
    ({"task_id": FIRST, "generation": {"answer_markdown": [TEXT]}}, ("generation.answer",)),
    ({"task_id": FIRST, "text": TEXT}, ("task_id, text", "no text")),
    ({"task_id": FIRST}, ("task_id", "no text")),
    ({"task_id": FIRST, "response": TEXT, "answer": "x"}, ("response, answer", "different")),
    ({"task_id": FIRST, "response": {"answer": TEXT, "completion": ""}}, ("different",)),
    ({"response": TEXT}, ("no task_id",)),
    ({"id": FIRST, "response": TEXT}, ("no task_id",)),
    ({"task_id": 1, "response": TEXT}, ("task_id is 1",)),
    ({"task_id": None, "response": TEXT}, ("task_id is None",)),
    ({"task_id": [FIRST], "response": TEXT}, ("task_id", "one text")),
    ({"task_id": FIRST, "response": {"task_id": "x", "answer": TEXT}}, (FIRST, "x", "one text")),
    ({"task_id": FIRST, "response": TEXT, "prompt": "x"}, ("prompt", FIRST)),
    ({"task_id": FIRST, "response": TEXT, "prompt": None}, ("prompt", FIRST)),
    ({"task_id": FIRST, "response": TEXT, "prompt_sha256": "0"}, ("prompt_sha256", FIRST)),
    ({"task_id": FIRST, "response": TEXT, "release_panel": "p9"}, ("panel_1", "p9", FIRST)),
    *(({"task_id": FIRST} | whole, ("provider's object", "no text")) for whole in PROVIDERS),
    *(({"task_id": FIRST, "response": w}, ("provider's object", "no text")) for w in PROVIDERS),
    *((whole, ("no task_id",)) for whole in PROVIDERS),
]


@pytest.mark.parametrize("form", READ)
def test_every_documented_form_is_read(score: Command, form: Row) -> None:
    rest = answers(ROWS[1:], map(best, ROWS[1:]))
    run = given(score, [*rest, form], "--json")
    assert (run.code, run.err) == (0, [])
    assert run.json["per_task"][0] == {
        "task_id": FIRST,
        "selection": best(ROWS[0]),
        "reason": None,
        "score": 100,
    }


@pytest.mark.parametrize("form", MISSING)
def test_null_nothing_and_what_did_not_complete_is_missing(score: Command, form: Row) -> None:
    run = given(score, [form, *answers(ROWS[1:], map(best, ROWS[1:]))], "--json")
    assert run.code == 1
    assert run.json["coverage"] == {"tasks": 123, "valid": 122, "invalid": 0, "missing": 1}
    own = run.json["per_task"][0]
    assert own == {"task_id": FIRST, "selection": None, "reason": "missing", "score": None}


@pytest.mark.parametrize(("form", "says"), REFUSED)
def test_any_other_form_is_refused_with_its_line(score: Command, form: Row, says) -> None:
    rest = answers(ROWS[1:], map(best, ROWS[1:]))
    write_rows(score.folder / "answers.jsonl", [*rest[:6], form, *rest[6:]])
    score.refused(*SCORE, says=("answers.jsonl line 7: ", *says))


def test_half_a_surrogate_pair_in_an_answer_is_only_text(score: Command) -> None:
    rows = answers(ROWS, map(best, ROWS))
    rows[0]["response"] = "\ud800\n" + TEXT
    text = "".join(json.dumps(entry) + "\n" for entry in rows)
    (score.folder / "answers.jsonl").write_text(text, encoding="utf-8")
    assert score.json(*SCORE)["score"] == 100


# --- which tasks -----------------------------------------------------------------------------


def test_a_task_answered_twice_is_refused_with_both_lines(score: Command) -> None:
    rows = answers(ROWS, map(best, ROWS))
    for again in (rows[2], rows[2] | {"response": None}):
        write_rows(score.folder / "answers.jsonl", [*rows, again])
        score.refused(*SCORE, says=("line 124: ", ROWS[2]["task_id"], "line 3"))


def test_answers_to_no_task_are_refused(score: Command) -> None:
    rows = answers(ROWS, map(best, ROWS))
    alien = {"task_id": "t-\x1b[31m", "response": TEXT}
    write_rows(score.folder / "answers.jsonl", [rows[0], alien, *rows[1:]])
    says = ("answers.jsonl line 2: ", "1 of 124", r"t-\x1b[31m", "panel_1, panel_2")
    score.refused(*SCORE, says=says)


def test_answers_to_another_panel_are_refused(score: Command) -> None:
    """They must not count as an empty answer file."""
    write_rows(score.folder / "tasks.jsonl", ROWS[:60])
    says = ("line 61: ", "63 of 123", "and 58 more", "--tasks")
    score.refused(*SCORE, says=says)


def test_the_same_panel_twice_is_refused(score: Command) -> None:
    given = ("--tasks", "tasks.jsonl", "--tasks", "tasks.jsonl")
    score.refused("score", "answers.jsonl", *given, says=("tasks.jsonl", FIRST, "once"))


def test_panels_of_different_environments_or_designs_are_refused(fb: Command, monkeypatch) -> None:
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(fb.folder / "cache"))
    for at, name in enumerate(("first", "second")):
        store(fb.folder / "cache", name, larder(5 + at))
    for name, env, seed in (("a", "first", ""), ("b", "second", ""), ("c", "first", "new ")):
        design = small_design(1).replace("seed 1", f"{seed}seed 1")
        (fb.folder / "design.toml").write_text(design, encoding="utf-8")
        more = ("--env", env, "--title", "t", "--out", name)
        assert fb("compile", "--design", "design.toml", *more).code == 0
    assert fb("tasks", "template", "a/p1", "answers.jsonl").code == 0
    first = ("score", "answers.jsonl", "--tasks", "a/p1", "--tasks")
    fb.refused(*first, "b/p1", says=("p1", "different environments"))
    fb.refused(*first, "c/p1", says=("p1", "different designs"))
    write_rows(fb.folder / "tasks.jsonl", ROWS)
    fb.refused(*first, "tasks.jsonl", says=("p1 do:", "panel_2 do not say", "environment"))
    shutil.copytree(fb.folder / "a/p1", fb.folder / "copy")
    fb.refused(*first, "copy", says=("p1 and p1", "once"))
    fb.refused(*first, "a", says="name one of them")


def test_panels_that_are_read_differently_are_refused(score: Command) -> None:
    own = sealed(row(70) | {"parser": "fb-1"})
    write_rows(score.folder / "own.jsonl", [own])
    given = ("score", "answers.jsonl", "--tasks", "tasks.jsonl", "--tasks", "own.jsonl")
    score.refused(*given, says=("fb-1", "published-v3"))


# --- incomplete ------------------------------------------------------------------------------


def test_what_is_missing_is_said_in_one_line_below_all_that_is_known(score: Command) -> None:
    rows = answers(ROWS, map(best, ROWS))
    rows[0]["response"] = "I cannot choose."
    rows[1]["response"] = "FINAL_SELECTION: A, A, B"
    rows[2]["response"] = "Nor can I."
    del rows[7:12], rows[20]
    run = given(score, rows)
    (line,) = run.err
    assert run.code == 1
    assert line.startswith("fb: no comparable score: of 123 tasks 6 missing (")
    assert f"3 invalid ({FIRST}, " in line
    assert "and 3 more" in line
    assert "No comparable score" in run.out
    assert "114 valid, 3 invalid, 6 missing of 123 tasks" in run.out
    found = score(*SCORE, "--json")
    assert (found.code, found.err) == (1, run.err)
    told = found.json
    assert told.keys() == KEYS
    assert told["coverage"] == {"tasks": 123, "valid": 114, "invalid": 3, "missing": 6}
    assert sum(told["invalid_reasons"].values()) == 3
    for key in ("score", "interval_95", "p_chance"):
        assert told[key] is None
    assert told["chance"] > 0
    reasons = [entry["reason"] for entry in told["per_task"]]
    assert reasons.count("missing") == 6
    assert reasons.count(None) == 114
    assert all((e["score"] is None) == (e["reason"] is not None) for e in told["per_task"])


def test_an_unfilled_template_lacks_everything(score: Command) -> None:
    assert score("tasks", "template", "tasks.jsonl", "answers.jsonl", "--force").code == 0
    run = score(*SCORE, "--json")
    assert run.code == 1
    assert "123 missing" in run.err[0]
    assert {*run.json["families"].values()} == {None}
    assert [row["mean_valid"] for row in run.json["diagnostics"]] == [None] * 4


def test_a_filled_template_is_scored(score: Command) -> None:
    lines = score("tasks", "template", "tasks.jsonl").out.splitlines()
    filled = [json.loads(line) for line in lines]
    for entry, made in zip(filled, ROWS, strict=True):
        entry["response"] = answer(best(made))
    write_rows(score.folder / "answers.jsonl", filled)
    assert score.json(*SCORE)["score"] == 100


# --- options, files, views -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--draws", "1"), "--draws 1 "),
        (("--flips", "0"), "--flips 0 "),
        (("--seed", "-1"), "--seed -1 "),
        (("--draws", "x"), "'x'"),
        (("--alpha", "0.1"), "--alpha"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_read(fb: Command, options, says) -> None:
    fb.refused("score", "absent", "--tasks", "absent", *options, says=says)


def test_files_that_cannot_be_read_are_refused(score: Command) -> None:
    (score.folder / "empty").write_bytes(b"\n")
    tasks = ("--tasks", "tasks.jsonl")
    score.refused("score", "absent.jsonl", *tasks, says="absent.jsonl: no such file")
    score.refused("score", ".", *tasks, says="is a directory")
    score.refused("score", "empty", *tasks, says="empty has no lines")
    score.refused("score", "answers.jsonl", says="--tasks")
    score.refused("score", "answers.jsonl", "--tasks", "absent", says="absent: no such file")
    score.refused("score", "tasks.jsonl", "--tasks", "answers.jsonl", says="answers.jsonl line 1")


def test_seed_and_sizes_matter_and_nothing_else(score: Command) -> None:
    portfolios = chosen_at_random(ROWS, 2)
    write_rows(score.folder / "answers.jsonl", answers(ROWS, portfolios))
    found = score.json(*SCORE)
    assert score.json(*SCORE) == found
    for option in (("--seed", "1"), ("--draws", "201")):
        other = score.json(*SCORE, *option)
        assert other["interval_95"] != found["interval_95"]
        assert other["score"] == found["score"]


@pytest.mark.parametrize("columns", ["80", "40", "24"])
@pytest.mark.parametrize("complete", [True, False])
def test_the_view_fits_and_says_what_json_says(
    score: Command, monkeypatch, columns: str, complete: bool
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    kept = ROWS if complete else ROWS[3:]
    write_rows(score.folder / "answers.jsonl", answers(kept, map(best, kept)))
    run = score(*SCORE)
    assert run.code == (0 if complete else 1)
    assert all(len(line) <= int(columns) for line in run.out.splitlines())
    text = " ".join(run.out.split())
    assert f"{len(kept)} valid, 0 invalid, {123 - len(kept)} missing" in text
    assert ("score 100.00 (95 % 100.00 to 100.00)" in text) == complete
    assert "…" not in text


def test_a_terminal_that_knows_only_ascii_is_served(shell, score: Command) -> None:
    rows = answers(ROWS[1:], map(best, ROWS[1:]))
    write_rows(score.folder / "answers.jsonl", rows)
    run = shell(*SCORE, PYTHONIOENCODING="ascii")
    assert run.code == 1
    assert run.out.isascii()
    assert re.search(r"substitution +100\.00 +\d+\.\d\d +39 +40", run.out)
    piped = shell(*SCORE, "--json", PYTHONIOENCODING="ascii")
    assert piped.json == score(*SCORE, "--json").json
