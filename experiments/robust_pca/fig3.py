"""Figure 3: the map of Europe in two private components of 2,387 x 10,000 allele counts.

As printed at all 10,000 loci; honest on 200 scores that are public sums of loci, because noise on
two components of 10,000 columns, or on a 10,000 x 10,000 matrix, leaves nothing of 2,387 people.
"""

from types import SimpleNamespace

import numpy as np

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
from .printed import run_printed, wishart_start

RECOGNISED = 0.75  # correlation with the map from which on one sees it
SMALL_DELTA = 1e-6
PLAIN, WISHART = "PCA, no privacy", "dp-PCA printed (Wishart)"
CORRECTED = "dp-SGGD, correct noise"
SMALL_METHODS = ("GGD", "SGGD", "SGD-REAP")  # what runs on the scores


def notes_of(stops, n_loci):
    return [
        f"one seed; {n_loci:,} loci (the paper: 10,000)",
        "dp-PCA as printed and the start of dp-(S)GGD at all loci: a random subspace instead of "
        "the Wishart mechanism, whose matrix was not built; its noise is far above the data",
        f"dp-GGD as printed: stopped after {stops['GGD']} steps at all loci",
        f"{CORRECTED}: the steps are corrected, the start is the same random subspace",
        "dp-SGD-REAP and auto were not run at all loci",
        f"on the public scores, dp-SGD-REAP as printed is stopped after {stops['SGD-REAP']} steps",
        "the scaling of the published coordinates was chosen with the map in view: see people.py",
        f"a map counts as recovered from a correlation of {RECOGNISED} on",
    ]


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def plain_pca(rows):
    """Two components of unit rows without privacy, by the Gram matrix: columns may be many."""
    _, left = leading_eigenvectors((rows @ rows.T).astype(float), RANK)
    return np.linalg.qr(rows.T @ left.T)[0]


def printed_bases(rows, stops):
    """Functions that give bases at all loci.

    At this size the Wishart start is pure noise, so it is drawn as such: its matrix (800 MB) has
    eigenvalues up to 4 (D + 1) 3/(2 N epsilon) = 31 where those of the data are below 1: far below
    the point at which leading eigenvectors begin to see the data.
    """
    n, d = rows.shape
    delta, batch = paper_delta(n), paper_batch(n, n)
    start = np.linalg.qr(np.random.default_rng(5).standard_normal((d, RANK)))[0]
    data = SimpleNamespace(rows=rows, subspace=start.T)  # errors to a truth are not looked at
    setting = {"steps": n, "epsilon": EPSILON, "delta": delta, "batch": batch, "seed": 0,
               "start": start, "at": frozenset()}  # fmt: skip

    def corrected():
        plan = plan_for(paper_solver("SGGD", n, batch / n), rows.shape, EPSILON, delta)
        std = plan.events[1].noise_multiplier / batch
        return run_printed("SGGD", data, std=std, **setting)[1]

    return {
        PLAIN: lambda: plain_pca(rows),
        WISHART: lambda: start,
        # Full batches are slow, and one printed step already has ten times more noise than signal.
        "dp-GGD printed": lambda: run_printed("GGD", data, stop=stops["GGD"], **setting)[1],
        "dp-SGGD printed": lambda: run_printed("SGGD", data, **setting)[1],
        CORRECTED: corrected,
    }


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

    ``ggd_steps`` are the steps of printed dp-GGD taken at all loci, and those of the paper.
    """
    recovered = match["dp-SGGD printed"], match[CORRECTED]
    return [
        Claim(f"dp-SGGD recovers the map at {n_loci:,} loci, privately (Sec. 5.2)",
              f"printed: correlation {recovered[0]:.2f} at epsilon {true:.2g}; with correct noise "
              f"{recovered[1]:.2f}; random subspaces {random:.2f}", recovered[1] >= RECOGNISED),
        Claim("dp-PCA does not recover it (Sec. 5.2)",
              f"a random subspace stands in for the Wishart release: {match[WISHART]:.2f}", None),
        ggd_claim(match["dp-GGD printed"], *ggd_steps),
        Claim("dp-SGD-REAP does not recover it (Sec. 5.2)",
              f"not run at {n_loci:,} loci, where every step decomposes a matrix of that size; "
              f"correlation on public scores: printed {small['dp-SGD-REAP printed']:.2f}, with "
              f"correct noise {match['dp-SGD-REAP']:.2f}", None),
        Claim("auto on public scores recovers the map, also at delta 1e-6",
              f"{match['auto']:.2f} and {match['auto, δ = 1e-6']:.2f}; without privacy "
              f"{match[PLAIN]:.2f}",
              min(match["auto"], match["auto, δ = 1e-6"]) >= RECOGNISED, who="ours"),
    ]  # fmt: skip


def ggd_claim(found, taken, steps):
    """Of a run that was stopped nothing is known: more steps may find the map, or lose it."""
    ended = taken >= steps
    after = f"{found:.2f} after {taken} of {steps:,} steps"
    return Claim(
        "dp-GGD does not recover it (Sec. 5.2)",
        after if ended else f"{after}: not judged",
        bool(found < RECOGNISED) if ended else None,
    )


def run(job):
    n_loci, n_scores = job.pick((200, 20), (5_000, 200), (10_000, 200))
    people = load_people(job.data, n_loci, *job.pick((150, 100), (), ()))
    stops = job.pick({"GGD": 2, "SGD-REAP": 5}, {"GGD": 3, "SGD-REAP": 100},
                     {"GGD": 40, "SGD-REAP": 1000})  # fmt: skip
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
    draw_maps(job, people, shown, own, match, true, n_loci, n_scores)
    random = chance(wide[inlier], people.place)
    claims = judge(match, small, random, true["SGGD"], n_loci, (min(stops["GGD"], n), n))
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
