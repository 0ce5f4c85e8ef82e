"""The silence contract: nothing that is heard of a fit depends on one row.

Every cell of the replay matrix (every estimator with every solver that it takes; one without cells
fails there and here) is fitted with and without rows that stress a division, a square or a bound.
Warnings are errors and floating point raises, as a user may have set them. Asserted is that every
table is fitted, that nothing is printed, logged or warned, and that all that is released is finite.

Nothing may have to be kept silent either: ``curator.silence`` is the second net, and what it
catches, a warning or an exception, is overheard here and counts as a failure.
"""

import contextlib
import io
import logging
import warnings

import numpy as np
import pytest
from scipy import sparse

from audit.replay_cell import Cell, estimator_cell, gappy_tables, ratings
from audit.replay_cells import BALLS, CELLS
from audit.test_replay_matrix import private_estimators
from contracts.tables import ESTIMATORS
from veilspan import RGD, FrechetMean, MatrixCompletion, SubspaceTracker
from veilspan.audit import neighbors as pairs
from veilspan.audit.neighbors import extreme_points, extreme_users, neighbor_pair
from veilspan.audit.replay import collect_release
from veilspan.curator import silence
from veilspan.curator.rows import Block
from veilspan.curator.silence import Discretion
from veilspan.estimators.manifold.points import as_points
from veilspan.estimators.stream import private_tracker
from veilspan.geometry import Ball, Lorentz, Sphere
from veilspan.privacy.errors import FormError, LoudNoiseWarning, NotPrivateWarning
from veilspan.queries.moments import SecondMoment
from veilspan.queries.stream.touching_moment import complete_rows
from veilspan.solvers.completion.frank_wolfe import FrankWolfeCompletion
from veilspan.solvers.subspace.unbounded.stretched_pca import StretchedPCA

#: Said for public reasons, before any row is read.
PUBLIC = (NotPrivateWarning, LoudNoiseWarning)
HUGE, DENORMAL = 1e139, 5e-324
#: A ball away from the apex, where far points are differences of large numbers.
OFF_CENTRE = Ball(Lorentz(4), np.array([np.sqrt(11.0), 3.0, 1.0, 0.0]), 5.0)


# ---------------------------------------------------------------- rows


def extreme_vectors(table, gaps=False):
    """Rows of numbers that pass the check of a table's form."""
    width = table.shape[1]
    other = np.arange(width) % 2 == 0
    rows = {
        "zero": np.zeros(width),
        "negative zero": np.full(width, -0.0),
        "denormal": np.full(width, DENORMAL),
        "squares underflow": np.full(width, 1e-170),
        "huge": np.full(width, HUGE),
        "huge on one axis": HUGE * np.eye(width)[0],
        "huge and denormal": np.where(other, -HUGE, DENORMAL),
        "at the public centre": np.full(width, 0.3),
        "duplicate": table[0].copy(),
    }
    if gaps:
        rows["absent"] = np.full(width, np.nan)
        rows["absent but for one"] = np.where(np.arange(width) == 1, HUGE, np.nan)
        rows["absent and denormal"] = np.where(other, np.nan, DENORMAL)
    return rows


def on_sheet(space):
    """The point of the hyperboloid above a point of space."""
    return np.concatenate([[np.hypot(1.0, np.linalg.norm(space))], space])


def far_points(ball):
    """Points at the ends of a manifold, as far as its check of form lets them in."""
    manifold, center = ball.manifold, ball.center
    if isinstance(manifold, Sphere):
        return {"cut locus": -center, "next to it": -center + 1e-9 * np.eye(len(center))[1]}
    if isinstance(manifold, Lorentz):
        ways = {"along the centre": center[1:], "on an axis": np.eye(len(center) - 1)[0]}
        return {
            f"{length:g} {name}": on_sheet(length * way / np.linalg.norm(way))
            for name, way in ways.items()
            for length in (1e8, 1e17, HUGE)
            if np.any(way)
        }
    if center.ndim == 2:
        size = len(center)
        return {
            "nearly singular": np.diag([1e-13, *[1.0] * (size - 1)]),
            "denormal": DENORMAL * np.eye(size),
            "tiny": 1e-120 * np.eye(size),
            "huge": 1e120 * np.eye(size),
        }
    unit = np.eye(len(center))[0]
    return {"edge": (1 - 1e-15) * unit, "far": HUGE * unit, "denormal": DENORMAL * unit}


def extreme_parts(cell, arguments):
    """What may stand in a row's place, by what the cell's tables hold."""
    x, *targets = arguments
    places = {**BALLS, "distances": BALLS["spd"], "off centre": OFF_CENTRE}
    ball = places.get(cell.setting)
    if cell.owner == "MatrixCompletion":
        rows = {**extreme_users(x, 1.0, 5.0), "huge": np.full(x.shape[1], HUGE)}
        rows["denormal"] = np.full(x.shape[1], DENORMAL)
    elif ball is not None:
        rows = {**extreme_points(ball, x, np.random.default_rng(1)), **far_points(ball)}
        rows = {name: row for name, row in rows.items() if admitted(row, ball.manifold)}
    else:
        rows = extreme_vectors(x, gaps=cell.owner == "SubspaceTracker")
    if not targets:
        return {name: (row,) for name, row in rows.items()}
    (y,) = targets
    ends = (-HUGE, DENORMAL, HUGE) if y.dtype.kind == "f" else np.unique(y)
    return {name: (row, ends[i % len(ends)]) for i, (name, row) in enumerate(rows.items())}


