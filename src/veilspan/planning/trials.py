"""A case to simulate, and the made-up tables by which its fits are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from typing import Any, Protocol

from sklearn.base import clone

from veilspan.catalogue import Kind
from veilspan.planning.utility_curve import STRENGTHS, NotSimulatedError

_WHY_NOT = {
    "stream": "a stream's utility depends on how it moves, which no shape tells.",
    "cells": "nothing needs to be simulated, plan() says the error bars that a profile will have.",
}
#: Modules that make tables, by what an estimator reads.
_HOMES = {
    "rows": "made_up_rows",
    "labels": "made_up_targets",
    "numbers": "made_up_targets",
    "points": "made_up_points",
    "ratings": "made_up_ratings",
}


class Trial(Protocol):
    """A made-up table: what a fit with some budget learns from it."""

    def learn(self, epsilon: float, seed: int, share: float) -> float:
        """How much was learned; 0 is what one knows without rows.

        ``share`` is that of the rows which the table stands for.
        """


@dataclass(frozen=True)
class Case:
    """What is to be simulated: an estimator on tables of a shape.

    Attributes
    ----------
    estimator : estimator
        Unfitted; clones of it are fitted.
    kind : Kind
        Its line of the catalogue.
    schema : Schema or None
        What is public of the table; made-up tables have one row a person.
    asked_features : int or None
        Number of columns that was asked about.
    random_state : int
        The first seed.
    most_rows : callable
        Rows of a made-up table at most, by kind and columns.
    profile : Profile or None
        A released profile of the schema, that rows are to be like.
    n_features : int
        Number of columns.
    """

    estimator: Any
    kind: Kind
    schema: Any
    asked_features: int | None
    random_state: int
    most_rows: Callable[[Kind, int], int]
    profile: Any = None
    n_features: int = field(init=False)

    def __post_init__(self) -> None:
        reads, name = self.kind.reads, self.kind.estimator
        if reads in _WHY_NOT:
            raise NotSimulatedError(f"{name} cannot be simulated: {_WHY_NOT[reads]}")
        if self.schema is not None and self.schema.unit.combine == "none":
            raise NotSimulatedError(
                'made-up tables have one row a person, combine = "none" has several.'
            )
        if self.profile is not None:
            self._check_profile()
        object.__setattr__(self, "n_features", self._count_features())
        import_module(f"veilspan.planning.{_HOMES[reads]}").check(self)

    def _count_features(self) -> int:
        if self.schema is not None:
            items = self.schema.column_of_role("item") if self.kind.reads == "ratings" else None
            return len(self.schema.columns_out) if items is None else len(items.categories)
        if self.kind.reads == "points":
            return prod(self.estimator.manifold.point_shape)
        if self.asked_features is None:
            raise ValueError("a simulation needs the number of columns: n_features=... or schema=.")
        if isinstance(self.asked_features, bool) or self.asked_features < 1:
            raise ValueError("n_features must be a whole number, at least 1.")
        return int(self.asked_features)

    def _check_profile(self) -> None:
        from veilspan.planning.released_trials import check_profile

        if self.kind.reads in ("points", "ratings"):
            raise NotSimulatedError(
                f"a profile has nothing that {self.kind.estimator} learns from: leave it out."
            )
        check_profile(self.profile, self.schema)

    def rows_for(self, n: int) -> int:
        """Rows of the made-up table that stands for ``n`` rows."""
        return int(min(n, self.most_rows(self.kind, self.n_features)))

    def make_model(self, epsilon: float, seed: int, share: float, **changes: Any) -> Any:
        """A clone with this budget, free to be weak, of a seed, charged to nobody.

        What counts by the number of rows shrinks with it: a public guess of their number, and a
        penalty on a sum over them, 1/C or the alpha of Ridge and HuberRegressor.
        """
        model = clone(self.estimator)
        now = model.get_params(deep=False)
        common = {"epsilon": epsilon, "random_state": seed, "ledger": None, "allow_weak": True}
        if now.get("expected_rows") is not None:
            common["expected_rows"] = max(2, round(now["expected_rows"] * share))
        if now.get("C") is not None:
            common["C"] = now["C"] / share
        if now.get("alpha") is not None and self.kind.estimator in ("Ridge", "HuberRegressor"):
            common["alpha"] = now["alpha"] * share
        return model.set_params(**common, **changes)


def make_trial(case: Case, strength: str, rows: int, seed: int) -> Trial:
    """A made-up table with a structure of this strength."""
    trial: Trial = _home_of(case).make_trial(case, strength, rows, seed)
    return trial


def planted_words(case: Case) -> tuple[str, dict[str, str]]:
    """What is compared, and what the strengths mean, in words."""
    home = _home_of(case)
    return home.say_measure(case), {s: home.say_strength(case, s) for s in STRENGTHS}


def reads_relation(case: Case) -> bool:
    """Whether what is to be learned is taken from a released profile, and not planted."""
    if case.profile is None:
        return False
    from veilspan.planning.released_trials import tells_relation

    return tells_relation(case)


def _home_of(case: Case) -> Any:
    if reads_relation(case):
        return import_module("veilspan.planning.released_trials")
    return import_module(f"veilspan.planning.{_HOMES[case.kind.reads]}")
