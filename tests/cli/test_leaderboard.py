"""The leaderboard on any screen: whole lines, whole numbers, visible groups."""

from __future__ import annotations

import contextlib
import io
import math
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console
from running import strict_json
from tables import long, scores, wide, write

from flavourbench.cli.main import main
from flavourbench.report.strips import shorten
from flavourbench.report.terminal import print_leaderboard

STRIP = re.compile(r"^[├─●┤|o-]{1,}$")
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
LONG_NAME = "an-unusually-long-model-name-of-which-there-are-many-with-differences-at-the-end-"
HEADS = ["#", "ranks", "model", "score", "band"]
SMALL = ["--draws", "100", "--flips", "20000"]
WIDE_NAME = "とても長い日本語のモデル名前です"


def tables():
    """Score tables that press on the layout in different ways."""
    many = scores(12, families=3, tasks=40, spread=3)
    families = [f"a-long-family-name-{t % 12:02d}" for t in range(len(many.tasks))]
    like = [f"the-same-beginning-{f[-1]}" for f in many.families]
    return {
        "3 models": scores(3, families=3, spread=20),
        "2 families": scores(8, families=2),
        "12 families": replace(many, panels=["p"] * len(many.tasks), families=families),
        "like families": replace(many, families=like),
        "200 models": scores(200, families=3, tasks=20, spread=0.4),
        "long names": many.named([f"{LONG_NAME}{m}" for m in range(12)]),
        "wide characters": many.named([f"{WIDE_NAME}{m}" for m in range(12)]),
        "one letter": many.named("abcdefghijkl"),
        "millions": scores(6, scale=1e5, decimals=0),
        "thousandths": scores(6, scale=1e-4, decimals=6),
    }


@pytest.fixture(scope="module")
def boards(tmp_path_factory):
    """A release for each table, and what ``--json`` says of it."""
    folder = tmp_path_factory.mktemp("boards")
    found = {}
    for key, table in tables().items():
        path = write(folder / f"{key}.csv", wide(table))
        sizes = ["--draws", "100", "--flips", "20000" if len(table.models) < 100 else "300"]
        assert run_quietly("infer", str(path), *sizes, "--out", str(folder / key))[0] == 0
        code, out = run_quietly("leaderboard", str(folder / key), "--json")
        assert code == 0
        found[key] = (folder / key, strict_json(out))
    return found


