"""Tables that cannot be analysed: one line that names the trouble, exit 2, nothing written."""

from __future__ import annotations

import csv

import pytest
from running import SMALL, Command
from tables import Columns, csv_text, long, rows_where, scores, wide, write

LONG, WIDE = long(scores()), wide(scores())
SUFFIXES = ("csv", "parquet")


def replaced(columns: Columns, column: str, row: int, value: object) -> Columns:
    """The table with another value in one cell."""
    values = list(columns[column])
    values[row] = value
    return columns | {column: values}


def refused(fb: Command, columns: Columns, *says: str, suffix: str = "csv") -> str:
    return fb.refused("infer", write(fb.folder / f"t.{suffix}", columns), *SMALL, says=says)


def raw_refused(fb: Command, data: bytes | str, *says: str) -> str:
    (fb.folder / "t.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
    return fb.refused("infer", "t.csv", *SMALL, says=("t.csv", *says))


# --- cells ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 9), (0, 10), (0, 11), (35, 60)])
def test_missing_rows_are_counted_listed_and_split_by_model(fb, suffix, first, last):
    table = scores()
    line = refused(fb, rows_where(LONG, [*range(first), *range(last, 120)]), suffix=suffix)
    cells = [(m, t) for m in table.models for t in table.tasks][first:last]
    assert f"{len(cells)} missing cell" in line
    assert "of 3 models × 40 tasks" in line
    for model in table.models:
        count = sum(m == model for m, _ in cells)
        assert (f"{model} {count}" in line) == bool(count)
    for at, (model, task) in enumerate(cells):
        assert (f"{model} × {task}" in line) == (at < 10)


@pytest.mark.parametrize("value", ["", "NA", "null", None, "  "])
def test_an_empty_cell_is_a_missing_one(fb, value):
    refused(fb, replaced(LONG, "score", 3, value), "1 missing cell", "model-000 × t00-003")
    refused(fb, replaced(WIDE, "model-001", 3, value), "1 missing cell", "model-001 × t00-003")


def test_null_cells_of_parquet_are_missing(fb):
    refused(
        fb, replaced(LONG, "score", 3, None), "1 missing", "model-000 × t00-003", suffix="parquet"
    )
    nothing = LONG | {"score": [None] * 120}
    refused(fb, nothing, "120 missing cells", "model-002 40", suffix="parquet")


def test_duplicate_cells_are_counted_listed_and_split_by_model(fb):
    line = refused(fb, rows_where(LONG, [*range(120), 0, 1, 0, 41]), "3 duplicate cells")
    assert "model-000 2, model-001 1" in line
    assert "model-000 × t00-000; model-000 × t00-001; model-001 × t00-001" in line


def test_duplicate_rows_of_a_wide_table(fb):
    refused(fb, rows_where(WIDE, [*range(40), 5, 7]), "2 duplicate tasks", "t00-005, t00-007")


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "Infinity", "1e400"])
def test_values_that_are_not_finite(fb, value):
    refused(fb, replaced(LONG, "score", 3, value), "1 not finite cell", "model-000 × t00-003")
    refused(fb, replaced(WIDE, "model-001", 3, value), "1 not finite", "model-001 × t00-003")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_that_are_not_finite_in_parquet(fb, value):
    columns = replaced(LONG, "score", 45, value)
    refused(fb, columns, "1 not finite", "model-001 × t00-005", suffix="parquet")


