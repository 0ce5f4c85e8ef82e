"""Bins for numbers of which nothing is known: they grow by factors of 4 away from zero."""

from __future__ import annotations

import numpy as np

# A hair above powers of 4, which then belong to the bin below: that of 1 ends at 1.
GRID = 4.0 ** np.arange(-24, 33) * (1 + 2.0**-40)
LOG_EDGES = np.concatenate([-GRID[::-1], GRID])
ZERO_BIN = len(GRID)
UNIT = 1.0 + 2.0**-40  # end of the bin of 1
UNIT_BIN = int(np.searchsorted(LOG_EDGES, 1.0))


def close_edges(edges: np.ndarray) -> np.ndarray:
    """Edges with ends for the open bins, which are given the width of their neighbours."""
    return np.concatenate([[2 * edges[0] - edges[1]], edges, [2 * edges[-1] - edges[-2]]])


def next_edge(ends: np.ndarray) -> np.ndarray:
    """The edge of the grid above each of these; the outermost has none and stays."""
    place = np.minimum(np.searchsorted(LOG_EDGES, ends, side="right"), len(LOG_EDGES) - 1)
    return np.asarray(LOG_EDGES[place])
