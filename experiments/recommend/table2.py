r"""Table 2 of Jain, Thakkar & Thakurta (2018): the error of a low-rank approximation.

Every entry is seen; Y* = u v^T has rank one and rows of length at most 1, so that |Y*|_F is at most
sqrt(m) (here sqrt(m/3): |v| = 1, u uniform in [-1, 1]). The table promises |Y - Y*|_F of order
(m^3 n)^{1/10} for private Frank-Wolfe and sqrt(mu (n^2 / m + m / n)) for private SVD, hiding
epsilon, delta and logarithms. Measured are the printed algorithms and ours, over m and over n.
"""

import math
import warnings

import numpy as np
from scipy import sparse

from veilspan.estimators.subspace.pca import PCA
from veilspan.privacy.errors import NotPrivateWarning
from veilspan.solvers.completion.svd import SVDCompletion

from ..job import Claim
from . import printed
from .data import Ratings, pairs
from .growth import JUDGED, exponent, grows_no_faster, spread
from .methods import DELTA, ours

EPSILON = 1.0
FRANK_WOLFE, SVD = "printed Frank-Wolfe", "printed SVD"
OURS, SOLVER = "ours, PCA", "ours, solver svd"
METHODS = (FRANK_WOLFE, SVD, OURS, SOLVER)
NOISELESS = "printed Frank-Wolfe, no noise"
PROMISED = {"m": 3 / 10, "n": 1 / 10}  # exponents of private Frank-Wolfe
MU = 3.0  # incoherence of these matrices, n max v_j^2 or m max u_i^2 over squared lengths
GRID = 400  # rounds among which the bound is minimised


def rounds_of(m, n):
    """Rounds by Theorem 3.2 for k = sqrt(m), L = 1, epsilon 1: m^{2/5} / n^{1/5}."""
    return max(2, round(m**0.4 / n**0.2))


def full_matrix(m, n, seed, test_pairs=50_000):
    """All entries of a rank-one matrix with rows of length |u_i| <= 1, and its nuclear norm."""
    rng = np.random.default_rng([seed, m, n, 8])
    u = rng.uniform(-1, 1, m)
    v = rng.uniform(-1, 1, n)
    v /= np.linalg.norm(v)
    every = np.tile(np.arange(n, dtype=np.int32), m)
    train = sparse.csr_array((np.outer(u, v).ravel(), every, np.arange(m + 1) * n), (m, n))
    tested = spread(m, test_pairs)
    column = rng.integers(0, n, len(tested))
    starts = np.concatenate([[0], np.cumsum(np.bincount(tested, minlength=m))])
    test = sparse.csr_array((u[tested] * v[column], column, starts), (m, n))
    return Ratings("synthetic", train, test, (-1.0, 1.0), n), float(np.linalg.norm(u))


def error(method, m, n, seed):
    """|Y - Y*|_F, from random entries."""
    data, norm = full_matrix(m, n, seed)
    common = {"delta": DELTA, "bound": 1.0, "seed": seed}
    if method in (FRANK_WOLFE, NOISELESS):
        epsilon = EPSILON if method == FRANK_WOLFE else math.inf
        rmse = printed.widest_frank_wolfe(data, epsilon=epsilon, nuclear_norm=norm,
                                          rounds=rounds_of(m, n), **common)  # fmt: skip
    elif method == SVD:
        rmse = printed.svd(data, epsilon=EPSILON, rank=1, **common)
    elif method == SOLVER:
        # Rows of length 1 without noise are public facts of this setting.
        rmse = ours(data, SVDCompletion(row_norm=1.0, ridge=1e-3), EPSILON, seed, components=1)
    else:
        rmse = by_pca(data, seed)
    return rmse * math.sqrt(m * n)


def by_pca(data, seed):
    """Held-out RMSE of rows projected by their owners on a private direction: joint DP too."""
    model = PCA(1, epsilon=EPSILON, delta=DELTA, neighbors="replace-one", row_norm=1.0,
                center=None, random_state=seed)  # fmt: skip
    rows = data.train.toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # a simulation
        direction = model.fit(rows).components_[0]
    user, item = pairs(data.test)
    return data.rmse((rows @ direction)[user] * direction[item])


