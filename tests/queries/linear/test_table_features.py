import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veilspan import Schema
from veilspan.curator.rows import Block, Rows
from veilspan.queries.linear.column_scales import CellScale, cell_scale_of, line_of, places_of
from veilspan.queries.linear.learned_features import LearnedFeatures
from veilspan.queries.linear.residual_features import ResidualFeatures, RestColumn
from veilspan.queries.linear.table_features import TableFeatures, TableLine, wave_weights
from veilspan.queries.linear.table_layout import layout_of_ranges, layout_of_schema

SCHEMA = Schema.from_toml("""
veilspan_schema = 1
name = "all kinds"
[columns.age]
type = "integer"
range = [0, 100]
missing_column = true
source = "made up"
[columns.balance]
type = "number"
range = [-1000, 3000]
source = "made up"
[columns.dose]
type = "number"
scale = "log"
range = [1, 100]
source = "made up"
[columns.kind]
type = "category"
categories = ["a", "b"]
other = true
source = "made up"
[columns.day]
type = "date"
range = [2020-01-01, 2020-12-31]
as = ["days", "weekday"]
missing_column = true
source = "made up"
[columns.smoker]
type = "boolean"
source = "made up"
""")
LAYOUT = layout_of_schema(SCHEMA)
TABLE = {
    "age": ["0", "50", "100", ""],
    "balance": [0.0, 3000.0, -1000.0, 10.0],
    "dose": ["1", "10", "100", "10"],
    "kind": ["a", "b", "c", "a"],
    "day": ["2020-01-01", "2020-12-31", "2020-07-01", "never"],
    "smoker": ["true", "false", "true", "false"],
}
X = SCHEMA.encode(TABLE).x


def test_a_layout_knows_every_entry_once():
    assert LAYOUT.width == len(SCHEMA.columns_out) == X.shape[1]
    assert sorted([*LAYOUT.numbers, *LAYOUT.flags]) == list(range(LAYOUT.width))
    assert LAYOUT.columns == ("age", "balance", "dose", "kind", "day", "smoker")
    # age, balance, dose, kind, days, weekday, smoker: the missing column takes no place of its own
    assert LAYOUT.groups == 7
    assert LAYOUT.zero[:2].tolist() == [0.0, 0.25]
    assert np.isnan(LAYOUT.zero[2:]).all()  # logarithms already, and days
    with pytest.raises(ValueError, match="age, balance"):
        LAYOUT.find_column("weight")


def test_ranges_make_a_layout_of_numbers():
    layout = layout_of_ranges(np.array([-1.0, 2.0, -4.0]), np.array([3.0, 4.0, -2.0]))
    assert layout.zero.tolist() == [0.25, 0.0, 1.0]
    assert layout.groups == 3
    line = line_of(layout, np.array([[1.0, 1e9, -3.0]]))
    assert line.tolist() == [[0.5, 1.0, 0.5]]


def test_the_cell_scale_covers_the_range_and_is_fine_around_zero():
    line = np.linspace(0, 1, 101)[:, None].repeat(LAYOUT.n_numbers, axis=1)
    u = cell_scale_of(LAYOUT, line)
    assert (np.diff(u, axis=0) > 0).all()
    np.testing.assert_allclose(u[[0, -1]], np.array([[0.0], [1.0]]).repeat(4, axis=1), atol=1e-12)
    steps = np.diff(u[:, 1])  # of the balance, whose zero lies at a quarter
    assert steps[24:26].min() > 10 * steps[[0, -1]].max()
    np.testing.assert_array_equal(u[:, 2:], line[:, 2:])


def test_missing_numbers_stand_beyond_all_cells():
    u = CellScale(LAYOUT)(Block(X)).x
    assert u[3, 0] == 2.0
    assert u[3, 3] == 2.0
    assert (u[:3] <= 1).all()


def test_places_follow_the_mass_and_keep_the_line_where_nothing_is_seen():
    line = np.linspace(0, 1, 5)[:, None].repeat(2, axis=1)
    mass = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    place = places_of(line, line, mass, np.array([True, False]))
    np.testing.assert_allclose(place[:, 0], (line[:, 0] + [0, 0.5, 1, 1, 1]) / 2)
    np.testing.assert_array_equal(place[:, 1], line[:, 1])


def features(**more):
    m = LAYOUT.n_numbers
    mass = np.linspace(0, 1, 9)[None].repeat(m, axis=0) ** 2
    said = {"waves": 4, "mass": mass, "shown": np.ones(m, bool), "row_norm": 10.0, "intercept": 0.5}
    return TableFeatures(LAYOUT, **{**said, **more})


