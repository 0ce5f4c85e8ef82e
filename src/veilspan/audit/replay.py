"""The replay audit of a fit: deterministic, without false alarms (see ``curator.tape``)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.tape import ReplayMismatchError, Tape, recording, replaying


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
        Root of the sum of (distance of exact sums / noise std)^2: how far apart this pair of tables
        truly is, for the recorded answers. For full-batch releases it must not exceed the mu of
        the budget; infinite without noise.
    """

    findings: tuple[str, ...]
    questions: int
    largest_use: float
    realised_mu: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether no violation was found."""
        return not self.findings


def replay(
    fit: Callable[[Any], Any], table: Any, neighbor: Any, *, tolerance: float = 1e-9
) -> ReplayReport:
    """Fit ``table``, replay its answers on ``neighbor``, compare.

    Parameters
    ----------
    fit : callable
        ``fit(table)`` returns a fitted estimator, or any nest of arrays and numbers. It must use
        one and the same ``random_state`` each time if it samples rows.
    table, neighbor : Any
        Two neighbouring inputs of ``fit``.
    tolerance : float
        Relative tolerance on the sensitivity, for rounding.

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
    with recording() as first:
        output, warned = _heard(fit, table)
    with replaying(first) as second:
        try:
            again, warned_again = _heard(fit, neighbor)
        except ReplayMismatchError as mismatch:
            return ReplayReport((str(mismatch),), len(second.entries), 0.0)
        except Exception as error:  # the first table fitted: whether there is one tells them apart
            found = f"the neighbour raises {type(error).__name__}: an error depends on the data."
            return ReplayReport((found,), len(second.entries), 0.0)
    if warned != warned_again:
        findings.append("a warning is not a function of the answers alone.")
    if len(first.entries) != len(second.entries):
        findings.append("the number of questions depends on the data.")
    use = _largest_use(first, second)
    if use > 1 + tolerance:
        findings.append(f"exact sums differ by {use:.6g} times the declared sensitivity.")
    findings += _differences(released(output), released(again), "output")
    return ReplayReport(tuple(findings), len(first.entries), use, _realised_mu(first, second))


def _heard(fit: Callable[[Any], Any], table: Any) -> tuple[Any, list[str]]:
    """Output and warnings of a fit: both are seen by whoever runs it. None is passed on."""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        output = fit(table)
    return output, [f"{entry.category.__name__}: {entry.message}" for entry in log]


def released(output: Any) -> Any:
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


def _largest_use(first: Tape, second: Tape) -> float:
    gaps = [
        float(np.linalg.norm(a.exact - b.exact)) / a.question.sensitivity
        for a, b in zip(first.entries, second.entries)
    ]
    return max(gaps, default=0.0)


def _realised_mu(first: Tape, second: Tape) -> float:
    losses = [
        (float(np.linalg.norm(a.exact - b.exact)) / a.question.std) ** 2
        if a.question.std
        else math.inf
        for a, b in zip(first.entries, second.entries)
    ]
    return math.sqrt(math.fsum(losses))


def _differences(one: Any, two: Any, where: str) -> list[str]:
    """Where two nests of arrays and values are not bit-identical."""
    if isinstance(one, dict) and isinstance(two, dict):
        if one.keys() != two.keys():
            return [f"{where} has other entries in the two runs."]
        return [d for key in one for d in _differences(one[key], two[key], f"{where}.{key}")]
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        if len(one) != len(two):
            return [f"{where} has another length in the two runs."]
        return [
            d for i, (a, b) in enumerate(zip(one, two)) for d in _differences(a, b, f"{where}[{i}]")
        ]
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        same = one.shape == two.shape and one.dtype == two.dtype and one.tobytes() == two.tobytes()
    else:
        same = type(one) is type(two) and repr(one) == repr(two)
    return [] if same else [f"{where} is not a function of the answers alone."]
