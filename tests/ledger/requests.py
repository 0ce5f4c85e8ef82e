"""Plans and requests for the tests of the ledger."""

from privacy.affordable import budget_for
from veilspan import Budget, GaussianEvent, Plan, SampledGaussianEvent
from veilspan.ledger import Request
from veilspan.privacy.accounting import fits_budget

SAMPLED = SampledGaussianEvent("step", 0.05, noise_multiplier=3.0, count=10)


def plan_of(epsilon=1.0, delta=1e-6, events=None, neighbors="replace-one", **more):
    """A plan; by default one Gaussian release that uses all of its budget.

    Events that have some noise but cost more than that get a budget that covers them.
    """
    budget = Budget(epsilon, delta)
    if events is None:
        events = (GaussianEvent("release", 1 / budget.mu if budget.is_private else 0.0),)
    elif all(event.noise_multiplier for event in events):
        fits = fits_budget(tuple(events), budget, neighbors)
        budget = budget if fits else budget_for(events, neighbors, delta)
    return Plan(
        method="Test",
        budget=budget,
        neighbors=neighbors,
        n_rows=100 if neighbors == "replace-one" else None,
        n_features=3,
        events=events,
        **more,
    )


def request(epsilon=1.0, question="q", test="", **plan):
    return Request(plan_of(epsilon, **plan), question, test)
