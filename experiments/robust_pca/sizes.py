"""Figures 2, 7, 8 and 9: one set of runs over N and D with T = 2N steps, summed up in four ways."""

import numpy as np

from ..job import Claim
from .common import EPSILON, RANK, TOLERANCE
from .costs import is_private
from .phase import (
    AUTO,
    ENGINE_NOTE,
    WIDE,
    Cell,
    Ours,
    PaperHonest,
    Printed,
    cell_costs,
    csv_rows,
    flat,
    middle,
    sweep,
)
from .squares import ERRORS, draw_squares, pair_up

SETTING = f"r = {RANK}, half inliers, T = 2N, ε = {EPSILON}, δ = 1/√N"
NAMES = ("GGD", "GD-REAP", "MD-REAP")
CLEAR = 0.5  # decades by which one method has to be ahead of another
REPEATED, FEW = 10, 2  # repetitions of a full run, and those of slow methods and wide tables


class Sizes:
    """The squares of these figures, their methods, and what came out (``runs``)."""

    def __init__(self, job):
        # GGD: 2^-12 or 2^-32 of the first step size is left.
        ggd, reap, wide = job.pick((20, 5, 5), (600, 20, 20), (1600, None, 100))
        sreap = job.pick(5, 60, 500)
        self.stops = {
            "dp-(S)GGD": ggd,
            "dp-SGD-REAP": sreap,
            f"full-batch dp-REAP, above {WIDE} columns": wide,
        }
        self.printed = {m: Printed(m, ggd) for m in ("GGD", "SGGD")}
        self.printed |= {m: Printed(m, reap, wide) for m in ("GD-REAP", "MD-REAP")}
        self.printed["SGD-REAP"] = Printed("SGD-REAP", sreap)
        self.paper = {m: PaperHonest(m, ggd) for m in ("GGD", "SGGD")}
        self.ours = {m: Ours(m) for m in ("GGD", "GD-REAP", "MD-REAP", "SGD-REAP")}
        self.ns = job.pick((100, 200), (500, 2000), (500, 1000, 2000, 4000))
        self.ds = job.pick((5, 10), (10, 50, 100), (10, 20, 50, 100, 200))
        self.full = job.full
        self.cells = [[Cell(n=n, d=d, steps=2 * n) for d in self.ds] for n in self.ns]
        self.runs = {}

    @property
    def three(self):
        """What Figs. 7-9 show: the full-batch methods as printed (left) and honest (right)."""
        left = [*(self.printed[m] for m in NAMES), self.paper["GGD"]]
        return pair_up(left, [*(self.ours[m] for m in NAMES), AUTO])

    @property
    def four(self):
        """What Fig. 2 shows: two stochastic methods as well; the right column is honest."""
        p, h, o = self.printed, self.paper, self.ours
        left = [p["GGD"], p["SGGD"], p["GD-REAP"], p["SGD-REAP"], o["GGD"]]
        return pair_up(left, [h["GGD"], h["SGGD"], o["GD-REAP"], o["SGD-REAP"], AUTO])

    def measure(self, job, methods):
        self.runs = sweep(job, self.cells, methods, self.repetitions, "sizes")

    def repetitions(self, method, cell):
        """How often a method is run in a square: less often where a run is slow."""
        if not self.full:
            return 1
        slow = isinstance(method, Printed) and "REAP" in method.method
        return FEW if slow or cell.d > 100 else REPEATED

    def draw(self, job, text, methods, number, **options):
        draw_squares(job, f"{job.item.label}: {text}. {SETTING}. Red: not private; ε in squares: "
                     "true cost of the steps", methods, self.cells, number, xs=self.ds, ys=self.ns,
                     labels=("D", "N"), **options)  # fmt: skip

    def mean(self, method, cell):
        return float(np.mean([run.final for run in self.runs[method, cell]]))

    def median(self, method, cell):
        return middle(self.runs, method, cell)

    def works(self, method, cell):
        return self.mean(method, cell) <= TOLERANCE

    def largest(self, method, n):
        """Largest D at which a method ends below the tolerance (0 if none), for N = n."""
        row = self.cells[self.ns.index(n)]
        return max([cell.d for cell in row if self.works(method, cell)], default=0)

    def failures(self, method, cell):
        return float(np.mean([np.isnan(run.reached) for run in self.runs[method, cell]]))

    def time(self, method, cell):
        times = [run.reached for run in self.runs[method, cell]]
        return float("nan") if np.isnan(times).all() else float(np.nanmedian(times))

    def share(self, true):
        """Share of the squares for which something is true."""
        return float(np.mean([true(cell) for cell in flat(self.cells)]))

    def finish(self, job, methods, line, rows, claims, **facts):
        ends = {f"N = {row[0].n}": row[0] for row in (self.cells[0], self.cells[-1])}
        words = ", ".join(f"{name} after {k}" for name, k in self.stops.items())
        job.finish(
            line, rows, claims, costs=cell_costs(methods, ends),
            notes=[
                f"{REPEATED} repetitions, {FEW} at 200 columns and of dp-REAP as printed (the "
                "paper: 50, which would take an hour of CPU)" if self.full else
                "one repetition (the paper: 50)",
                ENGINE_NOTE,
                f"long runs are stopped early ({words} steps): where dp-GGD falls it would go on "
                "falling, and what the mean of more steps would gain REAP is not shown",
                "CPU times are those of one thread, on a machine with other work; a run on many "
                "tables at once takes its share, which leaves out what the library's curator "
                "takes for every step",
                "as printed: all constants c of the noise are taken as 1",
                "Figs. 2 and 7-9 show the same runs; drawn by one command they are computed once, "
                "and the CPU seconds are those of the first figure",
            ],
            **facts,
        )  # fmt: skip


