"""How strong a promise is, what an attacker can do, and what is refused."""

import math
import pickle
import warnings

import numpy as np
import pytest

from veilspan import (
    PCA,
    Budget,
    LeadingSubspace,
    LogisticRegression,
    PrivacyStatement,
    SampledGaussianEvent,
    SubspaceTracker,
    WeakGuaranteeError,
    WeakGuaranteeWarning,
    minimize,
    privacy_curve,
)
from veilspan.datasets import make_haystack
from veilspan.geometry import Sphere
from veilspan.privacy import gdp
from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.strength import (
    MODERATE,
    NONE,
    STRONG,
    WEAK,
    find_even_odds,
    grade_promise,
    say_attacker,
)
from veilspan.tables.schema import Schema

ROWS = make_haystack(200, 4, 2, random_state=0).rows
LABELS = (ROWS[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("epsilon", "delta", "people", "grade"),
    [
        (1.0, 1e-6, 1000, STRONG),
        (1.0, 1e-5, 10_000, STRONG),
        (1.0, 1e-6, None, STRONG),
        (1.001, 1e-6, 1000, MODERATE),
        (0.5, 1e-4, 100, MODERATE),  # above 1e-5
        (0.5, 1e-6, 200_000, MODERATE),  # above a tenth of 1/n
        (3.0, 1e-6, 1000, MODERATE),
        (3.001, 1e-6, 1000, WEAK),
        (0.1, 1e-3, 1000, WEAK),  # 1/n itself
        (0.1, 1e-3, 999, MODERATE),
        (math.inf, 1e-6, 1000, NONE),
    ],
)
def test_the_rule(epsilon, delta, people, grade):
    found = grade_promise(epsilon, delta, people)
    assert found.grade == grade
    assert bool(found.reasons) == (grade in (WEAK, NONE))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0, 50.0])
def test_even_odds_are_those_of_the_trade_off(epsilon):
    """By quadrature: the best test between N(0, 1) and N(mu, 1) with even odds."""
    mu = gdp.mu_of(epsilon, 1e-6)
    grid = np.linspace(-12, 12 + mu, 400_001)
    height = np.maximum(np.exp(-(grid**2) / 2), np.exp(-((grid - mu) ** 2) / 2))
    right = np.trapezoid(height, grid) / math.sqrt(2 * math.pi) / 2
    assert find_even_odds(epsilon, 1e-6, mu) == pytest.approx(right, abs=1e-9)
    assert find_even_odds(epsilon, 1e-6, mu) <= find_even_odds(epsilon, 1e-6)


def test_the_letter_bounds_every_mechanism_and_is_met():
    """Randomised response meets it at delta = 0; a sampled release stays below."""
    assert find_even_odds(2.0, 0.0) == pytest.approx(math.exp(2) / (1 + math.exp(2)))
    steps = [SampledGaussianEvent("step", 0.2, noise_multiplier=1.5, count=20)]
    epsilon = epsilon_spent(steps, 1e-6)
    _, deltas = privacy_curve(steps, [0.0])
    assert (1 + deltas[0]) / 2 < find_even_odds(epsilon, 1e-6)
    assert find_even_odds(1e9, 1e-6) == 1.0


def test_what_an_attacker_can_do_in_words():
    assert say_attacker(0.822).endswith("be right in 82.2 of 100 cases.")
    assert say_attacker(0.82201).endswith("be right in 82.3 of 100 cases.")  # a bound: upwards
    assert say_attacker(1 - 1 / 1480).endswith("be wrong only once in 1,500 cases.")
    assert say_attacker(1.0).endswith("be practically always right.")


