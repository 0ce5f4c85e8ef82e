"""Which settings a search tries: a list, a grid, or draws from distributions, all public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veilspan.privacy.events import MOST_KINDS

#: Seed of the draws from distributions. Public: candidates are chosen without the rows.
PUBLIC_SEED = 0
#: Parameters that a search sets itself, or that all candidates share since the promise is one.
SHARED = {
    "epsilon": "the search has the budget: PrivateSearch(..., epsilon=...)",
    "delta": "the search has the budget: PrivateSearch(..., delta=...)",
    "random_state": "the search has it: PrivateSearch(..., random_state=...)",
    "ledger": "the search has it: PrivateSearch(..., ledger=...)",
    "neighbors": "a release has one neighbour relation: set it on the estimator",
    "noise": "a release has one kind of noise: set it on the estimator",
    "allow_weak": "it speaks of the whole release: set it on the estimator",
    "schema": "all candidates read one table: set it on the estimator",
}
#: Parameters by which scores of two candidates would mean two things.
MEANING = {
    "classes": "all candidates tell the same classes apart",
    "target_range": "errors are measured in it",
    "n_components": "more components hold more of the rows, whatever is true of them",
    "center": "shares of rows are measured from it",
    "scale": "shares of rows are measured in it",
}


def list_candidates(estimator: Any, candidates: Any, draws: int) -> tuple[dict[str, Any], ...]:
    """All settings to be tried, checked by name.

    Parameters
    ----------
    estimator : estimator
        Whose parameters they set.
    candidates : list of dicts, or dict
        Settings; or a grid of lists; or lists and distributions (with ``rvs``, as those of
        ``scipy.stats``), of which ``draws`` are drawn by a public seed.
    draws : int
        See above.
    """
    found = _spread(candidates, draws)
    if not found:
        raise ValueError("there are no candidates: give at least one dict of parameters.")
    if len(found) > MOST_KINDS:
        raise ValueError(f"a search has at most {MOST_KINDS} candidates; got {len(found)}.")
    known = estimator.get_params(deep=False)
    for one in found:
        for name in one:
            if name not in known:
                raise ValueError(
                    f"{type(estimator).__name__} has no parameter {name!r}; candidates may set "
                    f"{', '.join(sorted(set(known) - set(SHARED)))}."
                )
            reason = SHARED.get(name) or MEANING.get(name)
            if reason is not None:
                raise ValueError(f"candidates cannot differ in {name!r}: {reason}.")
    return tuple({name: _as_plain(value) for name, value in one.items()} for one in found)


def _spread(candidates: Any, draws: int) -> list[dict[str, Any]]:
    if isinstance(candidates, Mapping):
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        for name, values in candidates.items():
            if not hasattr(values, "rvs") and (isinstance(values, str) or not _is_list(values)):
                raise ValueError(
                    f"a grid maps each parameter to a list of values or a distribution; "
                    f"{name!r} has a {type(values).__name__}. For one value write [value]."
                )
        if any(hasattr(values, "rvs") for values in candidates.values()):
            drawn = ParameterSampler(dict(candidates), draws, random_state=PUBLIC_SEED)
            return [dict(one) for one in drawn]
        return [dict(one) for one in ParameterGrid(dict(candidates))]
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise TypeError(
            "candidates must be a list of dicts of parameters, or a dict of lists (a grid) or "
            f"distributions; got {type(candidates).__name__}."
        )
    if not all(isinstance(one, Mapping) for one in candidates):
        raise TypeError('each candidate is a dict of parameters, {"alpha": 0.1} say.')
    return [dict(one) for one in candidates]


def _as_plain(value: Any) -> Any:
    """A number of NumPy's, as grids and draws give it, as Python's own; all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _is_list(values: Any) -> bool:
    return hasattr(values, "__len__") and hasattr(values, "__getitem__")
