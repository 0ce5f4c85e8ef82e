"""Robust subspaces **without privacy**, for data the caller owns.

They say what is reachable before noise, and serve as references in figures. Their answers depend on
single rows without any bound: releasing one is publishing a function of the raw data. For private
answers use an estimator.
"""

from veilspan.nonprivate.baselines._common import SubspaceFit
from veilspan.nonprivate.baselines.fms import fms
from veilspan.nonprivate.baselines.reaper import reaper_irls
from veilspan.nonprivate.baselines.spherical import spherical_pca
from veilspan.nonprivate.baselines.tyler import tyler

__all__ = ["SubspaceFit", "fms", "reaper_irls", "spherical_pca", "tyler"]
