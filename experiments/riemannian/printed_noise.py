r"""What the samplers of the paper draw if its formulas are taken as printed.

A sampler is a linear map A of standard normals. It draws the tangent Gaussian if and only if
A A^T = I in coordinates that are orthonormal for the metric. The mean eigenvalue of A A^T is the
**noise energy** E|u|^2 / (d sigma^2); the least one, v, is what a release is worth: along that
direction noise that claims mu gives mu / sqrt(v). All of it is computed by one-hot normals
(``printed_samplers.py``), nothing is drawn.
"""

from dataclasses import dataclass

import numpy as np

from veilspan.geometry import SPD, Lorentz, PoincareBall, Sphere
from veilspan.privacy.gdp import epsilon_of, mu_of

from ..job import Claim, Cost
from .printed_samplers import (
    find_variance_range,
    printed_affine,
    printed_bures,
    printed_bures_rooted,
    printed_log_euclidean,
    printed_lorentz,
    printed_poincare,
    printed_sphere,
)

CLAIMED, DELTA = 1.0, 1e-6  # of one release, for the costs
EXACT = 1e-9


@dataclass(frozen=True)
class Printed:
    """A printed algorithm, at a point."""

    name: str
    sampler: object
    manifold: object
    point: np.ndarray
    where: str


_LORENTZ_TAIL = np.array([1.0, 0.5])
#: Where the paper prints two formulas for one algorithm both are here, its better one first.
PRINTED = (
    Printed("Algorithm 3 (SPD, affine-invariant)", printed_affine, SPD(2),
            np.diag([0.02, 0.05]), "W = diag(0.02, 0.05)"),
    Printed("Algorithm 4 (SPD, Bures-Wasserstein), kernel of Sec. 4.1", printed_bures_rooted,
            SPD(2, metric="bures-wasserstein"), np.diag([0.02, 0.05]), "W = diag(0.02, 0.05)"),
    Printed("Algorithm 4 (SPD, Bures-Wasserstein), kernel of A.1", printed_bures,
            SPD(2, metric="bures-wasserstein"), np.diag([0.02, 0.05]), "W = diag(0.02, 0.05)"),
    Printed("Algorithm 5 (SPD, Log-Euclidean)", printed_log_euclidean,
            SPD(2, metric="log-euclidean"), np.eye(2), "W = I"),
    Printed("Algorithm 6 (Poincaré ball)", printed_poincare, PoincareBall(2),
            np.array([0.6, 0.3]), "w = (0.6, 0.3)"),
    Printed("Algorithm 7 (Lorentz)", printed_lorentz, Lorentz(3),
            np.concatenate([[np.sqrt(1 + _LORENTZ_TAIL @ _LORENTZ_TAIL)], _LORENTZ_TAIL]),
            "w = (1.5, 1, 0.5)"),
    Printed("Algorithm 8 (sphere)", printed_sphere, Sphere(3),
            np.array([0.8, 0.48, 0.36]), "w = (0.8, 0.48, 0.36)"),
)  # fmt: skip


def noise_of(printed):
    """Least, mean and largest variance along unit directions, and whether vectors are tangent."""
    manifold, w = printed.manifold, printed.point
    least, largest = find_variance_range(printed.sampler, manifold, w)
    count = int(np.prod(manifold.coordinate_shape))
    one_hot = np.eye(count).reshape(count, *manifold.coordinate_shape)
    images = np.stack([printed.sampler(w, z) for z in one_hot])
    tangent = bool(np.all(manifold.is_tangent(w, images)))
    energy = float(np.sum(manifold.to_coordinates(w, images) ** 2)) / manifold.dim
    if not tangent:  # variances of tangent directions say nothing of such vectors
        least = energy = largest = np.nan
    return {"algorithm": printed.name, "point": printed.where, "tangent": tangent,
            "weakest_variance": least, "noise_energy": energy,
            "strongest_variance": largest}  # fmt: skip


def noise_facts():
    """All printed algorithms, one dictionary each."""
    return [noise_of(printed) for printed in PRINTED]


def noise_claim(facts):
    """Whether every printed algorithm draws what its output line says."""
    wrong = [fact for fact in facts if not exact(fact)]
    said = "; ".join(f"{fact['algorithm']} at {fact['point']}: {words(fact)}" for fact in wrong)
    return Claim(
        "Algorithms 3-8 as printed: the output is a tangent Gaussian N_w(0, sigma^2)",
        f"exact for {len(facts) - len(wrong)} of {len(facts)} printed readings"
        + (f"; {said}" if wrong else "")
        + (
            "; with the transports of appendix A.1 repaired Algorithms 7 and 8 are exact"
            if any(not fact["tangent"] for fact in facts)
            else ""
        ),
        not wrong,
    )


def words(fact):
    if not fact["tangent"]:
        return "its vectors are not tangent"
    return (
        f"noise energy {fact['noise_energy']:.3g} of what it should be, "
        f"{fact['weakest_variance']:.3g} along the weakest direction"
    )


def exact(fact):
    return (
        fact["tangent"]
        and abs(fact["weakest_variance"] - 1) < EXACT
        and abs(fact["strongest_variance"] - 1) < EXACT
    )


def noise_costs(facts):
    """What one release at (1, 1e-6) costs where noise is not what it should be, one by one."""
    mu = mu_of(CLAIMED, DELTA)
    return [
        Cost(f"{fact['algorithm']} as printed", CLAIMED, true_epsilon(mu, fact), DELTA,
             "replace-one", f"one release at {fact['point']}: {fact['weakest_variance']:.3g} of "
             "the variance along the weakest direction")
        for fact in facts if abs(fact["weakest_variance"] - 1) > EXACT
    ]  # fmt: skip


def true_epsilon(mu, fact):
    weakest = fact["weakest_variance"]
    # Rounding leaves something like 1e-33 where there is no noise at all.
    return float("inf") if weakest < 1e-20 else epsilon_of(mu / np.sqrt(weakest), DELTA)
