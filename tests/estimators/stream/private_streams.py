"""Streams near a subspace, and private trackers for them."""

import math

import numpy as np

from veilspan.estimators.stream.subspace_tracker import SubspaceTracker
from veilspan.metrics import principal_angles

WIDTH, RANK, BLOCK_SIZE = 12, 2, 400


def truth(seed, width=WIDTH, rank=RANK):
    rng = np.random.default_rng([seed, 1])
    return np.linalg.qr(rng.standard_normal((width, rank)))[0].T


def draw(subspace, n, rng, noise=0.1):
    rank, width = subspace.shape
    rows = rng.standard_normal((n, rank)) @ subspace / math.sqrt(rank)
    return rows + noise * rng.standard_normal((n, width)) / math.sqrt(width)


def error(tracker, subspace):
    return float(np.sin(principal_angles(subspace, tracker.components_)).max())


def make(rank=RANK, **changes):
    settings = {"epsilon": 2.0, "block_size": BLOCK_SIZE, **changes}
    return SubspaceTracker(rank, **settings)
