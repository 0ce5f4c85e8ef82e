"""Figure 3: the map of Europe in two private components of 2,387 x 10,000 allele counts.

As printed at all 10,000 loci; honest on 200 scores that are public sums of loci, because noise on
two components of 10,000 columns, or on a 10,000 x 10,000 matrix, leaves nothing of 2,387 people.
"""

from types import SimpleNamespace

import numpy as np
from common import EPSILON, RANK, Claim, paper_batch, paper_delta, save, short, track
from costs import noise_std, true_epsilon, wishart_delta
from honest import our_solver, paper_solver, plan_for, run_honest
from people import load_people
from printed import run_printed, wishart_start

from veilspan.baselines import spherical_pca
from veilspan.datasets import reduce_loci, scale_counts
from veilspan.metrics import procrustes_correlation
from veilspan.solvers.spectral import leading_eigenvectors

N_LOCI, N_SCORES = 10_000, 200
RECOGNISED = 0.75  # correlation with the map from which on one sees it
SMALL_DELTA = 1e-6
NOTES = [
    "one seed",
    "dp-PCA as printed and the start of dp-(S)GGD at 10,000 loci: a random subspace instead of the "
    "Wishart mechanism, whose matrix was not built; its noise is far above the data",
    "dp-GGD as printed: stopped after 40 steps (5 with --quick)",
    "dp-SGGD with correct noise: the steps are corrected, the start is the same random subspace",
    "dp-SGD-REAP and auto were not run at 10,000 loci",
    "the scaling of the published coordinates was chosen with the map in view: see people.py",
]


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def plain_pca(rows):
    """Two components of unit rows without privacy, by the Gram matrix: columns may be many."""
    _, left = leading_eigenvectors((rows @ rows.T).astype(float), RANK)
    return np.linalg.qr(rows.T @ left.T)[0]


def printed_bases(rows, quick):
    """Bases at all loci. At this size the Wishart start is pure noise, so it is drawn as such.

    Its matrix (800 MB) has eigenvalues up to 4 (D + 1) 3/(2 N epsilon) = 31 where those of the
    data are below 1: far below the point at which leading eigenvectors begin to see the data.
    """
    n, d = rows.shape
    delta, batch = paper_delta(n), paper_batch(n, n)
    truth = plain_pca(rows)
    start = np.linalg.qr(np.random.default_rng(5).standard_normal((d, RANK)))[0]
    data = SimpleNamespace(rows=rows, subspace=truth.T)
    setting = {"steps": n, "epsilon": EPSILON, "delta": delta, "batch": batch, "seed": 0,
               "start": start, "at": frozenset()}  # fmt: skip
    rate = batch / n
    needed = plan_for(paper_solver("SGGD", n, rate), rows.shape, EPSILON, delta).events[1]
    bases = {"PCA, no privacy": truth, "dp-PCA printed (Wishart)": start}
    jobs = {
        # Full batches are slow, and one printed step already has ten times more noise than signal.
        "dp-GGD printed": ("GGD", {"stop": 5 if quick else 40}),
        "dp-SGGD printed": ("SGGD", {}),
        "dp-SGGD, correct noise": ("SGGD", {"std": needed.noise_multiplier / batch}),
    }
    for name, (method, more) in track(jobs.items(), "Fig. 3, 10,000 loci"):
        bases[name] = run_printed(method, data, **setting, **more)[1]
    return bases


def honest_bases(scores, quick):
    """Bases at the public scores, and what the printed methods do there."""
    n = len(scores)
    delta = paper_delta(n)
    data = SimpleNamespace(rows=scores, subspace=spherical_pca(scores, RANK).components)
    budget = {"epsilon": EPSILON, "delta": delta, "seed": 0}
    bases = {"dp-PCA (Gaussian)": analyze_gauss(scores, delta)}
    for method in ("GGD", "SGGD", "SGD-REAP"):
        bases[f"dp-{method}"] = run_honest(our_solver(method), data, **budget)[1]
    bases["auto"] = run_honest("auto", data, **budget)[1]
    bases["auto, δ = 1e-6"] = run_honest("auto", data, **budget | {"delta": SMALL_DELTA})[1]
    rng = np.random.default_rng(0)
    aside = {"dp-PCA printed (Wishart)": wishart_start(scores, RANK, EPSILON, rng)}
    for method in ("GGD", "SGGD", "SGD-REAP"):
        stop = {"GGD": 1000, "SGGD": None, "SGD-REAP": 200 if quick else 1000}[method]
        run = run_printed(method, data, steps=n, epsilon=EPSILON, delta=delta, seed=0, stop=stop,
                          batch=paper_batch(n, n), at=frozenset())  # fmt: skip
        basis = run[1]
        if "REAP" in method:
            basis = leading_eigenvectors(basis, RANK)[1].T
        aside[f"dp-{method} printed"] = basis
    return bases, aside


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


def onto_map(points, place):
    """Shift, turn, mirror and scale points to lie best on the places."""
    x, y = points - points.mean(axis=0), place - place.mean(axis=0)
    left, values, right = np.linalg.svd(x.T @ y)
    return values.sum() / np.sum(x**2) * x @ left @ right


