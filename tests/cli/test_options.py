"""Options, paths and usage: what is absurd is refused before anything is computed or written."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from running import SMALL, tree
from tables import long, scores, wide, write

from flavourbench import __version__

LONG, WIDE = long(scores()), wide(scores())


@pytest.fixture
def table(fb):
    return write(fb.folder / "t.csv", LONG)


# --- sizes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("draws", v) for v in ("-1", "0", "1", "10000001", "9" * 30)),
        *(("flips", v) for v in ("-1", "0", "1000000001", "9" * 30)),
        *(("seed", v) for v in ("-1", str(2**53), "9" * 30)),
        *(("alpha", v) for v in ("-0.05", "1.5", "nan", "inf", "-inf")),
        *((name, v) for name in ("draws", "flips", "seed") for v in ("x", "1.5", "1e3", "50_0x")),
        *((name, "") for name in ("draws", "flips", "seed", "alpha", "threads")),
        *(("alpha", v) for v in ("x", "5%", "0,05")),
        *(("threads", v) for v in ("0", "-1", "257", "two", "1.5")),
    ],
)
def test_absurd_numbers_are_named(fb, table, option, value):
    fb.refused("infer", table, f"--{option}", value, says=(option, value))


@pytest.mark.parametrize("value", ["0", "1", "0.0", "1.0"])
def test_a_level_at_its_limits(fb, table, value):
    fb.refused("infer", table, "--alpha", value, says=("alpha", str(float(value))))


@pytest.mark.parametrize("option", ["draws", "flips", "seed", "threads"])
def test_numbers_of_thousands_of_digits(fb, table, option):
    """Python refuses to read them; the line must not hold them all."""
    line = fb.refused("infer", table, f"--{option}", "9" * 5000, says=option)
    assert len(line) < 400


def test_draws_that_take_too_much_memory(fb):
    """200 models times 10 million draws times 8 bytes are 15 GiB; 8 GiB are the limit."""
    path = write(fb.folder / "t.csv", wide(scores(200)))
    most = 8 * 2**30 // (8 * 200)
    fb.refused("infer", path, "--draws", "10000000", says=("200 models", "15 GiB", str(most)))


def test_smallest_sizes_work(fb, table):
    found = fb.json("infer", table, "--draws", "2", "--flips", "1", "--seed", str(2**53 - 1))
    plan = found["plan"]
    assert (plan["draws"], plan["flips"], plan["seed"]) == (2, 1, 2**53 - 1)


def test_seed_and_level_are_used(fb, table):
    plain = fb.json("infer", table, *SMALL)
    assert plain == fb.json("infer", table, *SMALL, "--seed", "20260811", "--alpha", "0.05")
    other = fb.json("infer", table, *SMALL, "--seed", "1")
    assert [m["se"] for m in other["models"]] != [m["se"] for m in plain["models"]]
    assert [m["score"] for m in other["models"]] == [m["score"] for m in plain["models"]]
    wider = fb.json("infer", table, *SMALL, "--alpha", "0.01")
    assert wider["level"] == 0.99
    assert wider["max_t_critical"] > plain["max_t_critical"]


# --- columns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["tsk=task"], ("tsk", "anchor")),
        (["task"], ("task", "ROLE=NAME")),
        (["=x"], ("=x", "ROLE=NAME")),
        (["task="], ("task=", "ROLE=NAME")),
        ([""], ("ROLE=NAME",)),
        (["task=nope"], ("nope", "task", "anchor")),
        (["task=nope\x1b[31m\n"], (r"nope\x1b[31m\n",)),
        (["task=task", "task=model"], ("task", "twice")),
        (["task=anchor", "anchor=anchor"], ("anchor", "task", "column of its own")),
        (["stratum=family", "family=family"], ("family", "stratum")),
        (["name=task"], ("task", "another role")),
        (["chance=score"], ("score", "another role")),
        (["chance=model"], ("model", "another role")),
    ],
)
def test_columns_that_cannot_be(fb, table, options, says):
    given = [part for option in options for part in ("--column", option)]
    fb.refused("infer", table, *SMALL, *given, says=says)


@pytest.mark.parametrize("role", ["model", "score", "name"])
def test_roles_that_a_wide_table_has_not(fb, role):
    path = write(fb.folder / "t.csv", WIDE)
    given = ("--column", f"{role}=model-001")
    fb.refused("infer", path, "--layout", "wide", *given, says=(f"{role}=model-001", "wide"))


@pytest.mark.parametrize("option", ["layout", "cluster"])
@pytest.mark.parametrize("value", ["x", "", "Long", "\x1b"])
def test_words_that_are_no_choice(fb, table, option, value):
    shown = value.replace("\x1b", r"\x1b")
    fb.refused("infer", table, f"--{option}", value, says=(f"--{option} {shown}".rstrip(), "use"))


def test_options_that_would_do_nothing_are_refused(fb, table):
    fb.refused("infer", table, "--single-stratum", says=("--single-stratum", "panel, family"))
    fb.refused("infer", table, "--force", says=("--force", "--out"))
    clash = ("--cluster", "task", "--column", "anchor=anchor")
    fb.refused("infer", table, *clash, says=("--cluster task", "anchor"))
    assert fb("infer", table, *SMALL, "--out", "r").code == 0
    for options in (
        ("--cluster", "task"),
        ("--layout", "wide"),
        ("--single-stratum",),
        ("--column", "task=x"),
    ):
        fb.refused("infer", "r", *options, says=(options[0], "a release"))
        fb.refused("infer", *options, says=(options[0], "the bundled summary"))


# --- input paths ---------------------------------------------------------------------------


def test_paths_that_cannot_be_read(fb, table):
    (fb.folder / "folder").mkdir()
    (fb.folder / "dangling").symlink_to("nowhere")
    (fb.folder / "loop").symlink_to("loop")
    for path, reason in {
        "folder": "folder",
        ".": "folder",
        "": "folder",
        "missing.csv": "no such file",
        "missing/t.csv": "no such file",
        "dangling": "no such file",
        "loop": "symbolic link",
        "t.csv/x": "not a directory",
        "/dev/null": "empty",
    }.items():
        fb.refused("infer", path, says=(path, reason))
    fb.refused("infer", "x" * 300, says=("xxx", "name too long"))
    fb.refused("infer", "a\x1b[31m\n\u202eb", says=r"a\x1b[31m\n\u202eb")


def test_a_file_without_permission(fb, table):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    table.chmod(0)
    fb.refused("infer", table, says=("t.csv", "permission denied"))


def test_results_that_cannot_be_shown(fb, table):
    (fb.folder / "folder").mkdir()
    fb.refused("leaderboard", says=("releases", "fb infer"))
    fb.refused("leaderboard", "missing", says=("missing", "no such file"))
    fb.refused("leaderboard", "folder", says=("folder", "RELEASE.sha256"))
    fb.refused("leaderboard", table, says=("t.csv", "RELEASE.sha256"))
    fb.refused("leaderboard", "x" * 300, says="xxx")


# --- output paths --------------------------------------------------------------------------


def test_places_where_nothing_can_be_written(fb, table):
    (fb.folder / "full").mkdir()
    (fb.folder / "full/keep").write_text("mine")
    (fb.folder / "empty").mkdir()
    (fb.folder / "dangling").symlink_to("nowhere")
    (fb.folder / "loop").symlink_to("loop")
    for place in ("full", "empty", "t.csv", ".", "", "..", "/", "dangling", "loop", "full/.."):
        fb.refused("infer", table, *SMALL, "--out", place, says=("exists", "--force"))
    for place in (".", "", "..", "/", "full/.."):
        given = ("--out", place, "--force")
        fb.refused("infer", table, *SMALL, *given, says="the current folder")
    for place in ("full", "t.csv", "dangling", "loop", "/dev/null", "/dev"):
        given = ("--out", place, "--force")
        fb.refused("infer", table, *SMALL, *given, says=(place, "not replaced"))
    for place in ("t.csv/x", "t.csv/x/y", "dangling/x"):
        fb.refused(
            "infer", table, *SMALL, "--out", place, says=(place.split("/")[0], "is no folder")
        )
    fb.refused("infer", table, *SMALL, "--out", "x" * 300, says=("xxx", "name too long"))


def test_refusals_of_places_come_before_the_work(fb, table, monkeypatch):
    from flavourbench.analysis import measured

    monkeypatch.delattr(measured, "bootstrap")
    (fb.folder / "full").mkdir()
    (fb.folder / "full/keep").write_text("mine")
    for options in (("full",), ("full", "--force"), (".", "--force"), ("t.csv/x",)):
        fb.refused("infer", table, "--out", *options)
    (fb.folder / "releases").write_text("a file")
    fb.refused("infer", table, says=("releases", "is no folder"))


def test_any_name_may_stand_among_the_releases(fb, table):
    for name in ("new", "t", ".flavourbench-x"):
        (fb.folder / "releases" / name).mkdir(parents=True)
    assert fb("infer", table, *SMALL).code == 0
    assert len(list((fb.folder / "releases").iterdir())) == 4


def test_a_folder_without_permission(fb, table):
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    (fb.folder / "closed").mkdir(mode=0o500)
    fb.refused("infer", table, "--out", "closed/r", says=("closed", "not writable"))


def test_a_place_below_new_folders(fb, table):
    assert fb("infer", table, *SMALL, "--out", "a/b/c").code == 0
    assert fb("leaderboard", "a/b/c").code == 0
    assert fb("infer", table, *SMALL, "--out", "d/").code == 0
    name = "n" * 255  # the longest there is: nothing may be added to it
    assert fb("infer", table, *SMALL, "--out", name).code == 0


def test_long_names_of_tables(fb):
    path = write(fb.folder / f"{'é' * 125}.csv", LONG)
    assert fb("infer", path, *SMALL).code == 0
    assert fb("leaderboard").code == 0


def test_force_puts_a_release_in_the_place_of_another(fb, table):
    assert fb("infer", table, *SMALL, "--out", "r").code == 0
    first = tree(fb.folder / "r")
    fb.refused("infer", table, *SMALL, "--out", "r", says=("r exists", "--force"))
    assert fb("infer", table, *SMALL, "--seed", "5", "--out", "r", "--force").code == 0
    second = tree(fb.folder / "r")
    assert second.keys() == first.keys()
    assert second["manifest.json"] != first["manifest.json"]
    assert sorted(tree(fb.folder)) == sorted(["r", "t.csv", *(f"r/{name}" for name in second)])
    (fb.folder / "empty").mkdir()
    assert fb("infer", table, *SMALL, "--seed", "5", "--out", "empty", "--force").code == 0
    assert tree(fb.folder / "empty") == second


@pytest.mark.parametrize("mine", ["notes.txt", ".hidden", "sub/notes.txt"])
def test_force_keeps_what_is_not_of_a_release(fb, table, mine):
    assert fb("infer", table, *SMALL, "--out", "r").code == 0
    (fb.folder / "r" / mine).parent.mkdir(exist_ok=True)
    (fb.folder / "r" / mine).write_text("mine")
    says = (mine.split("/")[0], "beside the release")
    fb.refused("infer", table, *SMALL, "--out", "r", "--force", says=says)


@pytest.mark.parametrize("missing", ["RELEASE.sha256", "manifest.json"])
def test_force_keeps_a_folder_that_is_no_whole_release(fb, table, missing):
    assert fb("infer", table, *SMALL, "--out", "r").code == 0
    (fb.folder / "r" / missing).unlink()
    fb.refused("infer", table, *SMALL, "--out", "r", "--force", says=("r ", "no release"))


@pytest.mark.parametrize("manifest", [b"", b"[]", b"{}", b'{"files": 3}', b"\xff"])
def test_force_keeps_a_folder_with_a_strange_manifest(fb, table, manifest):
    (fb.folder / "r").mkdir()
    (fb.folder / "r/manifest.json").write_bytes(manifest)
    (fb.folder / "r/RELEASE.sha256").write_text("0")
    fb.refused("infer", table, *SMALL, "--out", "r", "--force", says=("r ", "no release"))


def test_force_does_not_pull_away_the_current_folder(fb, table, monkeypatch):
    assert fb("infer", table, *SMALL, "--out", "a/r").code == 0
    monkeypatch.chdir(fb.folder / "a/r")
    for place in (".", "../r", fb.folder / "a/r"):
        fb.refused("infer", table, *SMALL, "--out", place, "--force", says="current folder")


def test_force_through_a_link_keeps_what_the_link_led_to(fb, table):
    assert fb("infer", table, *SMALL, "--out", "r").code == 0
    before = tree(fb.folder / "r")
    (fb.folder / "link").symlink_to("r")
    assert fb("infer", table, *SMALL, "--seed", "5", "--out", "link", "--force").code == 0
    assert tree(fb.folder / "r") == before
    assert not (fb.folder / "link").is_symlink()


# --- usage ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["foo"], ("foo", "fb --help")),
        (["--nope"], ("--nope",)),
        (["infer", "--nope"], ("--nope", "fb infer --help")),
        (["infer", "a", "b"], ("b", "fb infer --help")),
        (["infer", "--draws"], ("--draws", "--help")),
        (["infer", "--force=3"], ("--force", "--help")),
        (["leaderboard", "a", "b"], ("b", "fb leaderboard --help")),
        (["foo\x1b[31m\n\u202e"], ("foo",)),
    ],
)
def test_usage_errors(fb, arguments, says):
    fb.refused(*arguments, says=says)


def test_help(fb):
    shown = fb("--help")
    assert (shown.code, shown.err) == (0, [])
    for word in ("infer", "leaderboard", "--version", "Exit codes"):
        assert word in shown.out
    assert fb() == fb("-h") == shown, "without arguments, fb shows its help"


@pytest.mark.parametrize("command", ["infer", "leaderboard", "compare", "item", "verify"])
def test_help_of_a_command_ends_with_examples_one_a_line(fb, command):
    shown = fb(command, "--help")
    assert (shown.code, shown.err) == (0, [])
    assert "\b" not in shown.out
    examples = shown.out.partition("Examples:\n")[2].splitlines()
    assert len(examples) >= 2
    for line in examples:
        assert line.strip().startswith(f"fb {command}")
        assert len(line) <= 80


def test_examples_of_the_help_are_understood(fb):
    """Every option of an example exists, and its roles too."""
    columns = {"item" if k == "anchor" else k: v for k, v in LONG.items()}
    write(fb.folder / "t.parquet", columns)
    write(fb.folder / "scores.csv", LONG)
    for command in ("infer", "leaderboard", "verify"):
        lines = fb(command, "--help").out.partition("Examples:\n")[2].splitlines()
        for line in lines:
            words = line.strip().split("   ")[0].split()[1:]
            small = SMALL if command == "infer" else ()
            assert fb(*words, *small).code == 0, line


def test_version(fb):
    assert fb("--version").out == f"flavourbench {__version__}\n"


def test_help_loads_neither_the_compiler_nor_the_tables():
    """What keeps ``fb --help`` fast."""
    names = ("numba", "llvmlite", "pyarrow", "numpy", "rich.table")
    code = (
        "import sys; from flavourbench.cli.main import main; main(['--help']);"
        f"print([name for name in {names} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_an_unknown_route_of_compilation_is_refused(fb, monkeypatch):
    monkeypatch.setenv("FBCORE_JIT", "bogus")
    path = write(fb.folder / "t.csv", wide(scores()))
    fb.refused("infer", path, *SMALL, says=("FBCORE_JIT", "bogus", "dispatch"))
