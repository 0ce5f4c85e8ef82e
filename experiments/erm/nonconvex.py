"""Section 6: losses that are not convex. Excess risk under a PL condition; gradient norms without.

The loss is Tukey's biweight of rows in the unit ball (`veilspan.losses.nonconvex`), the algorithm
DP-GD as printed (Algorithm 4: eta = 1/L, T of each theorem, noise of Theorem 6.1 with the constant
that exact accounting asks for at the largest epsilon). All seeds of a table descend at once.

*PL*: targets follow one line. F is not convex (the Hessian at the start has a negative eigenvalue,
which is measured), but its gradient is long wherever F is above its minimum: the constant is
measured along the paths. *Nonconvex*: 60 % of the rows follow a line, 40 % the opposite one, so
that F has more than one minimum.
"""

import math

import numpy as np

from veilspan.losses.nonconvex import Biweight

from ..job import Claim
from ..powers import JUDGED, LARGE, all_hold, fit_means, large, not_above, texts
from ..style import BASELINE, CORRECTED, panels, title
from .costs import DELTA, constant, constant_costs

LOSS = Biweight(0.7)
SIGNAL, SPREAD = 0.3, 0.1  # std of <x, theta*>, and half the width of uniform noise of targets
OPPOSITE = 0.4  # share of rows of the opposite line, without PL
CONDITION = 5.0  # L / mu over p, with which T of Theorem 6.2 is computed (measured: 4.5)
FIXED = 10  # columns along n and epsilon
PL, RANDOM = "Theorem 6.2 (PL)", "Theorem 6.3 (nonconvex)"
LARGEST = 4.0  # epsilon up to which the noise is private: c is the constant for it
CHECKED = 12  # points of a path at which the PL constant is measured
NOTES = (
    f"Biweight of width {LOSS.width:g} (G = {LOSS.slope_bound:.3f}, L = 1), rows of length 1, "
    f"delta {DELTA:g}, replace-one, eta = 1/L. Noise of Theorem 6.1, c = {constant(LARGEST):.2f}: "
    f"exact at epsilon {LARGEST:g}, a little more than is needed below.",
    "E |grad F(x_m)|^2 over the uniform m is the mean along the path, which is what is taken.",
    "Theorem 6.2 hides L and mu. By the descent lemma its constant is L / mu^2; mu, the least of "
    "|grad F|^2 / (2 (F - F*)) along the paths, is measured, because rows of length 1 in p columns "
    "cannot have mu above 1/p.",
    "F* is the least value found from the truth and from the ends of the paths.",
    LARGE,
    JUDGED,
)


def rows_of(n, p, seed, opposite=0.0):
    """Rows of length 1 and their targets: a line, or two opposite ones, with a little noise."""
    rng = np.random.default_rng([61, n, p, seed])
    rows = rng.standard_normal((n, p))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    theta = rng.standard_normal(p)
    theta *= SIGNAL * math.sqrt(p) / np.linalg.norm(theta)
    signs = np.where(rng.random(n) < opposite, -1.0, 1.0)
    y = signs * (rows @ theta) + rng.uniform(-SPREAD, SPREAD, n)
    return rows, np.clip(y, -1, 1), theta


def slopes_of(rows, y, thetas):
    """Exact mean gradients at several points, one a column."""
    return rows.T @ LOSS.slope(rows @ thetas, y[:, None]) / len(y)


def risks(rows, y, thetas):
    """F at several points."""
    return LOSS.value(rows @ thetas, y[:, None]).mean(axis=0)


def steps_of(theorem, n, p, epsilon):
    """T as printed: (L / mu) log(1 / v) or 1 / sqrt(v), v = p G^2 log(1/delta) / (n eps)^2."""
    noise = p * LOSS.slope_bound**2 * math.log(1 / DELTA) / (n * epsilon) ** 2
    if theorem == PL:
        return max(1, math.ceil(CONDITION * p * math.log(max(1 / noise, math.e))))
    return max(1, math.ceil(1 / math.sqrt(noise)))


def noise_of(n, epsilon, steps):
    """Sigma of Theorem 6.1 with a constant that keeps the promise up to the largest epsilon."""
    scale = LOSS.slope_bound / (n * epsilon)
    return scale * math.sqrt(constant(LARGEST) * steps * math.log(1 / DELTA))


