"""The zoo: mechanisms that are known to be broken, each beside its repaired twin.

An audit that has never failed says little. Every specimen here claims a guarantee that it does not
keep; the audit named beside it must flag it each time, and must let the repaired twin pass. None of
it may be used on rows that matter.

Three kinds of audit: *replay* (deterministic), *exact* (a computed covariance), and *game*
(statistical: a repaired twin is flagged with probability at most ``noise.ALPHA`` = 2e-8, for
the five games together 1e-7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from audit.zoo import leaks, noise, samplers
from experiments.riemannian import printed_samplers as printed

#: ``audit(mechanism, seed)`` returns findings, none if the mechanism passes.
Audit = Callable[[Any, int], tuple[str, ...]]


@dataclass(frozen=True)
class Specimen:
    """A broken mechanism, its twin, and the audit that tells them apart.

    Attributes
    ----------
    why : str
        What is wrong, in one line.
    source : str
        Where it was printed, or where it is seen.
    kind : {"replay", "game", "exact"}
        How it is audited.
    broken, repaired : callable
        The mechanisms.
    audit : callable
        ``audit(mechanism, seed)`` returns findings: none if the mechanism passes. The seed is for
        the runs of a game.
    """

    why: str
    source: str
    kind: Literal["replay", "game", "exact"]
    broken: Callable[..., Any]
    repaired: Callable[..., Any]
    audit: Audit

    @property
    def false_alarm(self) -> float:
        """Probability that the audit flags the repaired twin."""
        return noise.ALPHA if self.kind == "game" else 0.0


def examine(name: str, *, repaired: bool = False, seed: int = 0) -> tuple[str, ...]:
    """Audit one specimen, or its repaired twin, and return the findings."""
    specimen = SPECIMENS[name]
    return specimen.audit(specimen.repaired if repaired else specimen.broken, seed)


def _replayed(neighbors: str) -> Audit:
    return lambda mechanism, seed: leaks.replay_findings(mechanism, neighbors)


def _played(pair: Any, score: Any, claimed: float) -> Audit:
    return lambda mechanism, seed: noise.game_findings(mechanism, pair, score, claimed, seed)


def _computed(manifold: Any, w: Any) -> Audit:
    return lambda sampler, seed: samplers.sampler_findings(sampler, manifold, w)


_ERM = "Wang, Ye & Xu 2017, Algorithm 3"
_ROBUST = "Maunu, Yu & Lerman 2022, Theorem 6"
_CURVED = "Utpala, Han, Jawanpuria & Mishra 2023"
_COMMON = "seen in many hand-written implementations"

SPECIMENS: dict[str, Specimen] = {
    "Wishart PCA": Specimen(
        "positive noise never lowers an eigenvalue, so M - A' not PSD proves that it was not A'",
        "Jiang, Xie & Zhang 2016; see also Sarwate's retraction of 2017",
        "game",
        noise.wishart_moment,
        noise.gaussian_moment,
        noise.event_findings,
    ),
    "DP-AccMD as printed": Specimen(
        "the y-step takes the gradient without noise, and y is the output",
        _ERM,
        "replay",
        leaks.printed_accelerated_mirror,
        leaks.accelerated_mirror,
        _replayed("replace-one"),
    ),
    "noise halved": Specimen(
        "noise for add-remove, claimed under replace-one",
        _COMMON,
        "game",
        noise.half_noise_sum,
        noise.gaussian_sum,
        _played(noise.SUM_PAIR, noise.first_coordinate, noise.MU),
    ),
    "batch noise divided by n": Specimen(
        "the noise of a mean on the sum of a batch",
        _COMMON,
        "game",
        noise.batch_sum_with_noise_over_n,
        noise.batch_sum,
        _played(noise.BATCH_PAIR, noise.first_coordinate, noise.SAMPLED_MU),
    ),
    "len(X) as a divisor": Specimen(
        "the number of rows is private under add-remove, and leaves exactly",
        _COMMON,
        "replay",
        leaks.mean_by_length,
        leaks.mean_by_noisy_count,
        _replayed("add-remove"),
    ),
    "early stopping on the loss": Specimen(
        "when a descent stops is a function of rows that nobody paid for",
        _COMMON,
        "replay",
        leaks.descent_until_good,
        leaks.descent_of_fixed_length,
        _replayed("replace-one"),
    ),
    "exact centring": Specimen(
        "one row moves the mean, and with it every other centred row",
        _COMMON,
        "replay",
        leaks.exactly_centred_moment,
        leaks.privately_centred_moment,
        _replayed("replace-one"),
    ),
    "clipping skipped": Specimen(
        "a bound that is declared but not enforced",
        _COMMON,
        "replay",
        leaks.sum_without_clip,
        leaks.sum_of_clipped,
        _replayed("add-remove"),
    ),
    "i.i.d. noise on a symmetric answer": Specimen(
        "entries on the diagonal get the noise of those off it, 1/sqrt(2) of theirs",
        _COMMON,
        "game",
        noise.iid_moment,
        noise.isotropic_moment,
        _played(noise.MOMENT_PAIR, noise.difference_of_squares, noise.MU),
    ),
    "printed dp-SGGD noise": Specimen(
        "the noise of a batch's mean shrinks with the batch, while one row's share of it grows",
        _ROBUST,
        "game",
        noise.printed_sampled_gradients,
        noise.sampled_gradients,
        _played(noise.SGGD_PAIR, noise.first_coordinate, noise.SAMPLED_MU),
    ),
    "printed Bures-Wasserstein sampler": Specimen(
        "scale 4 for 2, and a kernel without its root: too little noise at small matrices",
        f"{_CURVED}, Algorithm 4 with the transport of appendix A.1",
        "exact",
        printed.printed_bures,
        samplers.exact_bures,
        _computed(samplers.BURES, samplers.SMALL_MATRIX),
    ),
    "printed Log-Euclidean sampler": Specimen(
        "the kernel belongs to the exponential of the eigenvalues, not to their logarithm",
        f"{_CURVED}, Algorithm 5",
        "exact",
        printed.printed_log_euclidean,
        samplers.exact_log_euclidean,
        _computed(samplers.LOG_EUCLIDEAN, samplers.PLAIN_MATRIX),
    ),
    "printed Poincaré sampler": Specimen(
        "a quarter where the metric asks for a half",
        f"{_CURVED}, Algorithm 6",
        "exact",
        printed.printed_poincare,
        samplers.exact_poincare,
        _computed(samplers.BALL, samplers.FAR_POINT),
    ),
}