KINDS = {
    "waves": {},
    "waves and bins": {"bins": 16, "bins_weight": 0.4},
    "bins": {"waves": 0, "bins": 16, "bins_weight": 1.0, "mass": None, "shown": None},
    "lines": {"waves": 0, "line_weight": 1.0},
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_group_is_longer_than_one(kind):
    made = features(**KINDS[kind])
    rows = np.hstack(made.parts_of(X))
    assert rows.shape[1] + 1 == made.width == len(made.columns)
    for column in range(len(LAYOUT.columns)):
        squares = (rows[:, made.columns[:-1] == column] ** 2).sum(axis=1)
        groups = 2 if LAYOUT.columns[column] == "day" else 1
        assert squares.max() <= groups + 1e-12
    gone = rows[3, made.columns[:-1] == 0]
    assert np.abs(gone).sum() == gone.max() == 1  # zeros, and the one that says so


@given(st.lists(st.floats(-1e140, 1e140), min_size=LAYOUT.width, max_size=LAYOUT.width))
@settings(max_examples=60, deadline=None)
def test_every_row_lands_in_the_unit_ball(entries):
    made = features(row_norm=0.7, score_line=TableLine(LAYOUT, 1.0, 0.3), score_weight=0.1,
                    score_theta=np.linspace(-9, 9, 20)[: LAYOUT.width + 1])  # fmt: skip
    row = made(Block(np.array([entries]))).x
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) <= 1 + 1e-12


def test_waves_are_cosines():
    rows = np.hstack(features(mass=None, shown=None).parts_of(X))
    line = line_of(LAYOUT, X)
    weights = wave_weights(4, 1.0)
    assert weights @ weights == pytest.approx(1.0)
    for k in range(4):
        expected = weights[k] * np.cos((k + 1) * np.pi * line[:3])
        np.testing.assert_allclose(rows[:3, 4 * k : 4 * k + 4], expected, atol=1e-12)


def test_targets_lose_what_the_first_fit_says():
    line = TableLine(LAYOUT, 3.0, 0.5)
    theta = np.linspace(-3, 3, line.width)
    y = np.array([-1.0, 1.0, 0.2, 0.0])
    predicted = np.clip(line.rows_of(X) @ theta, -1, 1)
    rest = RestColumn(line, theta)(Block(X, y))
    np.testing.assert_allclose(rest.x[:, 0], y - predicted, atol=1e-12)
    mapped = ResidualFeatures(features(), line, theta, 0.25)(Block(X, y))
    np.testing.assert_allclose(mapped.y, np.clip((y - predicted) / 0.25, -1, 1), atol=1e-9)


@pytest.mark.parametrize("kept", [1e9, 0])
def test_rows_are_mapped_with_their_targets(kept, monkeypatch):
    """Whether the mapped table is kept or made anew in each walk."""
    monkeypatch.setattr(ResidualFeatures, "kept_bytes", kept)
    line = TableLine(LAYOUT, 3.0, 0.5)
    residual = ResidualFeatures(features(), line, np.linspace(-3, 3, line.width), 0.25)
    y = np.array([-1.0, 1.0, 0.2, 0.0])
    present = np.array([True, True, False, True])
    rows = Rows.checked_before(X, y, present).mapped(residual, residual.width)
    (block,) = rows.blocks(10)
    np.testing.assert_array_equal(block.y, residual(Block(X, y)).y)
    np.testing.assert_array_equal(block.present, present)
    assert rows.n_features == residual.width


def test_contributions_add_up_to_the_score():
    line = TableLine(LAYOUT, 9.0, 0.5)
    rng = np.random.default_rng(0)
    scored = features(
        row_norm=50.0, score_line=line, score_theta=rng.standard_normal((line.width, 3)),
        score_weight=0.1, score_reach=30.0,
    )  # fmt: skip
    learned = LearnedFeatures(scored, rng.standard_normal((scored.width, 3)))
    constant = scored.intercept * learned.theta[-1] / scored.row_norm
    at = scored.width - 4
    size = np.sqrt(0.1 * LAYOUT.groups / 3) / (30.0 * scored.row_norm)
    constant = constant + size * (
        line.intercept / line.row_norm * scored.score_theta[-1] @ learned.theta[at:-1]
    )
    total = sum(learned.contribution(name, X) for name in learned.columns) + constant
    np.testing.assert_allclose(total, learned.scores(X), atol=1e-9)
    assert learned.describe("age")["kind"] == "number"
    assert learned.describe("age")["shown"] is True
    assert learned.describe("kind") == {
        "kind": "categories", "waves": 0, "bins": 0, "shown": None, "mass": None,
    }  # fmt: skip
    learned.check(LAYOUT.width, 3)
    with pytest.raises(ValueError, match="do not fit"):
        learned.check(LAYOUT.width, 1)


def test_contributions_of_a_regression_hold_the_first_fit():
    line = TableLine(LAYOUT, 30.0, 0.5)
    rng = np.random.default_rng(1)
    residual = ResidualFeatures(
        features(row_norm=30.0), line, rng.standard_normal(line.width), 0.25
    )
    learned = LearnedFeatures(residual, rng.standard_normal(residual.width))
    constant = line.intercept * residual.theta[-1] / line.row_norm
    constant += 0.25 * residual.features.intercept * learned.theta[-1] / 30.0
    total = sum(learned.contribution(name, X) for name in learned.columns) + constant
    np.testing.assert_allclose(total, learned.scores(X), atol=1e-9)
