"""What the demo compares: generated people, and the two components of every method."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import bdtrc, gammaln, log_ndtr, ndtr

from veilspan._progress import ProgressBar
from veilspan.datasets import GeneMap, make_gene_map, reduce_loci
from veilspan.estimators.subspace.pca import PCA
from veilspan.estimators.subspace.robust_pca import RobustPCA
from veilspan.metrics import procrustes_correlation
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import LoudNoiseWarning
from veilspan.privacy.events import SampledGaussianEvent
from veilspan.privacy.statement import PrivacyStatement
from veilspan.solvers.spectral import leading_eigenvectors
from veilspan.solvers.steps import PaperSteps
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

N_SCORES, N_COMPONENTS = 200, 2
#: Public bounds on the length of a row. A score has variance 1 at the reference frequencies, so a
#: typical row has length sqrt(200) = 14.1; three times that leaves practically every row whole.
TYPICAL, GENEROUS = math.sqrt(N_SCORES), 3 * math.sqrt(N_SCORES)

ROBUST, PLAIN, PRINTED = "private robust PCA", "plain PCA", "dp-SGGD as printed"
WHOLE, CUT = f"private PCA, row norm {GENEROUS:.1f}", f"private PCA, row norm {TYPICAL:.1f}"


@dataclass(frozen=True)
class View:
    """Two components of a method, and its owner's view of the people through them.

    Attributes
    ----------
    components : array of shape (2, 200)
        Orthonormal rows.
    points : array of shape (n, 2)
        Every person's coordinates. The owner's own view: never a private release.
    correlation : float
        Procrustes correlation with the true map, over the people who are on it.
    privacy : PrivacyStatement or None
        What the release spent; None without privacy.
    seconds : float
        Time to fit.
    fitted : PCA or RobustPCA, optional
        What was fitted; None without privacy.
    """

    components: np.ndarray
    points: np.ndarray
    correlation: float
    privacy: PrivacyStatement | None
    seconds: float
    fitted: PCA | RobustPCA | None = None


@dataclass(frozen=True)
class DemoResult:
    """The generated people and what every method made of them."""

    data: GeneMap
    views: dict[str, View]
    budget: Budget

    @property
    def release(self) -> View:
        """The view that the demo releases; the others are drawn for comparison."""
        return self.views[ROBUST]

    @cached_property
    def epsilon_as_printed(self) -> float:
        """An epsilon that the as-printed method certainly exceeds."""
        statement = self.views[PRINTED].privacy
        assert statement is not None
        return epsilon_at_least(statement)


def learn(budget: Budget, bar: ProgressBar) -> DemoResult:
    """Generate the people and fit every method to their public scores."""
    bar.describe("drawing 2,387 people x 10,000 loci")
    data = make_gene_map()
    scores = reduce_loci(data.counts, data.frequencies, N_SCORES)
    bar.advance()
    spend: dict[str, Any] = {"epsilon": budget.epsilon, "delta": budget.delta}
    methods = {
        # Scores are centred at public reference frequencies: nothing is to be found out.
        ROBUST: RobustPCA(N_COMPONENTS, center="origin", **spend),
        PLAIN: None,
        WHOLE: PCA(N_COMPONENTS, row_norm=GENEROUS, center="origin", **spend),
        CUT: PCA(N_COMPONENTS, row_norm=TYPICAL, center="origin", **spend),
        PRINTED: make_printed_method(len(scores), budget),
    }
    views = {}
    for name, method in methods.items():
        bar.describe(f"fitting {name}")
        views[name] = fit_view(method, scores, data)
        bar.advance()
    return DemoResult(data, views, budget)


def fit_view(method: PCA | RobustPCA | None, scores: np.ndarray, data: GeneMap) -> View:
    """Fit a method; None is plain PCA, the leading right singular vectors, without privacy."""
    start = time.perf_counter()
    if method is None:
        components = leading_eigenvectors(scores.T @ scores, N_COMPONENTS)[1]
    else:
        with warnings.catch_warnings():
            # That a bound which is too generous drowns in its noise is what the demo shows.
            warnings.simplefilter("ignore", LoudNoiseWarning)
            components = method.fit(scores).components_
    seconds = time.perf_counter() - start
    points, here = scores @ components.T, ~data.is_outlier
    correlation = procrustes_correlation(points[here], data.place[here])
    privacy = getattr(method, "privacy_", None)
    return View(components, points, correlation, privacy, seconds, method)


def make_printed_method(n_rows: int, budget: Budget) -> RobustPCA:
    r"""Make dp-SGGD of Maunu, Yu & Lerman (2022), with the noise of their Theorem 6.

    Steps :math:`T = N`, batches of :math:`B = \max(N \sqrt{\epsilon / 4T}, 1)` and step sizes
    :math:`2^{-\lfloor k/50 \rfloor}` as in their experiments, and on every batch mean noise of
    variance

    .. math:: \sigma^2 = c_2 \frac{(B/N)^2\, T \log(1/\delta)}{\epsilon^2 N^2}, \qquad c_2 = 1.

    One row moves a batch mean by 1/B, so the factor :math:`(B/N)^2` should not be there. The start
    is ours, private and charged.
    """
    rate = min(max(math.sqrt(budget.epsilon / (4 * n_rows)), 1 / n_rows), 0.5)
    sigma = rate * math.sqrt(n_rows * math.log(1 / budget.delta)) / (budget.epsilon * n_rows)
    solver = GeodesicGradientDescent(steps=n_rows, sampling_rate=rate, step_schedule=PaperSteps())
    return RobustPCA(
        N_COMPONENTS, epsilon=budget.epsilon, delta=budget.delta, solver=solver, noise_std=sigma,
        allow_weak=True,  # that it promises nothing is what the demo shows
    )  # fmt: skip


def epsilon_at_least(statement: PrivacyStatement) -> float:
    r"""An epsilon that the sampled steps of a release certainly exceed, by counting.

    The accountant bounds epsilon from above; only a bound from below shows that a claim is false.
    Take a row of contribution 1 in some direction against one that never contributes there, noise
    of standard deviation z, sampling rate q, T steps, and the event that at least m answers exceed
    t along that direction. With the row it has the probability
    :math:`p = P[\mathrm{Bin}(T, q \bar\Phi((t-1)/z)) \ge m]` or more, without it
    :math:`p_0 = \binom{T}{m} \bar\Phi(t/z)^m` or less, and :math:`p \le e^\epsilon p_0 + \delta`
    gives :math:`\epsilon \ge \log((p - \delta) / p_0)` for every t and m.
    """
    best, delta = 0.0, statement.delta
    for event in statement.events:
        if not isinstance(event, SampledGaussianEvent):
            continue
        z, steps, m = event.noise_multiplier, event.count, np.arange(1, event.count + 1)
        ways = gammaln(steps + 1) - gammaln(m + 1) - gammaln(steps - m + 1)
        for t in np.linspace(0.5, 1.0, 51):
            seen = bdtrc(m - 1, steps, event.sampling_rate * ndtr((1 - t) / z)) - delta
            likely = seen > 0
            bounds = np.log(seen[likely]) - (ways + m * log_ndtr(-t / z))[likely]
            best = max(best, bounds.max(initial=0.0))
    return float(best)


def rounded_down(value: float) -> str:
    """Write a number with two digits, never larger than it is."""
    unit = 10.0 ** max(0, int(np.log10(max(value, 1))) - 1)
    return f"{np.floor(value / unit) * unit:,.0f}"
