"""Replay every estimator x solver x relation on adversarial neighbours; no cell may be missing.

Read by the independent meter: sampled steps and tilts are held against the budget as well. No false
alarms but those of its measured noise, 1e-13 an answer. Pairs are dealt
to the cells in turn, so that each cell sees every size of table; an estimator with few cells does
not see every pair. Half as many are dealt without ``--long``.
"""

import inspect

import numpy as np
import pytest

import veilspan
from audit.replay_cells import CELLS, COMPLETION_SOLVERS, MANIFOLD_SOLVERS, SUBSPACE_SOLVERS
from audit.replay_linear import LINEAR_SOLVERS, linear_cells
from veilspan.audit.neighbors import Pair
from veilspan.audit.replay import replay
from veilspan.curator.rows import Rows
from veilspan.curator.tape import recording
from veilspan.privacy.accounting import gaussian_only
from veilspan.solvers.completion import by_name as completion_solvers
from veilspan.solvers.linear import by_name as linear_solvers
from veilspan.solvers.subspace import by_name as subspace_solvers

RELATIONS = ("replace-one", "add-remove")
LINEAR = {
    "LogisticRegression", "LinearSVC", "LinearRegression", "Ridge", "Lasso", "ElasticNet",
    "HuberRegressor", "PrivateSearch",
}  # fmt: skip
MATRIX = [
    pytest.param(cell, relation, place, id=f"{cell.name} ({relation})")
    for place, cell in enumerate(CELLS)
    for relation in cell.relations
]


def dealt(pairs, count, place):
    """Pairs spread over all sizes; other places get others; every second one is turned round."""
    every = list(pairs)
    stride = max(1, len(every) // count)
    for turn, index in enumerate(range(place % stride, len(every), stride)):
        pair = every[index]
        turned = Pair(f"{pair.name}, swapped", pair.two, pair.one)
        yield pair if (turn + place) % 2 else turned


@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
@pytest.mark.filterwarnings("ignore::veilspan.LoudNoiseWarning")
@pytest.mark.filterwarnings("ignore:R has 2 rows:UserWarning")
@pytest.mark.parametrize(("cell", "relation", "place"), MATRIX)
def test_nothing_but_answers_leaves(cell, relation, place, long_run):
    plan = cell.plan(relation)
    within = plan is not None and gaussian_only(plan.events)
    count = cell.pairs_dealt if long_run else max(2, cell.pairs_dealt // 2)
    for pair in dealt(cell.pairs(relation), count, place):
        report = replay(
            lambda rows: cell.fit(rows, relation), pair.one, pair.two,
            budget=cell.budget, neighbors=relation,
        )  # fmt: skip
        assert report.ok, (pair.name, report.findings)
        assert report.questions > 0, pair.name
        assert len(report.reading.shifts) == report.questions, pair.name
        # A sampled row may use more than its accounted average; a tilt is no Gaussian release.
        if within:
            assert report.realised_mu <= plan.budget.mu * (1 + 1e-9), pair.name


@pytest.mark.parametrize("cell", list(linear_cells(refused=True)), ids=lambda cell: cell.name)
def test_what_has_no_cell_is_refused_with_a_sentence(cell):
    """Otherwise a solver that does fit would go without an audit."""
    for relation in cell.relations:
        with pytest.raises(ValueError, match=r"(needs|takes no).*;"):
            cell.plan(relation)


@pytest.mark.filterwarnings("ignore:R has 1 rows:UserWarning")
def test_a_single_row_is_refused_before_anything_is_asked():
    for cell in CELLS:
        if cell.owner in ("SubspaceTracker", "Profile"):
            continue  # a stream waits; a profile fills up places, or says nothing of how many
        for relation in cell.relations:
            if relation == "add-remove" and cell.owner in LINEAR:
                continue  # one row fits (test_few_rows.py): their number is private
            pair = next(iter(cell.pairs(relation)))
            with recording() as tape, pytest.raises(ValueError, match=r"(row|sample|user|point)"):
                cell.fit(tuple(part[:1] for part in pair.one), relation)
            assert not tape.entries, cell.name


def test_a_stream_of_one_row_asks_nothing():
    (cell,) = (cell for cell in CELLS if cell.owner == "SubspaceTracker")
    report = replay(
        lambda rows: cell.fit(rows, "replace-one"), (np.ones((1, 4)),), (np.eye(4)[:1],)
    )
    assert report.ok
    assert report.questions == 0


def test_the_door_itself_takes_no_single_row():
    with pytest.raises(ValueError, match="at least 2 rows"):
        Rows(np.ones((1, 3)))


# ---------------------------------------------------------------- no cell may be missing


def private_estimators():
    """Public names that read rows within a budget: classes with ``fit``, and ``minimize``."""
    for name in veilspan.__all__:
        value = getattr(veilspan, name)
        if inspect.isclass(value) and hasattr(value, "fit"):
            if "epsilon" in inspect.signature(value).parameters:
                yield name
        elif inspect.isfunction(value) and "data" in inspect.signature(value).parameters:
            yield name


def test_every_private_estimator_has_cells_under_every_relation_that_it_takes():
    covered = {(cell.owner, relation) for cell in CELLS for relation in cell.relations}
    expected = {(name, r) for name in private_estimators() for r in RELATIONS}
    refused = {("SubspaceTracker", "add-remove")}
    assert expected - covered == refused
    with pytest.raises(ValueError, match="replace-one"):
        veilspan.SubspaceTracker(2, epsilon=1.0, neighbors="add-remove").plan(4)


def test_the_search_for_estimators_finds_them():
    assert {"PCA", "minimize", "MatrixCompletion", "Lasso"} <= set(private_estimators())


@pytest.mark.parametrize(
    ("registered", "find", "audited"),
    [
        (subspace_solvers.SOLVERS, subspace_solvers.subspace_solver, SUBSPACE_SOLVERS),
        (completion_solvers.SOLVERS, completion_solvers.completion_solver, COMPLETION_SOLVERS),
        (linear_solvers.SOLVERS, linear_solvers.linear_solver, LINEAR_SOLVERS),
    ],
    ids=["RobustPCA", "MatrixCompletion", "linear models"],
)
def test_every_named_solver_has_a_cell(registered, find, audited):
    assert audited.keys() == registered.keys()
    for name, made in audited.items():
        assert isinstance(made, str) or type(made) is type(find(name))
        assert isinstance(made, str) is False or made == name
        assert any(cell.solver == name for cell in CELLS)


def test_every_manifold_solver_has_a_cell():
    """All public classes that plan and run on a manifold."""
    public = (getattr(veilspan, name) for name in veilspan.__all__)
    solvers = {v for v in public if inspect.isclass(v) and v.__module__.startswith("veilspan.solv")}
    assert solvers == {type(made) for made in MANIFOLD_SOLVERS.values()}