def milliseconds(log_seconds):
    time = 1000 * 10**log_seconds
    return f"{time:.1f}" if time < 10 else f"{time:,.0f}"


def judge_fig2(found):
    """Claims of Fig. 2: privacy, a stochastic advantage, nonconvex before convex."""
    p, h, o = found.printed, found.paper, found.ours
    n = 2000 if 2000 in found.ns else found.ns[-1]
    printed = found.largest(p["GGD"], n), found.largest(p["SGGD"], n)
    honest = found.largest(h["GGD"], n), found.largest(h["SGGD"], n)
    wins = found.share(lambda c: found.mean(h["SGGD"], c) < found.mean(h["GGD"], c) - CLEAR)
    convex = found.share(lambda c: found.mean(h["GGD"], c) < found.mean(o["GD-REAP"], c))
    equal = found.share(lambda c: found.mean(o["GGD"], c) < found.mean(o["GD-REAP"], c))
    good = found.share(lambda c: found.works(AUTO, c))
    below = {
        one: found.share(lambda c, a=p[one], b=p[other]: found.mean(a, c) < found.mean(b, c))
        for one, other in (("GGD", "GD-REAP"), ("SGGD", "SGD-REAP"))
    }
    true = [row[0].true_epsilon("SGGD") for row in found.cells]
    return [
        Claim(f"dp-SGGD is ({EPSILON}, 1/sqrt(N))-private (Theorem 6)",
              f"its steps have epsilon {min(true):.2g} to {max(true):.2g} over the sizes",
              all(is_private("SGGD", *row[0].setting) for row in found.cells)),
        Claim("the stochastic method works for much larger D (Fig. 2), as printed",
              f"largest D below 1e-2, N = {n}: GGD/SGGD {printed[0]}/{printed[1]}",
              printed[1] > printed[0]),
        Claim("the stochastic method works for much larger D, because it needs less noise (Fig. "
              "2), with correct noise",
              f"largest D below 1e-2, N = {n}: printed GGD/SGGD {printed[0]}/{printed[1]}; with "
              f"correct noise {honest[0]}/{honest[1]}, SGGD ahead by {CLEAR} decades in {wins:.0%} "
              "of the squares", honest[1] > honest[0] and wins > 0.5),
        Claim("the nonconvex methods outperform the convex ones (Fig. 2), as printed",
              f"dp-GGD below dp-GD-REAP in {below['GGD']:.0%} of the squares, dp-SGGD below "
              f"dp-SGD-REAP in {below['SGGD']:.0%}", min(below.values()) > 0.9),
        Claim("the nonconvex methods outperform the convex ones (Fig. 2), with correct noise and "
              "40 steps each",
              f"dp-GGD below dp-GD-REAP in {equal:.0%} of the squares; with the paper's steps, "
              f"against 40 of dp-GD-REAP, in {convex:.0%}", equal > 0.9),
        Claim("auto is below 1e-2 in every square", f"in {good:.0%} of the squares", good == 1.0,
              who="ours"),
    ]  # fmt: skip


def run_fig2(job):
    found = Sizes(job)
    found.measure(job, found.four)
    found.draw(job, "mean log10 d² over N and D", found.four, found.mean, **ERRORS)
    claims = judge_fig2(found)
    reach = {m.title: {n: found.largest(m, n) for n in found.ns} for m in found.four}
    line = (
        f"the stochastic advantage {'survives' if claims[2].holds else 'vanishes'} "
        f"({claims[2].measured}); auto is below 1e-2 {claims[5].measured}; nonconvex before "
        f"convex {'holds' if claims[4].holds else 'does not hold'} ({claims[4].measured})"
    )
    found.finish(job, found.four, line, list(csv_rows(found.runs)), claims, largest_d=reach)


def judge_fig7(corners):
    """Claims from (error where D is small and N large, error in the other corner) by method."""

    def claim(group, how):
        words = "; ".join(f"dp-{name} {a:.1f}/{b:.1f}" for name, (a, b) in group.items())
        return Claim(
            "dp-GD-REAP, dp-MD-REAP and dp-GGD work well where D is small and N is large "
            f"(appendix, Fig. 7), {how}", f"log10 d² in the best/worst corner: {words}",
            all(good <= TOLERANCE for good, _ in group.values()),
        )  # fmt: skip

    return [
        claim(corners["printed"], "as printed"),
        claim(corners["ours"], "with correct noise and 40 steps"),
    ]


