"""``fb compile``: an environment and a design give panels, or one line and nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from bundles import synthetic
from running import Command, launch, lines_of, tree
from task_files import larder, small_design, store

from flavourbench.tasks.design import design_text

FAMILIES = {"substitution", "pairing", "constraint", "regional"}
PANELS = ["p1", "p2", "p3"]
SMALL = ("--design", "design.toml")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one environment."""
    folder = tmp_path_factory.mktemp("cache")
    store(folder, "larder", larder())
    return folder


@pytest.fixture
def made(fb: Command, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``fb`` beside a store of one environment and a small design, ``design.toml``."""
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(cache))
    monkeypatch.setenv("FLAVOURBENCH_ENV", "larder")
    (fb.folder / "design.toml").write_text(small_design(), encoding="utf-8")
    return fb


@pytest.fixture(scope="module")
def large_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one environment that suffices for most of the packaged design."""
    folder = tmp_path_factory.mktemp("large")
    store(folder, "larder", larder(parts=3))
    return folder


@pytest.fixture
def large(fb: Command, large_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``fb`` beside a store of one larger environment."""
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(large_cache))
    monkeypatch.setenv("FLAVOURBENCH_ENV", "larder")
    return fb


# --- what it makes ---------------------------------------------------------------------------


def test_json_tells_each_panel_and_where_it_is(made: Command) -> None:
    panels = made.json("compile", *SMALL, "--out", "a/panels", "--title", "The Larder")
    assert [panel["panel"] for panel in panels] == PANELS
    for panel in panels:
        assert set(panel) == {
            *("panel", "folder", "path", "tasks", "anchors", "families", "parser"),
            *("environment", "warnings"),
        }
        assert set(panel["families"]) == FAMILIES
        assert sum(panel["families"].values()) == panel["tasks"] >= 20
        assert panel["path"] == f"a/panels/{panel['panel']}"
        assert (panel["parser"], panel["environment"]) == ("fb-1", "The Larder")
        assert made("tasks", "verify", panel["path"]).code == 0
    assert sorted(path.name for path in (made.folder / "a/panels").iterdir()) == PANELS


def test_the_view_names_panels_and_folder(made: Command) -> None:
    run = made("compile", *SMALL)
    assert (run.code, run.err) == (0, [])
    assert all(panel in run.out for panel in PANELS)
    assert run.out.splitlines()[-1] == "Folder: panels"
    assert max(map(len, run.out.splitlines())) <= 80


def test_strata_that_could_not_be_filled_are_told(large: Command) -> None:
    panels = large.json("compile")
    assert [bool(panel["warnings"]) for panel in panels] == [False, False, True]
    for warning in panels[2]["warnings"]:
        assert re.fullmatch(
            r"panel development, constraint: stratum \d has \d+ of 24 tasks", warning
        )
    view = large("compile", "--force").out
    assert " ".join(view.split()).count("Warning: panel ") == len(panels[2]["warnings"])
    listing = {panel["panel"]: panel["warnings"] for panel in large.json("tasks", "list")}
    assert listing == {panel["panel"]: panel["warnings"] for panel in panels}


def test_the_same_input_gives_the_same_bytes(made: Command, shell) -> None:
    assert made("compile", *SMALL, "--out", "a").code == 0
    assert shell("compile", *SMALL, "--out", "b", PYTHONHASHSEED="7").code == 0
    assert tree(made.folder / "a") == tree(made.folder / "b")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("seed 2", "seed two"),
        lambda text: text.replace("weights = [0.8, 0.2]", "weights = [0.7, 0.3]"),
        lambda text: text.replace("A culinary decision", "A decision"),
    ],
)
def test_another_design_gives_other_task_ids(made: Command, change) -> None:
    def ids(folder: str) -> set[str]:
        listing = made.json("tasks", "list", f"{folder}/p1")
        return {task["task_id"] for task in listing}

    assert made("compile", *SMALL, "--out", "a").code == 0
    (made.folder / "other.toml").write_text(change(small_design()), encoding="utf-8")
    assert made("compile", "--design", "other.toml", "--out", "b").code == 0
    assert not ids("a") & ids("b")


def test_the_title_is_what_prompts_call_the_environment(made: Command) -> None:
    assert made("compile", *SMALL, "--title", "{Grandmother's} larder %s").code == 0
    (first, *_) = made.json("tasks", "list", "panels/p1")
    prompt = made.json("tasks", "show", first["task_id"])["prompt"]
    assert "given by {Grandmother's} larder %s, a fixed model" in prompt


def test_the_environment_may_be_named(made: Command, monkeypatch, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("two")
    store(folder, "first", larder())
    store(folder, "second", larder(6))
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(folder))
    made.refused("compile", *SMALL, says=("no environment 'larder'", "pantry, first, second"))
    (panel, *_) = made.json("compile", *SMALL, "--env", "second", "--out", "named")
    assert panel["environment"] == "second"
    monkeypatch.setenv("FLAVOURBENCH_ENV", "first")
    for given, name in (((), "first"), (("--env", "second"), "second")):
        (panel, *_) = made.json("compile", *SMALL, *given, "--out", f"panels-{name}")
        assert panel["environment"] == name
    assert tree(made.folder / "panels-second") == tree(made.folder / "named")
    assert tree(made.folder / "panels-first") != tree(made.folder / "named")


@pytest.mark.parametrize("stored", [0, 1, 2])
def test_the_pantry_is_compiled_by_default(made: Command, monkeypatch, stored: int) -> None:
    """However many are stored; prompts call it by its title."""
    for number in range(stored):
        store(made.folder / "cache", f"own-{number}", larder())
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(made.folder / "cache"))
    monkeypatch.delenv("FLAVOURBENCH_ENV")
    _pantry_is_compiled(made)


def test_the_pantry_is_compiled_without_a_home_folder(made: Command, monkeypatch) -> None:
    for name in ("FLAVOURBENCH_ENV", "FLAVOURBENCH_CACHE"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("fbcore._objects.cache_roots", list)
    _pantry_is_compiled(made)


def _pantry_is_compiled(fb: Command) -> None:
    panels = fb.json("compile", *SMALL, "--out", "default")
    assert [panel["environment"] for panel in panels] == ["Open Pantry"] * len(PANELS)
    assert fb("compile", *SMALL, "--env", "pantry", "--out", "named").code == 0
    assert tree(fb.folder / "default") == tree(fb.folder / "named")
    (task, *_) = fb.json("tasks", "list", "default/p1")
    shown = fb.json("tasks", "show", task["task_id"], "--tasks", "default/p1", "--env", "pantry")
    assert "given by Open Pantry, a fixed model" in shown["prompt"]
    checks = fb.json("tasks", "verify", "default/p1", "--env", "pantry")["checks"]
    assert all(check["passed"] for check in checks)


# --- the design ------------------------------------------------------------------------------


def test_the_printed_design_is_the_packaged_one(made: Command) -> None:
    run = made("compile", "--print-design")
    assert (run.code, run.out, run.err) == (0, design_text(), [])
    assert list(made.folder.iterdir()) == [made.folder / "design.toml"]


def test_any_terminal_prints_the_design(shell) -> None:
    run = shell("compile", "--print-design", PYTHONIOENCODING="ascii")
    assert (run.code, run.out) == (0, design_text())


def test_the_printed_design_gives_the_same_panels(large: Command) -> None:
    text = large("compile", "--print-design").out
    (large.folder / "own.toml").write_bytes(text.encode())
    assert large("compile", "--out", "packaged").code == 0
    assert large("compile", "--design", "own.toml", "--out", "own").code == 0
    assert tree(large.folder / "packaged") == tree(large.folder / "own")


def test_a_title_that_completes_an_answer_is_refused(made: Command) -> None:
    """No text shows three labels; a prompt made of them does."""
    text = small_design().replace("given by {environment}", "as in {environment}, C")
    (made.folder / "design.toml").write_text(text, encoding="utf-8")
    assert made("compile", *SMALL, "--title", "Larder", "--out", "sound").code == 0
    made.refused("compile", *SMALL, "--title", "A, B", says=("A, B, C", "answer"))
    made.refused("compile", *SMALL, "--title", "A, B or H", says=("A, B or H", "answer"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace("strata = 4", "strata = 0"), ("strata", "0")),
        (lambda text: text.replace('rule = "poles"', 'rule = "holes"'), ("rule", "holes")),
        (lambda text: text.replace("among = 48", "amongst = 48"), "among"),
        (lambda text: text.replace('seed = "seed 2"', 'seed = "seed 1"'), "seed 1"),
        (lambda text: text.replace("{anchor}", "{ankor}"), "ankor"),
        (lambda text: text.replace("[selection]", "[selection"), "no TOML"),
        (lambda text: text.replace("FINAL_SELECTION:", "FINAL_SELECTION: A, B, C"), "answer"),
        (lambda text: text.replace("FINAL_SELECTION:", "ANSWER:"), "FINAL_SELECTION:"),
        (lambda text: text + "\x1b[31m", "no TOML"),
        (lambda text: "", "missing"),
        (lambda text: "a = " + "[" * 2000, "no TOML"),
    ],
)
def test_a_bad_design_is_refused_with_its_file_and_value(made: Command, change, says) -> None:
    text = change(small_design())
    assert text != small_design()
    (made.folder / "design.toml").write_text(text, encoding="utf-8")
    line = made.refused("compile", *SMALL, says=says)
    assert line.startswith("fb: design.toml")


def test_a_design_that_cannot_be_read_is_refused(made: Command) -> None:
    made.refused("compile", "--design", "absent.toml", says=("absent.toml", "no such file"))
    made.refused("compile", "--design", ".", says="directory")
    (made.folder / "design.toml").write_bytes(b"\xff\xfe")
    made.refused("compile", *SMALL, says="design.toml")


# --- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "says"),
    [
        ("", "title"),
        ("  ", "title"),
        ("a\nb", r"a\nb"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\u202eabc", r"\u202eabc"),
    ],
)
def test_a_title_that_is_no_name_is_refused(made: Command, title: str, says: str) -> None:
    made.refused("compile", *SMALL, "--title", title, says=("title", says))


def test_an_unknown_environment_is_refused(made: Command, monkeypatch) -> None:
    made.refused("compile", *SMALL, "--env", "lardr", says=("lardr", "larder"))
    made.refused("compile", *SMALL, "--env", "../x", says="../x")
    monkeypatch.setenv("FLAVOURBENCH_ENV", "lardr")
    made.refused("compile", *SMALL, says=("no environment 'lardr'", "pantry, larder"))
    assert made("compile", *SMALL, "--env", "larder").code == 0
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(made.folder / "empty"))
    given = ("compile", *SMALL, "--out", "other")
    made.refused(*given, says=("no environment 'lardr'", "known are pantry (see `fb env import`)"))
    made.refused(*given, "--env", "larder", says="no environment 'larder'")


def test_a_family_without_a_task_is_named(made: Command) -> None:
    made.refused("compile", says=("panel test-1: 0 tasks of family regional", "use a larger"))


@pytest.mark.parametrize("items", [17, 40, 120])
def test_a_small_environment_is_refused_in_one_line(made: Command, monkeypatch, items) -> None:
    store(made.folder / "cache", "shelf", synthetic(1, items, 8))
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(made.folder / "cache"))
    says = ("panel test-1", "substitution", "larger environment")
    made.refused("compile", "--env", "shelf", says=says)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling would fail the test."""

    def worked(*_arguments, **_options):
        raise AssertionError("compiled before it was refused")

    monkeypatch.setattr("flavourbench.tasks.compiler.compile_panels", worked)


def _nothing(folder: Path) -> None:
    folder.mkdir()


def _a_file(folder: Path) -> None:
    folder.write_text("mine", encoding="utf-8")


def _own_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")


def _hidden(folder: Path) -> None:
    folder.mkdir()
    (folder / ".git").mkdir()


def _dangling(folder: Path) -> None:
    folder.symlink_to("nowhere")


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("there", [_nothing, _a_file, _own_folder, _hidden, _dangling])
def test_what_is_there_is_told_before_the_work(made: Command, there) -> None:
    there(made.folder / "out")
    made.refused("compile", *SMALL, "--out", "out", says=("out exists", "--force"))


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("there", [_a_file, _own_folder, _hidden, _dangling])
def test_force_replaces_nothing_but_panels(made: Command, there) -> None:
    there(made.folder / "out")
    made.refused("compile", *SMALL, "--out", "out", "--force", says="out is not replaced")


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("out", [".", "", "/", "design.toml/x"])
def test_a_place_that_cannot_be_used_is_told_before_the_work(made: Command, out: str) -> None:
    made.refused("compile", *SMALL, "--out", out, "--force")


def test_force_keeps_panels_with_something_beside_them(made: Command, monkeypatch) -> None:
    assert made("compile", *SMALL).code == 0
    given = ("compile", *SMALL, "--force", "--out")
    for extra in ("panels/notes.txt", "panels/p1/notes.txt", "panels/.hidden"):
        (made.folder / extra).write_text("mine", encoding="utf-8")
        made.refused(*given, "panels", says=(Path(extra).name, "not replaced"))
        (made.folder / extra).unlink()
    made.refused(*given, "panels/p1", says="not replaced")
    assert made("tasks", "export", "panels/p1", "tasks.jsonl").code == 0
    made.refused(*given, "tasks.jsonl", says="not replaced")


def test_force_replaces_panels_even_damaged_ones(made: Command) -> None:
    assert made("compile", *SMALL, "--out", "kept").code == 0
    shutil.copytree(made.folder / "kept", made.folder / "panels")
    (made.folder / "panels/p2/tasks.parquet").write_bytes(b"damaged")
    shutil.rmtree(made.folder / "panels/p3")
    assert made("compile", *SMALL, "--force").code == 0
    assert tree(made.folder / "panels") == tree(made.folder / "kept")
    (made.folder / "empty").mkdir()
    assert made("compile", *SMALL, "--force", "--out", "empty").code == 0
    assert tree(made.folder / "empty") == tree(made.folder / "kept")


def test_what_appears_while_compiling_is_kept(made: Command, monkeypatch) -> None:
    from flavourbench.tasks import compiler

    compile_panels = compiler.compile_panels

    def meanwhile(*arguments):
        _own_folder(made.folder / "out")
        return compile_panels(*arguments)

    monkeypatch.setattr(compiler, "compile_panels", meanwhile)
    run = made("compile", *SMALL, "--out", "out")
    assert (run.code, run.out) == (2, "")
    assert run.err == ["fb: out exists: choose another or pass --force"]
    assert [*tree(made.folder / "out")] == ["notes.txt"]


# --- stopping --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "code", "says"),
    [(KeyboardInterrupt(), 130, "interrupted"), (OSError(28, "x"), 2, "no space left")],
)
def test_a_failure_amid_the_panels_leaves_what_was_there(
    made: Command, monkeypatch, failure, code, says
) -> None:
    from flavourbench.tasks import panel

    assert made("compile", *SMALL).code == 0
    fill, calls = panel._fill, []

    def stops(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise failure
        fill(*arguments)

    monkeypatch.setattr(panel, "_fill", stops)
    for given in (("--force",), ("--out", "new")):
        calls.clear()
        made.refused("compile", *SMALL, *given, code=code, says=says)
        assert len(calls) == 2


@pytest.mark.parametrize("delay", [0.0, 0.3])
@pytest.mark.parametrize("given", [(), ("--force", "--out", "old")])
def test_an_interrupt_while_compiling_leaves_nothing(made: Command, script, delay, given) -> None:
    """The design comes through a named pipe: once it is read, the work begins."""
    assert made("compile", *SMALL, "--out", "old").code == 0
    before = tree(made.folder)
    os.mkfifo(made.folder / "pipe")
    process = subprocess.Popen(
        launch(script, "compile", "--design", "pipe", *given),
        cwd=made.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    (made.folder / "pipe").write_text(small_design(300), encoding="utf-8")
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        shown, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, shown) == (130, b"")
    assert lines_of(errors.decode()) == ["fb: interrupted"]
    (made.folder / "pipe").unlink()
    assert tree(made.folder) == before
