"""Figure 2: rows of the two phases without noise, over n and d, beside theorem 1.

K_1 is the number of rows until zeta > 1/2, K_2 the further ones until epsilon < 1e-4. The paper
divides by d^3 log n and d log(1/1e-4). Its grid of sizes is not in its text; this one is ours.
"""

import numpy as np

from ..job import Claim
from .bounds import theorem1
from .common import (
    LOOSE,
    generator,
    judged,
    rows_until,
    similar,
    span,
    stream,
    within,
    word_of,
)

ACCURACY = 1e-4
#: n, d and trials
TINY = (200, 400), (6,), 4
QUICK = (500, 2000), (5, 20), 10
FULL = (500, 1000, 2000, 5000, 10_000), (5, 10, 20, 40, 80), 50
#: K_1, its ratio and the ratio of K_2, found before by an independent program.
REFERENCE = {(2000, 20): (236, 0.0039, 0.94)}
NEAR = 0.1  # relative difference from the reference that is called the same


def one_trial(n, d, seed, engine=None):
    """K_1 and K_2 of one start and one stream."""
    bases = stream(n, d, 0.0, generator(2, n, d, seed), engine=engine)
    limit = 40 * int(d * np.log(n))
    first, last = rows_until(bases, similar(0.5), within(ACCURACY), limit=limit)
    return first, last - first


def measure(job):
    """One record per n and d."""
    sizes, ranks, trials = job.pick(TINY, QUICK, FULL)
    engine = job.pick("numpy", None, None)  # compiling takes longer than a tiny run
    records = []
    for n, d in job.track([(n, d) for n in sizes for d in ranks]):
        counts = job.cell([n, d], lambda n=n, d=d: [
            one_trial(n, d, seed, engine) for seed in range(trials)
        ])  # fmt: skip
        records.append(summary(n, d, counts))
    return records


def summary(n, d, counts):
    """Means and standard deviations over trials; the promise of theorem 1 to fail in 20 %."""
    first, second = np.array(counts, dtype=float).T
    promised = theorem1(n, d, ACCURACY, failure=0.1)
    scales = d**3 * np.log(n), d * np.log(1 / ACCURACY)
    return {
        "n": n, "d": d, "trials": len(first), "lost": int(np.isnan(first + second).sum()),
        "k1_mean": first.mean(), "k1_std": first.std(ddof=1),
        "k2_mean": second.mean(), "k2_std": second.std(ddof=1),
        "k1_ratio": first.mean() / scales[0], "k1_ratio_std": first.std(ddof=1) / scales[0],
        "k2_ratio": second.mean() / scales[1], "k2_ratio_std": second.std(ddof=1) / scales[1],
        "k1_over_d_log_n": first.mean() / (d * np.log(n)),
        "theorem1_k1": promised[0], "theorem1_k2": promised[1],
    }  # fmt: skip


def judge(cells):
    def asked(k):
        values = [cell[f"theorem1_k{k}"] / cell[f"k{k}_mean"] for cell in cells]
        return f"theorem 1 asks for {span(values)} times the rows needed"

    names = "k1_ratio", "k2_ratio", "k1_over_d_log_n"
    k1, k2, linear = ([cell[name] for cell in cells] for name in names)
    lost = sum(cell["lost"] for cell in cells)
    return [
        Claim("Theorem 1: the first phase ends in every trial",
              f"{lost} of {sum(cell['trials'] for cell in cells)} did not", lost == 0),
        Claim("Sec. 5: K_1 = O(d^3 log n) is very loose",
              f"K_1/(d^3 log n) from {span(k1, '{:.2g}')}, K_1/(d log n) from "
              f"{span(linear, '{:.2f}')}; {asked(1)}", judged(lambda x: max(x) < LOOSE, k1)),
        Claim("Sec. 5: K_2 = O(d log(1/eps)) is accurate (within 2x)",
              f"K_2/(d log(1/eps)) from {span(k2, '{:.3f}')}; {asked(2)}",
              judged(lambda x: min(x) > 0.5 and max(x) < 2, k2)),
        *(reference_claim(cell) for cell in cells if (cell["n"], cell["d"]) in REFERENCE),
    ]  # fmt: skip


def reference_claim(cell):
    expected = REFERENCE[cell["n"], cell["d"]]
    found = cell["k1_mean"], cell["k1_ratio"], cell["k2_ratio"]
    errors = [cell[f"k{k}_std"] / cell[f"k{k}_mean"] / np.sqrt(cell["trials"]) for k in (1, 2)]
    away = [abs(a / b - 1) for a, b in zip(found, expected)]
    return Claim(
        f"at n = {cell['n']}, d = {cell['d']} as in an independent program (within {NEAR:.0%})",
        f"K_1 = {found[0]:.0f} (there {expected[0]}), ratios {found[1]:.4f} ({expected[1]}) and "
        f"{found[2]:.3f} ({expected[2]}); standard errors {errors[0]:.1%} and {errors[1]:.1%}",
        judged(lambda x: max(x) < NEAR, away),
        who="ours",
    )


def draw(cells, job):
    """Both counts over the orders of theorem 1, and K_1 over d log n."""
    from ..style import CYCLE, LINES, MARKERS, panels, title

    figure, axes = panels(1, 3, width=2.9, height=3.1)
    shown = (
        ("k1_ratio", "k1_ratio_std", "K₁ / (d³ log n)"),
        ("k1_over_d_log_n", None, "K₁ / (d log n)"),
        ("k2_ratio", "k2_ratio_std", "K₂ / (d log(1/ε*))"),
    )
    for ax, (name, error, text) in zip(axes[0], shown):
        ranks = sorted({cell["d"] for cell in cells})
        for d, color, marker, line in zip(ranks, CYCLE, MARKERS, LINES):
            some = [cell for cell in cells if cell["d"] == d]
            ax.errorbar([cell["n"] for cell in some], [cell[name] for cell in some],
                        yerr=[cell[error] for cell in some] if error else None,
                        color=color, marker=marker, linestyle=line, capsize=3,
                        label=f"d = {d}")  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(sorted({cell["n"] for cell in cells}))
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.xaxis.set_minor_formatter("")
        ax.tick_params(axis="x", labelrotation=30)
        ax.set_xlabel("columns n")
        ax.set_title(text)
    axes[0, 0].set_yscale("log")
    for ax in axes[0, 1:]:
        ax.set_ylim(0, None)
    axes[0, 1].legend(loc="lower right")
    title(figure, f"Rows needed without noise over the orders of theorem 1, ε* = {ACCURACY:g}; "
          "mean and standard deviation")  # fmt: skip
    job.picture(figure)


def run(job):
    """Count the rows that streams need at every size, judge the bounds by them, and draw."""
    cells = measure(job)
    claims = judge(cells)
    draw(cells, job)
    line = (
        f"K_1 bound {word_of(claims[1], 'loose')}: {claims[1].measured}. "
        f"K_2 bound {word_of(claims[2], 'accurate')}: {claims[2].measured}."
    )
    notes = ["The sizes are ours: the text of the paper gives none.",
             f'"Loose" is below {LOOSE:g} d^3 log n at every size. Streams end after 40 d log n '
             "rows; a size at which one did not arrive by then supports no claim.",
             "Without noise a stream never leaves the span of its start and the truth: it runs in "
             "2 d coordinates."]  # fmt: skip
    return job.finish(line, cells, claims, notes=notes)
