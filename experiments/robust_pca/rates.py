"""Rates that the theorems promise, measured: geodesic descent, REAP, and REAP-started descent.

Exact inliers, as in the paper; all noise is what the stated epsilon needs by exact accounting.
"""

import math

import numpy as np

from ..job import Claim
from ..powers import (
    JUDGED,
    LARGE,
    all_hold,
    fit_line,
    fit_power,
    large,
    not_above,
    not_below,
    texts,
)
from ..style import BASELINE, CYCLE, LINES, MARKERS, panels, title
from .batched import DELTA
from .rate_runs import (
    COLUMNS,
    HALVED,
    KINDS,
    NOISY,
    POWER,
    REAP_COLUMNS,
    private_ggd,
    reap_case,
    restart,
    settle,
    started,
)

ALONG_ROWS = 40  # tables of REAP along N: their d² gives a power to 0.4, a promise of 1 apart
BENEFIT = 0.2  # decades of d_r²: a start that gains less than that everywhere is no benefit
STARTED = 600  # tables of each start: those of PCA differ by decades

NOTES = (
    "Haystack model, r = 2, rows of length 1, exact inliers; delta 1e-6, replace-one, exact "
    "accounting. Geodesic descent: D = 20, half inliers, batches of N/10 rows with replacement.",
    "Theorems 2 to 4: steps of one size s = 4 a / T^0.75 with a = T^-0.25, the smallest ball that "
    "(B.7) allows up to constants; noise of epsilon 2 for NGGD, the same for NSGGD (these theorems "
    "are about noise, not about what it protects).",
    "Theorem 5: halved every 50 steps. Corollary 1: T = N and the same halving, so that there are "
    "N/50 restarts; the maximal number, (epsilon N)^(2 - alpha), would need an N at which one run "
    "takes more than 10^9 steps: T_l = (epsilon N)^alpha has to exceed the steps that noise of the "
    "full T = (epsilon N)^2 needs to halve a distance.",
    "REAP: r = 1, 80 % inliers in 4 columns, where S_REAP > 0; T = (epsilon N)^2 / 40, the output "
    "is the mean of P, steps are those of Talwar et al. (2014, Theorem 3.2), cited by Theorem 8.",
    "A start gets 0.2 of mu^2. One by REAP takes 10 or 40 steps, whichever ends better.",
    LARGE,
    JUDGED,
)


# ---------------------------------------------------------------- the study


def study(job):
    """Records of all parts: (part, method, N, D, epsilon, steps, table, value, more)."""
    tables = job.pick(2, 4, 10)
    found = []

    def keep(part, method, n, d, epsilon, steps, values, more=()):
        for k, value in enumerate(values):
            extra = more[k] if len(more) else math.nan
            found.append({"part": part, "method": method, "rows": n, "columns": d,
                          "epsilon": epsilon, "steps": steps, "table": k, "value": value,
                          "more": extra})  # fmt: skip

    n = job.pick(200, 1000, 2000)
    for kind in job.track(KINDS, "one size"):
        for steps in job.pick((20, 40), (100, 200, 400), (100, 200, 400, 800)):
            keep("settle", kind, n, COLUMNS, NOISY, steps, job.cell(
                ["settle", kind, n, steps], lambda: settle(kind, n, steps, tables)))  # noqa: B023  # fmt: skip
    restarts = job.pick(2, 8, 12)
    for kind in job.track(KINDS, "restarts"):
        seen = job.cell(["restart", kind, n], lambda: restart(kind, n, restarts, tables))  # noqa: B023
        for done, values in enumerate(seen, 1):
            keep("restart", kind, n, COLUMNS, NOISY, done, values)
    for size in job.track(job.pick((200,), (500, 1000), (500, 1000, 1500, 2000)), "corollary"):
        _, ends = job.cell(["corollary", size],
                           lambda: private_ggd(size, 10, 4.0, tables))  # noqa: B023  # fmt: skip
        keep("corollary", "dp-GGD", size, 10, 4.0, size, ends)
    for size in job.pick((100, 200), (1000, 2000, 4000), (1000, 2000, 4000, 8000)):
        begun, _ = job.cell(["start", size],
                            lambda: private_ggd(size, COLUMNS, 0.8, tables, 0))  # noqa: B023  # fmt: skip
        keep("start", "dp-PCA", size, COLUMNS, 0.8, 0, begun)
    for geometry, size, d, epsilon in job.track(reap_settings(job), "REAP"):
        along_rows = (d, epsilon) == (REAP_COLUMNS, 1.0)  # d² of few tables is too scattered
        many = job.pick(2, 4, ALONG_ROWS if along_rows else 4)
        made = job.cell(["reap", geometry, size, d, epsilon],
                        lambda: reap_case(geometry, size, d, epsilon, many))  # noqa: B023  # fmt: skip
        for part, value in (("reap", "excess"), ("reap d2", "d2")):
            keep(part, geometry, size, d, epsilon, 0, [m[value] for m in made],
                 [m["stability"] for m in made])  # fmt: skip
    for start in ("PCA", "GD-REAP", "MD-REAP"):
        for d in job.pick((5,), (5, 20), (5, 10, 20)):
            size = job.pick(200, 500, 500)
            made = job.cell(["started", start, size, d],
                            lambda: started(size, d, job.pick(4, 8, STARTED), start))  # noqa: B023  # fmt: skip
            keep("started", start, size, d, 0.8, 100, made[1], made[0])
    return found