def measure(job):
    """Records over m at one n, and over n at one m."""
    base_m, base_n = job.pick((400, 8), (8000, 20), (32_000, 40))
    users = job.pick((200, 400, 800), (1000, 2000, 4000, 8000, 16_000, 32_000),
                     (2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000))  # fmt: skip
    items = job.pick((4, 8, 16), (10, 20, 40, 80), (10, 20, 40, 80, 160))
    sizes = [("m", m, base_n) for m in users] + [("n", base_m, n) for n in items]
    cells = [(*size, method, seed) for size in sizes for method in (*METHODS, NOISELESS)
             for seed in range(job.pick(1, 2, 3))]  # fmt: skip
    rows = []
    for over, m, n, method, seed in job.track(cells):
        found = job.cell([method, m, n, seed],
                         lambda a=(method, m, n, seed): error(*a))  # fmt: skip
        rows.append({"over": over, "m": m, "n": n, "method": method, "seed": seed,
                     "error": found, "trivial": math.sqrt(m / 3)})  # fmt: skip
    return rows


def frank_wolfe_bound(m, n, epsilon=EPSILON, delta=DELTA):
    """Eq. (3) with its universal constant as 1 and the best number of rounds, as |Y - Y*|_F."""
    k, rounds = math.sqrt(m), np.arange(1, GRID * max(2, round(m**0.4)))
    noise = math.sqrt(math.sqrt(n) * math.sqrt(math.log(1 / delta)) * math.log(n) / epsilon)
    squares = 2 * (k**2 / rounds + k * rounds**0.25 * noise)
    return float(np.sqrt(squares.min()))


def svd_order(m, n):
    """The order of private SVD in Table 2, mu included, nothing else."""
    return math.sqrt(MU * (n**2 / m + m / n))


def non_trivial_from(n, bound=frank_wolfe_bound):
    """Smallest power of two of users with a bound below sqrt(m)."""
    return next((2**p for p in range(4, 60) if bound(2**p, n) < math.sqrt(2**p)), math.inf)


def exponents(rows):
    """(method, m or n) to the exponent and the half width of its confidence."""
    found = {}
    for method in (*METHODS, NOISELESS):
        for over in ("m", "n"):
            own = [r for r in rows if (r["method"], r["over"]) == (method, over)]
            found[method, over] = exponent([r[over] for r in own], [r["error"] for r in own])
    return found


def judge(rows):
    """The orders and whether they say anything; and ours beside both."""
    fits = exponents(rows)

    def said(over, *methods):
        return ", ".join(f"{m}: {over}^({fits[m, over][0]:.2f} ± {fits[m, over][1]:.2f})"
                         for m in methods)  # fmt: skip

    def not_above(method, over, promise):
        return grows_no_faster(*fits[method, over], promise)

    sizes = sorted({(r["m"], r["n"]) for r in rows})
    bounds = {size: frank_wolfe_bound(*size) / math.sqrt(size[0]) for size in sizes}
    svd = exponent([m for m, n in along_m(rows)], [svd_order(m, n) for m, n in along_m(rows)])[0]
    return [
        Claim("Table 2: the error of private Frank-Wolfe is of order (m³ n)^{1/10} (judged: grows "
              "no faster with m)", said("m", FRANK_WOLFE, NOISELESS),
              not_above(FRANK_WOLFE, "m", PROMISED["m"])),
        Claim("Table 2: and no faster than n^{1/10} with n", said("n", FRANK_WOLFE),
              not_above(FRANK_WOLFE, "n", PROMISED["n"])),
        Claim("Sec. 1.2: its bound is non-trivial, below sqrt(m) (judged: eq. (3) with universal "
              "constant 1 at the sizes run)",
              f"bound over sqrt(m) {min(bounds.values()):.2g} to {max(bounds.values()):.2g}; below "
              + ", ".join(f"1 from m = {non_trivial_from(n):.3g} at n = {n}"
                          for n in sorted({n for _, n in sizes})),
              all(ratio < 1 for ratio in bounds.values())),
        Claim("Table 2: the error of private SVD is of order sqrt(mu (n²/m + m/n)) (judged: grows "
              "no faster with m)", f"{said('m', SVD)}; the order grows as m^{svd:.2f} there",
              not_above(SVD, "m", svd)),
        ahead_claim(rows),
    ]  # fmt: skip


