"""The replay audit of a fit (see ``curator.tape``), read by a meter that trusts no tape.

What is compared bit for bit has no false alarms. The noise is measured (``measuring_tape``), with a
false alarm of 1e-13 for each answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from veilspan.audit.measuring_tape import (
    MeasuringTape,
    Reading,
    everyone_takes_part,
    has_samples,
    read_replay,
)
from veilspan.curator.tape import ReplayMismatchError, Tape, on_tape, replaying
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors, check_neighbors


@dataclass(frozen=True)
class ReplayReport:
    """What a replay found.

    Attributes
    ----------
    findings : tuple of str
        Violations; empty if none was found.
    questions : int
        Answers compared.
    largest_use : float
        Largest distance of two exact sums over the declared sensitivity. At most 1 in a correct
        method; near 1 for the worst neighbours if the sensitivity is tight.
    realised_mu : float
        Root of the sum of (distance of exact sums / measured noise std)^2: how far apart this pair
        of tables truly is, for the recorded answers. For full-batch releases it must not exceed
        the mu of the budget; infinite where sums differ without noise.
    reading : Reading or None
        What the independent meter read; None if the second run did not come to its end.
    """

    findings: tuple[str, ...]
    questions: int
    largest_use: float
    realised_mu: float = 0.0
    reading: Reading | None = None

    @property
    def ok(self) -> bool:
        """Whether no violation was found."""
        return not self.findings


def replay(
    fit: Callable[[Any], Any],
    table: Any,
    neighbor: Any,
    *,
    tolerance: float = 1e-9,
    budget: Budget | None = None,
    neighbors: Neighbors | None = None,
) -> ReplayReport:
    """Fit ``table``, replay its answers on ``neighbor``, compare, and meter what was spent.

    Parameters
    ----------
    fit : callable
        ``fit(table)`` returns a fitted estimator, or any nest of arrays and numbers. It must use
        one and the same ``random_state`` each time if it samples rows.
    table, neighbor : Any
        Two neighbouring inputs of ``fit``.
    tolerance : float
        Relative tolerance on the sensitivity, for rounding.
    budget : Budget, optional
        What the two tables may cost at most. By default the ``epsilon`` and ``delta`` that a
        returned estimator was made with; without any, distances are read and not judged.
    neighbors : {"replace-one", "add-remove"}, optional
        The relation; by default the estimator's, else replace-one.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import PCA
    >>> table = np.eye(5)
    >>> other = table.copy()
    >>> other[0] = [0, 0, 0, 0, -9]
    >>> replay(lambda x: PCA(2, random_state=0).fit(x), table, other).ok
    True
    """
    findings: list[str] = []
    with on_tape(MeasuringTape()) as first:
        assert isinstance(first, MeasuringTape)
        output, warned = _run_and_listen(fit, table)
    with replaying(first) as second:
        try:
            again, warned_again = _run_and_listen(fit, neighbor)
        except ReplayMismatchError as mismatch:
            return ReplayReport((str(mismatch),), len(second.entries), 0.0)
        except Exception as error:  # the first table fitted: whether there is one tells them apart
            found = f"the neighbour raises {type(error).__name__}: an error depends on the data."
            return ReplayReport((found,), len(second.entries), 0.0)
    if warned != warned_again:
        findings.append("a warning is not a function of the answers alone.")
    if len(first.entries) != len(second.entries):
        findings.append("the number of questions depends on the data.")
    use = _find_largest_use(first, second)
    if use > 1 + tolerance:
        findings.append(f"exact sums differ by {use:.6g} times the declared sensitivity.")
    findings += _find_differences(collect_release(output), collect_release(again), "output")
    allowed = _read_budget(output) if budget is None else budget
    relation = check_neighbors(neighbors or getattr(output, "neighbors", None) or "replace-one")
    everyone = None
    if allowed is not None and not findings and has_samples(first.entries):
        everyone = (
            _replay_with_everyone(fit, first, table),
            _replay_with_everyone(fit, first, neighbor),
        )
    seen = read_replay(first, second, relation)
    reading = read_replay(first, second, relation, everyone) if everyone else seen
    if everyone or not has_samples(first.entries):
        findings += reading.findings(allowed)
    else:
        findings += reading.quiet
    return ReplayReport(tuple(findings), len(first.entries), use, seen.mu, reading)


def _read_budget(output: Any) -> Budget | None:
    """What the user asked for, from the parameters of a fitted estimator."""
    epsilon, delta = (getattr(output, name, None) for name in ("epsilon", "delta"))
    if not hasattr(output, "get_params") or epsilon is None or delta is None:
        return None
    return Budget(epsilon, delta)


def _replay_with_everyone(fit: Callable[[Any], Any], source: Tape, table: Any) -> Tape:
    """The same answers over one table, every row taking part in every sample."""
    with everyone_takes_part(), replaying(source) as tape:
        _run_and_listen(fit, table)
    return tape


def _run_and_listen(fit: Callable[[Any], Any], table: Any) -> tuple[Any, list[str]]:
    """Output and warnings of a fit: both are seen by whoever runs it. None is passed on."""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        output = fit(table)
    return output, [f"{entry.category.__name__}: {entry.message}" for entry in log]


def collect_release(output: Any) -> Any:
    """What a fit gives out: all public fitted attributes of an estimator, or the value itself."""
    if not hasattr(output, "get_params"):
        return output
    fitted = {
        name: value
        for name, value in vars(output).items()
        if name.endswith("_") and not name.startswith("_")
    }
    if hasattr(fitted.get("privacy_"), "to_dict"):
        record = fitted["privacy_"].to_dict()
        record.pop("release_id")
        fitted["privacy_"] = record
    return fitted


def _find_largest_use(first: Tape, second: Tape) -> float:
    gaps = [
        float(np.linalg.norm(a.exact - b.exact)) / a.question.sensitivity
        for a, b in zip(first.entries, second.entries)
    ]
    return max(gaps, default=0.0)


def _find_differences(one: Any, two: Any, where: str) -> list[str]:
    """Where two nests of arrays and values are not bit-identical."""
    if isinstance(one, dict) and isinstance(two, dict):
        if one.keys() != two.keys():
            return [f"{where} has other entries in the two runs."]
        return [d for key in one for d in _find_differences(one[key], two[key], f"{where}.{key}")]
    if is_dataclass(one) and type(one) is type(two):  # maps of rows: repr rounds their arrays
        names = [part.name for part in fields(one)]
        sides = ({name: getattr(side, name) for name in names} for side in (one, two))
        return _find_differences(*sides, where)
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        if len(one) != len(two):
            return [f"{where} has another length in the two runs."]
        return [
            d
            for i, (a, b) in enumerate(zip(one, two))
            for d in _find_differences(a, b, f"{where}[{i}]")
        ]
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        same = one.shape == two.shape and one.dtype == two.dtype
        if one.dtype.hasobject:  # bytes of objects are where they lie in memory
            return _find_differences(one.tolist(), two.tolist(), where)
        same = same and one.tobytes() == two.tobytes()
    else:
        same = type(one) is type(two) and repr(one) == repr(two)
    return [] if same else [f"{where} is not a function of the answers alone."]
