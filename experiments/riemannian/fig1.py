"""Figure 1 of Utpala, Han, Jawanpuria & Mishra (2023): the time to draw one tangent Gaussian.

The paper's methods are timed with their misprints corrected (``paper_samplers.py``); what the
printed formulas would draw is computed in ``printed_noise.py``. "veilspan" is ``random_tangent``,
which the paper does not have. Times are CPU times of one thread, best of interleaved rounds.
"""

from functools import partial

import numpy as np

from veilspan.geometry import SPD, Grassmann, Lorentz, PoincareBall, Sphere, Stiefel

from ..job import Claim
from ..style import BLACK, CORRECTED, ORANGE, OURS, PURPLE, Role, panels, title
from .paper_samplers import METHODS
from .printed_noise import exact, noise_claim, noise_costs, noise_facts
from .timing import interleaved

BUILD = {
    "spd-affine": SPD,
    "spd-bures": partial(SPD, metric="bures-wasserstein"),
    "spd-log": partial(SPD, metric="log-euclidean"),
    "poincare": PoincareBall,
    "lorentz": Lorentz,
    "sphere": Sphere,
    "stiefel": Stiefel,
    "grassmann": Grassmann,
}
#: title: (case, r); with the sizes m below, those of the paper
PANELS = {
    "SPD(m), affine-invariant": ("spd-affine", None),
    "SPD(m), Bures-Wasserstein": ("spd-bures", None),
    "SPD(m), Log-Euclidean": ("spd-log", None),
    "Sphere(m)": ("sphere", None),
    "Poincaré ball(m)": ("poincare", None),
    "Lorentz(m)": ("lorentz", None),
    "Stiefel(m, 10)": ("stiefel", 10),
    "Stiefel(m, 20)": ("stiefel", 20),
    "Grassmann(m, 10)": ("grassmann", 10),
    "Grassmann(m, 20)": ("grassmann", 20),
}
MATRICES, VECTORS, FRAMES = (
    (5, 10, 20, 30, 50),
    (250, 500, 1000, 1500, 2000),
    (100, 250, 500, 750, 1000),
)
BASELINES = ("gram-schmidt", "explicit", "sparse")
STYLES = {
    "gram-schmidt": ("Gram-Schmidt", Role(PURPLE, ":", "v")),
    "explicit": ("explicit basis", Role(ORANGE, "-.", "D")),
    "sparse": ("explicit basis, sparse", Role(BLACK, "--", "^")),
    "transport": ("transport (Algorithm 2, corrected)", CORRECTED),
    "veilspan": ("veilspan", OURS),
}
#: Bases of more entries than this are not built: at Stiefel(1000, 20) they would take 3 GB.
LARGEST_BASIS = {"tiny": 5e4, "quick": 4e6, "full": 3e7}
ORDERS = 100  # "two to four orders of magnitude": at least two


def run(job):
    rows = measure(job)
    noise = noise_facts()
    draw(job, rows)
    found = summary(rows)
    return job.finish(
        verdict(found, noise), rows, [*claims(found), noise_claim(noise)], costs=noise_costs(noise),
        source="random base points; nothing depends on rows",
        notes=[
            "CPU times of one thread with one BLAS thread, best of interleaved rounds; ratios "
            "carry over to other machines, microseconds do not.",
            "Timed with the misprints of Algorithms 4-8 corrected: wrong noise costs as much time.",
            f"Bases with more than {LARGEST_BASIS[job.scale]:.0e} entries are not built, so the "
            "slowest baselines are missing at the largest sizes. A baseline that did not run at "
            "the largest m of the paper's panel counts as unknown, whatever it shows at a smaller "
            f"one: a gain of {ORDERS} times is refuted only by one that did, and confirmed only if "
            "all did.",
            "Our projection of an ambient Gaussian replaces transport on the sphere, Stiefel and "
            "Grassmann manifolds; on the others only the way to compute the same map differs.",
        ],
        gains=found["gains"], not_run=found["not_run"], behind=found["behind"],
        ours_over_transport=found["ours"], printed_noise=noise,
    )  # fmt: skip


