"""What somebody asks of a dataset, before anybody has looked at it: checked public facts.

Nothing here depends on rows. The source is where the data are *declared* to lie; a digest of what
lies there would be an exact answer about it, so none is ever taken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veilspan._passwords import without_password
from veilspan.ledger.errors import RequestError
from veilspan.ledger.names import check_name
from veilspan.ledger.records import as_json
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors, check_neighbors

#: Longest parameters as JSON, notes and locations, in characters: entries stay readable.
MOST_PARAMS, MOST_NOTE, MOST_SOURCE = 50_000, 2_000, 1_000


@dataclass(frozen=True, kw_only=True)
class RequestDraft:
    """A fit that somebody asks for.

    Parameters
    ----------
    asked_by : str
        The person.
    estimator : str
        As the command line calls it: ``"pca"``.
    params : mapping
        Its parameters beside the budget, JSON-ready.
    epsilon, delta, neighbors : float, float, str
        What it promises.
    plan_digest : str
        Of its plan (:func:`veilspan.ledger.approvals.binding.digest_plan`).
    schema_digest : str or None
        Of the schema by which the table is read.
    source : str
        Where the data are declared to lie. A password in an address is left out.
    key : str or None
        Idempotency key of the charge; by default made of the request's id.
    note : str
        What it is for, in the person's own words; several lines if need be.
    question : str
        Digest of class, parameters and plan, if known (:class:`veilspan.ledger.Request`): the
        charge is then held to it as well.
    """

    asked_by: str
    estimator: str
    params: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float
    delta: float
    neighbors: Neighbors = "replace-one"
    plan_digest: str
    schema_digest: str | None = None
    source: str
    key: str | None = None
    note: str = ""
    question: str = ""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "asked_by", check_name(self.asked_by, "the name of who asks"))
        put(self, "estimator", check_name(self.estimator, "the name of an estimator"))
        put(self, "params", _check_params(self.params))
        put(self, "epsilon", _check_number(self.epsilon, "epsilon"))
        put(self, "delta", _check_number(self.delta, "delta"))
        Budget(self.epsilon, self.delta)
        check_neighbors(self.neighbors)
        check_digest(self.plan_digest, "a plan")
        if self.schema_digest is not None:
            check_digest(self.schema_digest, "a schema")
        put(self, "source", _check_source(self.source))
        if self.key is not None:
            put(self, "key", check_name(self.key, "an idempotency key"))
        put(self, "note", check_words(self.note, "a note"))
        if self.question:
            check_digest(self.question, "a question")


def check_digest(value: Any, of: str) -> str:
    """Return a SHA-256 in hexadecimal, or raise."""
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        raise ValueError(f"the digest of {of} is 64 hexadecimal digits.")
    return value


def check_words(value: Any, what: str) -> str:
    """Return what a person wrote, without spaces around; several lines, all of them printable."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text; got {type(value).__name__}.")
    text = "\n".join(line.rstrip() for line in value.splitlines()).strip()
    if len(text) > MOST_NOTE:
        raise ValueError(f"{what} has at most {MOST_NOTE:,} characters; got {len(text):,}.")
    if not all(line.isprintable() for line in text.split("\n")):
        raise ValueError(f"{what} holds a character that does not show; leave it out.")
    return text


def _check_number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number; got {type(value).__name__}.")
    number = float(value)
    if not math.isfinite(number):
        raise RequestError(f"{name} of a request must be finite: no noise is no promise.")
    return number


def _check_params(params: Any) -> dict[str, Any]:
    """A copy of the parameters as they are read back from JSON."""
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise TypeError("params must be a mapping of names to values that JSON can hold.")
    try:
        text = as_json(dict(params))
    except (TypeError, ValueError, RecursionError):
        raise TypeError(
            "params must be numbers, texts, lists and mappings that JSON can hold, without NaN."
        ) from None
    if len(text) > MOST_PARAMS:
        raise ValueError(f"params are at most {MOST_PARAMS:,} characters as JSON.")
    copied: dict[str, Any] = json.loads(text)
    return copied


def _check_source(source: Any) -> str:
    if not isinstance(source, str):
        raise TypeError(f"a source must be text; got {type(source).__name__}.")
    shown = without_password(source) if "://" in source else source
    if not shown.strip() or len(shown) > MOST_SOURCE or not shown.isprintable():
        raise ValueError(
            f"a source is where the data lie, in 1 to {MOST_SOURCE:,} printable characters."
        )
    return shown
