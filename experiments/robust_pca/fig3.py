"""Figure 3: the map of Europe in two private components of 2,387 x 10,000 allele counts.

As printed at all 10,000 loci; honest on 200 scores that are public sums of loci, because noise on
two components of 10,000 columns, or on a 10,000 x 10,000 matrix, leaves nothing of 2,387 people.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from veilspan.datasets import reduce_loci, scale_counts
from veilspan.metrics import procrustes_correlation
from veilspan.nonprivate.baselines import spherical_pca
from veilspan.solvers.spectral import leading_eigenvectors

from ..job import Claim
from .common import EPSILON, RANK, paper_batch, paper_delta
from .costs import noise_std, start_cost, steps_costs, true_epsilon, wishart_delta
from .honest import our_solver, paper_solver, plan_for, run_honest
from .maps import draw_maps
from .people import load_people
from .printed import METHODS, paper_step, run_printed, wishart_start

RECOGNISED = 0.75  # correlation with the map from which on one sees it
NOTHING = 0.01  # angle below which a subspace counts as unchanged
TOLERANCE = 1e-3  # of Lanczos iterations at all loci
SMALL_DELTA = 1e-6
PLAIN, WISHART = "PCA, no privacy", "dp-PCA printed (Wishart)"
CORRECTED = "dp-SGGD, correct noise"
AGAIN = "dp-GGD printed, draw "  # of noise, start included, beside the one that is shown
SMALL_METHODS = ("GGD", "SGGD", "SGD-REAP")  # what runs on the scores


def notes_of(stops, n_loci):
    return [
        f"one seed (dp-GGD: {stops['draws']}); {n_loci:,} loci (the paper: 10,000)",
        "dp-PCA as printed, and the start of dp-(S)GGD, at all loci: eigenvectors of the noisy "
        f"matrix by Lanczos iterations, to {TOLERANCE:g} of its norm",
        f"dp-GGD as printed: stopped after {stops['GGD']} steps at all loci",
        f"{CORRECTED}: the steps are corrected, the start is the printed one",
        "dp-SGD-REAP was not run at all loci: each of 2,387 steps would decompose a full 10,000 x "
        "10,000 matrix (days of CPU); auto neither, which has its say on the scores",
        f"on the public scores, dp-SGD-REAP as printed is stopped after {stops['SGD-REAP']} steps",
        "the scaling of the published coordinates was chosen with the map in view: see people.py",
        f"a map counts as recovered from a correlation of {RECOGNISED} on; dp-GGD is judged "
        "where all draws of its noise, start included, are on one side of that",
    ]


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def plain_pca(rows):
    """Two components of unit rows without privacy, by the Gram matrix: columns may be many."""
    _, left = leading_eigenvectors((rows @ rows.T).astype(float), RANK)
    return np.linalg.qr(rows.T @ left.T)[0]


def printed_bases(rows, stops):
    """Functions that give bases at all loci."""
    n, d = rows.shape
    delta, batch = paper_delta(n), paper_batch(n, n)
    start = cache(lambda draw=0: large_wishart_start(rows, draw))
    # Errors to a truth are not looked at.
    data = SimpleNamespace(rows=rows, subspace=np.eye(RANK, d))

    def printed(method, **more):
        setting = {"steps": n, "epsilon": EPSILON, "delta": delta, "batch": batch, "seed": 0}
        return run_printed(method, data, start=start(), at=frozenset(), **setting, **more)[1]

    def corrected():
        plan = plan_for(paper_solver("SGGD", n, batch / n), rows.shape, EPSILON, delta)
        return printed("SGGD", std=plan.events[1].noise_multiplier / batch)

    return {
        PLAIN: lambda: plain_pca(rows),
        WISHART: start,
        "dp-GGD printed": lambda: full_batch_ggd(rows, start(), stops["GGD"]),
        **{
            f"{AGAIN}{k}": lambda k=k: full_batch_ggd(rows, start(k), stops["GGD"], k)
            for k in range(1, stops["draws"])
        },
        "dp-SGGD printed": lambda: printed("SGGD"),
        CORRECTED: corrected,
    }


def large_wishart_start(rows, draw=0):
    """What ``wishart_start`` gives, without the D x D matrix: by products with its factors."""
    n, d = rows.shape
    rng = np.random.default_rng([5, draw] if draw else 5)
    factor = rng.standard_normal((d, d + 1), dtype=np.float32)
    factor *= np.float32(np.sqrt(3 / (2 * n * EPSILON)))
    rows = rows.astype(np.float32)

    def product(v):
        v = v.ravel().astype(np.float32)
        return (v @ rows.T) @ rows / n + factor @ (v @ factor)

    operator = LinearOperator((d, d), matvec=product, dtype=np.float32)
    first = rng.standard_normal(d).astype(np.float32)
    vectors = eigsh(operator, RANK, v0=first, tol=TOLERANCE)[1]
    return np.linalg.qr(vectors.astype(float))[0]


def full_batch_ggd(rows, basis, taken, draw=0):
    """What ``run_printed`` of dp-GGD gives with ``taken`` of its N steps, in single precision.

    Rows have length 1 and stay far from the subspace: the lengths of residuals are those of
    Pythagoras, and residuals are never formed, which makes a step ten times as fast.
    """
    n = len(rows)
    rows = rows.astype(np.float32)
    std = noise_std("GGD", n, n, EPSILON, paper_delta(n), None)
    rng = np.random.default_rng([draw, METHODS.index("GGD")])
    for k in range(1, min(taken, n) + 1):
        along = (rows @ basis.astype(np.float32)).astype(float)
        weighted = along / np.sqrt(1 - np.sum(along**2, axis=1, keepdims=True))
        pulled = (rows.T @ weighted.astype(np.float32)).astype(float)
        gradient = -(pulled - basis @ (along.T @ weighted)) / n
        noise = std * rng.standard_normal(basis.shape)
        left, _, right = np.linalg.svd(
            basis - paper_step("GGD", k) * (gradient + noise), full_matrices=False
        )
        basis = left @ right
    return basis


def way_left(n, d, taken):
    """Angle that the steps of printed dp-GGD after ``taken`` of n can turn the subspace by.

    A gradient has a length of at most 1, noise rarely 1.5 times its root mean square.
    """
    std = noise_std("GGD", n, n, EPSILON, paper_delta(n), None)
    sizes = sum(paper_step("GGD", k) for k in range(taken + 1, n + 1))
    return sizes * (1 + 1.5 * std * np.sqrt(d * RANK))


def honest_bases(scores):
    """Functions that give bases at the public scores, all private."""
    delta = paper_delta(len(scores))
    data = SimpleNamespace(rows=scores, subspace=spherical_pca(scores, RANK).components)

    def run(solver, delta=delta):
        return run_honest(solver, data, epsilon=EPSILON, delta=delta, seed=0)[1]

    return {
        "dp-PCA (Gaussian)": lambda: analyze_gauss(scores, delta),
        **{f"dp-{m}": lambda m=m: run(our_solver(m)) for m in SMALL_METHODS},
        "auto": lambda: run("auto"),
        "auto, δ = 1e-6": lambda: run("auto", SMALL_DELTA),
    }


def small_printed_bases(scores, stops):
    """Functions that give what the printed methods find at the public scores."""
    n = len(scores)
    data = SimpleNamespace(rows=scores, subspace=spherical_pca(scores, RANK).components)
    setting = {"steps": n, "epsilon": EPSILON, "delta": paper_delta(n), "batch": paper_batch(n, n),
               "seed": 0, "at": frozenset()}  # fmt: skip

    def run(method):
        stop = {"GGD": 1000, "SGD-REAP": stops["SGD-REAP"]}.get(method)
        basis = run_printed(method, data, stop=stop, **setting)[1]
        return leading_eigenvectors(basis, RANK)[1].T if "REAP" in method else basis

    rng = np.random.default_rng(0)
    return {
        WISHART: lambda: wishart_start(scores, RANK, EPSILON, rng),
        **{f"dp-{m} printed": lambda m=m: run(m) for m in SMALL_METHODS},
    }


def analyze_gauss(scores, delta):
    """All of the budget on one noisy second moment."""
    from veilspan.privacy import gdp

    n, d = scores.shape
    std = np.sqrt(2) / n / gdp.mu_of(EPSILON, delta)
    noise = np.random.default_rng(0).standard_normal((d, d)) * std
    return leading_eigenvectors(scores.T @ scores / n + (noise + noise.T) / 2, RANK)[1].T


def chance(rows, place):
    """Mean correlation of random subspaces: random sums of the people's main axes show them too."""
    rng = np.random.default_rng(1)
    draws = (rng.standard_normal((rows.shape[1], RANK), dtype=np.float32) for _ in range(20))
    return float(np.mean([procrustes_correlation(rows @ draw, place) for draw in draws]))


