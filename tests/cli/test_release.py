"""What ``--json`` prints and a release holds; and that a release vouches for its bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil

import pytest
from running import SMALL, strict_json, tree
from tables import long, scores, wide, write

from flavourbench.analysis.release import write as release_module

INTERVALS = {"pointwise", "simultaneous", "rank_interval", "rank_set"}
MODEL = {
    *("id", "name", "score", "se", "pointwise", "simultaneous", "rank", "rank_interval"),
    *("rank_set", "group", "letters", "family_scores", "panel_scores", "chance"),
}
CHANCE = {"score", "difference", "exceedances", "p", "holm_p", "stepdown_p"}
PAIR = {
    *("left", "right", "difference", "se", "interval", "simultaneous", "dz", "p"),
    *("exceedances", "holm_p", "stepdown_p", "directed_p", "resolved"),
}
TOP = {
    *("models", "pairs", "level", "max_t_critical", "resolved_pairs", "panels", "design", "plan"),
    *("warnings", "top_model", "label", "null_hypothesis"),
    *("pair_max_t_critical", "stepdown_resolved_pairs", "decisions"),
}
DESIGN = {"models", "tasks", "clusters", "strata"}
STRATUM = {"id", "panel", "family", "tasks", "clusters"}
PLAN = {
    *("draws", "flips", "flips_drawn", "flips_exact", "redraws", "seed", "alpha", "generator"),
    *("exponent", "weight_scale", "weight_power", "largest", "multiplicity"),
}
FILES = {
    *("manifest.json", "RELEASE.sha256", "leaderboard.json", "scores.parquet", "tasks.parquet"),
    *("draws.parquet", "counts.parquet", "pairs.parquet"),
}


@pytest.fixture
def table(fb):
    return write(fb.folder / "t.csv", long(scores(5, chance=True)))


@pytest.fixture
def release(fb, table):
    assert fb("infer", table, *SMALL, "--out", "r").code == 0
    return fb.folder / "r"


# --- JSON ----------------------------------------------------------------------------------


def test_json_has_the_documented_keys(fb, table):
    found = fb.json("infer", table, *SMALL)
    assert found.keys() == TOP
    assert found["panels"].keys() == {"pearson", "spearman"}
    assert found["design"].keys() == DESIGN
    assert found["plan"].keys() == PLAN
    assert [s.keys() for s in found["design"]["strata"]] == [STRATUM] * 4
    assert [m.keys() for m in found["models"]] == [MODEL] * 5
    assert [m["chance"].keys() for m in found["models"]] == [CHANCE] * 5
    assert [p.keys() for p in found["pairs"]] == [PAIR] * 10
    for model in found["models"]:
        for key in INTERVALS:
            low, high = model[key]
            assert low <= high
        assert model["family_scores"].keys() == {"family0", "family1"}
        assert model["panel_scores"].keys() == {"panel0", "panel1"}
    assert isinstance(found["warnings"], list)


def test_models_are_listed_by_rank_and_pairs_by_id(fb, table):
    found = fb.json("infer", table, *SMALL)
    assert [m["rank"] for m in found["models"]] == [1, 2, 3, 4, 5]
    points = [m["score"] for m in found["models"]]
    assert points == sorted(points, reverse=True)
    ids = sorted(m["id"] for m in found["models"])
    pairs = [(p["left"], p["right"]) for p in found["pairs"]]
    assert pairs == [(a, b) for i, a in enumerate(ids) for b in ids[i + 1 :]]


def test_what_is_not_there_is_null(fb):
    found = fb.json("infer", write(fb.folder / "t.csv", long(scores(2, panels=1))), *SMALL)
    assert [m["chance"] for m in found["models"]] == [None, None]
    assert found["panels"] == {"pearson": None, "spearman": None}
    assert found["label"] is None


def test_leaderboard_prints_the_same_object_without_pairs(fb, table):
    found = fb.json("infer", table, *SMALL, "--out", "r")
    board = fb.json("leaderboard", "r")
    assert board == {key: value for key, value in found.items() if key != "pairs"}


def test_results_do_not_say_where_or_when(fb, table, monkeypatch):
    """No time, path, host or thread count: two folders, two names, two thread counts."""
    first = fb.json("infer", table, *SMALL, "--threads", "1", "--out", "r")
    (fb.folder / "elsewhere").mkdir()
    shutil.copy(table, fb.folder / "elsewhere/other.csv")
    monkeypatch.chdir(fb.folder / "elsewhere")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    second = fb.json("infer", "other.csv", *SMALL, "--threads", "3", "--out", "q")
    assert first == second
    assert tree(fb.folder / "r") == tree(fb.folder / "elsewhere/q")
    text = b"".join(value for value in tree(fb.folder / "r").values() if value)
    for word in (str(fb.folder), os.uname().nodename, "t.csv", "threads"):
        assert word.encode() not in text


def test_the_bundled_run_is_labelled_everywhere(fb):
    found = fb.json("infer", *SMALL)
    assert "reconstruction" in found["label"]
    assert any("reconstruction" in warning for warning in found["warnings"])
    (path,) = (fb.folder / "releases").iterdir()
    assert path.name.startswith("bundled-")
    manifest = strict_json((path / "manifest.json").read_text())
    assert manifest["label"] == found["label"]
    assert fb.json("infer", path, *SMALL) == found
    for run in (fb("leaderboard"), fb("leaderboard", path), fb("infer", path, *SMALL)):
        assert "not the raw responses" in " ".join(run.out.split())


# --- the folder ----------------------------------------------------------------------------


def test_a_release_holds_what_its_manifest_lists(release):
    names = {path.name for path in release.iterdir()}
    assert names == FILES | {"chance.parquet"}
    data = (release / "manifest.json").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    assert (release / "RELEASE.sha256").read_text() == f"{digest}  manifest.json\n"
    manifest = strict_json(data.decode())
    assert manifest["files"].keys() == names - {"manifest.json", "RELEASE.sha256"}
    for name, entry in manifest["files"].items():
        content = (release / name).read_bytes()
        assert entry["file_sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["bytes"] == len(content)
    assert manifest["models"] == [{"id": f"model-00{m}", "name": f"model-00{m}"} for m in range(5)]


def test_without_chance_levels_there_is_no_chance_file(fb):
    path = write(fb.folder / "t.csv", wide(scores()))
    assert fb("infer", path, *SMALL, "--out", "r").code == 0
    assert {p.name for p in (fb.folder / "r").iterdir()} == FILES


def test_a_release_folder_is_as_readable_as_others(fb, release):
    (fb.folder / "plain").mkdir()
    assert release.stat().st_mode == (fb.folder / "plain").stat().st_mode


def test_the_name_of_a_release_stands_for_its_content(fb, table):
    for options in ((), ("--seed", "5"), ("--threads", "2"), ("--seed", "5")):
        assert fb("infer", table, *SMALL, *options).code == 0
    paths = sorted((fb.folder / "releases").iterdir())
    assert len(paths) == 2
    for path in paths:
        assert path.name == f"t-{(path / 'RELEASE.sha256').read_text()[:12]}"


def test_the_leaderboard_of_a_folder_is_that_of_the_last_result(fb, table):
    """An equal release is kept as it is, and is the newest again all the same."""
    for seed in ("5", "6", "5"):
        assert fb("infer", table, *SMALL, "--seed", seed).code == 0
        for path in (fb.folder / "releases").iterdir():  # a second apart, without the wait
            seal = path / "RELEASE.sha256"
            os.utime(seal, ns=(0, seal.stat().st_mtime_ns - 10**9))
        assert fb.json("leaderboard")["plan"]["seed"] == int(seed)


def test_the_leaderboard_inside_a_release(fb, release, monkeypatch):
    expected = fb.json("leaderboard", "r")
    monkeypatch.chdir(release)
    assert fb.json("leaderboard") == expected


def test_an_equal_release_that_was_altered_is_said(fb, table):
    assert fb("infer", table, *SMALL).code == 0
    (path,) = (fb.folder / "releases").iterdir()
    (path / "pairs.parquet").write_bytes(b"")
    fb.refused("infer", table, *SMALL, says=(path.name, "pairs.parquet"), code=1)


# --- tampering -----------------------------------------------------------------------------


def altered(data):
    """The same number of bytes, one bit of one of them changed."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


