"""Figure 6: error over the dimension D and the rank r."""

from functools import partial

from ..job import Claim
from .common import EPSILON, TOLERANCE
from .fig4 import methods_of
from .phase import (
    AUTO,
    ENGINE_NOTE,
    WIDE,
    Cell,
    Printed,
    cell_costs,
    csv_rows,
    flat,
    middle,
    squares_reached,
    sweep,
)
from .squares import ERRORS, draw_squares, pair_up

REPEATED, SLOW = 10, 2  # repetitions of a full run, and those of full-batch REAP as printed


def repetitions(job, method, cell):
    """How often a method is run in a square."""
    slow = isinstance(method, Printed) and "REAP" in method.method
    return job.pick(1, 1, SLOW if slow else REPEATED)


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
    ggd, reap, wide = job.pick((20, 5, 5), (400, 20, 20), (None, None, 200))
    left, right = methods_of(ggd, reap, wide)
    methods = [*left, *right]
    cells = [[Cell(n=n, steps=n, d=d, rank=r) for d in dims] for r in ranks]
    runs = sweep(job, cells, methods, partial(repetitions, job), "squares")
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
            job.pick(*["one repetition (the paper: 50)"] * 2,
                     f"{REPEATED} repetitions, {SLOW} of full-batch dp-REAP as printed (the paper: "
                     "50, which would take half an hour of CPU)"),
            "'works well' is read as log10 d² <= -2",
            ENGINE_NOTE,
            f"steps taken of {n}: dp-GGD {ggd or n}; dp-REAP as printed {reap or n}, from {WIDE} "
            f"columns on {wide}, where more of them would give a better mean",
        ],
        corners=corners, squares_below_tolerance=reached,
    )  # fmt: skip
