"""Nothing but one fixed error leaves what reads rows; what is public passes."""

import contextlib
import pickle
import threading
import traceback
import warnings

import numpy as np
import pytest
from sklearn.model_selection import cross_validate

from veilspan import (
    PCA,
    BudgetExceededError,
    GaussianEvent,
    Plan,
    PrivacyError,
    WithheldError,
)
from veilspan.curator.clipping import clip_weights
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows, row_lengths
from veilspan.curator.silence import Discretion, Silence, quiet
from veilspan.privacy.budget import Budget
from veilspan.privacy.noise import SecureNoise, SeededNoise
from veilspan.queries.moments import RowSum

CELL = "Jane Doe"


def quoting():
    try:
        float(CELL)
    except ValueError as error:
        raise KeyError(CELL) from error


def withheld(simulation, context=Silence):
    with pytest.raises(WithheldError) as caught, context(simulation):
        quoting()
    return caught.value


@pytest.mark.parametrize("context", [Silence, Discretion])
def test_an_error_is_the_same_whatever_happened(context):
    error = withheld(False, context)
    assert str(error) == str(WithheldError())
    assert error.__cause__ is None
    assert error.__context__ is None
    assert CELL not in "".join(traceback.format_exception(error)).replace('"Jane Doe"', "")
    assert isinstance(error, PrivacyError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_simulation_names_the_cause():
    error = withheld(True)
    assert str(error) == str(WithheldError())
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError(), BudgetExceededError("q"), SystemExit(3)]
)
def test_what_says_nothing_of_rows_passes(error):
    with pytest.raises(type(error)) as caught, Silence(False):
        raise error
    assert caught.value is error


def test_what_passes_leaves_its_origin_behind():
    def refuse():
        try:
            float(CELL)
        except ValueError:
            raise PrivacyError("a public fact.") from None

    with pytest.raises(PrivacyError, match="a public fact") as caught, Discretion(False):
        refuse()
    assert caught.value.__context__ is None


def test_words_of_ours_pass_around_a_run_and_not_inside_a_question():
    with pytest.raises(ValueError, match="two-dimensional"), Discretion(False):
        Rows(np.ones(3))
    with pytest.raises(WithheldError), Silence(False):
        Rows(np.ones(3))


def test_floating_point_and_warnings_are_silent_whatever_was_set():
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with Silence(False):
            assert np.isnan(np.zeros(1) / np.zeros(1)).all()
            warnings.warn("about a row", UserWarning, stacklevel=1)
            warnings.simplefilter("error")  # a library that sets filters of its own, and a nest
            with quiet():
                warnings.warn("about a row", UserWarning, stacklevel=1)
        with pytest.raises(FloatingPointError):
            np.zeros(1) / np.zeros(1)
        with pytest.raises(UserWarning, match="heard"):
            warnings.warn("heard", UserWarning, stacklevel=1)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scikit_learn_goes_on_after_a_fit(n_jobs):
    """It hands the filters of warnings to its workers, and reads their patterns for that."""
    rows = np.random.default_rng(0).standard_normal((60, 3))
    with warnings.catch_warnings():
        pca = PCA(1).fit(rows)
        assert "WhileSilent" in type(warnings.filters[0][1]).__name__
        found = cross_validate(pca, rows, scoring=lambda *_: 1.0, cv=2, n_jobs=n_jobs)
        assert found["test_score"].tolist() == [1.0, 1.0]


def test_a_copy_of_the_filter_hides_nothing():
    with warnings.catch_warnings():
        with quiet():
            pass
        action, message, category, _, _ = warnings.filters[0]
        warnings.resetwarnings()
        warnings.filterwarnings(action, message.pattern, category)
        with pytest.warns(UserWarning, match="heard"):
            warnings.warn("heard", stacklevel=1)
        with quiet():
            warnings.warn("not heard", stacklevel=1)  # the suite would make an error of it


def test_threads_that_leave_in_another_order_leave_warnings_on():
    first, second = threading.Event(), threading.Event()

    def short():
        with quiet():
            first.set()
            second.wait(10)

    def long():
        first.wait(10)
        with quiet():
            second.set()
            threads[0].join(10)

    threads = [threading.Thread(target=work) for work in (short, long)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", UserWarning, stacklevel=1)


class Quotes(RowSum):
    """A broken query: fails on a row whose first entry is 7, and quotes it."""

    def norms(self, block, point):
        if np.any(block.dense()[:, 0] == 7):
            raise ValueError(f"cannot work with {block.dense()[0]}")
        return super().norms(block, point)


class Overflows(RowSum):
    """A broken query: its sum is infinite if a row has a 7."""

    def weighted_sum(self, block, weights, point):
        found = super().weighted_sum(block, weights, point)
        return found * np.inf if np.any(block.dense()[:, 0] == 7) else found


@pytest.mark.parametrize("query", [Quotes, Overflows])
@pytest.mark.parametrize("source", [SecureNoise, lambda: SeededNoise(0)])
def test_a_question_that_fails_is_charged_and_says_nothing(query, source):
    rows = np.full((4, 3), 7.0)
    plan = Plan(
        method="test",
        budget=Budget(1.0, 1e-6),
        neighbors="replace-one",
        n_rows=4,
        n_features=3,
        events=(GaussianEvent("q", 5.0),),
    )
    made = source()
    curator = Curator(Rows(rows), plan, made)
    with pytest.raises(WithheldError) as caught:
        curator.answer(query(1.0), event="q")
    assert len(curator.spent) == 1
    assert str(caught.value) == str(WithheldError())
    assert (caught.value.__cause__ is None) == made.secure
    assert (caught.value.__context__ is None) == made.secure


def test_a_map_of_rows_is_silent_whatever_a_query_has_set_around_it():
    """A query of somebody else may set an error state of its own inside of a question."""
    tiny = np.full((2, 3), 5e-324)
    for around in (contextlib.nullcontext(), Silence(simulation=False)):
        with around, np.errstate(all="raise"):
            assert list(clip_weights(np.array([0.0, np.inf, np.nan, 5e-324]), 1.0)) == [1, 0, 0, 1]
            assert (row_lengths(tiny) > 0).all()