def admitted(point, manifold):
    """Whether a point passes the public check; that it is one is a matter of form."""
    try:
        as_points(np.stack([point, point]).reshape(2, -1), manifold)
    except FormError:
        return False
    return True


def dense(cell, x):
    """Rows that can be exchanged: of ratings, with NaN where there is none."""
    if not sparse.issparse(x):
        return x
    if cell.owner != "MatrixCompletion":
        return x.toarray()
    table = np.full(x.shape, np.nan)
    users = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    table[users, x.indices] = x.data
    return table


def neighbours(cell, relation):
    """A table of the cell, and the same with each of the extreme rows."""
    if cell.owner == "Profile":  # tables of texts, whose pairs are extreme already
        for pair in cell.pairs(relation):
            if pair.name.startswith("n = 5"):
                yield pair.name, pair.one, pair.two
        return
    # A stream in blocks of two releases both of two rows; of five, the last would wait.
    size = 2 if cell.owner == "SubspaceTracker" else 5
    pair = next(pair for pair in cell.pairs(relation) if pair.name.startswith(f"n = {size}"))
    is_sparse = sparse.issparse(pair.one[0])
    plain = (dense(cell, pair.one[0]), *pair.one[1:])

    def given(arguments):
        x, *rest = arguments
        # Dense ratings with NaN are taken as well as sparse ones.
        return (sparse.csr_array(x) if is_sparse and not np.isnan(x).any() else x, *rest)

    for name, row in extreme_parts(cell, plain).items():
        both = neighbor_pair(name, plain, row, relation)
        yield name, given(both.one), given(both.two)


# ---------------------------------------------------------------- listening


class Listener(logging.Handler):
    """What is heard of a fit: log lines, prints, warnings; and what was kept silent."""

    def __init__(self, monkeypatch):
        super().__init__(logging.NOTSET)
        self.heard = []
        monkeypatch.setattr(silence._WhileSilent, "match", self.overhear)

    def emit(self, record):
        self.heard.append(f"logged: {record.getMessage()}")

    def overhear(self, text):
        if silence._silent.get():
            self.heard.append(f"kept silent: {text}")
            return True
        return False

    def outcome(self, fit):
        """How a fit ends, and everything that is heard of it."""
        self.heard = []
        printed = io.StringIO()
        root = logging.getLogger()
        root.addHandler(self)
        try:
            with (
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
                warnings.catch_warnings(),
                np.errstate(all="raise"),
            ):
                warnings.simplefilter("error")
                # Of the budget alone, before any row is read.
                warnings.filterwarnings("ignore", message="epsilon = .* is above 10")
                for kind in PUBLIC:
                    warnings.simplefilter("ignore", kind)
                warnings.filterwarnings("ignore", "R has", UserWarning)
                try:
                    ended = fit()
                except Exception as error:
                    cause = error.__cause__
                    ended = f"{type(error).__name__}: {error} ({cause!r})"
        finally:
            root.removeHandler(self)
        said = printed.getvalue()
        return ended, [*self.heard, *([f"printed: {said}"] if said else [])]


def not_finite(output, where="output"):
    """Released numbers that are none."""
    if isinstance(output, dict):
        return [w for k, v in output.items() for w in not_finite(v, f"{where}.{k}")]
    if isinstance(output, (list, tuple)):
        return [w for i, v in enumerate(output) for w in not_finite(v, f"{where}[{i}]")]
    if isinstance(output, np.ndarray) and output.dtype.kind == "f":
        return [] if np.isfinite(output).all() else [where]
    return [where] if isinstance(output, float) and not np.isfinite(output) else []


def complaints(cell, relation, listener, place=0, every=1):
    """What is wrong with a cell: a list of sentences, one for each thing that is heard."""
    found = []
    dealt = list(neighbours(cell, relation))[place % every :: every]
    tables = {"no such row": dealt[0][1], **{name: two for name, _, two in dealt}}
    for name, arguments in tables.items():
        ended, heard = listener.outcome(lambda a=arguments: cell.fit(a, relation))
        if isinstance(ended, str):
            heard.append(ended)
        else:
            heard += [f"{each} is not finite" for each in not_finite(collect_release(ended))]
        found += [f"{name}: {each}" for each in heard]
    return found


# ---------------------------------------------------------------- the contract

