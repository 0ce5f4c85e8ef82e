"""Figure 4: error over epsilon and delta."""

import numpy as np
from common import TOLERANCE, Claim, save
from phase import AUTO, Cell, Ours, PaperHonest, Printed, csv_rows, middle, panels_of, sweep

NAMES = ("GGD", "GD-REAP", "MD-REAP")


def steepest(values):
    """Largest fall, in decades, between two neighbouring epsilons."""
    return float(max(-np.diff(values)))


def run(folder, quick, data=None):
    from plots import heat_grid

    epsilons = (0.1, 0.4, 1.6) if quick else (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
    deltas = (1e-6, 1e-2) if quick else (1e-6, 1e-4, 1e-2, 1e-1)
    ggd, reap = (800, 150) if quick else (None, 500)
    methods = [
        *(Printed(m, ggd if m == "GGD" else reap) for m in NAMES), PaperHonest("GGD", ggd),
        *map(Ours, NAMES), AUTO,
    ]  # fmt: skip
    cells = [[Cell(epsilon=e, delta=d) for e in epsilons] for d in deltas]
    runs = sweep([c for row in cells for c in row], methods, 1 if quick else 5, "Fig. 4, cells")
    panels = panels_of(cells, methods, lambda m, c: middle(runs, m, c))
    heat_grid(
        panels, epsilons, [f"{d:g}" for d in deltas],
        "Fig. 4: log10 d², median. N = 2000, D = 20, r = 2, half inliers, T = N. Red: the start "
        "is not private; ε in squares: true cost of the steps",
        folder / "fig4.png", columns=4, limits=(-22, 1), labels=("ε (stated)", "δ"), bar="log10 d²",
    )  # fmt: skip
    row = cells[deltas.index(1e-2)]
    lines = {m.title: [middle(runs, m, c) for c in row] for m in methods}
    steep = {name: steepest(values) for name, values in lines.items()}
    p, h, (g, gd, md) = methods[0], methods[3], methods[4:7]
    holds = steep[h.title] > 2 * max(steep[gd.title], steep[md.title])
    worst = max(middle(runs, AUTO, c) for r in cells for c in r)
    reached = {
        m.title: sum(middle(runs, m, c) <= TOLERANCE for r in cells for c in r) for m in methods
    }
    claims = [
        Claim("dp-GGD's transition in epsilon and delta is more abrupt than that of dp-GD-REAP and "
              "dp-MD-REAP", f"largest fall between neighbouring epsilons at delta 0.01: {steep}",
              holds),
    ]  # fmt: skip
    total = len(epsilons) * len(deltas)
    line = (
        f"abrupt transition of dp-GGD with the paper's steps "
        f"{'survives' if holds else 'does not survive'}: at most {steep[h.title]:.1f} decades "
        f"between neighbouring epsilons (printed {steep[p.title]:.1f}; honest dp-GD-REAP "
        f"{steep[gd.title]:.1f}, dp-MD-REAP {steep[md.title]:.1f}; 40 steps of dp-GGD "
        f"{steep[g.title]:.1f}); below "
        f"1e-2 in squares of {total}: printed {reached[p.title]}, honest {reached[h.title]}, "
        f"40 steps {reached[g.title]}, auto {reached[AUTO.title]} (worst {worst:.1f})"
    )
    return save(folder, "fig4", list(csv_rows(runs)), claims, line, steepest_fall=steep,
                squares_below_tolerance=reached)  # fmt: skip
