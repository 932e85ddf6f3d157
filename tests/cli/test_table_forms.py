"""The same scores in any form a table may have give the same result."""

from __future__ import annotations

import csv
import decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running import SMALL
from tables import csv_text, long, scores, shuffled, wide, write

SCORES = scores(chance=True)
LONG, WIDE = long(SCORES), wide(SCORES)


@pytest.fixture
def expected(fb):
    """The result of the long CSV file, and the digest of its release."""
    return result(fb, write(fb.folder / "expected.csv", LONG))


def result(fb, path, *options):
    """What ``--json`` prints, and the digest of the release."""
    out = fb.folder / f"release-{len(list(fb.folder.iterdir()))}"
    found = fb.json("infer", path, *SMALL, "--out", out, *options)
    return found, (out / "RELEASE.sha256").read_text()


def test_long_and_wide_csv_and_parquet(fb, expected):
    for suffix in ("csv", "parquet"):
        for form in ("long", "wide"):
            columns = LONG if form == "long" else WIDE
            path = write(fb.folder / f"{form}.{suffix}", columns)
            assert result(fb, path) == expected
            assert result(fb, write(fb.folder / f"s{form}.{suffix}", shuffled(columns))) == expected
            named = write(fb.folder / f"n{form}.{suffix}", columns)
            assert result(fb, named, "--layout", form) == expected


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_order_of_rows_and_columns(fb, expected, seed):
    assert result(fb, write(fb.folder / "t.csv", shuffled(LONG, seed))) == expected
    assert result(fb, write(fb.folder / "t2.parquet", shuffled(WIDE, seed))) == expected


def test_a_release_read_again(fb, expected):
    (release,) = fb.folder.glob("release-*")
    assert result(fb, release) == expected


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads(fb, expected, threads):
    path = write(fb.folder / "t.csv", LONG)
    assert result(fb, path, "--threads", str(threads)) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + csv_text(LONG).encode(),
        csv_text(LONG, lineterminator="\r\n").encode(),
        csv_text(LONG, lineterminator="\r").encode(),
        csv_text(LONG, quoting=csv.QUOTE_ALL).encode(),
        csv_text(LONG).rstrip("\n").encode(),
        csv_text(LONG).encode() + b"\n\n",
        csv_text(LONG | {"score": [f" {v:e} " for v in LONG["score"]]}).encode(),
        csv_text(LONG | {"score": [f"+{v}" for v in LONG["score"]]}).encode(),
        csv_text(LONG | {"note": ["a\nb,'\"c"] * 120, "": range(120)}).encode(),
    ],
    ids=["bom", "crlf", "cr", "quotes", "no end", "blank end", "spaces", "plus", "more columns"],
)
def test_csv_dialects(fb, expected, data):
    (fb.folder / "t.csv").write_bytes(data)
    assert result(fb, "t.csv") == expected


def test_a_pipe_is_read_once(shell, fb, expected):
    """``fb infer /dev/stdin`` and ``fb infer <(command)``."""
    write(fb.folder / "t.csv", LONG)
    run = shell(
        *("infer", "/dev/fd/9", *SMALL, "--json"),
        before="r, w = os.pipe(); os.write(w, open('t.csv', 'rb').read()); os.close(w)\n"
        "os.dup2(r, 9)",
    )
    assert (run.code, run.err) == (0, [])
    assert run.json == expected[0]


def text(name):
    return [str(value) for value in LONG[name]]