def descend(rows, y, steps, std, seeds, rng):
    """Algorithm 4 from zero, all seeds at once: mean squared gradients, ends, points between."""
    thetas = np.zeros((rows.shape[1], seeds))
    squares, kept = np.zeros(seeds), []
    every = max(1, steps // CHECKED)
    for k in range(steps):
        gradient = slopes_of(rows, y, thetas)
        squares += np.sum(gradient**2, axis=0)
        if k % every == 0:
            kept.append((thetas, gradient))
        thetas = thetas - (gradient + std * rng.standard_normal(thetas.shape)) / LOSS.smoothness
    return squares / steps, thetas, kept


def polish(rows, y, thetas, steps=400):
    """The same points after steps without noise, as long as the mean curvature allows."""
    for _ in range(steps):
        thetas = thetas - rows.shape[1] / 2 * slopes_of(rows, y, thetas)
    return thetas


def one_table(theorem, n, p, epsilon, table, seeds):
    """One record for each seed on one table."""
    rows, y, truth = rows_of(n, p, table, 0.0 if theorem == PL else OPPOSITE)
    steps = steps_of(theorem, n, p, epsilon)
    std = noise_of(n, epsilon, steps)
    rng = np.random.default_rng([67, n, p, table, round(1000 * epsilon)])
    squares, ends, kept = descend(rows, y, steps, std, seeds, rng)
    entry = {"theorem": theorem, "rows": n, "columns": p, "epsilon": epsilon, "table": table,
             "steps": steps, "noise": std}  # fmt: skip
    zero = float(risks(rows, y, np.zeros((p, 1)))[0])
    entry["bound"] = 2 * LOSS.smoothness * zero / steps + p * std**2
    if theorem != PL:
        return [entry | {"seed": s, "value": float(v), "mu": math.nan, "bend": math.nan}
                for s, v in enumerate(squares)]  # fmt: skip
    low = float(risks(rows, y, polish(rows, y, np.column_stack([truth, ends]))).min())
    mu = min(pl_constant(rows, y, thetas, gradient, low) for thetas, gradient in kept)
    bend = LOSS.curvature(np.zeros(n), y)
    bend = float(np.linalg.eigvalsh(rows.T @ (bend[:, None] * rows) / n)[0])
    return [entry | {"seed": s, "value": float(v - low), "mu": mu, "bend": bend}
            for s, v in enumerate(risks(rows, y, ends))]  # fmt: skip


def pl_constant(rows, y, thetas, gradient, low):
    """Least |grad F|^2 / (2 (F - F*)) of some points, those apart where F is at its minimum."""
    above = risks(rows, y, thetas) - low
    ratios = np.sum(gradient**2, axis=0) / (2 * np.maximum(above, 1e-300))
    return float(np.min(np.where(above > 1e-7, ratios, np.inf)))


# ---------------------------------------------------------------- sweeps and claims


def settings(job):
    """(n, p, epsilon) along n, along p and along epsilon."""
    sizes = job.pick((100, 200, 400), (1000, 2000, 4000), (2000, 4000, 8000, 16_000, 32_000))
    widths = job.pick((5,), (5, 20), (5, 20, 40))
    epsilons = job.pick((2.0,), (0.5, 2.0), (0.5, 2.0, LARGEST))
    middle, wide = job.pick((400, 400), (2000, 4000), (8000, 16_000))
    return {
        "rows": [(n, FIXED, 1.0) for n in sizes],
        "columns": [(wide, p, 1.0) for p in sorted((FIXED, *widths))],
        "epsilon": [(middle, FIXED, e) for e in sorted((1.0, *epsilons))],
    }


def repeats(job):
    """Tables and seeds of each theorem: a mean along a path varies less than its end."""
    return {PL: job.pick((1, 2), (2, 4), (3, 12)), RANDOM: job.pick((1, 2), (2, 2), (3, 2))}


def study(job):
    """Records of both theorems at all settings."""
    cases = sorted({case for sweep in settings(job).values() for case in sweep})
    cases = [(name, *case, table, seeds) for name, (tables, seeds) in repeats(job).items()
             for case in cases for table in range(tables)]  # fmt: skip
    found = []
    for case in job.track(cases):
        found += job.cell(list(case), lambda: one_table(*case))  # noqa: B023
    return found


def along(found, theorem, key, sweeps):
    """Records of one theorem along one of n, p and epsilon."""
    places = set(sweeps[key])
    return [r for r in found if r["theorem"] == theorem
            and (r["rows"], r["columns"], r["epsilon"]) in places]  # fmt: skip


def logs_taken_out(row):
    """Excess over log^2(n), which Theorem 6.2 allows."""
    return row["value"] / math.log(row["rows"]) ** 2


def at_fixed_mu(row):
    """Excess times mu^2 / L: what Theorem 6.2 says of p once its hidden factors are there."""
    return row["value"] * row["mu"] ** 2


def power_of(rows, key, value=lambda row: row["value"]):
    """A fitted power; of n, from its median on."""
    rows = large(rows, key) if key == "rows" else rows
    return fit_means(rows, key, value)


def powers(found, sweeps):
    """The fitted powers that the claims are about, with standard errors."""
    every = {}
    for name, theorem in (("pl", PL), ("random", RANDOM)):
        for key in sweeps:
            every[f"{name}_{key}"] = power_of(along(found, theorem, key, sweeps), key)
    every["pl_rows_no_logs"] = power_of(along(found, PL, "rows", sweeps), "rows", logs_taken_out)
    every["pl_columns_mu"] = power_of(along(found, PL, "columns", sweeps), "columns", at_fixed_mu)
    return every


def judge(fitted, found):
    """Five claims of section 6, by fitted powers and by exact constants."""
    bends = [r["bend"] for r in found if r["theorem"] == PL]
    mus = [r["mu"] * r["columns"] for r in found if r["theorem"] == PL]
    t = {name: texts(value) for name, value in fitted.items()}
    ratio = max(r["value"] / r["bound"] for r in found if r["theorem"] == RANDOM)
    small, large = constant(0.1), constant(100.0)
    return [
        Claim("Theorem 6.2 (PL): E F(x_T) - F* = O(G² p log²(n) log(1/delta) / (n² epsilon²)); its "
              "powers of n and epsilon",
              f"over log²(n) it falls like n^{t['pl_rows_no_logs']} (raw n^{t['pl_rows']}) and "
              f"like epsilon^{t['pl_epsilon']}; F is not convex (least eigenvalue at the start "
              f"{min(bends):.2g}), its PL constant along the paths at least {min(mus):.2g} / p",
              all_hold(not_above(fitted["pl_rows_no_logs"], -2.0),
                       not_above(fitted["pl_epsilon"], -2.0))),
        Claim("Theorem 6.2 (PL): linear in p, at fixed L and mu",
              f"times mu² / L, which the bound hides, it grows like p^{t['pl_columns_mu']} (raw "
              f"p^{t['pl_columns']}: mu falls like 1/p)",
              not_above(fitted["pl_columns_mu"], 1.0)),
        Claim("Theorem 6.3: E |grad F(x_m)|² = O(sqrt(L) G sqrt(p log(1/delta)) / (n epsilon)); "
              "its powers of n and epsilon",
              f"it falls like n^{t['random_rows']} and like epsilon^{t['random_epsilon']}, and is "
              f"at most {ratio:.2g} times 2 L F(0) / T + p sigma², which the descent lemma gives",
              all_hold(not_above(fitted["random_rows"], -1.0),
                       not_above(fitted["random_epsilon"], -1.0))),
        Claim("Theorem 6.3: it grows like sqrt(p)", f"it grows like p^{t['random_columns']}",
              not_above(fitted["random_columns"], 0.5)),
        Claim("Theorem 6.1: for all epsilon, delta > 0 DP-GD is (epsilon, delta)-private with "
              "sigma² = c G² T log(1/delta) / (n² epsilon²) for some constant c",
              f"c = {small:.2f} is needed at epsilon 0.1, {large:.2f} at 100, and it grows without "
              "end: no constant serves all epsilon (up to any largest one, one does)",
              large <= small),
    ]  # fmt: skip


def draw(found, sweeps, fitted, job):
    """Both theorems along n, p and epsilon, with the promised powers in grey."""
    figure, axes = panels(2, 3, width=3.3, height=2.9)
    promised = {PL: {"rows": -2.0, "columns": 1.0, "epsilon": -2.0},
                RANDOM: {"rows": -1.0, "columns": 0.5, "epsilon": -1.0}}  # fmt: skip
    words = {"rows": "rows n", "columns": "columns p", "epsilon": "epsilon"}
    for line, (name, theorem) in zip(axes, (("pl", PL), ("random", RANDOM))):
        for ax, key in zip(line, sweeps):
            mine = along(found, theorem, key, sweeps)
            fixed = theorem == PL and key == "columns"
            value = at_fixed_mu if fixed else (lambda r: r["value"])
            xs = np.array(sorted({r[key] for r in mine}))
            ys = np.array([np.mean([value(r) for r in mine if r[key] == x]) for x in xs])
            slope = fitted["pl_columns_mu"] if fixed else fitted[f"{name}_{key}"]
            ax.plot(xs, ys, **CORRECTED.line(label=f"measured, power {texts(slope)}"))
            power = promised[theorem][key]
            ax.plot(xs, 2 * ys[0] * (xs / xs[0]) ** power,
                    **BASELINE.line(label=f"promised power {power:g}"))  # fmt: skip
            ax.set(xscale="log", yscale="log", xlabel=words[key])
            ax.set_xticks(xs, [f"{x:,g}" for x in xs], rotation=30)
            ax.minorticks_off()
            ax.set_title("times mu², at one n" if fixed else f"along {words[key]}")
            ax.legend()
    axes[0, 0].set_ylabel("Theorem 6.2 (PL): excess risk")
    axes[1, 0].set_ylabel("Theorem 6.3: |gradient|²")
    title(figure, "Section 6: DP-GD on a loss that is not convex, private noise")
    job.picture(figure)


def run(job):
    """Measure both theorems along n, p and epsilon; judge the powers."""
    sweeps = settings(job)
    found = study(job)
    fitted = powers(found, sweeps)
    draw(found, sweeps, fitted, job)
    counts = (f"{name}: {t} tables, {s} seeds each" for name, (t, s) in repeats(job).items())
    verdict = (
        f"Under a PL condition the excess falls like n^{texts(fitted['pl_rows'])} (promised -2 up "
        f"to logarithms), without one the squared gradient like n^{texts(fitted['random_rows'])} "
        f"(promised -1) and grows like p^{texts(fitted['random_columns'])} (promised 1/2)."
    )
    notes = [*NOTES, f"{'; '.join(counts)}. A point of a fit is the mean of a table."]
    job.finish(verdict, found, judge(fitted, found), costs=constant_costs(), notes=notes,
               powers=fitted)  # fmt: skip