@pytest.mark.parametrize("value", ["x", "n/a", "1,5", "1.2.3", "0x10", "1_000", "٣", "true", "12%"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text_among_numbers_is_named_with_its_row(fb, value, suffix):
    texts = LONG | {"score": [str(v) for v in LONG["score"]]}
    columns = replaced(texts, "score", 77, value)
    refused(fb, columns, "column score, row 78", f"'{value}'", suffix=suffix)
    columns = replaced(
        WIDE | {"model-001": [str(v) for v in WIDE["model-001"]]}, "model-001", 7, value
    )
    refused(fb, columns, "column model-001, row 8", f"'{value}'", suffix=suffix)


def test_text_behind_a_megabyte_of_numbers_is_named_with_its_row(fb):
    """CSV is read in blocks of a megabyte: what the first ones hold decides nothing."""
    big = long(scores(5, tasks=2000, decimals=0))
    rows = len(big["model"])
    assert len(csv_text(big)) > 1.2 * 2**20
    refused(fb, replaced(big, "score", rows - 1, "oops"), f"row {rows}", "'oops'")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("column", ["model", "task", "panel", "family", "anchor"])
@pytest.mark.parametrize("value", ["", "  ", "\t"])
def test_empty_ids(fb, column, value, suffix):
    refused(fb, replaced(LONG, column, 3, value), f"column {column}", "row 4", suffix=suffix)


@pytest.mark.parametrize("column", ["model", "task", "panel", "family", "anchor"])
def test_null_ids(fb, column):
    columns = replaced(LONG, column, 3, None)
    refused(fb, columns, f"column {column}", "row 4", suffix="parquet")


@pytest.mark.parametrize("column", ["panel", "family", "anchor"])
def test_an_attribute_of_a_task_must_agree_across_rows(fb, column):
    refused(fb, replaced(LONG, column, 43, "other"), f"{column} of task t00-003", "other", "row 44")


def test_the_stratum_of_a_task_must_agree_across_rows(fb):
    columns = {k: v for k, v in LONG.items() if k not in ("panel", "family")}
    columns = replaced(columns | {"stratum": ["s"] * 120}, "stratum", 43, "other")
    refused(fb, columns, "stratum of task t00-003", "other", "row 44")


def test_the_name_of_a_model_must_agree_across_rows(fb):
    columns = replaced(LONG | {"name": [f"Name {m}" for m in LONG["model"]]}, "name", 43, "other")
    refused(fb, columns, "name of model model-001", "other", "Name model-001")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_chance_level_of_a_task_must_agree_across_rows(fb, suffix):
    columns = replaced(long(scores(chance=True)), "chance", 43, 99.5)
    refused(fb, columns, "chance of task t00-003", "99.5", "row 44", suffix=suffix)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_chance_level_must_be_there_and_finite(fb, value, suffix):
    for columns in (long(scores(chance=True)), wide(scores(chance=True))):
        columns = replaced(columns, "chance", 3, value)
        refused(fb, columns, "chance level of task t00-003", suffix=suffix)


@pytest.mark.parametrize("value", [1e15, 1e18, 1e300, 1.7e308])
def test_values_too_large_for_exact_sums(fb, value):
    refused(fb, replaced(LONG, "score", 3, value), f"{value:g}", "too large")
    table = scores(chance=True)
    columns = long(table) | {"chance": [value] * 120}
    refused(fb, columns, "too large")


# --- whole tables --------------------------------------------------------------------------


@pytest.mark.parametrize("form", [long, wide])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_model(fb, form, suffix):
    refused(fb, form(scores(1)), "1 model", "at least two", suffix=suffix)


def test_no_model_column_in_a_wide_table(fb):
    columns = {k: v for k, v in WIDE.items() if not k.startswith("model")}
    refused(fb, columns, "no model column")


def test_a_thin_stratum_is_named(fb):
    """One of 10 clusters touches the stratum: 0.9**10 of the draws would leave it empty."""
    table = scores(panels=1, families=1)
    columns = long(table)
    columns["family"] = [
        "thin" if t == "t00-004" else f
        for t, f in zip(columns["task"], columns["family"], strict=True)
    ]
    refused(fb, columns, "stratum panel0/thin", "only 1 of 10 clusters", f"{0.9**10:.2g}")


def test_no_model_that_varies(fb):
    table = scores(2, families=1)
    flat = [5.0 if panel == "panel0" else 7.0 for panel in table.panels]
    refused(fb, long(table.with_row(0, flat).with_row(1, flat)), "no model")


def test_models_whose_clusters_cancel(fb):
    """Varying tasks, equal cluster sums: no draw differs, and nothing can be estimated."""
    table = scores(2, panels=1, families=1, tasks=10, anchors=5)
    row = [3.0 if t < 5 else 7.0 for t in range(10)]
    refused(fb, long(table.with_row(0, row).with_row(1, row[::-1])), "no model")


@pytest.mark.parametrize(
    ("panels", "families"), [(("a/b", "a"), ("c", "b/c")), (("a/b/c", "a"), ("d", "b/c/d"))]
)
def test_two_strata_must_not_share_an_id(fb, panels, families):
    columns = dict(LONG)
    columns["panel"] = [panels[int(p[-1])] for p in LONG["panel"]]
    columns["family"] = [families[int(p[-1])] for p in LONG["panel"]]
    line = refused(fb, columns, "/".join((panels[0], families[0])))
    assert f"({panels[1]}, {families[1]})" in line


def test_a_stratum_column_must_lie_inside_panels_and_families(fb):
    refused(fb, LONG | {"stratum": ["s"] * 120}, "stratum s", "(panel0, family0)")


@pytest.mark.parametrize("column", ["model", "task", "score"])
def test_a_long_table_needs_its_columns(fb, column):
    columns = {f"my {column}" if k == column else k: v for k, v in LONG.items()}
    refused(fb, columns, f"no column {column}", f"--column {column}=NAME", f"my {column}")


def test_spaces_around_a_column_name_are_shown(fb):
    columns = {" task" if k == "task" else k: v for k, v in LONG.items()}
    refused(fb, columns, "no column task", "' task'")


def test_a_wide_table_needs_tasks(fb):
    refused(fb, {k: v for k, v in WIDE.items() if k != "task"}, "no column task", "model-002")


def test_a_table_needs_strata(fb):
    columns = {k: v for k, v in LONG.items() if k not in ("panel", "family")}
    refused(fb, columns, "stratum", "--single-stratum")


def test_a_table_needs_anchors(fb):
    refused(fb, {k: v for k, v in WIDE.items() if k != "anchor"}, "anchor", "--cluster task")


@pytest.mark.parametrize("name", ["note", "2020-01-01", "[bold]\x1b[31m"])
def test_a_wide_column_of_text_is_no_model(fb, name):
    refused(fb, WIDE | {name: ["hello"] * 40}, "row 1", "'hello'", "names no role")


@pytest.mark.parametrize("name", ["", " ", "__index_level_0__"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_row_index_is_no_model(fb, name, suffix):
    refused(fb, WIDE | {name: list(range(40))}, f"'{name}'", suffix=suffix)


# --- files ---------------------------------------------------------------------------------


def test_an_empty_file(fb):
    raw_refused(fb, b"", "empty")


@pytest.mark.parametrize("form", [LONG, WIDE])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_head_without_rows(fb, form, suffix):
    if suffix == "csv":
        refused(fb, rows_where(form, []), "no rows")
    else:
        import pyarrow as pa

        empty = {k: pa.array([], pa.float64() if k == "score" else pa.string()) for k in form}
        refused(fb, empty, "no rows", suffix="parquet")


@pytest.mark.parametrize(
    "data",
    [
        b"\n\n\n",
        b" ",
        b"\x89PNG\r\n\x1a\n" + bytes(200),
        b"PK\x03\x04" + bytes(50),
        bytes(range(256)) * 10,
        b"\x1f\x8b\x08" + bytes(range(100, 200)),
        b"\0" * 5000,
        b"\xff" * 5000,
    ],
    ids=["blank", "space", "png", "zip", "bytes", "gzip", "zeros", "ones"],
)
def test_a_file_that_is_no_table(fb, data):
    raw_refused(fb, data)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2, 3]}\n',
        '{"task_id": "t1", "response": "FINAL_SELECTION: A, B, C"}\n',
        '\n [{"score": 1}]',
    ],
)
def test_json_is_no_table(fb, text):
    raw_refused(fb, text, "is JSON", "fb score")