def reap_settings(job):
    """(geometry, N, D, epsilon) along N, D and epsilon."""
    sizes = job.pick((25, 50, 100), (100, 200, 400), (200, 400, 800, 1600))
    middle = job.pick(50, 200, 800)
    cases = [(n, REAP_COLUMNS, 1.0) for n in sizes]
    cases += [(middle, d, 1.0) for d in job.pick((8,), (8, 16), (8, 16, 32))]
    cases += [(middle, REAP_COLUMNS, e) for e in job.pick((2.0,), (0.5,), (0.25, 0.5, 2.0))]
    return [(g, *case) for g in ("GD", "MD") for case in cases]


def of(found, part, **keys):
    """Records of one part with these values."""
    return [r for r in found if r["part"] == part and all(r[k] == v for k, v in keys.items())]


def powers(found, job):
    """Every slope that a claim is about, with its standard error."""
    middle = job.pick(50, 200, 800)
    made = {}
    for kind in KINDS:
        mine = of(found, "settle", method=kind)
        made[f"settle {kind}"] = fit_power([r["steps"] for r in mine], [r["value"] for r in mine])
        mine = of(found, "restart", method=kind)
        logs = np.log2([max(r["value"], 1e-32) for r in mine])
        made[f"restart {kind}"] = fit_line([r["steps"] for r in mine], logs)
    mine = of(found, "corollary")
    digits = [-math.log2(max(r["value"], 1e-32)) for r in mine]
    made["corollary"] = fit_line([r["rows"] / HALVED for r in mine], digits)
    mine = large(of(found, "start"), "rows")
    made["start"] = fit_power([r["rows"] for r in mine], [r["value"] for r in mine])
    for geometry in ("GD", "MD"):
        for part in ("reap", "reap d2"):
            every = of(found, part, method=geometry)
            for key, fixed in (("rows", {"columns": REAP_COLUMNS, "epsilon": 1.0}),
                               ("columns", {"rows": middle, "epsilon": 1.0}),
                               ("epsilon", {"rows": middle, "columns": REAP_COLUMNS})):  # fmt: skip
                mine = of(every, part, **fixed)
                mine = large(mine, key) if key == "rows" else mine
                logs = [math.log(r["rows"] / DELTA) for r in mine]
                values = np.array([r["value"] for r in mine]) / logs
                made[f"{part} {geometry} {key}"] = fit_power([r[key] for r in mine], values)
    return made


# ---------------------------------------------------------------- claims and picture


