"""All per-row maps, with rows that were made to break them: the table of the row-map contract."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from contracts.rounding_cells import (
    BIAS,
    FACTORS,
    HISTORY,
    ITEMS,
    RULE,
    SOME,
    TASTE_POINT,
    TASTES,
    rating_rows,
    systems,
)
from tables.hostile import NAMES, SCHEMA, layout_of, random_lines, usual_lines
from veilspan.curator.clipping import clip_weights
from veilspan.curator.grid_rows import onto_grid
from veilspan.curator.rows import LARGEST_VALUE, Block, row_dots, row_lengths
from veilspan.curator.sparse_rows import join_parts
from veilspan.estimators.linear.classifier import _codes
from veilspan.estimators.linear.feature_scaling import FeatureBounds
from veilspan.estimators.manifold.points import flat_on_manifold
from veilspan.estimators.schema_input import signs_of_classes
from veilspan.features.covariance import covariance_descriptors
from veilspan.features.image_rows import edges_and_brightness, edges_lines_and_brightness
from veilspan.features.oriented_gradients import hog
from veilspan.geometry import (
    SPD,
    Ball,
    Euclidean,
    Grassmann,
    Lorentz,
    PoincareBall,
    Product,
    Sphere,
    Stiefel,
)
from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import Logistic, Multinomial, Squared
from veilspan.queries.completion.holdout_gains import HoldoutGains
from veilspan.queries.completion.item_popularity import ItemPopularity
from veilspan.queries.completion.rating_moments import (
    ItemStatistics,
    RatingCovariance,
    SomeItemsCovariance,
)
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.queries.completion.residual_moment import ResidualMoment
from veilspan.queries.completion.taste_gram import TasteGram
from veilspan.queries.completion.taste_rows import TasteRule
from veilspan.queries.linear.column_choice import ColumnChoice, RowLengths, TargetColumn
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.queries.linear.column_scales import CellScale
from veilspan.queries.linear.residual_features import ResidualFeatures, RestColumn
from veilspan.queries.linear.residual_histogram import ResidualHistogram
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.queries.linear.slope_gradient import targets, unit_factors
from veilspan.queries.linear.table_features import TableFeatures, TableLine
from veilspan.queries.linear.table_layout import layout_of_schema
from veilspan.queries.linear.target_scaling import TargetScaling
from veilspan.queries.moments import squared_norms
from veilspan.queries.profile.cell_counts import CellCounts
from veilspan.queries.profile.number_moments import NumberMoments
from veilspan.queries.stream.touching_moment import complete_rows
from veilspan.queries.subspace.column_scaling import ColumnScaling
from veilspan.queries.subspace.directions import OutsideCap, cosines_to, rays_of
from veilspan.queries.subspace.directions import place as place_in_rings
from veilspan.queries.subspace.shells import ShellSums
from veilspan.queries.subspace.sphered import to_rays, to_sparse_rays, to_sphere
from veilspan.tables.cell_rules import CellReader
from veilspan.tables.encoding import Encoder
from veilspan.tables.persons.person_rows import PersonReader
from veilspan.tables.persons.rules import PersonRules
from veilspan.tables.persons.secret_order import PersonCoins
from veilspan.tables.profiling.coding import CellEncoder
from veilspan.tables.profiling.layout import plan_layout
from veilspan.tables.sources.csv_arrow import parse_block
from veilspan.tables.sources.csv_lines import ColumnLayout, parse_lines


@dataclass(frozen=True)
class Map:
    """One per-row map.

    Attributes
    ----------
    marked : str or None
        The name under which ``row_map`` has it; ``None`` for maps of layers below the curator.
    rows : callable
        Rows from a generator: an array, CSR, or a pair (rows, targets).
    apply : callable
        From such rows to something with a part for each.
    """

    marked: str | None
    rows: Callable[[np.random.Generator], Any]
    apply: Callable[[Any], Any]


def cap_for(block):
    """A cap that some rows point into."""
    direction = np.linspace(-1, 2, block.x.shape[1])
    return OutsideCap(direction / np.linalg.norm(direction), 0.3)


def take(rows, which):
    if isinstance(rows, tuple):
        return tuple(take(part, which) for part in rows)
    return rows[which]


def count(rows):
    return rows[0].shape[0] if isinstance(rows, tuple) else rows.shape[0]


def per_row(result, n):
    """The bits of each row's part, one list entry a row."""
    if is_dataclass(result):
        if hasattr(result, "starts"):
            values = result.steps if hasattr(result, "steps") else result.values
            return split(result.starts, result.items, values)
        result = [getattr(result, field.name) for field in fields(result)]
        # Places of the voters in their block are no part of a row.
        result = [part for part in result if not (isinstance(part, np.ndarray) and len(part) != n)]
    if isinstance(result, (list, tuple)):
        parts = [per_row(part, n) for part in result if not isinstance(part, (int, type(None)))]
        return list(zip(*parts))
    if sparse.issparse(result):
        return split(result.indptr, result.indices, result.data)
    assert len(result) == n
    return [np.ascontiguousarray(part).tobytes() for part in result]