#: Settings in which a division, a projection or a solve has gone wrong for one row before.
EDGES = [
    Cell(
        "SubspaceTracker", "", lambda arguments, _: SubspaceTracker(
            2, epsilon=5.0, block_size=2, row_norm=1e9, random_state=0
        ).fit(*arguments), gappy_tables, None, relations=("replace-one",), setting="long rows",
    ),
    estimator_cell(
        FrechetMean, "", {"manifold": OFF_CENTRE.manifold, "ball": OFF_CENTRE, "solver": RGD(2)},
        lambda relation: pairs.point_pairs(OFF_CENTRE, relation), setting="off centre",
    ),
    estimator_cell(
        MatrixCompletion, "frank-wolfe", {
            "rating_range": (1, 5), "epsilon": 50.0,
            "solver": FrankWolfeCompletion(local="refit", ridge=0.0, bias_share=0.0),
        }, ratings, setting="no penalty",
    ),
]  # fmt: skip
# Rows are dealt to the relations of a cell in turn.
MATRIX = [
    pytest.param(cell, relation, place, len(cell.relations), id=f"{cell.name} ({relation})")
    for cell in [*CELLS, *EDGES]
    for place, relation in enumerate(cell.relations)
]


@pytest.mark.parametrize(("cell", "relation", "place", "every"), MATRIX)
def test_one_row_is_never_heard_of(cell, relation, place, every, monkeypatch):
    assert complaints(cell, relation, Listener(monkeypatch), place, every) == []


def test_no_estimator_is_missing():
    owners = {cell.owner for cell in CELLS}
    assert set(private_estimators()) <= owners
    assert {kind.__name__ for kind, _ in ESTIMATORS.values()} <= owners


def test_every_extreme_row_is_dealt_to_somebody():
    seen, every = set(), set()
    for cell, relation, place, step in (param.values for param in MATRIX):
        names = [name for name, _, _ in neighbours(cell, relation)]
        every |= {(cell.owner, name) for name in names}
        seen |= {(cell.owner, name) for name in names[place % step :: step]}
    assert seen == every


# ---------------------------------------------------------------- broken twins


def is_zero(block):
    return ~np.any(block.dense(), axis=1)


def warns(block):
    if is_zero(block).any():
        warnings.warn("a row is zero", UserWarning, stacklevel=2)


def divides(block):
    1.0 / np.linalg.norm(block.dense(), axis=1)


def raises(block):
    if is_zero(block).any():
        raise ValueError("a row is zero")


def prints(block):
    if is_zero(block).any():
        print("a row is zero")


def logs(block):
    if is_zero(block).any():
        logging.getLogger("anybody").warning("a row is zero")


def cell_of(owner, solver=""):
    return next(cell for cell in CELLS if (cell.owner, cell.solver) == (owner, solver))


@pytest.mark.parametrize(
    ("twin", "words"),
    [
        (warns, "kept silent: a row is zero"),
        (raises, "WithheldError"),
        (prints, "printed: a row is zero"),
        (logs, "logged: a row is zero"),
    ],
)
def test_a_map_that_tells_of_one_row_is_caught(twin, words, monkeypatch):
    whole = SecondMoment.prepare

    def telling(self, block, point):
        twin(block)
        return whole(self, block, point)

    monkeypatch.setattr(SecondMoment, "prepare", telling)
    found = complaints(cell_of("PCA"), "replace-one", Listener(monkeypatch))
    assert any(words in each for each in found)
    # Of all rows it is the zero ones that are heard of, so outcomes differ by one row.
    assert not any("no such row" in each for each in found)


def test_a_solver_that_fails_for_one_row_is_caught(monkeypatch):
    whole = StretchedPCA.run

    def failing(self, curator, problem):
        for block in curator._rows.blocks(10):
            raises(block)
        return whole(self, curator, problem)

    monkeypatch.setattr(StretchedPCA, "run", failing)
    found = complaints(cell_of("PCA"), "replace-one", Listener(monkeypatch))
    assert {each.partition(":")[0] for each in found} == {"zero", "negative zero"}
    assert all("WithheldError" in each for each in found)


@pytest.mark.parametrize("twin", [warns, divides])
def test_without_the_second_net_a_map_is_heard(twin, monkeypatch):
    """What the context is for: a user's settings would turn these into errors."""
    whole = complete_rows

    def telling(rows, *more):
        twin(Block(np.nan_to_num(rows)))
        return whole(rows, *more)

    monkeypatch.setattr(private_tracker, "complete_rows", telling)
    (cell,) = (cell for cell in CELLS if cell.owner == "SubspaceTracker")
    kept = complaints(cell, "replace-one", Listener(monkeypatch))
    assert not any("Error" in each for each in kept)
    monkeypatch.setattr(private_tracker, "quiet", contextlib.nullcontext)
    monkeypatch.setattr(Discretion, "__enter__", lambda self: None)
    monkeypatch.setattr(Discretion, "__exit__", lambda self, *error: None)
    found = complaints(cell, "replace-one", Listener(monkeypatch))
    assert any(each.startswith("zero: ") for each in found)


def test_numbers_that_are_none_are_caught():
    assert not_finite({"a": [1.0, np.array([np.nan])], "b": np.inf}) == ["output.a[1]", "output.b"]