def judge(found, made, job):
    """What the theorems claim, by slopes; Theorem 12 and the starts by counts."""
    t = {name: texts(value) for name, value in made.items()}
    claims = []
    for number, kind in ((2, "NGGD"), (3, "SGGD"), (4, "NSGGD")):
        mine = of(found, "settle", method=kind)
        inside = np.mean([r["value"] < r["steps"] ** (POWER - 1) for r in mine])
        claims.append(Claim(
            f"Theorem {number}: {kind} with steps s = c a / T^nu ends in the ball of radius a "
            "(d_r²), which may shrink like T^-(1 - nu) (B.7)",
            f"with nu = 0.75 d_r² falls like T^{t[f'settle {kind}']} (promised -0.25); "
            f"{inside:.0%} of the runs end in the ball",
            all_hold(not_above(made[f"settle {kind}"], POWER - 1), bool(inside >= 0.9)),
        ))  # fmt: skip
    slopes = [made[f"restart {kind}"] for kind in KINDS]
    claims.append(Claim(
        "Theorem 5 and Sec. 3.4: restarts with half the step converge linearly, d_r² < a / 2^R",
        "log2 d_r² a restart: " + ", ".join(f"{k} {t[f'restart {k}']}" for k in KINDS),
        all_hold(*(not_above(s, -1.0) for s in slopes)),
    ))  # fmt: skip
    claims.append(Claim(
        "Corollary 1: the error of dp-GGD is O(gamma / 2^R), exponential in a power of N, R being "
        "the number of restarts that privacy allows",
        f"with R = N / 50 restarts, all noise exact and the start paid for, -log2 d_r² grows by "
        f"{t['corollary']} a restart (promised 1)", not_below(made["corollary"], 1.0)))  # fmt: skip
    largest = max(r["rows"] for r in of(found, "start"))
    share = np.mean([r["value"] < 0.05 for r in of(found, "start", rows=largest)])
    claims.append(Claim(
        "Theorem 7: for N sufficiently large dp-PCA lies in the ball of radius gamma / 2",
        "private PCA at epsilon 0.8 (Gaussian noise, since the Wishart noise is not private): d_r² "
        f"falls like N^{t['start']}; at N = {largest:,} {share:.0%} of the starts are within 0.05 "
        "(gamma = 0.1)", all_hold(not_above(made["start"], 0.0), bool(share >= 0.9))))  # fmt: skip
    claims += reap_claims(found, made, t)
    claims.append(started_claim(found))
    return claims


def reap_claims(found, made, t):
    """Theorems 8, 9 and 12."""
    both = ("GD", "MD")
    stable = min(r["more"] for r in of(found, "reap"))
    pairs = list(zip(of(found, "reap"), of(found, "reap d2")))
    kept = [(e, d) for e, d in pairs if e["more"] > 0]
    ratio = max((math.sqrt(d["value"]) / (math.pi / 2 * e["value"] / e["more"]) for e, d in kept),
                default=math.nan)  # fmt: skip
    words = {key: ", ".join(f"{g} {t[f'reap {g} {key}']}" for g in both)
             for key in ("rows", "columns", "epsilon")}  # fmt: skip
    d2 = ", ".join(f"{g} {t[f'reap d2 {g} rows']}" for g in both)
    return [
        Claim("Theorem 8: the excess of dp-GD- and dp-MD-REAP is at most of the order "
              "diam log(N/delta) / (epsilon N); its powers of N and epsilon",
              f"over log(N/delta), power of N: {words['rows']}; of epsilon: {words['epsilon']}",
              all_hold(*(not_above(made[f"reap {g} {key}"], -1.0) for g in both
                         for key in ("rows", "epsilon")))),
        Claim("Theorem 8: no factor of the number of columns beside the diameter of the set, which "
              "does not depend on it", f"power of the number of columns: {words['columns']}",
              all_hold(*(not_above(made[f"reap {g} columns"], 0.0) for g in both))),
        Claim("Theorem 9: E d² of dp-GD- and dp-MD-REAP is at most of the order "
              "log(N/delta) / (epsilon N)",
              f"over log(N/delta), power of N: {d2}; least S_REAP {stable:.3f}",
              all_hold(*(not_above(made[f"reap d2 {g} rows"], -1.0) for g in both))),
        Claim("Theorem 12: d is at most pi/2 times the excess over S_REAP",
              f"over all {len(kept)} tables with S_REAP > 0 the largest d is {ratio:.2g} of that",
              bool(ratio <= 1) if kept else None),
    ]  # fmt: skip


def started_claim(found):
    """Sec. 5.1: REAP-started descent beside the PCA-started one, at an equal budget."""
    words, better, none = [], [], []
    for d in sorted({r["columns"] for r in of(found, "started")}):
        logs = {m: np.log10([max(r["value"], 1e-32) for r in of(found, "started", method=m,
                                                                columns=d)])
                for m in ("PCA", "GD-REAP", "MD-REAP")}  # fmt: skip
        shown = {m: f"{v.mean():.2f} +- {v.std(ddof=1) / math.sqrt(len(v)):.2f}"
                 for m, v in logs.items()}  # fmt: skip
        words.append(f"D = {d}: " + ", ".join(f"{m} {s}" for m, s in shown.items()))
        for m in ("GD-REAP", "MD-REAP"):
            lead = logs["PCA"] - logs[m]  # the same tables
            error = lead.std(ddof=1) / math.sqrt(len(lead))
            better.append(bool(lead.mean() > 3 * error))  # one of six, by chance in 1 % of cases
            none.append(bool(lead.mean() + 2 * error < BENEFIT))
    return Claim(
        "Sec. 5.1: if D is not large, it may be beneficial to start dp-GGD with dp-REAP instead of "
        "dp-PCA (read as: by more than noise at one of these D, on the paper's tables)",
        "log10 d_r² of dp-GGD at N = "
        f"{of(found, 'started')[0]['rows']}, epsilon 0.8, by start: {'; '.join(words)}",
        True if any(better) else False if all(none) else None,
    )


