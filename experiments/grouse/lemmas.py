"""Numerical checks of what the figures rest on: lemmas 1 and 2, and what section 3.1 prints.

Lemma 2 divides by |v_par|^2. Section 3.1 prints |v|^2 in the same formula, and in (7a), which at
its own best angle would then be 1; its sign of the change of epsilon is turned round as well.
"""

import numpy as np

from veilspan.nonprivate.grouse import random_basis, update_block

from ..job import Claim
from .bounds import printed_start_similarity, start_similarity
from .common import discrepancy, generator, rows_of, similarity

EXACT = 1e-8  # relative error that rounding explains
ALARM = 5  # standard errors from the exact mean that refute it


def lemma2_gaps(n, d, rng):
    """Relative error of lemma 2 and of the printed section 3.1, after one greedy step.

    Returns the gaps of zeta' / zeta by lemma 2, of epsilon - epsilon' by lemma 2, and of
    zeta' / zeta as printed.
    """
    basis = random_basis(n, d, rng)
    row = rows_of(1, n, d, 0.0, rng)
    inside = (basis @ row[0]) @ basis
    parallel, total = float(inside @ inside), float(row[0] @ row[0])
    outside = total - parallel
    before = similarity(basis), discrepancy(basis)
    update_block(basis, row, engine="numpy")  # one row is not worth compiling for
    growth = similarity(basis) / before[0]
    decrease = before[1] - discrepancy(basis)
    by_lemma = 1 - float(inside[:d] @ inside[:d]) / parallel
    return (
        abs(growth / (1 + outside / parallel) - 1),
        abs(decrease / by_lemma - 1),
        abs(growth / (1 + outside / total) - 1),
    )


def mean_start(n, d, draws, rng):
    """Monte-Carlo mean of zeta_0 over the exact value, and its standard error."""
    values = [similarity(random_basis(n, d, rng)) for _ in range(draws)]
    values = np.array(values) / np.exp(start_similarity(n, d))
    return float(values.mean()), float(values.std() / np.sqrt(draws))


def measure(job):
    """One record per size: errors of lemma 2 and of section 3.1, and the constant of lemma 1."""
    rows, steps = [], job.pick(3, 10, 50)
    for n, d in job.track(((20, 3), (100, 5), (2000, 20))):
        gaps = job.cell([n, d], lambda n=n, d=d: [
            lemma2_gaps(n, d, generator(0, n, d, k)) for k in range(steps)
        ])  # fmt: skip
        gaps = np.array(gaps)
        constant = np.exp(start_similarity(n, d) - printed_start_similarity(n, d))
        rows.append({"n": n, "d": d, "lemma2_zeta": gaps[:, 0].max(),
                     "lemma2_epsilon": gaps[:, 1].max(), "printed_zeta": np.median(gaps[:, 2]),
                     "lemma1_constant": constant})  # fmt: skip
    return rows


def judge(rows, mean, error):
    """The four claims from the records and the Monte-Carlo mean of the start."""
    worst = max(max(row["lemma2_zeta"], row["lemma2_epsilon"]) for row in rows)
    printed = min(row["printed_zeta"] for row in rows)
    constants = [row["lemma1_constant"] for row in rows]
    return [
        Claim("Lemma 2: zeta and epsilon after a greedy step, with |v_par|² below the line",
              f"largest relative error {worst:.1e}", bool(worst < EXACT)),
        Claim("Sec. 3.1: the same formula with |v|² below the line",
              f"median relative error of zeta'/zeta at least {printed:.2g}",
              bool(printed < EXACT)),
        Claim("the mean similarity of a uniform start is exactly d! (n - d)! / n!",
              f"Monte Carlo over exact at n = 20, d = 3: {mean:.3f} +- {error:.3f}",
              bool(abs(mean - 1) < ALARM * error), who="ours"),
        Claim("Lemma 1: its constant C is approximately 1 (between 1/2 and 2)",
              f"C = {min(constants):.3g} to {max(constants):.3g}; it enters theorem 1 by its "
              "logarithm only", bool(min(constants) > 0.5 and max(constants) < 2)),
    ]  # fmt: skip


def headline(claims):
    """What came out of lemma 2 and of section 3.1."""
    lemma = "Lemma 2 is exact" if claims[0].holds else "Lemma 2 is NOT exact"
    printed = "are right" if claims[1].holds else "are misprints"
    return f"{lemma}; the denominators of section 3.1 {printed}"


def draw(rows, claims, job):
    """Relative errors of both formulas by size."""
    from ..style import OURS, PRINTED, panels, title

    figure, axes = panels(1, 1, width=6.2, height=3.0)
    ax, places = axes[0, 0], np.arange(len(rows))
    found = [max(r["lemma2_zeta"], r["lemma2_epsilon"], 1e-17) for r in rows]
    ax.plot(places, [r["printed_zeta"] for r in rows],
            **PRINTED.line(label="Sec. 3.1 as printed, |v|²"))  # fmt: skip
    ax.plot(places, found, **OURS.line(label="Lemma 2, |v_par|² (largest error)"))
    ax.axhline(np.finfo(float).eps, color="black", linewidth=0.8, linestyle=":")
    ax.text(len(rows) - 1, 1.6 * np.finfo(float).eps, "rounding", ha="right", fontsize=8)
    ax.set_xticks(places, [f"n = {r['n']}, d = {r['d']}" for r in rows])
    ax.set_xlim(-0.3, len(rows) - 0.7)
    ax.set_yscale("log")
    ax.set_ylabel("relative error of one greedy step")
    ax.legend(loc="center left")
    title(figure, headline(claims))
    job.picture(figure)


def run(job):
    """Check the lemmas; a table and a picture."""
    rows = measure(job)
    draws = job.pick(500, 2000, 20_000)
    mean, error = job.cell("start", lambda: mean_start(20, 3, draws, generator(0)))
    claims = judge(rows, mean, error)
    draw(rows, claims, job)
    notes = [f"A formula holds if its relative error is below {EXACT:g}, which rounding explains; "
             f"a mean if it is within {ALARM} standard errors."]  # fmt: skip
    line = f"{headline(claims)}."
    return job.finish(line, rows, claims, notes=notes, start_mean=mean, start_error=error)
