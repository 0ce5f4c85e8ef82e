"""Figure 6: error over the dimension D and the rank r."""

from ..job import Claim
from .common import EPSILON, TOLERANCE
from .fig4 import methods_of
from .phase import AUTO, Cell, cell_costs, csv_rows, flat, middle, squares_reached, sweep
from .squares import ERRORS, draw_squares, pair_up


def judge(printed, own, reached, total):
    """Claims from errors by title in the smallest and in the largest square."""

    def claim(corners, how):
        words = "; ".join(f"{name} {a:.1f}/{b:.1f}" for name, (a, b) in corners.items())
        return Claim(
            "dp-GD-REAP, dp-MD-REAP and dp-GGD work well where D and r are small (appendix, "
            f"Fig. 6), {how}",
            f"log10 d² in the smallest/largest square: {words}",
            all(small <= TOLERANCE for small, _ in corners.values()),
        )

    return [
        claim(printed, "as printed"),
        claim(own, "with correct noise and 40 steps"),
        Claim("auto is below 1e-2 in every square", f"in {reached} of {total}",
              reached == total, who="ours"),
    ]  # fmt: skip


def run(job):
    dims = job.pick((6, 10), (12, 30), (12, 20, 50, 100))
    ranks = job.pick((1, 2), (1, 4), (1, 2, 4, 8))
    n = job.pick(200, 2000, 2000)
    ggd, reap = job.pick((20, 5), (400, 20), (1600, 100))
    seeds = job.pick(1, 1, 5)
    left, right = methods_of(ggd, reap)
    methods = [*left, *right]
    cells = [[Cell(n=n, steps=n, d=d, rank=r) for d in dims] for r in ranks]
    runs = sweep(job, cells, methods, seeds, "squares")
    draw_squares(
        job,
        f"Fig. 6: median log10 d² over D and r. N = {n}, half inliers, T = N, ε = {EPSILON}, "
        "δ = 1/√N. Red: the start is not private; ε in squares: true cost of the steps",
        pair_up(left, right), cells, lambda m, c: middle(runs, m, c),
        xs=dims, ys=ranks, labels=("D", "r"), **ERRORS,
    )  # fmt: skip
    first, last = cells[0][0], cells[-1][-1]
    corners = {m.title: (middle(runs, m, first), middle(runs, m, last)) for m in methods}
    reached = squares_reached(runs, methods, cells)
    total = len(flat(cells))
    printed = {m.title: corners[m.title] for m in left[:3]}
    own = {m.title: corners[m.title] for m in right[:3]}
    claims = judge(printed, own, reached[AUTO.title], total)
    p, h, g = left[0].title, left[3].title, right[0].title

    def good(some):
        return sum(small <= TOLERANCE for small, _ in some.values())

    job.finish(
        f"good for small D and r: {good(printed)} of 3 as printed, {good(own)} of 3 with correct "
        f"noise; below 1e-2 in squares of {total}: printed dp-GGD {reached[p]}, with correct "
        f"noise {reached[h]} (40 steps {reached[g]}), auto {reached[AUTO.title]}, "
        f"which ends at {corners[AUTO.title][0]:.1f} to {corners[AUTO.title][1]:.1f}",
        list(csv_rows(runs)), claims, costs=cell_costs(left, {"": first}),
        notes=[
            f"{seeds} repetitions (the paper: 50); 'works well' is read as log10 d² <= -2",
            f"dp-GGD with the paper's steps is stopped after {ggd} steps of {n} (where its "
            f"error falls it would go on falling), dp-REAP as printed after {reap}: its noise, "
            "with all constants taken as 1, drowns everything from the first step on",
        ],
        corners=corners, squares_below_tolerance=reached,
    )  # fmt: skip