def points_by(job, label, rows, bases):
    """Coordinates of people in each basis: the part of a basis that is shown and kept."""
    return {
        name: np.array(job.cell([label, name], lambda basis=basis: rows @ basis()))
        for name, basis in job.track(bases.items(), label)
    }


def judge(match, small, random, true, n_loci, ggd_steps):
    """Claims from correlations with the map: at all loci and honest, printed on scores.

    ``ggd_steps`` are the steps of printed dp-GGD taken at all loci, those of the paper, and the
    angle that the ones not taken could turn the subspace by.
    """
    recovered = match["dp-SGGD printed"], match[CORRECTED]
    return [
        Claim(f"dp-SGGD recovers the map at {n_loci:,} loci, privately (Sec. 5.2)",
              f"printed: correlation {recovered[0]:.2f} at epsilon {true:.2g}; with correct noise "
              f"{recovered[1]:.2f}; random subspaces {random:.2f}", recovered[1] >= RECOGNISED),
        Claim("dp-PCA does not recover it (Sec. 5.2)",
              f"correlation {match[WISHART]:.2f}; random subspaces {random:.2f}",
              match[WISHART] < RECOGNISED),
        ggd_claim([v for k, v in match.items() if k.startswith("dp-GGD printed")], *ggd_steps),
        Claim("dp-SGD-REAP does not recover it (Sec. 5.2)",
              f"not run at {n_loci:,} loci, where every step decomposes a matrix of that size; "
              f"correlation on public scores: printed {small['dp-SGD-REAP printed']:.2f}, with "
              f"correct noise {match['dp-SGD-REAP']:.2f}", None),
        Claim("auto on public scores recovers the map, also at delta 1e-6",
              f"{match['auto']:.2f} and {match['auto, δ = 1e-6']:.2f}; without privacy "
              f"{match[PLAIN]:.2f}",
              min(match["auto"], match["auto, δ = 1e-6"]) >= RECOGNISED, who="ours"),
    ]  # fmt: skip