def draw(found, made, job):
    """Four panels: one size, restarts, REAP along N, starts."""
    figure, axes = panels(2, 2, width=4.2, height=3.1)
    for place, kind in enumerate(KINDS):
        look = {"color": CYCLE[place], "marker": MARKERS[place], "linestyle": LINES[place]}
        for ax, part in zip(axes[0], ("settle", "restart")):
            mine = of(found, part, method=kind)
            xs = sorted({r["steps"] for r in mine})
            ys = [np.median([r["value"] for r in mine if r["steps"] == x]) for x in xs]
            ax.plot(xs, ys, **look, label=f"{kind}, {texts(made[f'{part} {kind}'])}")
    ax = axes[0, 0]
    xs = np.array(sorted({r["steps"] for r in of(found, "settle")}))
    ax.plot(xs, xs ** (POWER - 1.0), **BASELINE.line(label="ball of the theorems, -0.25"))
    ax.set(xscale="log", yscale="log", xlabel="steps T of one size", ylabel="d_r²",
           title="Theorems 2 to 4")  # fmt: skip
    ax.set_xticks(xs, [f"{x}" for x in xs])
    axes[0, 1].set(yscale="log", xlabel="restarts R", title="Theorem 5 (slope of log2)")
    for place, geometry in enumerate(("GD", "MD")):
        for part, line in (("reap", "-"), ("reap d2", ":")):
            mine = of(found, part, method=geometry, columns=REAP_COLUMNS, epsilon=1.0)
            xs = np.array(sorted({r["rows"] for r in mine}))
            ys = [np.mean([r["value"] for r in mine if r["rows"] == x]) for x in xs]
            name = "excess" if part == "reap" else "d²"
            axes[1, 0].plot(xs, ys, color=CYCLE[place], marker=MARKERS[place], linestyle=line,
                            label=f"{geometry}-REAP, {name}")  # fmt: skip
    axes[1, 0].plot(xs, 30.0 / xs, **BASELINE.line(label="promised, 1/N"))
    axes[1, 0].set(xscale="log", yscale="log", xlabel="rows N", title="Theorems 8 and 9")
    axes[1, 0].set_xticks(xs, [f"{x}" for x in xs])
    for place, start in enumerate(("PCA", "GD-REAP", "MD-REAP")):
        mine = of(found, "started", method=start)
        xs = sorted({r["columns"] for r in mine})
        ys = [10 ** np.mean(np.log10([r["value"] for r in mine if r["columns"] == x])) for x in xs]
        axes[1, 1].plot(xs, ys, color=CYCLE[place], marker=MARKERS[place],
                        linestyle=LINES[place], label=f"start by dp-{start}")  # fmt: skip
    axes[1, 1].set(yscale="log", xlabel="columns D", title="dp-GGD by its start (Sec. 5.1)")
    axes[1, 1].set_xticks(xs)
    for ax in axes.flat:
        ax.minorticks_off()
        ax.legend(fontsize=7.5)
    title(figure, "Rates of robust PCA: errors of geodesic descent and of REAP, exact inliers")
    job.picture(figure)


def run(job):
    """Measure all parts, fit slopes, judge."""
    found = study(job)
    made = powers(found, job)
    draw(found, made, job)
    verdict = (
        f"Restarted geodesic descent converges linearly (log2 d_r² a restart "
        f"{texts(made['restart GGD'])} without noise, {texts(made['restart NGGD'])} with); the "
        f"excess of dp-GD-REAP falls like N^{texts(made['reap GD rows'])} and grows like "
        f"D^{texts(made['reap GD columns'])}, which Theorem 8 leaves out."
    )
    notes = [*NOTES, f"{job.pick(2, 4, 10)} tables; REAP along N: {job.pick(2, 4, ALONG_ROWS)}, "
             f"else {job.pick(2, 4, 4)}; starts: {job.pick(4, 8, STARTED)}."]  # fmt: skip
    job.finish(verdict, found, judge(found, made, job), notes=notes, powers=made)
