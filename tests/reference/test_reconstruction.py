"""The frozen reconstruction of the released analysis has its digest, layout and moments.

What the bootstrap and the sign flips make of it is tested elsewhere.
"""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from references import reference

from flavourbench.data.published import build_reconstruction as build

Floats = NDArray[np.float64]
Row = dict[str, str]

# Cells are rounded to 0.01 points: a mean of 89 moves by 0.0003, a variance near 1,000 by 1e-5
# of itself, and d_z by 0.0003 over a pair's SD of 20 or more.
MEAN_TOLERANCE = 0.002
VARIANCE_TOLERANCE = 2e-4
DZ_TOLERANCE = 5e-5


@dataclass(frozen=True)
class Table:
    """Label columns as text, ``scores`` float64 [M, T] in points."""

    header: list[str]
    rows: list[list[str]]
    scores: Floats

    def where(self, column: str, value: str) -> NDArray[np.bool_]:
        """Tasks whose label is ``value``, bool [T]."""
        index = self.header.index(column)
        return np.array([row[index] == value for row in self.rows])


@pytest.fixture(scope="module")
def figures() -> build.Figures:
    return build.read_figures()


@pytest.fixture(scope="module")
def table() -> Table:
    header, *rows = csv.reader(build.FROZEN.read_text(encoding="utf-8").splitlines())
    scores = np.array([row[5:] for row in rows], dtype=np.float64).T
    return Table(header, rows, scores)


@pytest.fixture(scope="module")
def tables() -> Path:
    """Folder with the published tables, which the project does not ship."""
    return reference("published-2026-08")


def read_rows(path: Path) -> list[Row]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_digest_is_that_of_the_frozen_bytes() -> None:
    digest, name = build.DIGEST.read_text(encoding="utf-8").rstrip("\n").split("  ")
    data = build.FROZEN.read_bytes()
    assert name == build.FROZEN.name
    assert digest == hashlib.sha256(data).hexdigest()
    assert b"\r" not in data
    assert data.endswith(b"\n")


def test_layout(table: Table, figures: build.Figures) -> None:
    assert table.header == ["task", "panel", "family", "anchor", "chance", *figures.models]
    tasks = [row[0] for row in table.rows]
    assert len(tasks) == 534
    assert tasks == sorted(set(tasks), key=lambda task: task.encode("utf-8"))
    assert len({row[3] for row in table.rows}) == 534
    strata: dict[tuple[str, str], int] = {}
    for task, panel, family, *_ in table.rows:
        assert task.rsplit("-", 1)[0] == f"{panel}-{family}"
        strata[panel, family] = strata.get((panel, family), 0) + 1
    assert strata == {(panel, f): 89 for panel in figures.panels for f in figures.families}


def test_cells_are_basis_points(table: Table) -> None:
    for row in table.rows:
        assert all(len(cell.partition(".")[2]) == 2 for cell in row[4:])
        assert "-0.00" not in row
    assert table.where("chance", "3.40").sum() == table.where("family", "constraint").sum()


def test_family_panel_and_overall_means(table: Table, figures: build.Figures) -> None:
    """Every stratum has mean family + panel - overall: no panel difference from the noise."""
    strata = np.empty((len(figures.models), 3, 2))
    for f, family in enumerate(figures.families):
        for p, panel in enumerate(figures.panels):
            chosen = table.where("family", family) & table.where("panel", panel)
            strata[:, f, p] = table.scores[:, chosen].mean(axis=1)
    assert np.abs(strata.mean(axis=2) - figures.family).max() < MEAN_TOLERANCE
    assert np.abs(strata.mean(axis=1) - figures.panel).max() < MEAN_TOLERANCE
    assert np.abs(strata.mean(axis=(1, 2)) - figures.score).max() < MEAN_TOLERANCE
    expected = figures.family[:, :, None] + (figures.panel - figures.score[:, None])[:, None, :]
    assert np.abs(strata - expected).max() < MEAN_TOLERANCE


def test_within_family_variance_gives_the_standard_error(
    table: Table, figures: build.Figures
) -> None:
    """In each family the variance is that whose bootstrap error is the published one.

    The oracle is the exact mean of n / N for N ~ Binomial(534, 1/3), n = 178: the bootstrap
    of a ratio mean over a family of random size.
    """
    ways = [math.comb(534, size) * 2 ** (534 - size) for size in range(1, 535)]
    mean = sum(Fraction(178 * number, size) for size, number in enumerate(ways, 1)) / 3**534
    inflation = float(mean)
    assert inflation == pytest.approx(build.ratio_inflation(figures), abs=5e-5)
    expected = 534 * figures.se**2 / inflation
    for family in figures.families:
        variance = table.scores[:, table.where("family", family)].var(axis=1)
        assert np.abs(variance / expected - 1).max() < VARIANCE_TOLERANCE


