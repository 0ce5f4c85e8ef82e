"""Requests of people for the tests: what is asked, and the fit that matches it."""

from ledger.requests import request
from veilspan.ledger import RequestDraft, digest_plan
from veilspan.ledger.receipts import Request

DIGEST = "ab" * 32


def fit_of(epsilon=0.5, question=""):
    """The fit that a draft of the same epsilon asks for."""
    return Request(request(epsilon).plan, question)


def draft(epsilon=0.5, asked_by="Ana", **changes):
    """A request for a fit at this epsilon."""
    plan = fit_of(epsilon).plan
    fields = {
        "asked_by": asked_by,
        "estimator": "pca",
        "params": {"n_components": 2},
        "epsilon": epsilon,
        "delta": 1e-6,
        "plan_digest": digest_plan(plan),
        "source": "visits.parquet",
        "note": "the main patterns of a visit",
    }
    return RequestDraft(**{**fields, **changes})