def run_quietly(*arguments):
    """Exit code and output, where the fixture of a single test cannot serve."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(list(arguments))
    return code, out.getvalue()


def rows_of(out):
    """Cells of the model rows, and where the rules between them are."""
    rows, rules = [], []
    lines = out.splitlines()
    head = next(i for i, line in enumerate(lines) if re.match(r" *# ", line))
    for line in lines[head + 2 :]:
        if re.match(r"\d+ models", line):
            break
        if set(line) <= set("╌."):
            rules.append(len(rows))
        else:
            rows.append(line.split())
    return lines[head].split(), rows, rules


def close(text, value):
    """Whether ``text`` is ``value`` rounded to the decimals it shows."""
    decimals = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5000001 * 10.0**-decimals


@pytest.mark.parametrize("columns", [24, 40, 60, 80, 81, 100, 120, 160, 240])
@pytest.mark.parametrize("key", list(tables()))
def test_lines_fit_and_numbers_are_whole(fb, boards, monkeypatch, key, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    path, board = boards[key]
    shown = fb("leaderboard", path)
    assert (shown.code, shown.err) == (0, [])
    assert "\x1b" not in shown.out, "no escape codes where the output is no terminal"
    for line in shown.out.splitlines():
        assert cell_len(line) <= columns, line
    head, rows, rules = rows_of(shown.out)
    models = board["models"]
    assert len(rows) == len(models)
    ends = [i for i in range(1, len(models)) if models[i]["group"] != models[i - 1]["group"]]
    assert rules == ends, "a rule between groups and nowhere else"
    for model, cells in zip(models, rows, strict=True):
        if "letters" in head:
            assert cells.pop() == "".join(model["letters"])
        rank, *cells, group = cells
        assert (int(rank), int(group)) == (model["rank"], model["group"])
        for name, key in (("ranks", "rank_interval"), ("set", "rank_set")):
            if name in head:
                low, high = cells.pop(0).split("–")
                assert [int(low), int(high)] == model[key]
        name, score, *cells = cells
        assert name == model["name"] or "…" in name
        assert close(score, model["score"])
        if "band" in head:
            low, high = cells.pop(0).split("–")
            assert close(low, model["simultaneous"][0])
            assert close(high, model["simultaneous"][1])
        if cells and STRIP.match(cells[0]):
            cells.pop(0)
        assert len(cells) in (0, len(model["family_scores"]))
        for text, value in zip(cells, model["family_scores"].values(), strict=False):
            assert close(text, value)


@pytest.mark.parametrize("key", list(tables()))
def test_what_is_shown_at_usual_widths(fb, boards, monkeypatch, key):
    path, board = boards[key]
    for columns in (80, 180):
        monkeypatch.setenv("COLUMNS", str(columns))
        head, rows, _ = rows_of(fb("leaderboard", path).out)
        assert [name for name in head if name != "set"][:5] == HEADS
        assert "g" in head[-2:]
        assert any(STRIP.match(cell) for cell in rows[0]), "intervals are drawn"
    families = list(board["models"][0]["family_scores"])
    end = head.index("g")
    if len(families) <= 3:
        assert head[end - len(families) : end] == families, "180 columns have room for full names"
        assert head[2] == "set"
    else:
        others = {*HEADS, "set", "g", "letters"} & {*head}
        # The strip has a cell without a name.
        assert len(rows[0]) - 1 - len(others) in (0, len(families)), "all families or none"


def test_narrow_screens_say_where_the_rest_is(fb, boards, monkeypatch):
    path, _ = boards["2 families"]
    monkeypatch.setenv("COLUMNS", "160")
    assert "--json" not in fb("leaderboard", path).out
    monkeypatch.setenv("COLUMNS", "50")
    assert "--json" in fb("leaderboard", path).out


@pytest.mark.parametrize("columns", ["0", "1", "10", "23", "-5", "x", ""])
def test_absurd_widths(fb, boards, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    path, board = boards["3 models"]
    shown = fb("leaderboard", path)
    assert shown.code == 0
    head, rows, _ = rows_of(shown.out)
    for model, cells in zip(board["models"], rows, strict=True):
        assert close(cells[head.index("score")], model["score"])


def test_names_stay_apart_when_cut(fb, boards, monkeypatch):
    """Names differ at their ends, so the middle is what goes."""
    for key in ("long names", "wide characters"):
        for columns in (40, 80):
            monkeypatch.setenv("COLUMNS", str(columns))
            head, rows, _ = rows_of(fb("leaderboard", boards[key][0]).out)
            names = [cells[head.index("model")] for cells in rows]
            assert len(set(names)) == len(names)


def test_family_heads_stay_apart_when_cut(fb, boards, monkeypatch):
    for key in ("like families", "3 models"):
        for columns in (80, 90, 100, 120):
            monkeypatch.setenv("COLUMNS", str(columns))
            head, _, _ = rows_of(fb("leaderboard", boards[key][0]).out)
            assert "g" in head[8:], "families are shown"
            assert len(set(head)) == len(head)


def test_strips_share_an_axis(fb, boards):
    """The point and both ends of an interval lie where the numbers say, to a cell."""
    path, board = boards["3 models"]
    lines = [line for line in fb("leaderboard", path).out.splitlines() if "●" in line]
    low = min(m["simultaneous"][0] for m in board["models"])
    high = max(m["simultaneous"][1] for m in board["models"])
    start = min(line.index("├") for line in lines)
    end = max(line.index("┤") for line in lines)
    assert len(lines) == 3
    for line, model in zip(lines, board["models"], strict=True):
        for glyph, value in zip(
            "├●┤", (model["simultaneous"][0], model["score"], model["simultaneous"][1]), strict=True
        ):
            place = start + (value - low) / (high - low) * (end - start)
            assert abs(line.index(glyph) - place) <= 0.5 + 1e-9


def test_colour_only_where_wanted(fb, boards, monkeypatch):
    path, _ = boards["3 models"]
    plain = fb("leaderboard", path).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = fb("leaderboard", path).out
    assert ESCAPE.search(coloured)
    assert ESCAPE.sub("", coloured) == plain
    assert {"36", "35"} & {code for codes in ESCAPE.findall(coloured) for code in codes.split(";")}
    monkeypatch.setenv("NO_COLOR", "1")
    quiet = fb("leaderboard", path).out
    assert ESCAPE.sub("", quiet) == plain
    codes = {code for codes in ESCAPE.findall(quiet) for code in codes.split(";")}
    assert codes <= {"", "0", "1", "2"}, "bold and dim are no colours"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "utf-16"])
def test_encodings(boards, encoding):
    """Where the encoding has no glyphs there are ASCII ones, and names are escaped."""
    for key, (_, board) in boards.items():
        for width in (40, 80, 160) if key != "200 models" else ():
            data = io.BytesIO()
            stream = io.TextIOWrapper(data, encoding=encoding, newline="")
            print_leaderboard(board, console=Console(file=stream, width=width))
            stream.flush()
            out = data.getvalue().decode(encoding)
            if width >= 80:
                assert ("├" in out) == encoding.startswith("utf")
            assert all(cell_len(line) <= width for line in out.splitlines()), (key, width)
            _, rows, rules = rows_of(out)
            assert len(rows) == len(board["models"])
            assert len(rules) == len({m["group"] for m in board["models"]}) - 1


def test_negative_scores(fb, monkeypatch):
    table = scores(4, families=3, spread=20)
    low = [[v - 200 for v in row] for row in table.values]
    for m, row in enumerate(low):
        table = table.with_row(m, [round(v, 2) for v in row])
    path = write(fb.folder / "t.csv", long(table))
    assert fb("infer", path, "--draws", "100", "--flips", "300", "--out", "r").code == 0
    board = fb.json("leaderboard", "r")
    for columns in (40, 80, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = fb("leaderboard", "r").out
        assert all(cell_len(line) <= columns for line in out.splitlines())
        bands = re.findall(r"(-?[\d.]+) to (-?[\d.]+)", out)
        assert len(bands) == 4
        for model, (a, b) in zip(board["models"], bands, strict=True):
            assert close(a, model["simultaneous"][0])
            assert close(b, model["simultaneous"][1])


def test_no_negative_zero(fb):
    table = scores(3).with_row(0, [-0.001] * 40)
    shown = fb("infer", write(fb.folder / "t.csv", long(table)), "--draws", "50", "--flips", "50")
    assert shown.code == 0
    _, rows, _ = rows_of(shown.out)
    assert "0.0" in rows[-1]
    assert not re.search(r"-0\.0+\b", shown.out)


def test_the_footer_names_the_release_unbroken(fb, monkeypatch):
    """A path that is broken over lines cannot be copied."""
    path = write(fb.folder / "t.csv", long(scores()))
    out = f"{'deep/' * 30}r"
    shown = fb("infer", path, "--draws", "20", "--flips", "20", "--out", out)
    assert shown.out.splitlines()[-1] == f"Release: {out}"
    plain = fb("infer", path, "--draws", "20", "--flips", "20")
    (release,) = (fb.folder / "releases").iterdir()
    assert plain.out.splitlines()[-1] == f"Release: releases/{release.name}"
    assert fb("leaderboard").out == plain.out


@pytest.mark.parametrize("name", ["short", "x" * 60, WIDE_NAME * 3, "a b  c d e f g h", "é" * 40])
def test_shortened_names_fit_and_keep_both_ends(name):
    for width in range(3, 70):
        text = shorten(name, width)
        assert cell_len(text) <= width
        if cell_len(name) <= width:
            assert text == name
        else:
            head, _, tail = text.partition("…")
            assert name.startswith(head)
            assert name.endswith(tail)
            # Two cells of slack: a wide character that fits in neither end, blanks at the cut.
            assert cell_len(text) >= width - math.ceil(width / 3)


def test_a_margin_counts_what_is_close_and_what_is_open(fb, boards, tmp_path):
    """Against the simultaneous intervals of ``fb infer --json``, at margins from none to all."""
    path, _ = boards["3 models"]
    _, out = run_quietly("infer", str(path), *SMALL, "--out", str(tmp_path / "r"), "--json")
    pairs = strict_json(out)["pairs"]
    reach = sorted(max(abs(end) for end in pair["simultaneous"]) for pair in pairs)
    for margin in (reach[0] / 2, *reach, reach[-1] * 2):
        shown = fb("leaderboard", tmp_path / "r", "--margin", repr(margin))
        found = strict_json(
            fb("leaderboard", tmp_path / "r", "--margin", repr(margin), "--json").out
        )["equivalence"]
        close = [pair for pair in pairs if max(map(abs, pair["simultaneous"])) <= margin]
        assert found["close_pairs"] == [[pair["left"], pair["right"]] for pair in close]
        assert found["close"] == len(close)
        assert found["close_and_resolved"] == sum(pair["resolved"] for pair in close)
        open_pairs = [p for p in pairs if not p["resolved"] and p not in close]
        assert found["open"] == len(open_pairs)
        assert f"{len(close)} pairs are shown to be close" in " ".join(shown.out.split())


@pytest.mark.parametrize("margin", ["0", "-1", "nan", "inf", "x"])
def test_a_margin_that_is_none(fb, boards, margin):
    path, _ = boards["3 models"]
    fb.refused("leaderboard", path, "--margin", margin, says="margin")
    fb.refused(
        "compare", "model-0", "model-1", "--release", path, "--margin", margin, says="margin"
    )


def test_a_comparison_says_whether_two_are_close(fb, boards):
    path, _ = boards["3 models"]
    names = "model-000", "model-001"
    found = strict_json(fb("compare", *names, "--release", path, "--json").out)
    assert (found["margin"], found["close"]) == (None, None)
    least = found["least_margin"]
    assert least == max(map(abs, found["simultaneous"]))
    turned = strict_json(fb("compare", *names[::-1], "--release", path, "--json").out)
    assert turned["simultaneous"] == [-end for end in found["simultaneous"][::-1]]
    for margin, told in ((least * 0.99, "not shown to be within"), (least, ": shown to be within")):
        shown = fb("compare", *names, "--release", path, "--margin", repr(margin))
        assert told in " ".join(shown.out.split())
