import pytest

from veilspan.privacy.events import (
    GaussianEvent,
    SampledGaussianEvent,
    event_from_dict,
    event_to_dict,
    merge,
)


@pytest.mark.parametrize(
    "event", [GaussianEvent("a", 3.5, 4), SampledGaussianEvent("b", 0.01, 2.0, 100)]
)
def test_events_survive_their_description(event):
    assert event_from_dict(event_to_dict(event)) == event


def test_merge_joins_equal_events_and_keeps_order():
    a, b = GaussianEvent("a", 2.0), SampledGaussianEvent("b", 0.5)
    assert merge([a, b, a, GaussianEvent("a", 3.0)]) == (
        GaussianEvent("a", 2.0, 2),
        b,
        GaussianEvent("a", 3.0),
    )


def test_mu_of_repeated_releases():
    assert GaussianEvent("a", 2.0, 9).mu == pytest.approx(1.5)


@pytest.mark.parametrize("noise", [-1.0, float("nan"), float("inf")])
def test_bad_noise_is_refused(noise):
    with pytest.raises(ValueError, match="noise_multiplier"):
        GaussianEvent("a", noise)


@pytest.mark.parametrize("rate", [0.0, 1.0, 1.5, float("nan")])
def test_bad_rates_are_refused(rate):
    with pytest.raises(ValueError, match="sampling_rate"):
        SampledGaussianEvent("a", rate)


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_bad_counts_are_refused(count):
    with pytest.raises(ValueError, match="count"):
        GaussianEvent("a", 1.0, count)


def test_an_unknown_record_is_refused():
    with pytest.raises(ValueError, match="unknown mechanism"):
        event_from_dict({"mechanism": "laplace", "name": "a"})
