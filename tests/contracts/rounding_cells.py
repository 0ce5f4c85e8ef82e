"""All queries, each with rows that rounding hurts most: the table of the rounding contract."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from contracts import exact
from veilspan import FrechetLoss, LeadingSubspace
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import LARGEST_VALUE, Block
from veilspan.geometry import SPD, Grassmann, Lorentz, Sphere
from veilspan.losses.linear import Logistic, MulticlassHinge, Multinomial, Squared
from veilspan.losses.nonconvex import Biweight
from veilspan.queries.completion.holdout_gains import HoldoutGains
from veilspan.queries.completion.item_popularity import ItemPopularity
from veilspan.queries.completion.item_systems import ItemPoint, ItemSystems
from veilspan.queries.completion.rating_moments import (
    ItemStatistics,
    RatingCovariance,
    SomeItemsCovariance,
)
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.queries.completion.residual_moment import History, ResidualMoment
from veilspan.queries.completion.taste_gram import TasteGram, TastePoint
from veilspan.queries.completion.taste_rows import TasteRule
from veilspan.queries.linear.asked.curvature_diagonal import CurvatureDiagonal
from veilspan.queries.linear.candidate_gains import CandidateGains, ModelGain
from veilspan.queries.linear.class_votes import ClassCounts, ScoreHistogram
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.queries.linear.regression_moments import RegressionMoments
from veilspan.queries.linear.residual_histogram import ResidualHistogram
from veilspan.queries.linear.slope_gradient import (
    GradientChange,
    MetricGradient,
    RowMetric,
    SlopeGradient,
)
from veilspan.queries.manifold.tangent_gradient import (
    EnergyGradient,
    GradientDifference,
    GradientScale,
    TangentGradient,
)
from veilspan.queries.moments import RowCount, RowSum, SecondMoment
from veilspan.queries.own_gradient import RowGradient
from veilspan.queries.profile.cell_counts import CellCounts
from veilspan.queries.profile.number_moments import NumberMoments
from veilspan.queries.stream.stretched_moment import StretchedMoment
from veilspan.queries.stream.touching_moment import TouchingMoment
from veilspan.queries.subspace.captured_share import CapturedShare
from veilspan.queries.subspace.directions import DirectionSum, RingSums
from veilspan.queries.subspace.geodesic_gradient import GeodesicGradient
from veilspan.queries.subspace.reaper_gradient import ReaperGradient
from veilspan.queries.subspace.reshaped_moment import ReshapedMoment, Stretch
from veilspan.queries.subspace.shells import ShellSums
from veilspan.queries.subspace.sphered import SphericalMoment
from veilspan.queries.subspace.whitened_blocks import ResidualDifference, TylerBlock, WhitenedBlocks


@dataclass(frozen=True)
class Cell:
    """One query at one point.

    Attributes
    ----------
    query : callable
        From a neighbour relation to the query.
    exact : callable or None
        The contribution of one row in many digits (``contracts.exact``). ``None`` where it is
        defined by what the query computes for a block of that row alone, and claimed to be the
        same bits in every block.
    width, point
        Columns and public point.
    odd : callable
        Adversarial rows, from a generator: each is exchanged, added and summed.
    crowd : callable
        So many rows that they hide among.
    framed : bool
        Whether ``exact`` speaks in the coordinates of the answer space; elsewhere in coordinates
        that are turned against them, and lengths are compared.
    """

    query: Callable[[str], RowQuery]
    exact: Callable[..., Any] | None
    width: int
    point: Any
    odd: Callable[[np.random.Generator], Block]
    crowd: Callable[[np.random.Generator, int], Block]
    framed: bool = True
    rows: int = 1500


def with_targets(make):
    """The same rows with targets -1 and 1."""

    def targeted(rng, *count):
        block = make(rng, *count)
        return Block(block.x, np.where(rng.random(block.n_rows) < 0.5, -1.0, 1.0))

    return targeted


def odd_rows(width, scale=1.0):
    """Rows of all sizes, zero, denormal and huge ones, and rows that nearly cancel."""

    def make(rng):
        x = unit_rows(rng.standard_normal((3, width)))
        tiny = np.full((1, width), 5e-324)
        tiny[0, 0] = 1e-310
        mixed = np.zeros((1, width))
        mixed[0, :2] = LARGEST_VALUE, 1e-300
        rows = [
            scale * x,
            -scale * x[:1] * (1 + 1e-12),
            1e3 * scale * x[1:2],
            1e-9 * scale * x[:1],
            np.zeros((1, width)),
            tiny,
            1e-170 * x[2:],
            1e139 * x[:1],
            mixed,
        ]
        return Block(np.concatenate(rows))

    return make


def usual_rows(width, scale=1.0):
    return lambda rng, count: Block(scale * rng.standard_normal((count, width)) / np.sqrt(width))


def unit_rows(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def thin_rows(width, share=0.0):
    """Sparse rows of one or two entries, but half of all in so large a share of the rows.

    Without those a table is just thin enough to be multiplied entry by entry: with one full
    row more its blocks are written out.
    """

    def crowd(rng, count):
        chance = np.where(rng.random((count, 1)) < share, 0.5, 0.0)
        keep = rng.random((count, width)) < chance
        first = rng.integers(width, size=count)
        keep[np.arange(count), first] = True
        some = rng.random(count) < 0.55
        keep[some, (first[some] + 1) % width] = True
        x = rng.standard_normal((count, width)) * keep
        return Block(sparse.csr_array(x))

    return crowd


def thin_odd_rows(width):
    """Odd rows in CSR: full ones, and the same with two entries each."""

    def odd(rng):
        x = odd_rows(width)(rng).x
        few = np.zeros_like(x)
        few[:, [0, width - 1]] = x[:, [0, width - 1]]
        return Block(sparse.csr_array(np.concatenate([x, few])))

    return odd


def thin(query, contribution, share=0.0, point=None):
    labels = isinstance(query, RegressionMoments | ResidualHistogram)
    make = with_targets if labels else lambda rows: rows
    odd, crowd = thin_odd_rows(THIN_WIDTH), thin_rows(THIN_WIDTH, share)
    return Cell(lambda relation: query, contribution, THIN_WIDTH, point, make(odd), make(crowd))


def frame(width, size, seed=5):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((width, size)))[0]


def along(basis, scale, towards=None):
    """Rows V w + s z with z orthogonal to V: their rest is small, and is what counts."""
    width, size = basis.shape

    def split(rng, count):
        w = unit_rows(np.random.default_rng(1).standard_normal((1, size)))
        z = rng.standard_normal((count, width))
        for _ in range(2):
            z -= z @ basis @ basis.T
        return w @ basis.T, scale * unit_rows(z)

    def odd(rng):
        w, z = split(rng, 4)
        near = np.concatenate([w + z, w - z, 0.7 * (w + z), w + 1e-3 * z, w + 0 * z])
        return Block(
            np.concatenate([near, 1e100 * near[:2], 1e-160 * near[:2], odd_rows(width)(rng).x])
        )

    def crowd(rng, count):
        w, z = split(rng, count)
        return Block(0.9 * (w + 0.7 * z))

    return odd, crowd


def on_manifold(manifold, point, radius):
    """Points around a base point, nearer and farther, and the base point itself."""

    def points(rng, count, size):
        c = rng.standard_normal((count, *manifold.coordinate_shape))
        c *= size / np.sqrt(np.sum(c**2, axis=tuple(range(1, c.ndim)), keepdims=True))
        vectors = manifold.from_coordinates(point, c)
        x = manifold.nearest_point(manifold.exp(point, vectors))
        return x.reshape(count, -1)

    def odd(rng):
        near = [points(rng, 2, radius * share) for share in (1.0, 0.5, 1e-3, 2.0)]
        return Block(np.concatenate([*near, np.reshape(point, (1, -1))]))

    return odd, lambda rng, count: Block(points(rng, count, 0.5 * radius))


def rating_rows(items):
    """Sparse rows: none, one, few, many, absurd ratings."""

    def table(rng, lengths):
        rows = [rng.choice(items, size, replace=False) for size in lengths]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        values = rng.uniform(0, 6, starts[-1])
        return sparse.csr_array(
            (values, np.concatenate([np.sort(r) for r in rows]), starts), shape=(len(rows), items)
        )

    def odd(rng):
        x = table(rng, [0, 1, 1, 2, 5, items, items, items])
        x.data[:2] = 1e139, -1e139
        x.data[3] = 5e-324
        return Block(x)

    return odd, lambda rng, count: Block(table(rng, rng.integers(0, items, count)))


THIN_WIDTH = 24
NARROW = frame(5, 2)
WIDE = frame(20, 2)
RELAXED = np.diag([0.9, 0.6, 0.4, 0.1]) + 0.05
CURVED = LeadingSubspace(Sphere(4), row_norm=1.0)
HERE, ANCHOR = unit_rows(np.array([[1.0, 1, 1, 1], [1, 1, 1, 1 + 1e-5]]))
RULE = RatingRule(0.0, 5.0, 4)
ITEMS = 7
BIAS = np.linspace(-0.4, 0.5, ITEMS)
TASTES = TasteRule((0.0, 5.0))
TASTE_POINT = TastePoint.at(np.array([5, 1, 2, 6]), np.array([9.0, 4.0, 4.0, 1.0]))
FACTORS = np.random.default_rng(3).standard_normal((ITEMS, 2))
SOME = (BIAS, np.array([0, 3, 4]))
# Edges that no simple row lies on.
CROOKED = np.array([-0.7712, -0.1037, 0.1234, 0.6181])
THIN_THETA = np.random.default_rng(5).standard_normal(THIN_WIDTH)
CAP = np.random.default_rng(6).standard_normal(THIN_WIDTH)
THETAS = tuple(np.random.default_rng(4).standard_normal((3, 4)) * 3)


def far_out(distance, n=4):
    """A point of the hyperboloid so far from the apex."""
    tail = np.sinh(distance) * unit_rows(np.array([[3.0, 1.0, 0.5]]))[0]
    return np.concatenate([[np.sqrt(1 + tail @ tail)], tail])


def lorentz(distance):
    manifold, point = Lorentz(4), far_out(distance)
    return Cell(
        lambda relation: TangentGradient(FrechetLoss(manifold), 1.0),
        exact.lorentz_log,
        4,
        point,
        *on_manifold(manifold, point, 1.0),
        framed=False,
    )


def spd(condition):
    rng = np.random.default_rng(2)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    point = turn @ np.diag([1.0, condition**0.5, condition]) @ turn.T
    point = (point + point.T) / 2
    manifold = SPD(3)
    # No float64 code knows the logarithm to better than u times the condition. It need not: a row
    # is clipped by the coordinates that were computed, and these must be its own in every block.
    known = exact.spd_log if condition < 1e3 else None
    return Cell(
        lambda relation: TangentGradient(FrechetLoss(manifold), 1.0),
        known,
        9,
        point,
        *on_manifold(manifold, point, 1.0),
        framed=False,
        rows=200,
    )


def moment(scale):
    return Cell(
        lambda relation: SecondMoment(scale),
        exact.second_moment,
        4,
        None,
        odd_rows(4, scale),
        usual_rows(4, scale),
    )


def whitened(scale, size, rows=1500, stretch=()):
    def query(relation):
        return WhitenedBlocks(relation)

    def contribution(x, y, point, relation):
        return exact.whitened(1 if relation == "replace-one" else 0.5, exact.ROOT2)(x, y, point)

    basis = frame(20, size)
    point = (basis, scale, *stretch)
    return Cell(query, contribution, 20, point, *along(basis, scale), rows=rows)


def touching(scale, rows=1500):
    return Cell(
        lambda relation: TouchingMoment(1.0),
        exact.touching,
        20,
        (WIDE, scale),
        *along(WIDE, scale),
        rows=rows,
    )


def reshaped(smallest, rows=1500):
    """Rows near V, along which they are made ``smallest`` times as long as elsewhere."""
    stretch = Stretch(None, WIDE, np.full(WIDE.shape[1], smallest), 1.0)
    return Cell(
        lambda relation: ReshapedMoment(1.0),
        exact.reshaped,
        20,
        stretch,
        *along(WIDE, smallest),
        rows=rows,
    )


def stretched(scale, rows=1500):
    return Cell(
        lambda relation: StretchedMoment(1.0, 2),
        exact.stretched,
        20,
        (frame(20, 2), scale),
        *along(frame(20, 2), scale),
        rows=rows,
    )


def simple(query, contribution, width, point=None, **options):
    return Cell(
        lambda relation: query,
        contribution,
        width,
        point,
        odd_rows(width),
        usual_rows(width),
        **options,
    )


def near(query, contribution, basis, scale, point=None):
    point = basis if point is None else point
    return Cell(lambda relation: query, contribution, len(basis), point, *along(basis, scale))


def labelled(query, contribution, point, width=4):
    return Cell(
        lambda relation: query,
        contribution,
        width,
        point,
        with_targets(odd_rows(width)),
        with_targets(usual_rows(width)),
    )


def of_classes(loss, contribution, scale=1.0):
    """Rows of three classes."""

    def classed(make):
        def rows(rng, *count):
            block = make(rng, *count)
            return Block(block.x, rng.integers(3, size=block.n_rows).astype(float))

        return rows

    return Cell(
        lambda relation: SlopeGradient(loss, 0.1),
        contribution,
        4,
        scale * np.array(THETAS).T,
        classed(odd_rows(4)),
        classed(usual_rows(4)),
    )


def ratings(query, point):
    make = query if callable(query) else lambda relation: query
    return Cell(make, None, ITEMS, point, *rating_rows(ITEMS), rows=300)


def systems(item_weights):
    def query(relation):
        return ItemSystems(
            RULE,
            relation,
            weight_budget=2.0,
            factor_norm=0.8,
            rating_norm=1.5,
            ridge=1e-9,
            item_weights=item_weights,
        )

    return ratings(query, ItemPoint(BIAS, FACTORS, np.linspace(0.2, 2, ITEMS)))


def coded_rows(slots, width=4, codes=2):
    """Units of codes and numbers, full and in part, beside rows that are no codes at all."""

    def crowd(rng, count):
        x = rng.uniform(-1, 1, (count, slots, width))
        x[:, :, :codes] = rng.integers(0, 3, (count, slots, codes))
        x[:, :, -1] = np.where(rng.random((count, slots)) < 0.2, 2.0, x[:, :, -1])
        x[rng.random((count, slots)) < (0.4 if slots > 1 else 0.0)] = -1.0
        return Block(x.reshape(count, -1))

    def odd(rng):
        return Block(np.concatenate([crowd(rng, 6).x, odd_rows(slots * width)(rng).x]))

    return odd, crowd


def counted(slots):
    query = CellCounts([3, 2], [(0, 1)], width=4, slots=slots)
    known = exact.cell_counts([3, 2], [(0, 1)], slots)
    return Cell(lambda relation: query, known, 4 * slots, None, *coded_rows(slots), rows=700)


def measured(slots):
    query = NumberMoments([2, 3], [(1, 2)], width=4, slots=slots)
    known = exact.number_moments([2, 3], [(1, 2)], query.constant, slots)
    return Cell(lambda relation: query, known, 4 * slots, None, *coded_rows(slots), rows=700)


def energy_norm(x, point):
    return exact.energy(x, 0, point)[1]


def energy_curvature(x, point):
    x = exact.big(x)
    return (x @ exact.big(point)) ** 2 / max(1, exact.length(x) ** 2)


def own_squares(block, theta):
    return (block.x @ theta - 1.0)[:, None] * block.x


METRIC = np.diag([30.0, 1.0, 0.3, 1e-3]) + 0.1
SCALE_QUERY = GradientScale(CURVED, 2.0)
HISTORY = History(BIAS, np.linalg.qr(FACTORS)[0].T.copy(), np.array([2.0, 1.0]))

CELLS = {
    "second moment": moment(1.0),
    "second moment, tiny": moment(1e-59),
    "second moment, large": moment(1e59),
    "second moment, far centre": Cell(
        lambda relation: SecondMoment(1.3),
        exact.second_moment,
        4,
        np.full(4, 1e6),
        lambda rng: Block(odd_rows(4)(rng).x + 1e6),
        lambda rng, count: Block(usual_rows(4)(rng, count).x + 1e6),
    ),
    "second moment, thin": thin(SecondMoment(1.0), exact.second_moment),
    "second moment, half full": thin(SecondMoment(1.0), exact.second_moment, 1.0),
    "shell sums": simple(ShellSums(2.0 ** np.arange(-3, 4)), None, 5),
    "shell sums, far centre": Cell(
        lambda relation: ShellSums(2.0 ** np.arange(-3, 4)),
        None,
        4,
        np.full(4, 1e6),
        lambda rng: Block(odd_rows(4)(rng).x + 1e6),
        lambda rng, count: Block(usual_rows(4)(rng, count).x + 1e6),
    ),
    "shell sums, thin": thin(ShellSums(2.0 ** np.arange(-3, 4)), None),
    "reshaped moment, 1": reshaped(1.0),
    "reshaped moment, 1e-3": reshaped(1e-3),
    "row sum": simple(RowSum(1.0), exact.row_sum, 5),
    "row count": simple(RowCount(), exact.count, 3),
    "spherical moment": simple(SphericalMoment(), exact.spherical, 5),
    "spherical moment, thin": thin(SphericalMoment(), exact.spherical),
    "spherical moment, half full": thin(SphericalMoment(), exact.spherical, 1.0),
    "direction sum": simple(DirectionSum(), exact.direction, 5),
    "direction sum, thin": thin(DirectionSum(), exact.direction),
    # Which side of an edge a row is on is defined by its own bits.
    "ring sums": simple(RingSums(), None, 5, (unit_rows(CAP[None, :5])[0], (0.8, 0.6))),
    "ring sums, thin": thin(RingSums(), None, point=(unit_rows(CAP[None])[0], (0.3, 0.1))),
    "whitened blocks, s=1e-4": whitened(1e-4, 1),
    "whitened blocks, s=1e-7": whitened(1e-7, 2, rows=7000),
    "whitened blocks, s=1e-11, stretched": whitened(
        1e-11, 2, stretch=(np.array([[5.0, 3.0], [3.0, 5.0]]),)
    ),
    "touching moment, s=1e-6": touching(1e-6, rows=7000),
    "touching moment, s=1": touching(1.0),
    "stretched moment, s=1e-6": stretched(1e-6),
    "stretched moment, s=0.3": stretched(0.3),
    "stretched moment, as it is": simple(StretchedMoment(1.0, 2), exact.stretched, 5),
    "tyler block": near(
        TylerBlock(), exact.tyler, NARROW, 1e-4, (NARROW, np.diag([1.0, 9.0]), 1e-4)
    ),
    "residual difference": near(
        ResidualDifference(), exact.residual_difference, NARROW, 1e-7, (NARROW, frame(5, 2, 6))
    ),
    "geodesic gradient": near(GeodesicGradient(), exact.geodesic, NARROW, 1e-6),
    "reaper gradient": simple(ReaperGradient(), exact.reaper, 4, RELAXED),
    "reaper gradient, along": near(
        ReaperGradient(),
        exact.reaper,
        NARROW,
        1e-6,
        (NARROW @ NARROW.T + (NARROW @ NARROW.T).T) / 2,
    ),
    "energy gradient": near(EnergyGradient(Grassmann(5, 2), 0.5), exact.energy, NARROW, 1e-6),
    "gradient difference": simple(
        GradientDifference(CURVED, 0.3), exact.energy_change, 4, (HERE, ANCHOR)
    ),
    "gradient scale": simple(
        SCALE_QUERY,
        exact.scale_of_norms(SCALE_QUERY.knots, energy_norm, energy_curvature),
        4,
        HERE,
    ),
    "tangent gradient, sphere": Cell(
        lambda relation: TangentGradient(FrechetLoss(Sphere(4)), 1.0),
        exact.sphere_log,
        4,
        HERE,
        *on_manifold(Sphere(4), HERE, 1.0),
    ),
    "tangent gradient, hyperboloid": lorentz(1.0),
    "tangent gradient, hyperboloid at 20": lorentz(20.0),
    "tangent gradient, hyperboloid at 30": lorentz(30.0),
    "tangent gradient, matrices": spd(10.0),
    "tangent gradient, condition 1e12": spd(1e12),
    "slope gradient": labelled(SlopeGradient(Logistic(), 0.1), exact.logistic_slope, THETAS[0]),
    "slope gradient, long theta": labelled(
        SlopeGradient(Logistic(), 0.1), exact.logistic_slope, 1e6 * THETAS[0]
    ),
    **{
        f"slope gradient, biweight of width {width:g}{more}": labelled(
            SlopeGradient(Biweight(width), 0.1), exact.biweight_slope(width), scale * THETAS[0]
        )
        for width, scale, more in ((0.5, 1.0, ""), (2.0, 1.0, ""), (2.0, 1e6, ", long theta"))
    },
    "metric gradient": labelled(
        MetricGradient(Logistic(), 0.1, RowMetric(METRIC)),
        exact.multiplied(METRIC, exact.logistic_slope),
        THETAS[0],
    ),
    "slope gradient, several classes": of_classes(Multinomial(3), exact.softmax_slope(3)),
    **{
        f"slope gradient, hinge of several classes, width {width:g}{more}": of_classes(
            MulticlassHinge(3, width), exact.softmax_slope(3, width), scale
        )
        for width, scale, more in ((0.5, 1.0, ""), (0.5, 1e6, ", long theta"), (1e-3, 1.0, ""))
    },
    "curvature diagonal": labelled(
        CurvatureDiagonal(Logistic(), 0.3), exact.curvature_diagonal(), THETAS[0]
    ),
    "curvature diagonal, clipped, long theta": labelled(
        CurvatureDiagonal(Logistic(), 0.3, 0.2), exact.curvature_diagonal(0.2), 1e3 * THETAS[0]
    ),
    "gradient change": labelled(
        GradientChange(Logistic(), 1e-3),
        exact.logistic_change,
        (THETAS[0], THETAS[0] * (1 + 1e-9)),
    ),
    "regression moments": labelled(RegressionMoments(0.7), exact.regression(0.7), None),
    "regression moments, thin": thin(RegressionMoments(0.7), exact.regression(0.7)),
    "regression moments, half full": thin(RegressionMoments(0.7), exact.regression(0.7), 1.0),
    "candidate gains": labelled(CandidateGains(Logistic(), 3), exact.gains, THETAS),
    "model gain": labelled(ModelGain(Logistic()), exact.gain, THETAS[0]),
    "model gain of numbers": labelled(ModelGain(Squared()), exact.squared_gain, THETAS[0]),
    "captured share": simple(
        CapturedShare(np.array([0.3, -2.0, 0.0, 1e-3])),
        exact.captured([0.3, -2.0, 0.0, 1e-3]),
        4,
        np.linalg.qr(np.arange(8.0).reshape(4, 2) ** 2)[0],
    ),
    "class counts": labelled(ClassCounts(Logistic()), exact.class_counts, None),
    "score histogram": labelled(
        ScoreHistogram(Logistic(), 9), exact.score_histogram(9), (THETAS[0], 2.0)
    ),
    "score histogram, narrow": labelled(
        ScoreHistogram(Logistic(), 97), exact.score_histogram(97), (1e3 * THETAS[0], 1e-3)
    ),
    "score histogram, bent": labelled(
        ScoreHistogram(Logistic(), 13, bend=0.25),
        exact.score_histogram(13, 0.25),
        (10 * THETAS[0], 8.0),
    ),
    "column histograms": simple(
        ColumnHistograms(4, np.array([-1.0, 0.0, 2.0])), exact.histogram([-1.0, 0.0, 2.0]), 4
    ),
    "cell counts": counted(1),
    "cell counts, three rows a person": counted(3),
    "number moments": measured(1),
    "number moments, three rows a person": measured(3),
    "residual histogram": labelled(
        ResidualHistogram(Squared(), CROOKED), exact.residual_vote(CROOKED), THETAS[0]
    ),
    "residual histogram, thin": thin(
        ResidualHistogram(Squared(), CROOKED), exact.residual_vote(CROOKED), point=THIN_THETA
    ),
    "row gradient": simple(RowGradient(own_squares, 0.7), None, 4, np.ones(4)),
    "item statistics": ratings(ItemStatistics(RULE, 0.8), None),
    "rating covariance": ratings(RatingCovariance(RULE, 0.8), BIAS),
    "item popularity": ratings(ItemPopularity(TASTES), None),
    "item popularity, no ratings": ratings(ItemPopularity(TasteRule(None)), None),
    "taste gram": ratings(TasteGram(TASTES), TASTE_POINT),
    "taste gram, no ratings": ratings(TasteGram(TasteRule(None)), TASTE_POINT),
    "covariance of some items": ratings(SomeItemsCovariance(RULE, 0.8), SOME),
    # A tiny unit and hardly a penalty: rounding of a fit decides about whole gains.
    "hold-out gains": ratings(HoldoutGains(RULE, (1e-9, 1.0, 9.0), 1e-9, 1e-9), (BIAS, FACTORS)),
    "residual moment": ratings(ResidualMoment(RULE, 0.8), HISTORY),
    "residual moment, line search": ratings(ResidualMoment(RULE, 0.8, "line-search"), HISTORY),
    "residual moment, refit": ratings(ResidualMoment(RULE, 0.8, "refit", 1e-9), HISTORY),
    "item systems": systems("uniform"),
    "item systems, tail": systems("tail"),
    "item systems, adaptive": systems("adaptive"),
}
