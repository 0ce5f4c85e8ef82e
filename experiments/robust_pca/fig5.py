"""Figure 5: how often the stochastic methods converge, over the inlier share and the batch size."""

import numpy as np
from common import TOLERANCE, Claim, save
from phase import AUTO, Cell, PaperHonest, Printed, csv_rows, panels_of, sweep, table_of

NAMES = ("SGGD", "SGD-REAP", "SMD-REAP")


def success(runs, method, cell):
    return float(np.mean([run.final <= TOLERANCE for run in runs[method, cell]]))


def least_share(table, shares, columns):
    """Smallest inlier share from which on a method mostly converges at these batch sizes."""
    good = table[:, columns].mean(axis=1) >= 0.5
    failed = np.flatnonzero(~good)
    first = failed[-1] + 1 if len(failed) else 0
    return shares[first] if first < len(shares) else None


def run(folder, quick, data=None):
    from plots import heat_grid

    shares = (0.1, 0.2, 0.5, 0.8) if quick else (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
    batches = (10, 50) if quick else (1, 2, 5, 10, 20, 50)
    ggd, reap, slow = (800, 300, 200) if quick else (1000, 1000, 600)
    printed = [Printed(m, ggd if m == "SGGD" else reap) for m in NAMES]
    honest = [
        PaperHonest("SGGD", ggd), *(PaperHonest(m, slow) for m in NAMES[1:]),
    ]  # fmt: skip
    methods = [*printed, *honest, AUTO]
    cells = [[Cell(share=s, batch=b) for b in batches] for s in shares]
    flat = [cell for row in cells for cell in row]
    runs = sweep(flat, methods, 1 if quick else 5, "Fig. 5, cells")
    tables = {m: table_of(cells, lambda c, m=m: success(runs, m, c)) for m in methods}
    true = [cell.true_epsilon("SGGD") for cell in cells[0]]
    panels = panels_of(cells, methods, lambda m, c: success(runs, m, c))
    panels.insert(len(printed), None)
    heat_grid(
        panels, batches, shares,
        "Fig. 5: share of runs that end below d² = 1e-2. N = 2000, D = 20, r = 2, T = N, ε = 0.8. "
        "ε in squares: the true cost of the printed steps",
        folder / "fig5.png", columns=4, limits=(0, 1), labels=("batch size", "inlier share"),
        bar="converged", form="{:.0%}".format,
        colours="viridis_r",
    )  # fmt: skip
    above = [j for j, b in enumerate(batches) if b > 2]
    least = {m.title: least_share(tables[m], shares, above) for m in methods}
    p, h = [least[m.title] for m in printed], [least[m.title] for m in honest]
    claims = [
        Claim("dp-SGGD converges for almost all inlier shares at batches above 2",
              f"from a share of: printed {p[0]}, honest {h[0]}", h[0] is not None and h[0] <= 0.1),
        Claim("dp-SGD-REAP converges from an inlier share of 0.6",
              f"printed {p[1]}, honest {h[1]}", h[1] is not None and h[1] <= 0.6),
        Claim("dp-SMD-REAP converges from an inlier share of 0.2",
              f"printed {p[2]}, honest {h[2]}", h[2] is not None and h[2] <= 0.2),
    ]  # fmt: skip
    line = (
        f"least inlier share that mostly converges (B > 2), SGGD/SGD-REAP/SMD-REAP: paper "
        f"all/0.6/0.2, printed rerun {p[0]}/{p[1]}/{p[2]} at true epsilon {min(true):.1g} to "
        f"{max(true):.1g}, honest {h[0]}/{h[1]}/{h[2]}, auto {least[AUTO.title]}; "
        f"{sum(c.holds for c in claims)} of 3 claims survive"
    )
    return save(folder, "fig5", list(csv_rows(runs)), claims, line, least_inlier_share=least,
                true_epsilon=dict(zip(batches, true)),
                runs_stopped_at={"SGGD": ggd, "printed REAP": reap,
                                 "honest REAP": slow})  # fmt: skip
