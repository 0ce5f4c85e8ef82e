"""Mechanisms of the zoo that let something out beside their noisy answers, and repaired twins.

Each takes a table and returns what it releases. All answers pass a small door of the zoo's own,
which a replay can record: unlike the curator it leaves the clip to its caller, so that the caller
can get it wrong.
"""

from __future__ import annotations

import math

import numpy as np

from veilspan.audit.neighbors import table_pairs
from veilspan.audit.replay import replay
from veilspan.curator.tape import CURRENT_TAPE, Question, fingerprint

WIDTH = 3
NOISE_MULTIPLIER = 1.0


class Door:
    """Gaussian answers to sums whose sensitivity the caller declares."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def answer(
        self, name: str, exact: np.ndarray, sensitivity: float, point: np.ndarray | None = None
    ) -> np.ndarray:
        """A noisy sum, put on the tape if there is one."""
        std = NOISE_MULTIPLIER * sensitivity

        def draw() -> np.ndarray:
            return np.asarray(exact + std * self._rng.standard_normal(exact.shape))

        tape = CURRENT_TAPE.get()
        if tape is None:
            return draw()
        event = (name, NOISE_MULTIPLIER, 1.0)
        asked = Question(name, event, sensitivity, sensitivity, std, exact.size, fingerprint(point))
        return tape.exchange(asked, exact, draw)


def clip(table: np.ndarray) -> np.ndarray:
    """Rows, shortened to length 1 where they are longer."""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.maximum(lengths, 1.0))


# ---------------------------------------------------------------- a mean, add-remove


def mean_by_length(table: np.ndarray) -> np.ndarray:
    """Broken: the noisy sum over len(X), which is private under add-remove."""
    return Door().answer("sum", clip(table).sum(axis=0), 1.0) / len(table)


def mean_by_noisy_count(table: np.ndarray) -> np.ndarray:
    """Repaired: the number of rows is asked for as well."""
    door = Door()
    total = door.answer("sum", clip(table).sum(axis=0), 1.0)
    count = door.answer("count", np.array([float(len(table))]), 1.0)[0]
    return total / max(1.0, float(count))


def sum_without_clip(table: np.ndarray) -> np.ndarray:
    """Broken: declares the sensitivity of clipped rows, and sums them as they come."""
    return Door().answer("sum", table.sum(axis=0), 1.0)


def sum_of_clipped(table: np.ndarray) -> np.ndarray:
    """Repaired: what is declared is enforced."""
    return Door().answer("sum", clip(table).sum(axis=0), 1.0)


# ---------------------------------------------------------------- second moments, replace-one


def _moment(door: Door, rows: np.ndarray) -> np.ndarray:
    kept = clip(rows)
    return door.answer("second moment", kept.T @ kept, math.sqrt(2))


def exactly_centred_moment(table: np.ndarray) -> np.ndarray:
    """Broken: one row moves the mean, and with it every centred row."""
    return _moment(Door(), table - table.mean(axis=0))


def privately_centred_moment(table: np.ndarray) -> np.ndarray:
    """Repaired: the centre is a noisy answer."""
    door = Door()
    center = door.answer("sum", clip(table).sum(axis=0), 2.0) / len(table)
    return _moment(door, table - center)


# ---------------------------------------------------------------- descent, replace-one


def descent_until_good(table: np.ndarray) -> np.ndarray:
    """Broken: stops as soon as the exact loss is small; when is a fact about rows."""
    return _descend(table, stop_early=True)


def descent_of_fixed_length(table: np.ndarray) -> np.ndarray:
    """Repaired: the number of steps is public."""
    return _descend(table, stop_early=False)


def _descend(table: np.ndarray, *, stop_early: bool) -> np.ndarray:
    """Noisy gradient steps on the mean of |w - x|^2 / 2."""
    door, rows, w = Door(), clip(table), np.zeros(table.shape[1])
    for _ in range(8):
        w = w - 0.3 * (w - door.answer("sum", rows.sum(axis=0), 2.0, w) / len(rows))
        if stop_early and float(np.mean((rows - w) ** 2)) < 0.25:
            break
    return w


def printed_accelerated_mirror(table: np.ndarray) -> np.ndarray:
    """Broken: Algorithm 3 as printed; its output comes from a gradient without noise."""
    return _accelerated(table, as_printed=True)


def accelerated_mirror(table: np.ndarray) -> np.ndarray:
    """Repaired: the same noisy gradient in both steps, at no cost."""
    return _accelerated(table, as_printed=False)


def _accelerated(table: np.ndarray, *, as_printed: bool, steps: int = 4) -> np.ndarray:
    """DP-AccMD for the mean of |w - x|^2 / 2 on the unit ball (smoothness L = 1)."""
    door, rows = Door(), clip(table)
    y = z = np.zeros(table.shape[1])
    for k in range(steps):
        share = 2 / (k + 2)
        x = share * z + (1 - share) * y
        noisy = x - door.answer("sum", rows.sum(axis=0), 2.0, x) / len(rows)
        exact = x - rows.mean(axis=0)
        y = _in_ball(x - (exact if as_printed else noisy))
        z = _in_ball(z - (k + 2) / 4 * noisy)
    return y


def _in_ball(w: np.ndarray) -> np.ndarray:
    return np.asarray(w / max(1.0, float(np.linalg.norm(w))))


# ---------------------------------------------------------------- the audit


def replay_findings(mechanism: object, neighbors: str) -> tuple[str, ...]:
    """Everything that replays find on adversarial pairs: deterministic, no false alarms."""
    assert callable(mechanism)
    findings: list[str] = []
    for pair in table_pairs(WIDTH, neighbors):
        report = replay(lambda rows: mechanism(*rows), pair.one, pair.two)
        findings += [f"{pair.name}: {text}" for text in report.findings]
    return tuple(findings)