def along_m(rows):
    """The sizes over which m varies."""
    return sorted({(r["m"], r["n"]) for r in rows if r["over"] == "m"})


def ahead_claim(rows):
    """Errors of the better printed algorithm over ours."""
    means = medians(rows)
    ratios = [min(means[m, *size] for m in (FRANK_WOLFE, SVD)) / means[OURS, *size]
              for size in sorted({key[1:] for key in means})]  # fmt: skip
    return Claim("ours has a lower error than both printed algorithms at every size",
                 f"better printed one over ours: {min(ratios):.2g} to {max(ratios):.3g}",
                 bool(min(ratios) > 1), who="ours")  # fmt: skip


def medians(rows):
    """(method, m, n) to the median error over seeds."""
    groups = {}
    for row in rows:
        groups.setdefault((row["method"], row["m"], row["n"]), []).append(row["error"])
    return {key: float(np.median(values)) for key, values in groups.items()}


def draw(rows, job):
    """Errors over m and over n, with the trivial error and the bound."""
    from .. import style

    looks = {FRANK_WOLFE: style.PRINTED, SVD: style.Role(style.SKY, "--", "v"),
             OURS: style.OURS, SOLVER: style.Role(style.ORANGE, "-.", "D")}  # fmt: skip
    figure, axes = style.panels(1, 2, width=4.1, height=3.5)
    found = medians(rows)
    for ax, over, text in zip(axes[0], ("m", "n"), ("users m", "items n")):
        sizes = sorted({(r["m"], r["n"]) for r in rows if r["over"] == over})
        x = [size[0] if over == "m" else size[1] for size in sizes]
        for method, look in looks.items():
            ax.plot(x, [found[method, *size] for size in sizes], **look.line(label=method))
        ax.plot(x, [math.sqrt(m / 3) for m, _ in sizes], label="of Y = 0, sqrt(m/3)",
                **style.BASELINE.line())  # fmt: skip
        ax.plot(x, [frank_wolfe_bound(*size) for size in sizes], label="eq. (3), constant 1",
                color=style.BLACK, linestyle="-.")  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(x[::2] if len(x) > 5 else x)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.xaxis.set_minor_formatter("")
        ax.set_xlabel(text)
        ax.set_title(f"n = {sizes[0][1]}" if over == "m" else f"m = {sizes[0][0]:,}")
    axes[0, 0].set_ylabel("error |Y - Y*|, Frobenius norm")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    style.title(figure, f"Low-rank approximation with rows of length 1, epsilon {EPSILON:g}")
    job.picture(figure)


NOTES = (
    "The table is about asymptotic order with epsilon, delta and logarithms hidden: finite sizes "
    "can contradict an order, not prove it, and a bound with an unknown constant can be evaluated "
    "only up to that constant (here 1).",
    "With k the norm of the matrix steps 1/T from zero would leave the printed Frank-Wolfe with "
    "1/e of it and more, an error that grows as sqrt(m) whatever the noise (Theorem A.1 drops that "
    "term); a wider ball does not.",
    "Rounds are those of Theorem 3.2, m^{2/5} / n^{1/5}; k is the best of "
    f"{printed.WIDER} times the true nuclear norm by the error itself, at no cost; L = 1.",
    "mu is taken as 3, the incoherence of these matrices with squared norms; Definition B.2 prints "
    "norms without squares, which would make it grow as sqrt(m).",
    'Ours: private PCA, each row then projected by its owner. The solver "svd" of the '
    "recommender drops the diagonal of its matrix, made for ratings that are mostly missing: with "
    "all entries seen that is a bias which grows as sqrt(m).",
    "The other methods of the table are not run: their promise is standard differential privacy.",
    JUDGED,
)


def run(job):
    """Measure, fit, judge and draw."""
    rows = measure(job)
    claims, fits = judge(rows), exponents(rows)
    draw(rows, job)
    line = "The error grows with m as " + ", ".join(
        f"m^{fits[method, 'm'][0]:.2f} ({method})" for method in METHODS
    )
    return job.finish(
        f"{line}; of Y = 0 as m^0.50.", rows, claims,
        costs=printed.costs((EPSILON,), DELTA, "replace-one"), notes=NOTES,
        exponents={f"{m}, over {over}": fit for (m, over), fit in fits.items()},
    )  # fmt: skip