@pytest.mark.parametrize(("delimiter", "head"), [(";", "model;task"), ("\t", r"model\ttask")])
def test_other_separators_are_said(fb, delimiter, head):
    raw_refused(fb, csv_text(LONG, delimiter=delimiter), head, "separated by commas")


@pytest.mark.parametrize("line", ["a,b\n", "a,b,c,d,e,f,g\n"])
@pytest.mark.parametrize("place", [1, 60, 121])
def test_ragged_rows(fb, line, place):
    lines = csv_text(LONG).splitlines(keepends=True)
    raw_refused(fb, "".join([*lines[:place], line, *lines[place:]]), "Expected 6 columns")


def test_an_open_quote(fb):
    raw_refused(fb, csv_text(LONG).replace("model-000,", '"model-000,', 1))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-32"])
@pytest.mark.parametrize("part", ["model-000", "anchor"])
def test_other_encodings(fb, encoding, part):
    text = csv_text(LONG).replace(part, "Crème brûlée")
    raw_refused(fb, text.encode(encoding), "UTF-8")


@pytest.mark.parametrize("name", ["panel", "score", "model"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_column_name_that_occurs_twice(fb, name, suffix):
    if suffix == "csv":
        raw_refused(fb, csv_text(LONG).replace("family", name, 1), f"column {name}", "twice")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [name if column == "family" else column for column in LONG]
        pq.write_table(
            pa.Table.from_arrays([pa.array(v) for v in LONG.values()], names), "t.parquet"
        )
        fb.refused("infer", "t.parquet", says=("t.parquet", f"column {name}", "twice"))


def test_a_model_that_has_two_columns(fb):
    raw_refused(fb, csv_text(WIDE).replace("model-001", "model-000", 1), "model-000", "twice")


@pytest.mark.parametrize("cut", [4, 12, 0.5, 0.99, -1])
def test_cut_parquet(fb, cut):
    data = write(fb.folder / "whole.parquet", LONG).read_bytes()
    data = data[: int(cut * len(data)) if isinstance(cut, float) else cut]
    (fb.folder / "t.parquet").write_bytes(data)
    fb.refused("infer", "t.parquet", says=("t.parquet", "damaged Parquet"))


def test_parquet_with_a_damaged_page(fb):
    data = bytearray(write(fb.folder / "whole.parquet", LONG).read_bytes())
    data[8:1000] = b"\xff" * 992
    (fb.folder / "t.parquet").write_bytes(data)
    fb.refused("infer", "t.parquet", says=("t.parquet", "damaged Parquet"))


def parquet_columns():
    """Columns of types that hold neither numbers nor ids."""
    import datetime

    import pyarrow as pa

    day = datetime.datetime(2020, 1, 1)
    return {
        "timestamp": pa.array([day] * 120),
        "date": pa.array([day.date()] * 120),
        "duration": pa.array([datetime.timedelta(1)] * 120),
        "list": pa.array([[1.0]] * 120),
        "struct": pa.array([{"a": 1.0}] * 120),
        "binary": pa.array([b"\xff"] * 120),
    }


@pytest.mark.parametrize("kind", ["timestamp", "date", "duration", "list", "struct", "binary"])
def test_parquet_types_that_hold_no_numbers(fb, kind):
    columns = LONG | {"score": parquet_columns()[kind]}
    refused(fb, columns, "column score of type", "holds no numbers", suffix="parquet")


@pytest.mark.parametrize("kind", ["list", "struct", "binary"])
def test_parquet_types_that_hold_no_ids(fb, kind):
    columns = LONG | {"task": parquet_columns()[kind]}
    refused(fb, columns, "column task of type", "holds no ids", suffix="parquet")


def test_hostile_text_does_not_reach_the_terminal(fb):
    """``refused`` asserts that the line is printable: no escape, newline or bidi mark."""
    nasty = "a\x1b[31m\n\u202e\x9b\u2028b"
    refused(fb, replaced(LONG, "score", 3, nasty), r"a\x1b[31m\n\u202e\x9b\u2028b")
    refused(fb, replaced(LONG, "anchor", 3, nasty), r"\x1b[31m")
    refused(fb, replaced(LONG, "task", 3, nasty), r"\x1b[31m")
    refused(fb, {nasty: [1] * 120} | LONG | {"score": ["x"] * 120}, "'x'")
    refused(fb, LONG | {nasty: [1] * 120, "score": ["x"] * 120})
    refused(fb, {nasty if k == "score" else k: v for k, v in LONG.items()}, r"\x1b[31m")


def test_long_ids_do_not_push_the_trouble_off_the_line(fb):
    table = scores().named([f"{'m' * 300}{m}" for m in range(3)])
    line = refused(fb, rows_where(long(table), range(20, 120)), "20 missing cells", "t00-009")
    assert len(line) < 2000


def test_csv_cells_with_quotes_newlines_and_commas_keep_their_rows(fb):
    """A quoted newline makes no row: the trouble is still named by its data row."""
    table = long(scores().named(['a "quoted", name', "line\nbreak", "c"]))
    text = csv_text(replaced(table, "score", 77, "bad"), quoting=csv.QUOTE_ALL)
    raw_refused(fb, text, "row 78", "'bad'")