# ---------------------------------------------------------------- times


def paper_sizes(case):
    if case.startswith("spd"):
        return MATRICES
    return FRAMES if case in ("stiefel", "grassmann") else VECTORS


def sizes_of(case, job):
    return paper_sizes(case)[: job.pick(2, None, None)]


def measure(job):
    """One row per manifold, size and method."""
    listed = [(case, m, r) for case, r in PANELS.values() for m in sizes_of(case, job)]
    rows = []
    for case, m, r in job.track(listed, "sizes"):
        times = job.cell([case, m, r], partial(times_at, job, case, m, r))
        rows += [{"manifold": case, "m": m, "r": r or "", "method": method,
                  "microseconds": round(1e6 * seconds, 2)}
                 for method, seconds in times.items()]  # fmt: skip
    return rows


def times_at(job, case, m, r):
    """Seconds per draw of each method, averaged over random base points."""
    rng = np.random.default_rng([m, r or 0])
    manifold = BUILD[case](m, r) if r else BUILD[case](m)
    limit = LARGEST_BASIS[job.scale]
    methods = {k: f for k, f in METHODS[case].items() if affordable(k, manifold, case, r, limit)}
    budget = job.pick((0.002, 2, 0.01), (0.02, 5, 0.1), (0.05, 9, 0.5))
    total = {}
    for i in range(job.pick(1, 2, 3)):
        w = manifold.random_point(rng)
        calls = {"veilspan": partial(manifold.random_tangent, w, 1.0, rng)}
        for name, sampler in methods.items():
            if name == "transport" or i == 0:  # the slow ones do not depend on the point
                calls[name] = partial(sampler, w, rng)
        for name, seconds in interleaved(calls, *budget).items():
            total.setdefault(name, []).append(seconds)
    return {name: float(np.mean(values)) for name, values in total.items()}


def affordable(method, manifold, case, r, limit):
    entries = float(np.prod(manifold.point_shape)) * manifold.dim
    if method == "sparse" and case != "poincare":
        entries /= r
    if method == "gram-schmidt" and limit < 3e7:  # by far the slowest
        limit /= 2
    return method == "transport" or entries < limit


# ---------------------------------------------------------------- what they say


def curve(rows, case, r, method):
    points = [
        (row["m"], row["microseconds"])
        for row in rows
        if (row["manifold"], row["r"] or None, row["method"]) == (case, r, method)
    ]
    return sorted(points)


def summary(rows):
    """Gains over each baseline at the largest size it was run at, and where transport is slower.

    ``full`` says whether that is the largest size of the paper's panel.
    """
    gains, not_run, behind, ours, compared = [], [], [], [], 0
    for case, r in PANELS.values():
        mine, paper = (dict(curve(rows, case, r, k)) for k in ("veilspan", "transport"))
        ours += [{"manifold": case, "m": m, "r": r, "ratio": mine[m] / paper[m]} for m in mine]
        for method in (k for k in BASELINES if k in METHODS[case]):
            points = curve(rows, case, r, method)
            compared += len(points)
            behind += [{"manifold": case, "m": m, "r": r, "method": method, "ratio": t / paper[m]}
                       for m, t in points if t < paper[m]]  # fmt: skip
            if not points:
                not_run.append({"manifold": case, "r": r, "method": method})
                continue
            m, t = points[-1]
            gains.append({"manifold": case, "m": m, "r": r, "method": method,
                          "gain": t / paper[m], "full": m == paper_sizes(case)[-1]})  # fmt: skip
    return {"gains": gains, "not_run": not_run, "behind": behind, "ours": ours,
            "compared": compared}  # fmt: skip