def corner_colours(place):
    """A colour that follows the place: four corners, blended."""
    corners = np.array([[[0, 114, 178], [0, 158, 115]], [[204, 121, 167], [230, 120, 0]]]) / 255
    ranks = np.argsort(np.argsort(place, axis=0), axis=0) / (len(place) - 1)
    east, north = ranks[:, :1], ranks[:, 1:]
    top = (1 - east) * corners[0, 0] + east * corners[0, 1]
    bottom = (1 - east) * corners[1, 0] + east * corners[1, 1]
    return north * top + (1 - north) * bottom


def draw(people, panels, path):
    from plots import NOT_PRIVATE, finish, grid_of

    figure, axes = grid_of(2, 6, 2.9, 2.9)
    colours = corner_colours(people.place)
    for ax, (title, points, bad) in zip(axes.flat, panels):
        shown = onto_map(points, people.place)
        # Many people share the place that stands for their country.
        ax.scatter(*shown.T, s=4 if points is not people.place else 14, c=colours, linewidths=0)
        reach = np.percentile(np.abs(shown), 99.5, axis=0) * 1.15
        ax.set_xlim(-reach[0], reach[0])
        ax.set_ylim(-reach[1], reach[1])
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_title(title, fontsize=9, color=NOT_PRIVATE if bad else "black")
    axes[0][0].set_ylabel("10,000 loci")
    axes[1][0].set_ylabel("200 public scores, honest")
    finish(
        figure,
        f"Fig. 3: {people.source}, 1,387 of 2,387 people shown; colour is where they live. "
        f"ε = {EPSILON}, δ = 1/√N. Red: not private. ρ: correlation with the map",
        path,
    )


def run(folder, quick, data=None):
    people = load_people(data, N_LOCI)
    inlier = ~people.is_outlier
    wide = scale_counts(people.counts, people.frequencies)
    narrow = reduce_loci(people.counts, people.frequencies, N_SCORES).astype(float)
    n = len(wide)
    printed = printed_bases(unit(wide), quick)
    honest, aside = honest_bases(unit(narrow), quick)
    shown = {name: wide[inlier] @ basis for name, basis in printed.items()}
    own = {name: narrow[inlier] @ basis for name, basis in honest.items()}
    match = {k: procrustes_correlation(v, people.place) for k, v in {**shown, **own}.items()}
    small = {k: procrustes_correlation(narrow[inlier] @ b, people.place) for k, b in aside.items()}
    setting = (n, n, EPSILON, paper_delta(n), paper_batch(n, n))
    true = {m: true_epsilon(m, *setting) for m in ("GGD", "SGGD", "SGD-REAP")}
    words = {
        "dp-PCA printed (Wishart)": "not private",
        "dp-GGD printed": f"steps ε = {short(true['GGD'])}",
        "dp-SGGD printed": f"steps ε = {short(true['SGGD'])}",
    }
    panels = [("where they live", people.place, False)]
    for name, points in {**shown, **own}.items():
        more = f"\n{words[name]}" if name in words else "\n"
        panels.append((f"{name}{more}  ρ = {match[name]:.2f}", points, name in words))
    draw(people, panels, folder / "fig3.png")
    random = chance(wide[inlier], people.place)
    sggd, corrected = match["dp-SGGD printed"], match["dp-SGGD, correct noise"]
    claims = [
        Claim("dp-SGGD recovers the map at 10,000 loci, privately",
              f"printed: correlation {sggd:.2f} at epsilon {true['SGGD']:.2g}; with correct noise "
              f"{corrected:.2f}; random subspaces {random:.2f}", corrected >= RECOGNISED),
        Claim("dp-PCA and dp-GGD do not recover it",
              f"{match['dp-PCA printed (Wishart)']:.2f} and {match['dp-GGD printed']:.2f}",
              max(match["dp-PCA printed (Wishart)"], match["dp-GGD printed"]) < RECOGNISED),
        Claim("dp-SGD-REAP does not recover it",
              "not run at 10,000 loci: every step decomposes a 10,000 x 10,000 matrix; at 200 "
              f"scores printed {small['dp-SGD-REAP printed']:.2f}, honest "
              f"{match['dp-SGD-REAP']:.2f}", max(small["dp-SGD-REAP printed"],
                                                 match["dp-SGD-REAP"]) < RECOGNISED),
    ]  # fmt: skip
    line = (
        f"{people.source}: printed dp-SGGD correlates {sggd:.2f} with the map, at epsilon "
        f"{true['SGGD']:.2g}; with correct noise {corrected:.2f} (chance {random:.2f}): the claim "
        f"{'survives' if claims[0].holds else 'does not survive'}. Honest on 200 public scores: "
        f"dp-PCA {match['dp-PCA (Gaussian)']:.2f}, dp-GGD {match['dp-GGD']:.2f}, auto "
        f"{match['auto']:.2f} ({match['auto, δ = 1e-6']:.2f} at delta 1e-6); "
        f"no privacy {match['PCA, no privacy']:.2f}"
    )
    rows = [{"method": k, "correlation": round(v, 4)} for k, v in match.items()]
    rows += [{"method": f"{k}, 200 scores", "correlation": round(v, 4)} for k, v in small.items()]
    stds = {m: noise_std(m, *setting) for m in true}
    return save(folder, "fig3", rows, claims, line, source=people.source, true_epsilon=true,
                noise_std=stds, wishart_start_least_delta=wishart_delta(EPSILON),
                printed_at_200_scores=small, chance=random, notes=NOTES)  # fmt: skip
