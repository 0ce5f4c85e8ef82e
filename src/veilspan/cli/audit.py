"""``veilspan audit``: try to refute what an estimator promises, on generated adversarial tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

import typer

from veilspan.cli.console import say

#: Exit code if a violation was found.
VIOLATION = 3


def _table(name: str, **settings: Any) -> Callable[..., Any]:
    def make(**budget: Any) -> Any:
        import veilspan

        return getattr(veilspan, name)(**settings, **budget)

    return make


def _mean(**budget: Any) -> Any:
    from veilspan.estimators.frechet import FrechetMean
    from veilspan.geometry import SPD, Ball

    ball = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
    return FrechetMean(ball.manifold, ball=ball, **budget)


_REGRESSION = {"row_norm": 1.0, "target_range": (-1.0, 1.0)}

#: name: how to make the estimator, with small settings that use its bounds in full.
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "pca": _table("PCA", n_components=1),
    "robust-pca": _table("RobustPCA", n_components=1),
    "frechet": _mean,
    "recommend": _table("MatrixCompletion", rating_range=(1.0, 5.0), max_ratings_per_user=4),
    "tracker": _table("SubspaceTracker", n_components=1, block_size=20),
    "logistic": _table("LogisticRegression", row_norm=1.0, classes=(0, 1)),
    "svc": _table("LinearSVC", row_norm=1.0, classes=(0, 1)),
    "linear": _table("LinearRegression", **_REGRESSION),
    "ridge": _table("Ridge", **_REGRESSION),
    "lasso": _table("Lasso", **_REGRESSION),
    "elastic-net": _table("ElasticNet", **_REGRESSION),
    "huber": _table("HuberRegressor", **_REGRESSION),
}


def run_audit(
    name: str,
    *,
    epsilon: float,
    delta: float,
    neighbors: str,
    runs: int,
    seed: int,
    as_json: bool,
) -> None:
    """Audit one estimator by name and print the report."""
    if name not in ESTIMATORS:
        raise ValueError(f"unknown estimator {name!r}; known are {', '.join(ESTIMATORS)}.")
    if runs < 0 or runs == 1:
        raise ValueError(f"runs must be 0 (replay only) or at least 2; got {runs}.")
    from veilspan.audit.api import audit

    estimator = ESTIMATORS[name](epsilon=epsilon, delta=delta, neighbors=neighbors)
    with _Bars(quiet=as_json or not sys.stderr.isatty()) as bars:
        report = audit(estimator, runs=runs, seed=seed, progress=bars.show)
    say(json.dumps(report.to_dict(), indent=2) if as_json else repr(report))
    if not report.ok:
        raise typer.Exit(VIOLATION)


class _Bars:
    """A progress bar for each check in turn, on the error stream."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._check = ""
        self._bar: Any = None
        self._done = 0

    def __enter__(self) -> _Bars:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def show(self, check: str, done: int, total: int) -> None:
        """Draw what is done of a check."""
        if self._quiet:
            return
        if check != self._check:
            self._close()
            self._check, self._done = check, 0
            self._bar = typer.progressbar(length=total, label=f"{check:<6}", file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(done - self._done)
        self._done = done

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
