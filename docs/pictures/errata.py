"""Claimed and true epsilon of mechanisms as printed."""

import math
from typing import Any

from veilspan import SampledGaussianEvent, epsilon_spent
from veilspan.privacy.gdp import epsilon_of, mu_of

DELTA = 1e-6
NEVER = 3e6  # where arrows of infinite values end


def with_noise_share(share: float) -> float:
    """Claimed 1, with a share of the standard deviation that it needs."""
    return epsilon_of(mu_of(1.0, DELTA) / share, DELTA)


def minibatches() -> float:
    """Fig. 1 of the robust PCA paper."""
    delta = 1 / math.sqrt(2000)
    std = 0.01 * math.sqrt(2000 * math.log(1 / delta)) / (0.8 * 2000)
    return epsilon_spent([SampledGaussianEvent("step", 0.01, 20 * std, 2000)], delta)


def sum_with_noise_of_a_mean() -> float:
    """dp-GD-REAP with eq. (4.1) as it stands."""
    steps, delta = 4000, 1 / math.sqrt(2000)
    std = math.sqrt(32 * steps) * math.log(steps / delta) / (0.8 * 2000)
    return epsilon_of(math.sqrt(2 * steps) / std, delta)


def theorem_8() -> float:
    """The noise that the robust PCA paper's Theorem 8 prints, in the same setting."""
    delta = 1 / math.sqrt(2000)
    std = 20 * math.sqrt(2000 * math.log(1 / delta)) / (0.8 * 2000)
    event = SampledGaussianEvent("step", 0.01, 20 * std / math.sqrt(2), 2000)
    return epsilon_spent([event], delta)


def claim_5(n: int) -> float:
    """Claimed 0.5 by the Riemannian paper's Claim 5, n steps on one row, c = 1."""
    std = math.sqrt(n * math.log(1 / DELTA)) / (n * 0.5)
    event = SampledGaussianEvent("step", 1 / n, std, n)
    return epsilon_spent([event], DELTA, neighbors="add-remove")


def variance_reduced(n: int, factor: float = 1.0) -> float:
    """Theorem 4.1 at 10 n steps, c = 1; Remark 4.1 has a factor."""
    std = factor * math.sqrt(10 * n * math.log(1 / DELTA)) / n
    event = SampledGaussianEvent("step", 1 / n, std, 10 * n)
    return epsilon_spent([event], DELTA, neighbors="add-remove")


def completion(nominal: float, moved: float) -> float:
    """The noise of Algorithm 1 for a user who moves the matrix so far (L = 1)."""
    return epsilon_of(moved * nominal / math.sqrt(64 * math.log(1 / DELTA)), DELTA)


# What is printed, claimed epsilon, true epsilon, and that of the kindest other printed reading.
ROWS = (
    ("Poincaré ball, Algorithm 6", 1.0, with_noise_share(0.5), None),
    ("Log-Euclidean at I, Algorithm 5", 1.0, with_noise_share(math.exp(-1)), None),
    ("Bures-Wasserstein at 0.01 I, Alg. 4", 1.0, with_noise_share(0.2), with_noise_share(2.0)),
    ("basis of the sphere at w₁ = 0.1", 1.0, with_noise_share(0.1), None),
    ("matrix completion at ε = 20", 20.0, completion(20.0, 4 * math.sqrt(2)), None),
    ("clip as printed, a gradient of 50 τ", 1.0, with_noise_share(1 / 50), None),
    ("REAPER, eq. (4.1) with printed noise", 0.8, sum_with_noise_of_a_mean(), None),
    ("DP-RSVRG, Claim 5, n = 10,704", 0.5, claim_5(10_704), None),
    ("DP-SVRG, Theorem 4.1, n = 100,000", 1.0, variance_reduced(100_000),
     variance_reduced(100_000, math.log(10 / DELTA))),
    ("dp-SGGD, minibatches of Fig. 1", 0.8, minibatches(), theorem_8()),
    ("DP-AccMD", 1.0, math.inf, None),
    ("Wishart start of dp-(S)GGD", 1.0, math.inf, None),
    ("matrix completion, Algorithm 3", 1.0, math.inf, None),
)  # fmt: skip


def draw(style: Any) -> Any:
    """One line a mechanism."""
    figure, axes = style.panels(1, 1, width=7.2, height=4.6)
    ax = axes[0, 0]
    for y, (_, claimed, true, kinder) in enumerate(ROWS):
        endless = math.isinf(true)
        ax.annotate("", (NEVER if endless else true, y), (claimed, y), zorder=2,
                    arrowprops={"arrowstyle": "->", "color": style.NOT_PRIVATE, "shrinkA": 4,
                                "shrinkB": 0 if endless else 4,
                                "linestyle": "--" if endless else "-"})  # fmt: skip
        ax.plot(claimed, y, "s", color="white", markeredgecolor=style.BLUE, zorder=3)
        if kinder is not None:
            ax.plot(kinder, y, "o", color="white", markeredgecolor=style.VERMILION, zorder=3)
            ax.text(kinder / 1.35, y, _two_digits(kinder), va="center", ha="right", fontsize=8.5)
        if endless:
            ax.text(NEVER * 1.2, y, "∞", va="center", fontsize=11)
        else:
            ax.plot(true, y, "o", color=style.VERMILION, zorder=3)
            ax.text(true * 1.35, y, _two_digits(true), va="center", fontsize=8.5)
    ax.plot([], [], "s", color="white", markeredgecolor=style.BLUE, label="ε as claimed")
    ax.plot([], [], "o", color=style.VERMILION, label="ε by accounting")
    ax.plot([], [], "o", color="white", markeredgecolor=style.VERMILION,
            label="by the kindest other printed reading")  # fmt: skip
    ax.set_yticks(range(len(ROWS)), [row[0] for row in ROWS])
    ax.set_xscale("log")
    ax.set_xlim(5e-5, NEVER * 2.5)
    ax.set_ylim(len(ROWS) - 0.4, -0.6)
    ax.set_xlabel("ε (logarithmic)")
    ax.set_title("What printed mechanisms claim, and what they truly guarantee")
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.99))
    return figure


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.2g}"