def run_fig7(job):
    found = Sizes(job)
    found.measure(job, found.three)
    found.draw(job, "median log10 d² over N and D", found.three, found.median, **ERRORS)

    def corner(method):
        return found.median(method, found.cells[-1][0]), found.median(method, found.cells[0][-1])

    corners = {
        "printed": {m: corner(found.printed[m]) for m in NAMES},
        "ours": {m: corner(found.ours[m]) for m in NAMES},
    }
    claims = judge_fig7(corners)
    counts = [sum(a <= TOLERANCE for a, _ in group.values()) for group in corners.values()]
    auto = corner(AUTO)
    line = (
        f"good for small D and large N: {counts[0]} of 3 methods as printed (full-batch REAP has "
        f"needless noise), {counts[1]} of 3 with correct noise and 40 steps; auto {auto[0]:.1f} "
        f"in that corner, {auto[1]:.1f} in the worst"
    )
    titles = {m.title for m in found.three}
    rows = [row for row in csv_rows(found.runs) if row["method"] in titles]
    found.finish(job, found.three, line, rows, claims, corners=corners, auto=auto)


def judge_least(printed, ours, what, form):
    """Whether dp-GGD has less of something than the convex methods, as printed and honest."""
    claims = []
    for how, group in (("as printed", printed), ("with correct noise and 40 steps", ours)):
        words = ", ".join(f"dp-{name} {form(value)}" for name, value in group.items())
        least = group["GGD"] < min(group["GD-REAP"], group["MD-REAP"])
        claims.append(Claim(f"{what}, {how}", words, least, who="ours"))
    return claims


READING = "(our reading of Sec. 6, advantages of dp-GGD; the text claims nothing of this figure)"


def run_fig8(job):
    found = Sizes(job)
    found.measure(job, found.three)
    found.draw(job, "CPU milliseconds to d² = 1e-2, start included", found.three,
               lambda m, c: np.log10(found.time(m, c)), limits=(-3, 1.5), bar="log10 seconds",
               form=milliseconds)  # fmt: skip
    cells = flat(found.cells)

    def never(method):
        return sum(bool(np.isnan(found.time(method, c))) for c in cells)

    printed = {m: never(found.printed[m]) for m in NAMES}
    ours = {m: never(found.ours[m]) for m in NAMES}
    claims = judge_least(
        printed,
        ours,
        f"dp-GGD leaves fewer squares in which 1e-2 is never seen than REAP {READING}",
        str,
    )
    both = [(found.time(AUTO, c), found.time(found.ours["GGD"], c)) for c in cells]
    ratios = [a / b for a, b in both if np.isfinite(a) and np.isfinite(b)]
    ratio = f"{np.median(ratios):.2g} times as long as" if ratios else "not comparable with what"
    line = (
        f"squares of {len(cells)} in which 1e-2 is never seen, dp-GGD/GD-REAP/MD-REAP: printed "
        f"{'/'.join(map(str, printed.values()))}, with correct noise and 40 steps "
        f"{'/'.join(map(str, ours.values()))}; auto {never(AUTO)}, whose whole fit takes "
        f"{ratio} dp-GGD needs to get there"
    )
    rows = [
        {"method": m.title, "n": c.n, "d": c.d, "seconds_to_1e-2": found.time(m, c)}
        for m in found.three
        for c in cells
    ]
    counts = {m.title: never(m) for m in found.three}
    found.finish(job, found.three, line, rows, claims, squares_never_reached=counts)


def run_fig9(job):
    found = Sizes(job)
    found.measure(job, found.three)
    found.draw(job, "share of repetitions that never see d² = 1e-2", found.three, found.failures,
               limits=(0, 1), bar="share of failures", form="{:.0%}".format)  # fmt: skip
    share = {m.title: found.share(lambda c, m=m: found.failures(m, c)) for m in found.three}
    printed = {m: share[found.printed[m].title] for m in NAMES}
    ours = {m: share[found.ours[m].title] for m in NAMES}
    claims = judge_least(
        printed, ours, f"dp-GGD fails less often than REAP {READING}", "{:.0%}".format
    )
    line = (
        "failures over all squares, dp-GGD/GD-REAP/MD-REAP: printed "
        f"{'/'.join(f'{v:.0%}' for v in printed.values())} (the start of dp-GGD is not private), "
        f"with correct noise and 40 steps {'/'.join(f'{v:.0%}' for v in ours.values())}, auto "
        f"{share[AUTO.title]:.0%}"
    )
    rows = [
        {"method": m.title, "n": c.n, "d": c.d, "failures": found.failures(m, c)}
        for m in found.three
        for c in flat(found.cells)
    ]
    found.finish(job, found.three, line, rows, claims, failures=share)
