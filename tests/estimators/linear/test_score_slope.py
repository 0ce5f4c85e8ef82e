"""What curves say where a first fit's score is cut, and of categories that nobody has."""

from dataclasses import replace

import numpy as np
import pytest

from veilspan import LogisticRegression, load
from veilspan.datasets import make_ward

pytestmark = pytest.mark.filterwarnings(
    "ignore::veilspan.privacy.errors.NotPrivateWarning",
    "ignore::veilspan.privacy.errors.RareClassWarning",
)
WARD = make_ward(6_000)


def fit(seed=0, **settings):
    return LogisticRegression(schema=WARD.schema, random_state=seed, **settings).fit(WARD.columns)


@pytest.fixture(scope="module")
def model():
    return fit()


def test_curves_leave_less_of_the_score_unsaid_than_whole_first_scores_would(model):
    learned = model.feature_map_
    x = WARD.schema.encode(WARD.columns).x[:3_000]

    def unsaid(slope):
        counted = replace(learned, score_slope=slope)
        said = sum(counted.contribution(name, x) for name in learned.columns)
        scores = learned.scores(x)
        return np.std(scores - said) / np.std(scores)

    assert 0.5 < learned.score_slope[0] < 0.95
    assert unsaid(learned.score_slope) < 0.8 * unsaid(None)
    assert any("is cut" in note for note in model.shapes_.notes)


def test_weights_of_one_change_nothing(model):
    weighted = fit(class_weight={"no": 1.0, "yes": 1.0})
    assert weighted.feature_map_.features.score_reach == model.feature_map_.features.score_reach
    assert weighted.feature_map_.score_slope == pytest.approx(
        model.feature_map_.score_slope, abs=0.1
    )


@pytest.mark.long  # sixteen fits
def test_bars_of_a_category_that_nobody_has_are_as_long_as_its_noise():
    told, errors = [], []
    for seed in range(16):
        shape = fit(seed).shapes_["ward"]
        place = list(shape.values).index("(other)")
        told.append(shape.scores[place, 0])
        errors.append(shape.errors[place, 0])
    # A std from 16 draws is within a factor of 2.2 but for one in a million.
    assert np.mean(errors) < 2.2 * np.std(told)
    assert np.std(told) < 2.2 * np.mean(errors)
    assert np.mean(np.abs(told) < 3 * np.array(errors)) > 0.8


def test_a_saved_model_keeps_its_curves(model, tmp_path):
    model.save(tmp_path / "model")
    kept = load(tmp_path / "model")
    for name in model.shapes_:
        assert np.array_equal(kept.shapes_[name].scores, model.shapes_[name].scores)
        assert np.array_equal(kept.shapes_[name].errors, model.shapes_[name].errors)