CHANGES = {
    "flipped": altered,
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b"\n",
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_altered_file_is_refused(fb, release, change):
    for path in sorted(release.iterdir()):
        data = path.read_bytes()
        path.write_bytes(CHANGES[change](data))
        for command in (("leaderboard", "r"), ("leaderboard", "r", "--json"), ("infer", "r")):
            fb.refused(*command, says=path.name, code=1)
        path.write_bytes(data)
    assert fb("leaderboard", "r").code == 0


@pytest.mark.parametrize("instead", ["nothing", "folder", "dangling link"])
def test_a_missing_file_is_refused(fb, release, instead):
    for path in sorted(release.iterdir()):
        data = path.read_bytes()
        path.unlink()
        if instead == "folder":
            path.mkdir()
        elif instead == "dangling link":
            path.symlink_to("nowhere")
        for command in (("leaderboard", "r"), ("infer", "r")):
            fb.refused(*command, says=path.name, code=1)
        with contextlib.suppress(OSError):
            path.rmdir()
        path.unlink(missing_ok=True)
        path.write_bytes(data)
    assert fb("leaderboard", "r").code == 0


@pytest.mark.parametrize("name", ["extra.txt", ".hidden", "scores.csv", "zz\x1b[31m\n"])
def test_an_additional_file_is_refused(fb, release, name):
    (release / name).write_bytes(b"")
    shown = name.replace("\x1b", r"\x1b").replace("\n", r"\n")
    for command in (("leaderboard", "r"), ("infer", "r")):
        fb.refused(*command, says=shown, code=1)


def test_an_additional_folder_is_refused(fb, release):
    (release / "empty").mkdir()
    fb.refused("leaderboard", "r", says="empty", code=1)


def test_files_of_another_release_are_refused(fb, table, release):
    assert fb("infer", table, *SMALL, "--seed", "5", "--out", "other").code == 0
    for name in ("draws.parquet", "leaderboard.json", "manifest.json", "RELEASE.sha256"):
        own = (release / name).read_bytes()
        shutil.copy(fb.folder / "other" / name, release / name)
        fb.refused("leaderboard", "r", says=name, code=1)
        (release / name).write_bytes(own)


@pytest.mark.parametrize(
    "manifest", [b"{}", b"[]", b"\xff", b"", b'{"format":"flavourbench-release/999"}']
)
def test_a_sealed_manifest_of_another_format_is_refused(fb, manifest):
    (fb.folder / "r").mkdir()
    (fb.folder / "r/manifest.json").write_bytes(manifest)
    digest = hashlib.sha256(manifest).hexdigest()
    (fb.folder / "r/RELEASE.sha256").write_text(f"{digest}  manifest.json\n")
    for command in (("leaderboard", "r"), ("infer", "r")):
        fb.refused(*command, says=("format", "flavourbench-release/3"))


# --- nothing half-written ------------------------------------------------------------------


def failing_write(error, after):
    """A Parquet writer that raises ``error`` at its call number ``after``."""
    calls = []
    write_parquet = release_module.write_parquet

    def write_some(path, columns):
        calls.append(path)
        if len(calls) == after:
            raise error
        write_parquet(path, columns)

    return write_some


@pytest.mark.parametrize("after", [1, 3, 5])
@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError(28, "a long text of a library"), 2, "no space left on device"),
        (PermissionError(13, "x"), 2, "permission denied"),
        (OSError("text without a number"), 2, "text without a number"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError("no room"), 2, "no room"),
    ],
)
def test_what_fails_while_writing_leaves_nothing(
    fb, table, release, monkeypatch, error, code, says, after
):
    for options in ((), ("--out", "a/b/c"), ("--out", "r", "--force")):
        monkeypatch.setattr(release_module, "write_parquet", failing_write(error, after))
        fb.refused("infer", table, *SMALL, "--seed", "5", *options, says=says, code=code)
        monkeypatch.undo()
        monkeypatch.chdir(fb.folder)
    assert fb("leaderboard", "r").code == 0


@pytest.mark.parametrize("exchange", [True, False], ids=["in one step", "by two renames"])
def test_what_fails_while_replacing_keeps_the_old_release(
    fb, table, release, monkeypatch, exchange
):
    rename = type(release).rename

    def interrupted(*_folders):
        if exchange:
            raise KeyboardInterrupt
        return False

    def fails(self, target):
        if target == release.relative_to(fb.folder) and not self.name.endswith(".old"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr("flavourbench.folders._exchange", interrupted)
    monkeypatch.setattr(type(release), "rename", fails)
    given = ("--seed", "5", "--out", "r", "--force")
    fb.refused("infer", table, *SMALL, *given, says="interrupted", code=130)