@pytest.mark.parametrize(
    "columns",
    [
        {"model": pa.array(LONG["model"]).dictionary_encode()},
        {"task": pa.array(LONG["task"]).dictionary_encode(), "anchor": pa.array(LONG["anchor"])},
        {"model": pa.array(LONG["model"], pa.large_string())},
        {"family": pa.array(LONG["family"], pa.string_view())},
        {"task": pa.array([t.encode() for t in LONG["task"]])},
        {"score": pa.array([decimal.Decimal(t) for t in text("score")], pa.decimal128(9, 2))},
        {"score": pa.array(text("score"))},
        {"score": pa.array(text("score"), pa.large_string())},
        {"score": pa.array(text("score"), pa.string_view())},
        {"score": pa.array(text("score")).dictionary_encode()},
        {"score": pa.array(LONG["score"]).dictionary_encode()},
        {"chance": pa.array(text("chance")), "score": pa.array(text("score"))},
    ],
    ids=[
        *("dictionary", "dictionary task", "large string", "string view", "binary"),
        *("decimal", "text", "large text", "text view", "text dictionary", "float dictionary"),
        "text chance",
    ],
)
def test_parquet_types(fb, expected, columns):
    assert result(fb, write(fb.folder / "t.parquet", LONG | columns)) == expected


def test_parquet_in_several_row_groups(fb, expected):
    """Columns then have chunks, and dictionaries of their own in each."""
    arrays = {k: pa.array(v) for k, v in shuffled(LONG).items()}
    arrays["model"] = arrays["model"].dictionary_encode()
    pq.write_table(pa.table(arrays), fb.folder / "t.parquet", row_group_size=7)
    assert result(fb, "t.parquet") == expected


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float16()])
def test_whole_numbers_of_any_type(fb, kind):
    table = scores(decimals=0)
    plain = result(fb, write(fb.folder / "t.csv", long(table)))
    columns = long(table) | {"score": pa.array(long(table)["score"]).cast(kind)}
    assert result(fb, write(fb.folder / "t.parquet", columns)) == plain


@pytest.mark.parametrize("spelling", [("true", "false"), ("True", "False"), ("1", "0")])
def test_right_and_wrong_count_one_and_zero(fb, spelling):
    columns = long(scores())
    right = [value > 55 for value in columns["score"]]
    numbers = columns | {"score": [float(r) for r in right]}
    plain = result(fb, write(fb.folder / "t.parquet", numbers))
    assert result(fb, write(fb.folder / "b.parquet", columns | {"score": right})) == plain
    texts = [spelling[0] if r else spelling[1] for r in right]
    assert result(fb, write(fb.folder / "b.csv", columns | {"score": texts})) == plain


def test_a_number_means_the_same_behind_a_megabyte_of_whole_numbers(fb):
    """CSV is read in blocks of a megabyte: the first ones decide no type."""
    table = scores(5, tasks=2000, decimals=0)
    values = [list(row) for row in table.values]
    values[4][-1] += 0.25
    columns = long(table.with_row(4, values[4]))
    columns["score"] = [int(v) if v == int(v) else v for v in columns["score"]]
    small = ("--draws", "20", "--flips", "20", "--json")
    assert len(csv_text(columns)) > 1.2 * 2**20
    found = fb.json("infer", write(fb.folder / "t.csv", columns), *small)
    columns["score"] = [float(v) for v in columns["score"]]
    assert fb.json("infer", write(fb.folder / "t.parquet", columns), *small) == found
    assert found["plan"]["exponent"] == 2


# --- ids -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ids_that_look_like_numbers_stay_text(fb, suffix):
    """``001``, ``1``, ``1.0`` and ``1e0`` are four models; ``007`` is not 7."""
    names = ["001", "1", "1.0", "1e0", "NA", "null", "true", "nan"]
    table = scores(len(names)).named(names)
    columns = long(table)
    columns["task"] = [f"{table.tasks.index(t):03d}" for t in columns["task"]]
    columns["anchor"] = [f"0{a[1:]}" for a in columns["anchor"]]
    columns["family"] = [f.replace("family", "0") for f in columns["family"]]
    found = fb.json("infer", write(fb.folder / f"t.{suffix}", columns), *SMALL, "--out", "r")
    assert sorted(model["id"] for model in found["models"]) == sorted(names)
    assert set(found["models"][0]["family_scores"]) == {"00", "01"}
    tasks = pq.read_table("r/tasks.parquet").to_pydict()
    assert tasks["task"] == [f"{t:03d}" for t in range(40)]
    assert tasks["anchor"] == [f"0{t:03d}" for t in range(40)]