def split(starts, items, values):
    cut = starts[1:-1]
    pieces = zip(np.split(items.astype(np.int64), cut), np.split(values, cut))
    return [(i.tobytes(), v.tobytes()) for i, v in pieces]


def numbers(result):
    """All floats of a result, for the check that they are finite."""
    if is_dataclass(result):
        result = [getattr(result, field.name) for field in fields(result)]
    if isinstance(result, (list, tuple)):
        return np.concatenate([numbers(part) for part in result] or [np.zeros(0)])
    if sparse.issparse(result):
        return result.data
    return np.ravel(np.asarray(result, dtype=np.float64)) if result is not None else np.zeros(0)


# Rows.


def hard(width, usual=64):
    """Zero, denormal, tiny, huge and usual rows, in no order."""

    def make(rng):
        x = rng.standard_normal((usual, width)) * 10.0 ** rng.integers(-3, 4, (usual, 1))
        denormal = np.full((1, width), 5e-324)
        ends = np.zeros((1, width))
        ends[0, 0], ends[0, -1] = LARGEST_VALUE, -5e-324
        odd = [
            np.zeros((1, width)),
            -np.zeros((1, width)),
            denormal,
            1e-310 * x[:1],
            1e-160 * x[1:2],
            1e-155 * x[2:3],
            np.full((1, width), LARGEST_VALUE),
            -np.full((1, width), LARGEST_VALUE),
            1e130 * x[3:4],
            ends,
        ]
        return rng.permutation(np.concatenate([x, *odd]))

    return make


def columnwise(make):
    """The same rows, stored column after column."""
    return lambda rng: np.asfortranarray(make(rng))


def thin(make, share=0.5):
    """Sparse rows, one of them without entries."""

    def sparse_rows(rng):
        x = make(rng) * (rng.random((1, 1)) < 2)
        x[rng.random(x.shape) > share] = 0.0
        x[0] = 0.0
        return sparse.csr_array(x)

    return sparse_rows


def in_parts(make):
    """Sparse rows, each with its entries backwards and stored in three parts that cancel."""

    def split_rows(rng):
        x = make(rng)
        places = [np.arange(a, b)[::-1] for a, b in zip(x.indptr[:-1], x.indptr[1:])]
        order = np.concatenate([np.repeat(place, 3) for place in places])
        part = np.tile([1.0, -1.0, 0.0], len(x.data))
        data = np.where(part == 0, x.data[order], 1e20 * part)
        return sparse.csr_array((data, x.indices[order], 3 * x.indptr), shape=x.shape)

    return split_rows


def gappy(make):
    """Rows with missing entries, all of them in some."""

    def rows(rng):
        x = make(rng)
        x[rng.random(x.shape) < 0.3] = np.nan
        x[:2] = np.nan
        return x

    return rows


def labelled(make, values):
    def rows(rng):
        x = make(rng)
        return x, rng.choice(values, x.shape[0])

    return rows


def thin_labelled(make):
    """Sparse rows, with the targets that they came with."""

    def rows(rng):
        x, y = make(rng)
        return thin(lambda _: x)(rng), y

    return rows


def as_block(apply):
    """A map of blocks, given rows with or without targets."""
    return lambda rows: apply(Block(*rows) if isinstance(rows, tuple) else Block(rows))


def ratings_of(items):
    odd, crowd = rating_rows(items)

    def make(rng):
        x = sparse.vstack([odd(rng).x, crowd(rng, 60).x])
        return sparse.csr_array(x)

    return make


# Points.


def matrices(values, rng):
    turns = np.linalg.qr(rng.standard_normal((len(values), 3, 3)))[0]
    x = turns @ (values[:, :, None] * turns.transpose(0, 2, 1))
    return (x + x.transpose(0, 2, 1)) / 2


