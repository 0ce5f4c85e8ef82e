"""The picture of Figure 1: one row of panels for each noise level."""

import numpy as np

from ..style import BLUE, GREY, ORANGE, VERMILION, panels, title
from .bounds import iterate_theorem4, iterate_theorem5
from .fig1 import ROUNDING, first_half, progress


def draw(traces, size, job):
    """Both metrics with the theorems iterated, and the progress of rows over the promised one."""
    figure, axes = panels(len(traces), 3, width=2.75, height=1.85, sharex=True)
    for row, (noise, trace) in zip(axes, traces.items()):
        metric(row[0], trace.epsilon)
        metric(row[1], trace.zeta)
        bounds(row, trace, noise, size)
        ratios(row[2], trace, noise, size)
        row[0].set_ylabel(f"σ² = {noise:g}", fontweight="bold")
    for ax, text in zip(axes[0], ("discrepancy ε", "similarity ζ", "progress, measured/promised")):
        ax.set_title(text)
    for ax in axes[-1]:
        ax.set_xlabel("rows seen")
    legend(figure, axes)
    title(figure, f"Progress along a stream, n = {size.n}, d = {size.d}: a theorem is tight where "
          "the right panel is near 1, and broken where it stays below")  # fmt: skip
    job.picture(figure)


def metric(ax, values):
    """Median and spread over trials."""
    t = np.arange(values.shape[1])
    low, middle, high = np.quantile(np.maximum(values, 1e-60), [0.1, 0.5, 0.9], axis=0)
    ax.plot(t, middle, color=VERMILION, label="measured, median (band: 10 to 90 %)")
    ax.fill_between(t, low, high, color=VERMILION, alpha=0.25, linewidth=0)
    ax.set_yscale("log")


def bounds(axes, trace, noise, size):
    """The theorems as if they were equations, and the rate without noise."""
    t = np.arange(size.rows + 1)
    middle = {k: np.median(v, axis=0) for k, v in vars(trace).items()}
    bound = iterate_theorem5(middle["epsilon"][0], middle["cos2_largest"], size.n, size.d, noise)
    axes[0].plot(t, bound, "--", color=BLUE, label="Theorem 5, iterated")
    half = first_half(middle["zeta"])
    if np.isfinite(half):
        later = t[int(half) :]
        line = middle["epsilon"][int(half)] * (1 - 1 / size.d) ** (later - half)
        axes[0].plot(later, line, ":", color=GREY, label="rate 1 - 1/d")
    axes[0].set_ylim(1e-10, 40)
    bound = iterate_theorem4(middle["zeta"][0], size.rows, size.n, size.d, noise)
    axes[1].plot(t, bound, "-.", color=ORANGE, label="Theorem 4, iterated")


def ratios(ax, trace, noise, size, width=20):
    """Measured over promised progress, in windows: single rows are too noisy to read."""
    usable = trace.epsilon[:, :-1] > 10 * ROUNDING
    looks = {4: {"color": ORANGE, "linestyle": "-."}, 5: {"color": BLUE, "linestyle": "--"}}
    for theorem, parts in progress(trace, noise, size).items():
        gain, promise = (
            np.where(usable, part, 0.0).mean(axis=0).reshape(-1, width).mean(axis=1)
            for part in parts
        )
        ratio = np.divide(gain, promise, out=np.full_like(gain, np.nan), where=promise > 0)
        ax.plot(np.arange(0, size.rows, width), ratio, linewidth=1.2, **looks[theorem])
    ax.axhline(1, color="black", linewidth=0.8)
    ax.set_yscale("log")
    ax.set_ylim(0.2, 300)


def legend(figure, axes):
    """One legend for all panels."""
    found = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            found.setdefault(label, handle)
    figure.legend(found.values(), found, loc="outside lower center", ncols=2)
