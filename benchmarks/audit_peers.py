"""Audit other libraries at their claims, and our own estimators by the same game.

    python benchmarks/audit_peers.py [--runs 8000] [--quick] [--no-peers]

A game runs a mechanism many times on two tables that differ in one row and counts how often an
event, fixed before any run, occurs on each. Clopper-Pearson bounds on the two rates give a lower
bound on epsilon that holds for any mechanism, wrong with probability ALPHA
(``veilspan.audit.bounds``). A bound above the claim refutes it; one below proves nothing.

diffprivlib 0.6.6 runs in an environment of its own. Its cases:

- ``mechanisms.Bingham``, the step of its PCA that draws a component, d = 5. Tables: 64 rows e_1 and
  64 rows e_2, or one e_1 exchanged for e_2. Event: u_1^2 > 0.9.
- ``models.PCA``, one component, which gives that step half of its epsilon and the eigenvalues the
  other half. Event: the same, and the noisy eigenvalue below 64.
- ``models.LogisticRegression``, data_norm = 30, one column, C = 1. Tables: rows 30 and 0 with
  labels 1 and 0, or the first row 0 as well. Event: |coefficient| < 2 / 30.

Ours play the same games with outputs, and then with transcripts, which see more.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from _audit_peers import RADIUS, TABLES
from _peers import PeerUnavailable, peer_environ, peer_python
from _report import note, save, say, show
from veilspan import PCA, LogisticRegression, __version__
from veilspan.audit.bounds import ErrorRates, error_rates
from veilspan.audit.game import no_simulation_warnings, play
from veilspan.audit.verdict import Claim

PEER_PACKAGES = ["diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy<2.4"]
ALPHA = 0.01
WIDTH = 5
# Thresholds of the scores, from the densities that the samplers draw from, before any run.
SQUARE, NEAR_ZERO = 0.9, -2.0


@dataclass(frozen=True)
class Outcome:
    """One game: what was claimed and what was found."""

    name: str
    version: str
    epsilon: float
    delta: float
    bound: float
    runs: int
    rates: tuple[float, float]
    cpu: float

    @property
    def refuted(self) -> bool:
        return self.bound > self.epsilon

    def cells(self) -> tuple[str, ...]:
        verdict = "claim refuted" if self.refuted else "no violation found"
        claim = f"{self.epsilon:g}" if self.delta == 0 else f"{self.epsilon:g}, {self.delta:g}"
        low, high = self.rates
        shares = f"{low:.4f}, {high:.4f}"
        return self.name, claim, f"{self.bound:.3f}", f"{self.runs:,}", shares, verdict


def judged(
    name: str,
    version: str,
    claim: tuple[float, float],
    scores: tuple[Any, Any],
    threshold: float,
    cpu: float,
) -> Outcome:
    """Outcome of the event "score > threshold" for a claim (epsilon, delta)."""
    first, second = (np.asarray(side) for side in scores)
    rates = error_rates(first, second, threshold, ALPHA)
    shares = float(np.mean(first > threshold)), float(np.mean(second > threshold))
    return Outcome(name, version, *claim, rates.epsilon(claim[1]), rates.runs, shares, cpu)


# ---------------------------------------------------------------- other libraries


def peers(python: Path, runs: int) -> list[Outcome]:
    """The cases of diffprivlib: question, its settings, claim, threshold."""
    half = max(2, runs // 2)
    step = "diffprivlib Bingham, d = 5"
    return [
        peer(python, step, "eigenvector", {"epsilon": 1.0, "width": WIDTH, "runs": runs}, SQUARE),
        peer(
            python, "diffprivlib PCA(1), d = 5", "pca",
            {"epsilon": 2.0, "width": WIDTH, "runs": half}, SQUARE,
        ),
        peer(
            python, f"diffprivlib logistic, norm {RADIUS:g}", "logistic",
            {"epsilon": 1.0, "runs": runs}, NEAR_ZERO,
        ),
    ]  # fmt: skip


def peer(python: Path, name: str, question: str, settings: dict, threshold: float) -> Outcome:
    """Play one game in another environment."""
    say(f"{name} ...")
    script = str(Path(__file__).with_name("_audit_peers.py"))
    command = [str(python), script, question, json.dumps(settings)]
    done = subprocess.run(command, env=peer_environ(), stdout=subprocess.PIPE, check=True)
    told = json.loads(done.stdout)
    claim = settings["epsilon"], 0.0
    scores = told["first"], told["second"]
    return judged(name, told["version"], claim, scores, threshold, told["cpu"])


# ---------------------------------------------------------------- our own


def pca_tables() -> tuple[Any, Any]:
    rows = [np.repeat(np.eye(WIDTH)[:2], counts, axis=0) for counts in TABLES]
    return (rows[0],), (rows[1],)


def logistic_tables() -> tuple[Any, Any]:
    labels = np.array([1, 0])
    return (np.array([[0.0], [0.0]]), labels), (np.array([[RADIUS], [0.0]]), labels)


def fit_pca(table: Any, seed: int) -> PCA:
    return PCA(1, epsilon=1.0, random_state=seed).fit(*table)


def fit_logistic(table: Any, seed: int) -> LogisticRegression:
    model = LogisticRegression(
        epsilon=1.0, row_norm=RADIUS, classes=(0, 1), fit_intercept=False, random_state=seed
    )
    return model.fit(*table)


OURS: dict[str, tuple[Callable, Callable, Callable, float]] = {
    "veilspan PCA(1), d = 5": (
        fit_pca,
        pca_tables,
        lambda model: float(model.components_[0, 0] ** 2),
        SQUARE,
    ),
    f"veilspan logistic, norm {RADIUS:g}": (
        fit_logistic,
        logistic_tables,
        lambda model: -RADIUS * abs(float(model.coef_[0, 0])),
        NEAR_ZERO,
    ),
}


def ours(name: str, runs: int) -> Outcome:
    """The game of the other library, by outputs."""
    say(f"{name} ...")
    fit, tables, score, threshold = OURS[name]
    start = time.process_time()
    with no_simulation_warnings():
        sides = [
            [score(fit(table, 2 * run + side)) for run in range(runs)]
            for side, table in enumerate(tables())
        ]
        model = fit(tables()[0], 0)
    claim = model.epsilon, model.delta
    return judged(name, __version__, claim, tuple(sides), threshold, time.process_time() - start)


def by_transcript(name: str, runs: int) -> Outcome:
    """The game of ``audit()``: likelihood ratios of all answers, bound by mu."""
    say(f"{name}, transcripts ...")
    fit, tables, _, _ = OURS[name]
    start = time.process_time()
    with no_simulation_warnings():
        claim = Claim.of_plan(fit(tables()[0], 0).plan_)
    game = play(fit, *tables(), runs=runs, seed=7)
    rates: ErrorRates = game.rates(ALPHA)
    shares = float(np.mean(game.first > 0)), float(np.mean(game.second > 0))
    return Outcome(
        f"{name}, transcripts",
        __version__,
        claim.epsilon,
        claim.delta,
        claim.lower_bound(rates),
        rates.runs,
        shares,
        time.process_time() - start,
    )


# ---------------------------------------------------------------- all of it


def find_peer(wanted: bool) -> Path | None:
    if not wanted:
        return None
    try:
        return peer_python("diffprivlib", PEER_PACKAGES)
    except PeerUnavailable as reason:
        say(f"no diffprivlib: {reason}")
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=8000, help="on each table")
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--no-peers", action="store_true", help="make no other environment")
    options = parser.parse_args()
    runs = options.runs // 10 if options.quick else options.runs
    python = find_peer(not options.no_peers)
    with threadpool_limits(1):
        outcomes = peers(python, runs) if python is not None else []
        outcomes += [ours(name, runs) for name in OURS]
        outcomes += [by_transcript(name, max(2, runs // 8)) for name in OURS]
    show(
        f"Lower bounds on epsilon, each with confidence {1 - ALPHA:.0%}",
        ("", "claimed", "lower bound", "runs", "event on each", "verdict"),
        [outcome.cells() for outcome in outcomes],
    )
    versions = sorted({f"{o.name.split()[0]} {o.version}" for o in outcomes})
    cpu = sum(outcome.cpu for outcome in outcomes)
    note(f"{', '.join(versions)}. {cpu:.0f} CPU seconds.")
    note("A bound below a claim does not prove the claim: another event might refute it.")
    save("audit_peers", [asdict(outcome) for outcome in outcomes])


if __name__ == "__main__":
    main()
