"""Run the trials of a search, and forget all but the best.

Nothing of a trial leaves but the best one's model: no warning, no error, no score. A trial that
fails (a solver may give up by what noisy answers say) is an outcome like others, with the lowest
score; only if all have failed is there nothing to release, and then one
:class:`~veilspan.WithheldError` says so. What is let through says nothing of a trial: interrupts,
the want of memory, the form of the table, the mismatch of an audit.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

from sklearn.base import clone

from veilspan.curator.silence import quiet
from veilspan.curator.tape import ReplayMismatchError
from veilspan.estimators.search.search_plan import SearchPlan, Trial
from veilspan.privacy.errors import FormError, TemporaryFolderError, WithheldError
from veilspan.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from veilspan.privacy.random_search import draw_geometric

PASSING = (FormError, MemoryError, TemporaryFolderError, ReplayMismatchError)


def find_best(
    ready: SearchPlan, lead: Any, table: Any, targets: Any, source: NoiseSource
) -> tuple[Any, dict[str, Any]]:
    """The model with the highest score, and what its candidate sets.

    Of equal scores the first counts: trials are independent and alike, so that this is the same
    law as a coin among them.

    Parameters
    ----------
    ready : SearchPlan
        What was planned.
    lead : estimator
        Has what the check of the table's form has found: columns, their names, classes.
    table, targets : table, targets
        Checked ones.
    source : NoiseSource
        Of the coins that choose trials; each trial has a source of its own.
    """
    best: tuple[Any, dict[str, Any]] | None = None
    highest, failure = -math.inf, None
    for number, trial in enumerate(draw_trials(ready, source)):
        own = make_source(source, number)
        try:
            with quiet():
                model, score = run_trial(trial, lead, table, targets, own)
        except PASSING:
            raise
        except Exception as error:
            failure = error
            continue
        if best is None or score > highest:
            best, highest = (model, trial.params), score
    if best is None:
        withheld = WithheldError()
        withheld.__context__ = None
        raise withheld from (failure if not source.secure else None)
    return best


def draw_trials(ready: SearchPlan, source: NoiseSource) -> list[Trial]:
    """Which candidates are tried, in order: a random number of draws, or each once."""
    if ready.gamma is None:
        return list(ready.trials)
    coins = source.coins("trials of a search")
    count = draw_geometric(ready.gamma, coins)
    return [ready.trials[int(coins.integers(len(ready.trials)))] for _ in range(count)]


def make_source(source: NoiseSource, number: int) -> NoiseSource:
    """A source of noise for one trial, independent of all others."""
    if isinstance(source, SeededNoise):
        digest = hashlib.blake2b(f"{source.seed} {number}".encode(), digest_size=8).digest()
        return SeededNoise(int.from_bytes(digest, "big") >> 1)
    return SecureNoise()


def run_trial(
    trial: Trial, lead: Any, table: Any, targets: Any, source: NoiseSource
) -> tuple[Any, float]:
    """Fit one candidate and score it."""
    model = clone(trial.model)
    for name, value in vars(lead).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(model, name, value)
    model._run(table, targets, trial.plan, trial.prepared, source)
    return model, trial.prepared.asker.told