def spd_points(rng):
    logs = np.concatenate(
        [rng.uniform(-1, 1, (40, 3)), rng.uniform(-4, 4, (10, 3)), rng.uniform(-1, 1, (1, 3)) * 12]
    )
    odd = [scale * np.eye(3)[None] for scale in (1.0, 1e-100, 1e100)]
    return np.concatenate([matrices(np.exp(logs), rng), *odd])


def sphere_points(rng):
    x = rng.standard_normal((60, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    axis = np.eye(4)[:1]
    tilted = -axis + 1e-9 * np.eye(4)[1:2]
    odd = [axis, -axis, tilted, np.array([[1.0, 1e-310, 1e-200, 0.0]]), -x[:1] * 0 - axis]
    return np.concatenate([x, *odd])


def lifted(tails):
    tails = np.asarray(tails, dtype=np.float64)
    return np.concatenate([np.sqrt(1 + np.sum(tails**2, axis=1, keepdims=True)), tails], axis=1)


def lorentz_points(rng):
    tails = rng.standard_normal((50, 3)) * np.exp(rng.uniform(-3, 20, (50, 1)))
    along = np.array([3.0, 1.0, 0.0])
    odd = [along * size for size in (0.0, 1e-310, 1.0, 1e8, 1e17, -1e17, 1e60, 1e100, -1e100)]
    return lifted(np.concatenate([tails, odd]))


def poincare_points(rng):
    x = rng.standard_normal((50, 3))
    x *= rng.uniform(0, 1, (50, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    axis = np.eye(3)[0]
    odd = [axis * size for size in (0.0, 5e-324, 1e-170, 1 - 1e-15, -(1 - 1e-15), 0.5)]
    return np.concatenate([x, odd])


def grassmann_points(rng):
    x = np.linalg.qr(rng.standard_normal((50, 4, 2)))[0]
    axes = np.eye(4)
    odd = [axes[:, [0, 1]], axes[:, [1, 0]], axes[:, [2, 3]], axes[:, [0, 2]]]
    return np.concatenate([x, odd])


def product_points(rng):
    first, second = lorentz_points(rng)[:40], sphere_points(rng)[:40]
    return np.concatenate([first.reshape(40, -1), second.reshape(40, -1)], axis=1)


PAIR = Product(Lorentz(4), Sphere(4))
# name: (ball, points in it and out)
BALLS = {
    "euclidean": (Ball(Euclidean(5), np.zeros(5), 2.0), hard(5)),
    "euclidean, wide": (Ball(Euclidean(9000), np.zeros(9000), 2.0), hard(9000, usual=6)),
    "sphere": (Ball(Sphere(4), np.eye(4)[0], 0.8), sphere_points),
    "lorentz": (Ball(Lorentz(4), lifted([[3.0, 1.0, 0.0]])[0], 5.0), lorentz_points),
    "poincare": (Ball(PoincareBall(3), np.array([0.3, 0.0, 0.1]), 1.0), poincare_points),
    "grassmann": (Ball(Grassmann(4, 2), np.eye(4)[:, :2], 0.7), grassmann_points),
    "product": (Ball(PAIR, PAIR.reference_point, 1.0), product_points),
    **{
        f"matrices, {metric}": (Ball.from_eigenvalues(SPD(3, metric=metric), 0.5, 2.0), spd_points)
        for metric in ("affine-invariant", "log-euclidean", "bures-wasserstein")
    },
}


def item_statistics(block):
    kept, scaled = ItemStatistics(RULE, 1e9).prepare(block, None)
    return replace(kept, steps=scaled)


def in_ball(ball):
    return lambda points: flat_on_manifold(points.reshape(len(points), -1), ball.manifold, ball)


def stiefel(points):
    return Stiefel(4, 2).nearest_point(points)


# Maps.

QUERIES, ESTIMATORS = "veilspan.queries.", "veilspan.estimators.linear."
CENTER, WIDTHS = np.linspace(-1, 1, 6), np.logspace(-9, 9, 6)
SCALING = RowScaling(CENTER, WIDTHS, 1.5, 0.5)
THIN_SCALING = RowScaling(None, WIDTHS, 1.5, 0.5)
RANGES = FeatureBounds((np.full(6, -2.0), np.linspace(0, 1e9, 6)), None, None, 0.5)
LENGTHS = FeatureBounds(None, 1e-3, None, 0.5)
BASIS = np.linalg.qr(np.random.default_rng(5).standard_normal((6, 2)))[0]
WIDE_BASIS = np.linalg.qr(np.random.default_rng(5).standard_normal((9000, 2)))[0]
RESIDUALS = ResidualHistogram(Squared(), np.array([-1.0, 0.0, 0.5]))
HISTOGRAMS = ColumnHistograms(6, np.array([-1.0, 0.0, 2.0]))
WEIGHTED = ClassWeighted(Logistic(), (0.5, 1e6))
POINT = systems("adaptive").point


def scaling_cells(name, marked, dense, sparse_map):
    return {
        name: Map(marked, hard(6), as_block(dense)),
        f"{name}, by columns": Map(marked, columnwise(hard(6)), as_block(dense)),
        f"{name}, sparse": Map(marked, thin(hard(6)), as_block(sparse_map)),
    }


def wide(marked, apply, usual=6):
    """Rows beyond the 8,192 columns that NumPy's buffers hold."""
    return {
        f"{marked.rsplit('.', 1)[1]}, {d} columns": Map(marked, hard(d, usual), apply(d))
        for d in (8200, 20_000)
    }


# Tables: a row is a line of a file.

TABLES = "veilspan.tables."
ENCODER, LAYOUT = Encoder(SCHEMA), layout_of(SCHEMA)


def lines_of(make, n=70):
    def rows(rng):
        lines = make(rng, n)
        table = np.empty(len(lines), dtype=object)
        table[:] = lines
        return table

    return rows


def from_lines(parse):
    """Encoded rows of lines, read by a parser of blocks."""

    def apply(lines):
        encoded = ENCODER.encode_batch(parse(b"".join(line + b"\n" for line in lines), LAYOUT))
        return encoded.x, encoded.y, encoded.present

    return apply


def on_demand(lines):
    """The same, each row encoded by itself from one batch that was read as a whole."""
    batch = ENCODER.prepare(parse_lines(b"".join(line + b"\n" for line in lines), LAYOUT))
    parts = [batch.encode_rows(i, i + 1) for i in range(len(lines))]
    return np.concatenate([part.x for part in parts])


def by_columns(lines):
    """The same by columns, three rows at a time."""
    batch = ENCODER.prepare(parse_lines(b"".join(line + b"\n" for line in lines), LAYOUT))
    parts = [np.empty((ENCODER.width, min(3, len(lines) - i))) for i in range(0, len(lines), 3)]
    for i, part in enumerate(parts):
        batch.encode_columns(3 * i, 3 * i + part.shape[1], part)
    return np.concatenate([part.T for part in parts])


# Features of a table: encoded rows, some with entries that no encoder makes.

LAYOUT_OF_ROWS = layout_of_schema(SCHEMA)
ROW_WIDTH = LAYOUT_OF_ROWS.width


def encoded_rows(rng):
    """Rows of zeros and ones, numbers in and out of their ranges, missing ones."""
    flags = (rng.random((60, ROW_WIDTH)) < 0.4).astype(float)
    numbers = rng.uniform(-1.3, 1.3, (60, ROW_WIDTH))
    mixed = np.where(rng.random((60, ROW_WIDTH)) < 0.5, flags, numbers)
    return np.concatenate([mixed, hard(ROW_WIDTH, 20)(rng)])


def on_grid(x):
    """Rows of the unit ball, half of them on its surface, rounded."""
    with np.errstate(all="ignore"):
        rows = x / np.maximum(1.0, row_lengths(x))[:, None]
    return onto_grid(rows)


def features_of_all_kinds():
    rng, layout = np.random.default_rng(3), LAYOUT_OF_ROWS
    m, entries = layout.n_numbers, layout.n_numbers + layout.n_flags
    below = np.cumsum(np.hstack([np.zeros((m, 1)), rng.dirichlet(np.ones(9), m)]), axis=1)
    line = TableLine(layout, 2.0, 0.5, np.full(m, 0.4), np.full(m, 0.1))
    return TableFeatures(
        layout, 1.7, 0.4, waves=12, bins=16, bins_weight=0.4, line_weight=0.1,
        mass=np.minimum(below, 1.0), shown=np.arange(m) % 2 == 0, score_line=line,
        score_theta=rng.standard_normal((line.width, 3)), score_weight=0.1, score_reach=3.0,
        frequencies=rng.standard_normal((entries, 20)), phases=rng.uniform(0, 6, 20),
        fourier_weight=0.5,
    )  # fmt: skip


FEATURES_MADE = features_of_all_kinds()
LINE_MADE = FEATURES_MADE.score_line
FIRST_THETA = np.linspace(-3, 3, LINE_MADE.width)
FEATURES = QUERIES + "linear.table_features."


def feature_cells():
    """Every map of table features, of rows by rows and by columns."""
    numbered = labelled(encoded_rows, [-1.0, -0.3, 0.0, 1.0])
    maps = {
        "cell scale": (QUERIES + "linear.column_scales.CellScale.__call__",
                       encoded_rows, as_block(CellScale(LAYOUT_OF_ROWS))),
        "straight rows": (FEATURES + "TableLine.__call__", encoded_rows, as_block(LINE_MADE)),
        "scores of straight rows": (FEATURES + "TableLine.scores", encoded_rows,
                                    lambda x: LINE_MADE.scores(x, FEATURES_MADE.score_theta)),
        "table features": (FEATURES + "TableFeatures.__call__", encoded_rows,
                           as_block(FEATURES_MADE)),
        "residual features": (
            QUERIES + "linear.residual_features.ResidualFeatures.__call__", numbered,
            as_block(ResidualFeatures(FEATURES_MADE, LINE_MADE, FIRST_THETA, 0.3))),
        "rest column": (QUERIES + "linear.residual_features.RestColumn.__call__", numbered,
                        as_block(RestColumn(LINE_MADE, FIRST_THETA))),
    }  # fmt: skip
    for name, (marked, rows, apply) in maps.items():
        yield name, Map(marked, rows, apply)
        if rows is encoded_rows:
            yield f"{name}, by columns", Map(marked, columnwise(rows), apply)


def of_people(lines):
    """Whose row it is, when, and what it says: by the row alone and the key."""
    order = CellReader(next(c for c in SCHEMA.columns if c.name == "day"), SCHEMA.file)
    rules = PersonRules(2, "random", "mean", order)
    reader = PersonReader(ENCODER, "note", SCHEMA.file, rules, PersonCoins(bytes(range(32))))
    places = {name: i for i, name in enumerate(NAMES)}
    columns = tuple(
        ColumnLayout(places[c.name], CellReader(c, SCHEMA.file), False) for c in reader.columns
    )
    layout = replace(LAYOUT, width=len(NAMES), columns=columns)
    rows = reader.read(parse_lines(b"".join(line + b"\n" for line in lines), layout))
    known = rows.marks.any(axis=1)
    return rows.marks, known, rows.x, rows.y, rows.present, np.nan_to_num(rows.order)


COUNTED = plan_layout(SCHEMA, bins=5)
CODER = CellEncoder(COUNTED, SCHEMA)
VALUES = {cells.name: (cells, reader) for cells, reader in zip(COUNTED.columns, CODER._readers)}


def coded(lines):
    """Codes and numbers of lines, for a profile."""
    return CODER.encode_batch(parse_block(b"".join(line + b"\n" for line in lines), LAYOUT)).x


def with_gaps(rng):
    """Values of a column in its own terms, NaN where missing."""
    x = hard(1)(rng)[:, 0]
    return np.where(rng.random(len(x)) < 0.1, np.nan, x)


SHELL_EDGES = 2.0 ** np.arange(-48, 65)

MAPS = {
    **dict(feature_cells()),
    "hostile lines, of people": Map(
        TABLES + "persons.person_rows.PersonReader.read", lines_of(random_lines), of_people
    ),
    "lines of a profile": Map(
        TABLES + "profiling.coding.CellEncoder.encode_batch", lines_of(random_lines), coded
    ),
    **{
        f"cells of a profile, {name}": Map(
            TABLES + "profiling.column_cells.ColumnCells.codes_of",
            with_gaps,
            VALUES[name][0].codes_of,
        )
        for name in ("number", "whole", "level", "day", "flag")
    },
    **{
        f"numbers of a profile, {name}": Map(
            TABLES + "profiling.column_cells.ColumnCells.scaled",
            with_gaps,
            lambda x, name=name: VALUES[name][0].scaled(x, VALUES[name][1]),
        )
        for name in ("number", "whole", "level", "day", "flag")
    },
    "cell counts": Map(
        QUERIES + "profile.cell_counts.CellCounts.prepare",
        hard(6),
        as_block(lambda block: CellCounts([3, 2], [(0, 1)], 3, 2).prepare(block, None)),
    ),
    "number moments": Map(
        QUERIES + "profile.number_moments.NumberMoments.prepare",
        hard(6),
        as_block(lambda block: NumberMoments([2], [(0, 3)], 3, 2).prepare(block, None)),
    ),
    "hostile lines, on demand": Map(
        TABLES + "encoding.PreparedBatch.encode_rows", lines_of(random_lines), on_demand
    ),
    "hostile lines, by columns": Map(
        TABLES + "encoding.PreparedBatch.encode_columns", lines_of(random_lines), by_columns
    ),
    **{
        f"{kind} lines, {name}": Map(TABLES + marked, lines_of(make), from_lines(parse))
        for kind, make in (("hostile", random_lines), ("usual", usual_lines))
        for name, marked, parse in (
            ("in Python", "sources.csv_lines.parse_lines", parse_lines),
            ("by pyarrow", "sources.csv_arrow.parse_block", parse_block),
            ("encoded", "encoding.Encoder.encode_batch", parse_block),
        )
    },
    "row dots": Map("veilspan.curator.rows.row_dots", hard(7), lambda x: row_dots(x, x)),
    "row lengths": Map("veilspan.curator.rows.row_lengths", hard(7), row_lengths),
    **wide("veilspan.curator.rows.row_dots", lambda d: lambda x: row_dots(x, x)),
    **wide("veilspan.curator.rows.row_lengths", lambda d: row_lengths),
    "rows on a grid": Map("veilspan.curator.grid_rows.onto_grid", hard(7), on_grid),
    **wide("veilspan.curator.grid_rows.onto_grid", lambda d: on_grid),
    "squared norms": Map(QUERIES + "moments.squared_norms", hard(7), squared_norms),
    "squared norms, sparse": Map(QUERIES + "moments.squared_norms", thin(hard(7)), squared_norms),
    "squared lengths": Map(None, hard(7), as_block(lambda block: block.squared_lengths)),
    "squared lengths, sparse": Map(
        "veilspan.curator.sparse_rows.sparse_squares",
        thin(hard(7)),
        as_block(lambda block: block.squared_lengths),
    ),
    "joined parts": Map(
        "veilspan.curator.sparse_rows.join_parts", in_parts(thin(hard(7))), join_parts
    ),
    **scaling_cells(
        "row scaling", QUERIES + "linear.row_scaling.RowScaling.__call__", SCALING, THIN_SCALING
    ),
    **wide(
        QUERIES + "linear.row_scaling.RowScaling.__call__",
        lambda d: as_block(RowScaling(np.ones(d), 0.1, 1.5, 1.0)),
    ),
    **scaling_cells(
        "feature ranges",
        QUERIES + "linear.row_scaling.RowScaling.__call__",
        RANGES.map_for(6, False),
        RANGES.map_for(6, True),
    ),
    **scaling_cells(
        "feature lengths",
        QUERIES + "linear.row_scaling.RowScaling.__call__",
        LENGTHS.map_for(6, False),
        LENGTHS.map_for(6, True),
    ),
    "completed rows": Map(
        QUERIES + "stream.touching_moment.complete_rows",
        gappy(hard(6)),
        lambda x: complete_rows(x, BASIS, 1e9, 1e-6),
    ),
    "completed rows, by columns": Map(
        QUERIES + "stream.touching_moment.complete_rows",
        columnwise(gappy(hard(6))),
        lambda x: complete_rows(x, BASIS, 1e-9, 1.0),
    ),
    "completed rows, no basis": Map(
        QUERIES + "stream.touching_moment.complete_rows",
        gappy(hard(6)),
        lambda x: complete_rows(x, None, 1e60, 1.0),
    ),
    "completed rows, wide": Map(
        QUERIES + "stream.touching_moment.complete_rows",
        gappy(hard(9000, usual=6)),
        lambda x: complete_rows(x, WIDE_BASIS, 1.0, 1e-6),
    ),
    "unit factors": Map(
        QUERIES + "linear.slope_gradient.unit_factors", hard(6), as_block(unit_factors)
    ),
    "unit factors, sparse": Map(
        QUERIES + "linear.slope_gradient.unit_factors", thin(hard(6)), as_block(unit_factors)
    ),
    **wide(QUERIES + "linear.slope_gradient.unit_factors", lambda d: as_block(unit_factors)),
    "rays": Map(
        QUERIES + "subspace.sphered.to_rays", hard(6), as_block(lambda b: to_rays(b, None))
    ),
    "rays, centred": Map(
        QUERIES + "subspace.sphered.to_rays", hard(6), as_block(lambda b: to_rays(b, CENTER))
    ),
    "sparse rays": Map(QUERIES + "subspace.sphered.to_sparse_rays", thin(hard(6)), to_sparse_rays),
    "sphere": Map(
        QUERIES + "subspace.sphered.to_sphere", hard(6), as_block(lambda b: to_sphere(b, None))
    ),
    **wide(
        QUERIES + "subspace.sphered.to_sphere", lambda d: as_block(lambda b: to_sphere(b, None))
    ),
    **{
        f"{name}, {kind}": Map(QUERIES + f"subspace.directions.{place}", made, as_block(apply))
        for kind, made in {
            "dense": hard(6),
            "by columns": columnwise(hard(6)),
            "sparse": thin(hard(6)),
            "wide": hard(9000, usual=6),
        }.items()
        for name, place, apply in (
            ("outside a cap", "OutsideCap.__call__", lambda b: cap_for(b)(b)),
            ("rings", "place", lambda b: place_in_rings(b, cap_for(b).direction, (0.6, 0.3))),
            (
                "cosines",
                "cosines_to",
                lambda b: cosines_to(rays_of(b), cap_for(b).direction),
            ),
        )
    },
    "clip weights": Map(
        "veilspan.curator.clipping.clip_weights",
        lambda rng: np.append(hard(1, 64)(rng)[:, 0] ** 2, [np.inf, np.nan, 1e308, 1e250]),
        lambda norms: clip_weights(norms, 1e-50),
    ),
    "targets, numbers": Map(
        QUERIES + "linear.slope_gradient.bounded_targets",
        labelled(hard(3), [0.0, 5e-324, -1e139, 0.3]),
        as_block(lambda b: targets(Logistic(), b)),
    ),
    "targets, classes": Map(
        QUERIES + "linear.slope_gradient.bounded_targets",
        labelled(hard(3), [0.0, 5e-324, -1e139, 2.0]),
        as_block(lambda b: targets(Multinomial(3), b)),
    ),
    "encoded numbers": Map(
        QUERIES + "linear.target_scaling.TargetScaling.__call__",
        lambda rng: hard(1)(rng)[:, 0],
        TargetScaling(-1.0, 1e9, 0.5, 1e-9),
    ),
    **{
        f"{name}, {kind}": Map(
            QUERIES + f"linear.{place}",
            made(labelled(hard(6), [0.0, 5e-324, -1e139, 0.3])),
            as_block(apply),
        )
        for kind, made in (("dense", lambda rows: rows), ("sparse", thin_labelled))
        for name, place, apply in (
            ("some columns", "column_choice.ColumnChoice.__call__", ColumnChoice(np.array([1, 4]))),
            ("column of targets", "column_choice.TargetColumn.__call__", TargetColumn()),
            ("lengths", "column_choice.RowLengths.__call__", RowLengths(THIN_SCALING)),
            (
                "scaled rows and targets",
                "row_scaling.RowScaling.__call__",
                replace(THIN_SCALING, targets=TargetScaling(-1.0, 1e9, 0.5, 1e-9)),
            ),
            (
                "bins of residuals",
                "residual_histogram.ResidualHistogram._bins",
                lambda b: RESIDUALS._bins(b, np.linspace(-1e3, 1e3, 6)),
            ),
        )
    },
    "signs of classes": Map(
        "veilspan.estimators.schema_input.signs_of_classes",
        lambda rng: rng.choice([0.0, 1.0], 70),
        signs_of_classes,
    ),
    "encoded labels": Map(
        None,
        lambda rng: rng.choice(["a", "b", "c"], 70),
        lambda y: _codes(y, np.array(["a", "b", "c"])),
    ),
    "class weights": Map(
        None,
        lambda rng: rng.choice([-1.0, 1.0], 70),
        lambda y: WEIGHTED.slope(np.full(len(y), 1e139), y),
    ),
    "histogram cells": Map(
        QUERIES + "linear.column_histograms.ColumnHistograms._cells",
        hard(6),
        lambda x: HISTOGRAMS._cells(x, np.arange(6), (CENTER, WIDTHS)),
    ),
    # In which shell a row is depends on its last bit: whole questions, as blocks come to them.
    "shells of rows": Map(
        None, hard(12), as_block(lambda b: ShellSums(SHELL_EDGES).prepare(b, None))
    ),
    "shells of rows, centred": Map(
        None, hard(12), as_block(lambda b: ShellSums(SHELL_EDGES).prepare(b, np.full(12, 0.3)))
    ),
    "shells of lengths": Map(
        QUERIES + "subspace.shells.ShellSums._place",
        hard(6),
        lambda x: ShellSums(2.0 ** np.arange(-48, 65))._place(np.sqrt(squared_norms(x))),
    ),
    "scaled columns": Map(
        QUERIES + "subspace.column_scaling.ColumnScaling.__call__",
        hard(6),
        as_block(ColumnScaling(CENTER, 1 / WIDTHS)),
    ),
    "rating rule": Map(
        QUERIES + "completion.rating_rows.RatingRule.keep", ratings_of(ITEMS), as_block(RULE.keep)
    ),
    "rating rule, dense": Map(
        QUERIES + "completion.rating_rows.RatingRule.keep",
        hard(6),
        as_block(RatingRule(-1e-9, 1e9, 3, "middle", salt=7).keep),
    ),
    "item statistics": Map(
        QUERIES + "completion.rating_moments.ItemStatistics.prepare",
        ratings_of(ITEMS),
        as_block(item_statistics),
    ),
    "rating covariance": Map(
        QUERIES + "completion.rating_moments.RatingCovariance.prepare",
        ratings_of(ITEMS),
        as_block(lambda b: RatingCovariance(RULE, 1e-9).prepare(b, BIAS)),
    ),
    "tastes": Map(
        QUERIES + "completion.taste_rows.TasteRule.take", ratings_of(ITEMS), as_block(TASTES.take)
    ),
    "tastes, no ratings": Map(
        QUERIES + "completion.taste_rows.TasteRule.take",
        ratings_of(ITEMS),
        as_block(TasteRule(None).take),
    ),
    "tastes, dense": Map(
        QUERIES + "completion.taste_rows.TasteRule.take",
        hard(6),
        as_block(TasteRule((-1e-9, 1e9)).take),
    ),
    "item popularity": Map(
        QUERIES + "completion.item_popularity.ItemPopularity.prepare",
        ratings_of(ITEMS),
        as_block(lambda b: ItemPopularity(TASTES).prepare(b, None)),
    ),
    "taste gram": Map(
        QUERIES + "completion.taste_gram.TasteGram.prepare",
        ratings_of(ITEMS),
        as_block(lambda b: TasteGram(TASTES).prepare(b, TASTE_POINT)),
    ),
    "covariance of some items": Map(
        QUERIES + "completion.rating_moments.SomeItemsCovariance.prepare",
        ratings_of(ITEMS),
        as_block(lambda b: SomeItemsCovariance(RULE, 1e-9).prepare(b, SOME)),
    ),
    "hold-out gains": Map(
        QUERIES + "completion.holdout_gains.HoldoutGains.prepare",
        ratings_of(ITEMS),
        as_block(lambda b: HoldoutGains(RULE, (1e-9, 1.0), 1e-9, 1e-9).prepare(b, (BIAS, FACTORS))),
    ),
    **{
        f"residuals, {local}": Map(
            QUERIES + "completion.residual_moment.ResidualMoment.prepare",
            ratings_of(ITEMS),
            as_block(
                lambda b, local=local: ResidualMoment(RULE, 0.8, local, 1e-9).prepare(b, HISTORY)
            ),
        )
        for local in ("classic", "line-search", "refit")
    },
    **{
        f"item systems, {kind}": Map(
            QUERIES + "completion.item_systems.ItemSystems.prepare",
            ratings_of(ITEMS),
            as_block(lambda b, kind=kind: systems(kind).query("replace-one").prepare(b, POINT)),
        )
        for kind in ("uniform", "tail", "adaptive")
    },
    "covariance descriptors": Map(
        None,
        lambda rng: np.concatenate([np.zeros((1, 6, 6)), rng.random((66, 6, 6))]),
        covariance_descriptors,
    ),
    "oriented gradients": Map(
        None,
        lambda rng: np.concatenate([np.zeros((1, 8, 8)), rng.random((66, 8, 8))]),
        hog,
    ),
    "edges and brightness": Map(
        None,
        lambda rng: np.concatenate([np.zeros((1, 8, 8)), rng.random((66, 8, 8))]),
        edges_and_brightness,
    ),
    "edges, lines and brightness": Map(
        None,
        lambda rng: np.concatenate([np.zeros((1, 8, 8)), rng.random((66, 8, 8))]),
        edges_lines_and_brightness,
    ),
    "orthonormal frames": Map(
        None, lambda rng: np.linalg.qr(rng.standard_normal((70, 4, 2)))[0], stiefel
    ),
    **{f"ball, {name}": Map(None, points, in_ball(ball)) for name, (ball, points) in BALLS.items()},
}
