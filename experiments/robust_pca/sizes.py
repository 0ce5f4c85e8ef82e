"""Figures 2, 7, 8 and 9: one set of runs over N and D with T = 2N steps, summed up in four ways."""

from functools import lru_cache

import numpy as np
from common import EPSILON, RANK, TOLERANCE, Claim, save
from phase import AUTO, Cell, Ours, PaperHonest, Printed, csv_rows, middle, panels_of, sweep

SETTING = f"r = {RANK}, half inliers, T = 2N, ε = {EPSILON}, δ = 1/√N"


class Sweep:
    """The runs and the methods in them, so that figures can pick."""

    def __init__(self, quick):
        # GGD: 2^-20 or 2^-32 of the first step size is left. REAP: the printed full-batch noise
        # drowns everything from the first step on; a minibatch iterate settles within hundreds.
        ggd, reap, sreap = (1000, 20, 100) if quick else (1600, 60, 500)
        self.stops = {"GGD": ggd, "full-batch REAP": reap, "minibatch REAP": sreap}
        self.printed = {m: Printed(m, ggd) for m in ("GGD", "SGGD")}
        self.printed |= {m: Printed(m, reap) for m in ("GD-REAP", "MD-REAP")}
        self.printed["SGD-REAP"] = Printed("SGD-REAP", sreap)
        self.paper = {m: PaperHonest(m, ggd) for m in ("GGD", "SGGD")}
        self.ours = {m: Ours(m) for m in ("GGD", "GD-REAP", "MD-REAP", "SGD-REAP")}
        self.ns = (500, 2000) if quick else (500, 1000, 2000, 4000, 8000)
        self.ds = (10, 50, 150) if quick else (10, 20, 50, 100, 200)
        self.cells = [[Cell(n=n, d=d, steps=2 * n) for d in self.ds] for n in self.ns]
        methods = [*self.printed.values(), *self.paper.values(), *self.ours.values(), AUTO]
        cells = [cell for row in self.cells for cell in row]
        self.runs = sweep(cells, methods, 1 if quick else 3, "Figs. 2, 7-9, sizes")

    def mean(self, method, cell):
        return float(np.mean([run.final for run in self.runs[method, cell]]))

    def works(self, method, cell):
        return self.mean(method, cell) <= TOLERANCE

    def largest(self, method, n):
        """Largest D at which a method ends below the tolerance (0 if none), for N = n."""
        row = self.cells[self.ns.index(n)]
        return max([cell.d for cell in row if self.works(method, cell)], default=0)

    def failures(self, method, cell):
        return float(np.mean([np.isnan(run.time_to()) for run in self.runs[method, cell]]))

    def time(self, method, cell):
        times = [run.time_to() for run in self.runs[method, cell]]
        return float("nan") if np.isnan(times).all() else float(np.nanmedian(times))

    def panels(self, methods, number):
        return panels_of(self.cells, methods, number)

    @property
    def three(self):
        """What Figs. 7-9 show: the full-batch methods, twice, and ours."""
        names = ("GGD", "GD-REAP", "MD-REAP")
        return [
            *(self.printed[m] for m in names), self.paper["GGD"],
            *(self.ours[m] for m in names), AUTO,
        ]  # fmt: skip


@lru_cache(maxsize=1)
def measured(quick):
    return Sweep(quick)


def draw(found, methods, number, title, path, columns, **options):
    from plots import heat_grid

    panels = found.panels(methods, number)
    heat_grid(
        panels, found.ds, found.ns, title, path, columns=columns, labels=("D", "N"), **options
    )


def milliseconds(log_seconds):
    time = 1000 * 10**log_seconds
    return f"{time:.1f}" if time < 10 else f"{time:,.0f}"


def facts(found):
    return {"epsilon": EPSILON, "delta": "1/sqrt(N)", "printed_runs_stopped_at": found.stops}


def run_fig2(folder, quick, data=None):
    found = measured(quick)
    p, h, o = found.printed, found.paper, found.ours
    methods = [p["GGD"], p["SGGD"], p["GD-REAP"], p["SGD-REAP"], o["GGD"],
               h["GGD"], h["SGGD"], o["GD-REAP"], o["SGD-REAP"], AUTO]  # fmt: skip
    title = f"Fig. 2: log10 d², mean. {SETTING}. Red: not private; ε: true cost of steps"
    draw(found, methods, found.mean, title, folder / "fig2.png", 5, limits=(-22, 1), bar="log10 d²")
    reach = {m.title: {n: found.largest(m, n) for n in found.ns} for m in methods}
    n = 2000
    printed = found.largest(p["GGD"], n), found.largest(p["SGGD"], n)
    honest = found.largest(h["GGD"], n), found.largest(h["SGGD"], n)
    cells = [cell for row in found.cells for cell in row]
    wins = np.mean([found.mean(h["SGGD"], c) < found.mean(h["GGD"], c) - 0.5 for c in cells])
    both = [c for c in cells if found.works(h["GGD"], c)]
    convex = np.mean([found.mean(h["GGD"], c) < found.mean(o["GD-REAP"], c) for c in cells])
    good = np.mean([found.works(AUTO, c) for c in cells])
    true = [row[0].true_epsilon("SGGD") for row in found.cells]
    claims = [
        Claim("dp-SGGD is (0.8, 1/sqrt(N))-private",
              f"epsilon {min(true):.2g} to {max(true):.2g} over the sizes", False),
        Claim("the stochastic method works for much larger D, because it needs less noise",
              f"largest D below 1e-2, N = {n}: printed GGD/SGGD {printed[0]}/{printed[1]}; honest "
              f"{honest[0]}/{honest[1]}; honest SGGD ahead by 0.5 in {wins:.0%} of the squares",
              honest[1] > honest[0] and wins > 0.5),
        Claim("the nonconvex methods outperform the convex ones",
              f"honest: dp-GGD (paper's steps) below dp-GD-REAP (40 steps) in {convex:.0%} of the "
              f"squares, in {len(both)} of {len(cells)} it works at all", convex > 0.9),
    ]  # fmt: skip
    line = (
        f"the stochastic advantage {'survives' if claims[1].holds else 'vanishes'}: largest D at "
        f"N = {n} printed GGD/SGGD {printed[0]}/{printed[1]} (SGGD epsilon {min(true):.1g} to "
        f"{max(true):.1g}), honest {honest[0]}/{honest[1]}; auto is below 1e-2 in {good:.0%} of "
        f"the squares; nonconvex beats convex in {convex:.0%}"
    )
    return save(folder, "fig2", list(csv_rows(found.runs)), claims, line, largest_d=reach,
                **facts(found))  # fmt: skip