def ggd_claim(found, taken, steps, left):
    """Of a run that was stopped nothing is known, unless the steps left are too small to matter.

    ``found`` are correlations of several draws of noise: the claim is judged where they agree.
    """
    ended = left <= NOTHING
    after = f"{texts_of(found)} after {taken} of {steps:,} steps"
    if ended and taken < steps:
        after += f"; those left turn the subspace by less than {NOTHING}"
    lost = [value < RECOGNISED for value in found]
    alike = all(lost) or not any(lost)
    if not ended:
        after += ": not judged"
    elif not alike:
        after += f": not judged, {sum(lost)} of {len(lost)} draws are below {RECOGNISED}"
    return Claim("dp-GGD does not recover it (Sec. 5.2)", after,
                 all(lost) if ended and alike else None)  # fmt: skip


def texts_of(found):
    """One correlation, or the range of several draws of noise."""
    if len(found) == 1:
        return f"{found[0]:.2f}"
    return f"{min(found):.2f} to {max(found):.2f} in {len(found)} draws of noise"


def run(job):
    n_loci, n_scores = job.pick((200, 20), (5_000, 200), (10_000, 200))
    people = load_people(job.data, n_loci, *job.pick((150, 100), (), ()))
    stops = job.pick({"GGD": 2, "SGD-REAP": 5, "draws": 2},
                     {"GGD": 3, "SGD-REAP": 100, "draws": 1},
                     {"GGD": 900, "SGD-REAP": 1000, "draws": 5})  # fmt: skip
    inlier = ~people.is_outlier
    wide = scale_counts(people.counts, people.frequencies)
    narrow = reduce_loci(people.counts, people.frequencies, n_scores).astype(float)
    scores = unit(narrow)
    shown = points_by(job, "all loci", wide[inlier], printed_bases(unit(wide), stops))
    own = points_by(job, "scores", narrow[inlier], honest_bases(scores))
    aside = points_by(
        job, "scores, printed", narrow[inlier], small_printed_bases(scores, stops)
    )  # fmt: skip
    match = {k: procrustes_correlation(v, people.place) for k, v in {**shown, **own}.items()}
    small = {k: procrustes_correlation(v, people.place) for k, v in aside.items()}
    n = len(wide)
    setting = (n, n, EPSILON, paper_delta(n), paper_batch(n, n))
    true = {m: true_epsilon(m, *setting) for m in SMALL_METHODS}
    shown = {k: v for k, v in shown.items() if not k.startswith(AGAIN)}
    draw_maps(job, people, shown, own, match, true, n_loci, n_scores)
    random = chance(wide[inlier], people.place)
    taken = min(stops["GGD"], n)
    steps = (taken, n, way_left(n, n_loci, taken))
    claims = judge(match, small, random, true["SGGD"], n_loci, steps)
    rows = [{"method": k, "correlation": round(v, 4)} for k, v in match.items()]
    rows += [{"method": f"{k}, public scores", "correlation": round(v, 4)}
             for k, v in small.items()]  # fmt: skip
    job.finish(
        f"{people.source}: printed dp-SGGD correlates {match['dp-SGGD printed']:.2f} with the map, "
        f"at epsilon {true['SGGD']:.2g}; with correct noise {match[CORRECTED]:.2f} (chance "
        f"{random:.2f}): the claim {'survives' if claims[0].holds else 'does not survive'}. "
        f"Private on {n_scores} public scores: dp-PCA {match['dp-PCA (Gaussian)']:.2f}, dp-GGD "
        f"{match['dp-GGD']:.2f}, auto {match['auto']:.2f} ({match['auto, δ = 1e-6']:.2f} at delta "
        f"1e-6); no privacy {match[PLAIN]:.2f}",
        rows, claims, source=people.source, notes=notes_of(stops, n_loci),
        costs=[*(c for m in SMALL_METHODS for c in steps_costs(m, *setting)),
               start_cost(EPSILON, paper_delta(n))],
        noise_std={m: noise_std(m, *setting) for m in SMALL_METHODS},
        wishart_start_least_delta=wishart_delta(EPSILON), printed_on_scores=small, chance=random,
    )  # fmt: skip