def test_wide_columns_that_look_like_numbers_stay_models(fb):
    names = ["001", "1", "01", "1.0"]
    found = fb.json("infer", write(fb.folder / "t.csv", wide(scores(4).named(names))), *SMALL)
    assert sorted(model["id"] for model in found["models"]) == sorted(names)


def test_ids_in_order_of_their_utf8_bytes(fb):
    """UTF-16 would put the emoji before U+FF21, and a locale ``a`` before ``B``."""
    names = ["a", "B", "é", "\uff21", "😀", "Z", "_"]
    found = fb.json("infer", write(fb.folder / "t.csv", wide(scores(7).named(names))), *SMALL)
    order = sorted(names, key=str.encode)
    pairs = [(left, right) for i, left in enumerate(order) for right in order[i + 1 :]]
    assert [(pair["left"], pair["right"]) for pair in found["pairs"]] == pairs


def test_names_beside_ids(fb):
    columns = LONG | {"name": [f"The {m} [b]" for m in LONG["model"]]}
    found = fb.json("infer", write(fb.folder / "t.csv", columns), *SMALL)
    assert {m["id"]: m["name"] for m in found["models"]} == {
        m: f"The {m} [b]" for m in SCORES.models
    }


# --- columns of other names ----------------------------------------------------------------


def test_every_role_under_another_name(fb, expected):
    names = {"model": "LLM", "task": "Question", "score": "points", "panel": "p x", "family": "f=y"}
    names |= {"anchor": "main ingredient", "chance": "score"}
    columns = {names[role]: values for role, values in LONG.items()}
    options = [part for role, name in names.items() for part in ("--column", f"{role}={name}")]
    assert result(fb, write(fb.folder / "t.csv", shuffled(columns)), *options) == expected


def test_roles_of_a_wide_table_under_other_names(fb, expected):
    columns = {"item" if k == "task" else k: v for k, v in WIDE.items()}
    path = write(fb.folder / "t.csv", columns)
    assert result(fb, path, "--column", "task=item") == expected


def test_a_column_that_is_named_for_a_role_plays_no_other(fb):
    """With ``stratum`` taken from ``family`` there is no family, so no family scores of it."""
    columns = {k: v for k, v in LONG.items() if k != "panel"}
    path = write(fb.folder / "t.csv", columns)
    found = fb.json("infer", path, *SMALL, "--column", "stratum=family")
    strata = [(s["id"], s["panel"], s["family"]) for s in found["design"]["strata"]]
    assert strata == [("family0", None, None), ("family1", None, None)]


@pytest.mark.parametrize("kept", ["panel", "family"])
def test_panel_or_family_alone(fb, kept):
    columns = {k: v for k, v in LONG.items() if k not in {"panel", "family"} - {kept}}
    found = fb.json("infer", write(fb.folder / "t.csv", columns), *SMALL)
    assert [s["id"] for s in found["design"]["strata"]] == [f"{kept}0", f"{kept}1"]


def test_models_of_a_wide_table_may_be_called_like_roles(fb):
    names = ["score", "model", "name"]
    path = write(fb.folder / "t.csv", wide(scores().named(names)))
    found = fb.json("infer", path, *SMALL, "--layout", "wide")
    assert {m["id"] for m in found["models"]} == set(names)


def test_every_task_for_itself(fb):
    shared = scores(anchors=5)
    columns = long(shared)
    found = fb.json("infer", write(fb.folder / "t.csv", columns), *SMALL, "--cluster", "task")
    columns["anchor"] = columns["task"]
    assert found == fb.json("infer", write(fb.folder / "u.csv", columns), *SMALL)
    del columns["anchor"]
    path = write(fb.folder / "v.csv", columns)
    assert found == fb.json("infer", path, *SMALL, "--cluster", "task")
    assert found["design"]["clusters"] == 40
