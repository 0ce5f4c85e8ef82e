"""Figure 5: how often the stochastic methods converge, over the inlier share and the batch size."""

import numpy as np

from ..job import Claim
from .common import EPSILON, TOLERANCE
from .phase import AUTO, ENGINE_NOTE, Cell, PaperHonest, Printed, cell_costs, csv_rows, sweep
from .squares import draw_squares, pair_up

NAMES = ("SGGD", "SGD-REAP", "SMD-REAP")
#: method: (words of the paper, the inlier share from which on it converges in the paper)
PAPER = {
    "SGGD": ("dp-SGGD converges for almost all inlier shares at batches above 2", 0.1),
    "SGD-REAP": ("dp-SGD-REAP converges from an inlier share of 0.6", 0.6),
    "SMD-REAP": ("dp-SMD-REAP converges from an inlier share of 0.2", 0.2),
}
SETTLED = 600  # steps after which runs of REAP count as ended; those of SGGD need all


def success(runs, method, cell):
    return float(np.mean([run.final <= TOLERANCE for run in runs[method, cell]]))


def least_share(table, shares, columns):
    """Smallest inlier share from which on a method mostly converges at these batch sizes."""
    good = table[:, columns].mean(axis=1) >= 0.5
    failed = np.flatnonzero(~good)
    first = failed[-1] + 1 if len(failed) else 0
    return shares[first] if first < len(shares) else None


def judge(printed, honest, taken, n):
    """Claims from the least inlier shares (or ``None``) by method: as printed, then honest.

    ``taken`` are the honest steps by method, of N. Runs that were stopped early can show that a
    method converges, but not that it does not.
    """
    claims = [
        Claim(f"{words} (appendix, Fig. 5), as printed", f"from a share of {said(printed[name])}",
              printed[name] is not None and printed[name] <= share)
        for name, (words, share) in PAPER.items()
    ]  # fmt: skip
    for name, (words, share) in PAPER.items():
        found = honest[name]
        measured = f"from a share of {said(found)}; printed {said(printed[name])}"
        holds = found is not None and found <= share
        needed = min(SETTLED, n) if "REAP" in name else n
        if not holds and taken[name] < needed:
            measured += f"; not judged from {taken[name]} steps of {n}: longer runs may converge"
            holds = None
        claims.append(Claim(f"{words} (appendix, Fig. 5), with correct noise", measured, holds))
    return claims


def survivors(claims):
    """How many claims survive, of those that can be judged."""
    judged = [claim.holds for claim in claims if claim.holds is not None]
    if not judged:
        return "no claim can be judged"
    return f"{sum(judged)} of {len(judged)} claims that can be judged survive"


def said(share):
    return "none" if share is None else f"{share:g}"


def run(job):
    shares = job.pick((0.5, 0.8), (0.1, 0.2, 0.6), (0.1, 0.2, 0.4, 0.6, 0.8))
    batches = job.pick((5, 10), (20, 50), (2, 5, 20, 50))
    n = job.pick(200, 2000, 2000)
    seeds = job.pick(1, 1, 10)
    ggd, reap = job.pick((20, 5), (600, 200), (n, n))
    honest_ggd, slow = job.pick((20, 5), (600, 150), (n, n))
    printed = [Printed(m, ggd if m == "SGGD" else reap) for m in NAMES]
    honest = [PaperHonest(m, honest_ggd if m == "SGGD" else slow) for m in NAMES]
    cells = [[Cell(n=n, steps=n, share=s, batch=b) for b in batches] for s in shares]
    runs = sweep(job, cells, [*printed, *honest, AUTO], lambda *_: seeds, "squares")
    draw_squares(
        job,
        f"Fig. 5: share of runs that end below d² = 1e-2. N = {n}, D = 20, r = 2, T = N, "
        f"ε = {EPSILON}, δ = 1/√N. ε in squares: the true cost of the printed steps; of two, that "
        "with the noise of Theorem 8 first",
        [*pair_up(printed, honest), None, AUTO], cells, lambda m, c: success(runs, m, c),
        xs=batches, ys=shares, labels=("batch size", "inlier share"), limits=(0, 1),
        bar="converged", form="{:.0%}".format, colours="viridis_r",
    )  # fmt: skip
    above = [j for j, b in enumerate(batches) if b > 2]

    def least(method):
        found = np.array([[success(runs, method, cell) for cell in row] for row in cells])
        return least_share(found, shares, above)

    p, h = ({m.method: least(m) for m in group} for group in (printed, honest))
    claims = judge(p, h, {m.method: m.stop for m in honest}, n)
    true = [cell.true_epsilon("SGGD") for cell in cells[0]]
    ends = {f"B = {c.batch}": c for c in (cells[0][0], cells[0][-1])}
    job.finish(
        "least inlier share that mostly converges (B > 2), SGGD/SGD-REAP/SMD-REAP: paper "
        f"all/0.6/0.2, printed rerun {'/'.join(said(s) for s in p.values())} at true epsilon "
        f"{min(true):.1g} to {max(true):.1g}, with correct noise "
        f"{'/'.join(said(s) for s in h.values())}, auto {said(least(AUTO))}; with correct noise "
        f"{survivors(claims[len(NAMES):])}",
        list(csv_rows(runs)), claims, costs=cell_costs(printed, ends),
        notes=[
            f"{seeds} repetitions (the paper: 50, which would take a quarter of an hour of CPU); "
            f"inlier shares {', '.join(map(str, shares))}",
            ENGINE_NOTE,
            f"of {n} steps dp-SGGD takes {ggd} as printed and {honest_ggd} with correct noise, "
            f"dp-REAP {reap} and {slow}" + ": longer runs may converge" * (slow < n),
            "with correct noise, that a method does not converge is judged after all steps "
            f"of dp-SGGD and {SETTLED} of dp-REAP only",
            "auto has no batches: one run stands for all batch sizes",
            "'almost all' inlier shares is read as from 0.1 on",
        ],
        least_inlier_share={"printed": p, "honest": h, "auto": least(AUTO)},
        true_epsilon=dict(zip(batches, true)),
    )  # fmt: skip