def run_fig7(folder, quick, data=None):
    found = measured(quick)
    title = f"Fig. 7: log10 d², median. {SETTING}. Red: not private; ε in squares: true cost"

    def number(method, cell):
        return middle(found.runs, method, cell)

    draw(found, found.three, number, title, folder / "fig7.png", 4, limits=(-22, 1), bar="log10 d²")
    corners = {
        m.title: (number(m, found.cells[-1][0]), number(m, found.cells[0][-1])) for m in found.three
    }
    ok = {name: good <= TOLERANCE for name, (good, _) in corners.items()}
    printed = [ok[m.title] for m in found.three[:3]]
    honest = [ok[m.title] for m in found.three[3:]]
    words = "; ".join(f"{name} {a:.1f}/{b:.1f}" for name, (a, b) in corners.items())
    claim = Claim("dp-GD-REAP, dp-MD-REAP and dp-GGD work well where D is small and N is large",
                  f"best/worst corner: {words}", all(printed))  # fmt: skip
    line = (
        f"good for small D and large N: {sum(printed)} of 3 methods as printed (full-batch REAP "
        f"has needless noise), {sum(honest)} of {len(honest)} honest ones; auto "
        f"{corners[AUTO.title][0]:.1f} to {corners[AUTO.title][1]:.1f}"
    )
    rows = [row for row in csv_rows(found.runs) if row["method"] in corners]
    return save(folder, "fig7", rows, [claim], line, corners=corners, **facts(found))


def run_fig8(folder, quick, data=None):
    found = measured(quick)
    title = f"Fig. 8: CPU milliseconds to d² = 1e-2, start included. {SETTING}"
    draw(found, found.three, lambda m, c: np.log10(found.time(m, c)), title, folder / "fig8.png", 4,
         limits=(-3, 1.5), bar="log10 seconds", form=milliseconds)  # fmt: skip
    cells = [cell for row in found.cells for cell in row]
    never = {m.title: sum(np.isnan(found.time(m, c)) for c in cells) for m in found.three}
    ratios = [found.time(found.ours["GGD"], c) / found.time(AUTO, c) for c in cells]
    ratio = float(np.nanmedian(ratios))
    same = never[found.printed["GGD"].title] <= never[found.printed["GD-REAP"].title]
    claim = Claim("dp-GGD reaches the tolerance in more squares than the convex methods",
                  f"squares never reached: {never}", same)  # fmt: skip
    line = (
        f"squares of {len(cells)} in which 1e-2 is never seen: printed dp-GGD "
        f"{never[found.printed['GGD'].title]}, dp-GD-REAP {never[found.printed['GD-REAP'].title]}, "
        f"dp-MD-REAP {never[found.printed['MD-REAP'].title]}; honest 40 steps dp-GGD "
        f"{never[found.ours['GGD'].title]}, dp-GD-REAP {never[found.ours['GD-REAP'].title]}; auto "
        f"{never[AUTO.title]}, whose whole fit takes {1 / ratio:.2g} times as long as dp-GGD needs"
    )
    rows = [
        {"method": m.title, "n": c.n, "d": c.d, "seconds_to_1e-2": found.time(m, c)}
        for m in found.three
        for c in cells
    ]
    return save(folder, "fig8", rows, [claim], line, never=never, **facts(found))


def run_fig9(folder, quick, data=None):
    found = measured(quick)
    title = f"Fig. 9: share of repetitions that never see d² = 1e-2. {SETTING}"
    draw(found, found.three, found.failures, title, folder / "fig9.png", 4, limits=(0, 1),
         bar="share of failures", form="{:.0%}".format)  # fmt: skip
    cells = [cell for row in found.cells for cell in row]
    share = {m.title: float(np.mean([found.failures(m, c) for c in cells])) for m in found.three}
    first = share[found.printed["GGD"].title]
    convex = min(share[found.printed[m].title] for m in ("GD-REAP", "MD-REAP"))
    claim = Claim("dp-GGD fails least", f"failures over all squares: {share}", first < convex)
    line = (
        f"failures over all squares: printed dp-GGD {first:.0%} (its start is not private), "
        f"printed REAP at least {convex:.0%}; honest 40 steps dp-GGD "
        f"{share[found.ours['GGD'].title]:.0%}, dp-GD-REAP "
        f"{share[found.ours['GD-REAP'].title]:.0%}, auto {share[AUTO.title]:.0%}"
    )
    rows = [
        {"method": m.title, "n": c.n, "d": c.d, "failures": found.failures(m, c)}
        for m in found.three
        for c in cells
    ]
    return save(folder, "fig9", rows, [claim], line, failures=share, **facts(found))
