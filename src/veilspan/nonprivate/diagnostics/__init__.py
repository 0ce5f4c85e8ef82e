"""How hard a robust subspace problem is, for data the caller owns.

The statistics need to know which rows are inliers, so they describe simulated or audited data. They
are functions of the raw rows: **not private, and no guarantee of privacy** (that a stable
problem makes a deterministic method "already private" is an error in the literature: differential
privacy quantifies over all data sets, stability describes one).
"""

from veilspan.nonprivate.diagnostics.stability import (
    Bounds,
    alignment,
    ggd_stability,
    pca_stability,
    permeance,
    reaper_alignment,
    reaper_permeance,
    reaper_stability,
)

__all__ = [
    "Bounds",
    "alignment",
    "ggd_stability",
    "pca_stability",
    "permeance",
    "reaper_alignment",
    "reaper_permeance",
    "reaper_stability",
]