def test_cohen_dz_of_every_pair(table: Table, figures: build.Figures) -> None:
    for left, right in zip(*np.triu_indices(len(figures.models), 1), strict=True):
        difference = table.scores[left] - table.scores[right]
        dz = difference.mean() / difference.std(ddof=1)
        assert abs(dz - figures.cohen_dz[left, right]) < DZ_TOLERANCE


def test_covariance_needs_no_projection(figures: build.Figures) -> None:
    """The published moments are consistent, so the nearest PSD matrix is the matrix itself."""
    covariance = build.noise_covariance(figures)
    assert np.linalg.eigvalsh(covariance).min() > 100
    root = build.symmetric_root(covariance)
    assert np.allclose(root @ root, covariance, rtol=1e-10)


def test_negative_eigenvalues_are_clipped() -> None:
    root = build.symmetric_root(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert np.allclose(root @ root, [[1.5, 1.5], [1.5, 1.5]])


def test_noise_is_orthonormal_and_centred_in_each_panel(figures: build.Figures) -> None:
    noise = build.family_noise(np.random.default_rng(0), figures)
    assert np.abs(noise.mean(axis=1)).max() < 1e-12
    flat = noise.reshape(-1, len(figures.models))
    assert np.allclose(flat.T @ flat / len(flat), np.eye(len(figures.models)), atol=1e-12)


def test_rebuild_agrees_with_the_frozen_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--check"]) == 0
    assert "largest difference" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [(b"", b"", 0), (b"0\n", b"9\n", 1), (b"panel-1-pairing-001", b"other", 1)],
)
def test_check_sees_a_changed_cell_or_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes, new: bytes, code: int
) -> None:
    data = build.FROZEN.read_bytes()
    assert old in data
    copy = tmp_path / "reconstruction.csv"
    copy.write_bytes(data.replace(old, new, 1))
    monkeypatch.setattr(build, "FROZEN", copy)
    assert build.main(["--check"]) == code


def test_build_writes_table_and_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "FROZEN", tmp_path / "reconstruction.csv")
    monkeypatch.setattr(build, "DIGEST", tmp_path / "reconstruction.sha256")
    assert build.main(["--check"]) == 1
    assert build.main([]) == 0
    assert build.main(["--check"]) == 0
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["reconstruction.csv", "reconstruction.sha256"]
    digest = hashlib.sha256(build.FROZEN.read_bytes()).hexdigest()
    assert build.DIGEST.read_text(encoding="utf-8") == f"{digest}  reconstruction.csv\n"


def test_figures_are_the_published_model_rows(tables: Path, figures: build.Figures) -> None:
    rows = {row["model_id"]: row for row in read_rows(tables / "models.csv")}
    assert sorted(rows, key=lambda name: name.encode("utf-8")) == list(figures.models)
    for m, model in enumerate(figures.models):
        row = rows[model]
        assert float(row["score"]) == figures.score[m]
        assert float(row["se"]) == figures.se[m]
        assert [float(row[family]) for family in figures.families] == list(figures.family[m])
        assert [float(row[key]) for key in ("panel_1", "panel_2")] == list(figures.panel[m])
        # Chance levels of families are published with one decimal.
        assert abs(float(row["chance_score"]) - figures.chance.mean()) < 0.05


def test_figures_are_the_published_pair_rows(tables: Path, figures: build.Figures) -> None:
    rows = read_rows(tables / "pairs.csv")
    place = {model: m for m, model in enumerate(figures.models)}
    assert len({frozenset((row["left"], row["right"])) for row in rows}) == len(rows) == 351
    for row in rows:
        left, right = place[row["left"]], place[row["right"]]
        assert float(row["cohen_dz"]) == figures.cohen_dz[left, right]
        mean = figures.score[left] - figures.score[right]
        assert abs(float(row["mean_difference"]) - mean) < 2e-6


def test_display_names_are_the_published_ones(tables: Path) -> None:
    text = build.FIGURES.read_text(encoding="utf-8")
    for row in read_rows(tables / "models.csv"):
        assert f'{{"id": "{row["model_id"]}", "name": "{row["name"]}",' in text
