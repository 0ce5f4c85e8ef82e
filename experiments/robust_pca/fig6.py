"""Figure 6: error over the dimension D and the rank r."""

from common import TOLERANCE, Claim, save
from phase import AUTO, Cell, Ours, PaperHonest, Printed, csv_rows, middle, panels_of, sweep

NAMES = ("GGD", "GD-REAP", "MD-REAP")


def run(folder, quick, data=None):
    from plots import heat_grid

    dims = (12, 30) if quick else (12, 20, 50, 100)
    ranks = (1, 4) if quick else (1, 2, 4, 8)
    ggd, reap = (500, 30) if quick else (1600, 100)
    methods = [
        *(Printed(m, ggd if m == "GGD" else reap) for m in NAMES), PaperHonest("GGD", ggd),
        *map(Ours, NAMES), AUTO,
    ]  # fmt: skip
    cells = [[Cell(d=d, rank=r) for d in dims] for r in ranks]
    flat = [cell for row in cells for cell in row]
    runs = sweep(flat, methods, 1 if quick else 5, "Fig. 6, cells")
    panels = panels_of(cells, methods, lambda m, c: middle(runs, m, c))
    heat_grid(
        panels, dims, ranks,
        "Fig. 6: log10 d², median. N = 2000, half inliers, T = N, ε = 0.8, δ = 1/√N. Red: the "
        "start is not private; ε in squares: true cost of the steps",
        folder / "fig6.png", columns=4, limits=(-22, 1), labels=("D", "r"), bar="log10 d²",
    )  # fmt: skip
    first, last = cells[0][0], cells[-1][-1]
    corners = {m.title: (middle(runs, m, first), middle(runs, m, last)) for m in methods}
    ok = [good <= TOLERANCE for good, _ in corners.values()]
    reached = {m.title: sum(middle(runs, m, c) <= TOLERANCE for c in flat) for m in methods}
    claim = Claim("dp-GD-REAP, dp-MD-REAP and dp-GGD work well where D and r are small",
                  f"smallest/largest corner: {corners}", all(ok[:3]))  # fmt: skip
    p, h, g = methods[0], methods[3], methods[4]
    line = (
        f"good for small D and r: {sum(ok[:3])} of 3 as printed, {sum(ok[3:7])} of 4 honest; "
        f"below 1e-2 in squares of {len(flat)}: printed dp-GGD {reached[p.title]}, honest "
        f"{reached[h.title]} (40 steps {reached[g.title]}), auto {reached[AUTO.title]}, "
        f"which ends at {corners[AUTO.title][0]:.1f} to {corners[AUTO.title][1]:.1f}"
    )
    return save(folder, "fig6", list(csv_rows(runs)), [claim], line, corners=corners,
                squares_below_tolerance=reached)  # fmt: skip