def test_above_ten_a_sentence_says_it():
    with pytest.warns(WeakGuaranteeWarning, match=r"epsilon = 50 is above 10.*once in 1,500"):
        fitted = PCA(2, epsilon=50.0).fit(ROWS)
    assert "once in 1,500" in " ".join(repr(fitted.privacy_).split())
    assert "WEAK" in repr(PCA(2, epsilon=50.0).plan(200, 4))
    assert "WEAK" not in repr(PCA(2, epsilon=10.0).plan(200, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuaranteeWarning)
        PCA(2, epsilon=10.0).fit(ROWS)
        allowed = PCA(2, epsilon=50.0, allow_weak=True).fit(ROWS)
    assert allowed.privacy_.strength.grade == WEAK  # allowed, and said all the same


FITS = {
    "PCA": lambda **more: PCA(2, **more).fit(ROWS),
    "LogisticRegression": lambda **more: LogisticRegression(
        row_norm=2.0, classes=[0, 1], **more
    ).fit(ROWS, LABELS),
    "SubspaceTracker": lambda **more: SubspaceTracker(2, block_size=100, **more).partial_fit(ROWS),
}


@pytest.mark.filterwarnings("ignore:.*noise:UserWarning")
@pytest.mark.parametrize("name", ["PCA", "LogisticRegression", "SubspaceTracker"])
def test_a_delta_of_one_over_n_is_refused_unless_it_is_allowed(name):
    fit = FITS[name]
    with pytest.raises(WeakGuaranteeError, match=r"not below 1/n.*say allow_weak=True\. Nothing"):
        fit(delta=0.01, epsilon=1.0)
    with pytest.warns(WeakGuaranteeWarning, match="1/n"):
        fitted = fit(delta=0.01, epsilon=1.0, allow_weak=True)
    assert fitted.privacy_.strength.grade == WEAK
    assert "publishing a random row" in " ".join(repr(fitted.privacy_).split())


def test_minimize_refuses_too():
    loss = LeadingSubspace(Sphere(4))
    with pytest.raises(WeakGuaranteeError):
        minimize(loss, ROWS, budget=Budget(1.0, 0.01))
    with pytest.warns(WeakGuaranteeWarning):
        minimize(loss, ROWS, budget=Budget(1.0, 0.01), allow_weak=True)


def test_a_refusal_comes_before_the_charge(tmp_path):
    from veilspan import Ledger

    data = Ledger(str(tmp_path / "b.db"), key=tmp_path / "key").dataset("d", 3, 0.1)
    for name in ("PCA", "SubspaceTracker"):
        with pytest.raises(WeakGuaranteeError):
            FITS[name](delta=0.05, epsilon=1.0, ledger=data)
    assert data.spent().charges == 0


def test_under_add_remove_only_a_public_guess_counts():
    """Tables of 200 and of 2 rows are treated alike: their number is private."""
    for rows in (ROWS, ROWS[:2]):
        fitted = PCA(2, delta=0.01, neighbors="add-remove").fit(rows)
        assert fitted.privacy_.population is None
        assert fitted.privacy_.strength.grade == MODERATE
        said = " ".join(repr(fitted.privacy_).split())
        assert "delta = 0.01 is meant for far fewer than 100 of them" in said
    guessed = LogisticRegression(
        row_norm=2.0, classes=[0, 1], delta=0.01, neighbors="add-remove", expected_rows=150
    )
    with pytest.raises(WeakGuaranteeError, match=r"1/n = 0\.00667"):
        guessed.fit(ROWS, LABELS)


SCHEMA = """
veilspan_schema = 1
name = "ward"
[unit]
protects = "patient"
{unit}
[columns.a]
type = "number"
range = [-1, 1]
source = "made up"
[columns.b]
type = "number"
range = [-1, 1]
source = "made up"
"""


@pytest.mark.parametrize(
    "unit", ["count = 200\nsource = 'made up'", 'neighbors = "add-remove"\nexpected = 200']
)
def test_a_schema_says_how_many_there_are(unit):
    import pandas as pd

    schema = Schema.from_toml(SCHEMA.format(unit=unit))
    table = pd.DataFrame(ROWS[:, :2], columns=["a", "b"])
    relation = schema.neighbors
    with pytest.raises(WeakGuaranteeError, match=r"1/n = 0\.005"):
        PCA(1, schema=schema, delta=0.01, neighbors=relation).fit(table)
    fitted = PCA(1, schema=schema, neighbors=relation).fit(table)
    assert fitted.privacy_.population == 200


def test_statements_remember_what_was_asked_and_for_how_many():
    said = PCA(2).fit(ROWS).privacy_
    again = PrivacyStatement.from_dict(said.to_dict())
    assert (again.asked, again.population) == (1.0, 200)
    assert again.strength == said.strength
    old = {k: v for k, v in said.to_dict().items() if k not in ("asked", "population")}
    earlier = PrivacyStatement.from_dict(old)
    assert (earlier.asked, earlier.population) == (None, None)
    assert earlier.epsilon_as_asked == "1"
    without = PCA(2, epsilon=math.inf).fit(ROWS).privacy_
    assert without.to_dict()["asked"] == "inf"
    assert PrivacyStatement.from_dict(without.to_dict()).asked == math.inf
    assert without.strength.grade == NONE


def test_the_error_survives_a_pickle():
    error = pickle.loads(pickle.dumps(WeakGuaranteeError("too large.", "--allow-weak")))
    assert "say --allow-weak" in str(error)


def test_earlier_requests_keep_their_digests():
    from veilspan.estimators.charging import asked_parameters

    assert "allow_weak" not in asked_parameters(PCA(2))
    assert asked_parameters(PCA(2, allow_weak=True))["allow_weak"] is True
