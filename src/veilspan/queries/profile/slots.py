r"""Units of several rows: encoded rows side by side, which share one person's weight equally.

A unit of k slots is k encoded rows one after the other. A slot is *empty* if its first number is
below -1/2 (codes are not). What a unit contributes to a sum is the mean of what its rows would
contribute, over the slots that are not empty; a unit of empty slots contributes nothing. So whoever
has many rows counts as much as whoever has one, and every bound on the contribution of one row is
one on that of a unit: norms are convex.
"""

from __future__ import annotations

import numpy as np

#: The first number of an empty slot.
EMPTY = -1.0


def split_slots(x: np.ndarray, slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Slots of shape (n, slots, width), and which of them are taken, of shape (n, slots)."""
    parts = x.reshape(len(x), slots, -1)
    return parts, parts[:, :, 0] > -0.5


def share_weights(taken: np.ndarray) -> np.ndarray:
    """1 over the number of taken slots for each that is taken, 0 for the others."""
    return taken / np.maximum(taken.sum(axis=1, keepdims=True), 1)
