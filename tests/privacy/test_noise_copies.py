"""No draw is ever made twice: not by threads, forked curators, pickles, copies or clones."""

import copy
import multiprocessing
import os
import pickle
import secrets
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

from privacy.affordable import budget_for
from veilspan import PCA, GaussianEvent, Plan, SampledGaussianEvent
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.noise import SecureNoise, SeededNoise
from veilspan.queries.moments import RowSum

TABLE = np.random.default_rng(0).standard_normal((50, 3))
EVENTS = (GaussianEvent("all", 1.0, 4), SampledGaussianEvent("some", 0.5, 1.0, 4))


def no_repeats(draws):
    """All numbers differ; two normals of 52 random bits agree with probability about 1e-15."""
    flat = np.concatenate([np.ravel(part) for part in draws])
    return len(np.unique(flat)) == len(flat)


def fresh_curator(source=None):
    plan = Plan(
        method="test",
        budget=budget_for(EVENTS),
        neighbors="replace-one",
        n_rows=len(TABLE),
        n_features=3,
        events=EVENTS,
    )
    return Curator(Rows(TABLE), plan, source or SecureNoise())


def answers(curator):
    return [curator.answer(RowSum(1.0), event=event.name).value for event in EVENTS]


def fitted_numbers(model):
    return model.fit(TABLE).explained_variance_


def test_threads_share_a_source_and_no_draw():
    source = SecureNoise()
    with ThreadPoolExecutor(4) as pool:
        draws = list(pool.map(lambda _: source.generator.standard_normal(5000), range(8)))
    assert no_repeats(draws)


def test_threads_that_fit_one_estimator_draw_unlike_noise():
    draws = Parallel(n_jobs=4, prefer="threads")(
        delayed(lambda: fitted_numbers(PCA(1)))() for _ in range(12)
    )
    assert no_repeats(draws)


COPIES = {
    "clone": clone,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("copier", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("fitted", [False, True])
def test_copies_of_an_estimator_draw_unlike_noise(copier, fitted):
    model = PCA(1)
    first = fitted_numbers(model) if fitted else np.empty(0)
    copies = [copier(model) for _ in range(3)]
    assert no_repeats([first, *(fitted_numbers(one) for one in (*copies, model))])


def test_no_pickle_of_a_fit_holds_a_key(monkeypatch):
    keys, honest = [], secrets.token_bytes

    def remembered(size):
        keys.append(honest(size))
        return keys[-1]

    monkeypatch.setattr("veilspan.privacy.noise.secrets.token_bytes", remembered)
    data = pickle.dumps(PCA(1).fit(TABLE))
    keys = [key for key in keys if len(key) == 32]  # the release's public name is shorter
    assert keys
    assert not any(key in data or key.hex().encode() in data for key in keys)


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_curator_is_never_copied_whatever_its_source(copier):
    for source in (SecureNoise(), SeededNoise(0)):
        with pytest.raises(TypeError, match="never"):
            copier(fresh_curator(source))


def _answer_in_child(curator, connection):
    connection.send(answers(curator))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_curator_in_a_forked_child_answers_with_noise_of_its_own():
    """Noise and sampling coins: with shared ones two answers would differ by rows alone."""
    context = multiprocessing.get_context("fork")
    curator, draws = fresh_curator(), []
    for _ in range(2):
        ours, theirs = context.Pipe()
        process = context.Process(target=_answer_in_child, args=(curator, theirs))
        process.start()
        draws += ours.recv()
        process.join()
    assert no_repeats([*draws, *answers(curator)])


def test_a_seeded_curator_in_two_places_does_repeat():
    """What the checks above would see: a simulation shares all of its noise."""
    draws = [part for _ in range(2) for part in answers(fresh_curator(SeededNoise(1)))]
    assert not no_repeats(draws)
