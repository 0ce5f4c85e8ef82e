"""Subspaces of rows that come one after another, **without privacy**.

GROUSE (Balzano, Nowak & Recht 2010; Zhang & Balzano 2016): each row turns an orthonormal basis by a
rank-one step along the Grassmannian. :class:`veilspan.SubspaceTracker` is the face of this package.
"""

from veilspan.nonprivate.grouse.grouse import BlockReport, random_basis, update_block
from veilspan.nonprivate.grouse.steps import (
    ConstantStep,
    DiminishingStep,
    GreedyStep,
    NoisyStep,
    StepRule,
    step_rule,
)

__all__ = [
    "BlockReport",
    "ConstantStep",
    "DiminishingStep",
    "GreedyStep",
    "NoisyStep",
    "StepRule",
    "random_basis",
    "step_rule",
    "update_block",
]