def orders(found, methods=BASELINES):
    """Gains over some baselines in words, and whether all are ``ORDERS`` times or more.

    Gains grow with m: what ran at less than the panel's largest m neither refutes nor confirms.
    """
    gains = [gain for gain in found["gains"] if gain["method"] in methods]
    unknown = [f"{g['method']} up to {place(g)} ({g['gain']:.2g})" for g in gains if not g["full"]]
    unknown += [f"{g['method']} on {g['manifold']} not at all" for g in found["not_run"]
                if g["method"] in methods]  # fmt: skip
    known = [gain for gain in gains if gain["full"]]
    short = [f"{g['method']} at {place(g)} ({g['gain']:.2g})" for g in known if g["gain"] < ORDERS]
    words = f"{len(known)} of {len(known) + len(unknown)} baselines ran at the panel's largest m"
    if known:
        sizes = [gain["gain"] for gain in known]
        words += (f": {min(sizes):.2g} to {max(sizes):.2g} times faster than these, less than "
                  f"{ORDERS} times against {len(short)}{listing(short)}")  # fmt: skip
    words += f"; unknown{listing(unknown)}" if unknown else ""
    return words, False if short else None if unknown else True


def claims(found):
    every, dense = orders(found), orders(found, ("explicit",))
    ours = [ratio["ratio"] for ratio in found["ours"]]
    slower = [f"{place(r)} ({r['ratio']:.2f})" for r in found["ours"] if r["ratio"] > 1]
    lost = [f"{b['method']} at {place(b)} ({b['ratio']:.2f})" for b in found["behind"]]
    return [
        Claim(
            'Sec. 6.1: transport is "faster by two to four orders of magnitude than all the '
            'considered baselines"',
            *every,
        ),
        Claim(
            'Fig. 1: transport "consistently outperforms the other baselines"',
            f"a baseline is faster at {len(lost)} of the {found['compared']} sizes that baselines "
            f"ran at{listing(lost)}",
            not lost,
        ),
        Claim(
            'Abstract: "orders of magnitude faster than [...] explicit basis construction", the '
            "sampling of Han et al. (2022) where no MCMC is needed",
            *dense,
        ),
        Claim(
            "random_tangent takes no longer than Algorithm 2 at any size",
            f"{min(ours):.2f} to {max(ours):.2f} of its time{listing(slower)}",
            max(ours) <= 1,
            who="ours",
        ),
    ]


def place(entry):
    return f"{entry['manifold']}({entry['m']}{', ' + str(entry['r']) if entry['r'] else ''})"


def listing(items, most=6):
    """Some items in brackets, and how many more there are."""
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return f": {', '.join(items[:most])}{rest}" if items else ""


def verdict(found, noise):
    gains = sorted(gain["gain"] for gain in found["gains"])
    ours = [ratio["ratio"] for ratio in found["ours"]]
    weak = sum(cost.true > cost.claimed for cost in noise_costs(noise))
    wrong = sum(not exact(fact) for fact in noise)
    return (
        f"Algorithm 2 beats an explicit basis by {gains[0]:.2g} to {gains[-1]:.2g} times (median "
        f"{gains[len(gains) // 2]:.2g}) at the largest size that each ran at, and loses to one at "
        f"{len(found['behind'])} sizes; veilspan takes {min(ours):.2f} to {max(ours):.2f} of its "
        f"time. {wrong} of {len(noise)} printed readings of the samplers are wrong, {weak} of them "
        "by too little noise."
    )


# ---------------------------------------------------------------- the picture


def draw(job, rows):
    figure, axes = panels(5, 2, height=2.15)
    handles = {}
    for (i, j), ax in np.ndenumerate(axes):
        name, (case, r) = list(PANELS.items())[2 * i + j]
        for method, (label, role) in STYLES.items():
            points = curve(rows, case, r, method)
            if points:
                (handles[label],) = ax.plot(*zip(*points), **role.line())
        ax.set_yscale("log")
        ax.set_title(name)
        ax.set_xticks([m for m, _ in curve(rows, case, r, "veilspan")])
        if i == len(axes) - 1:
            ax.set_xlabel("m")
        if j == 0:
            ax.set_ylabel("µs per draw")
    ordered = [label for label, _ in STYLES.values() if label in handles]
    figure.legend([handles[k] for k in ordered], ordered, loc="outside lower center", ncols=3)
    title(figure, "Time to draw one tangent Gaussian (CPU, one thread; lower is better)")
    job.picture(figure)
