"""What a linear model says beforehand of noise that may hide what there is to learn."""

from __future__ import annotations

from dataclasses import replace

from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.linear.base import LinearPrepared

#: Noise of a mean gradient that takes the whole budget, over its largest length, above which it may
#: hide what there is to learn. Noise is spread over all coefficients: where there are many of them,
#: as with several classes, what rows have in common may stand out of more (MNIST: .89 at 0.11).
LOUD = 0.1


def say_loud(nu: float) -> str:
    """What to say of noise above ``LOUD``."""
    return (
        f"the noise of one released mean gradient is {nu:.2g} of its largest "
        f"possible length (above {LOUD:g}): with so few rows for this epsilon and number "
        "of coefficients noise may hide what there is to learn. More rows, a larger epsilon "
        "or fewer features would help."
    )


def with_warning(prepared: LinearPrepared, neighbors: Neighbors) -> LinearPrepared:
    """What was prepared, with a warning by public numbers where its noise is loud."""
    nu = prepared.problem.noise_of_a_gradient(prepared.budget, neighbors)
    if nu is None or nu <= LOUD:
        return prepared
    return replace(prepared, warning=say_loud(nu))
