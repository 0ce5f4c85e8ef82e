"""What Figure 3 says, in sentences that can be wrong."""

import math

TUNED = ("RGD", "RSGD", "RSVRG")
GOAL = 1.5  # of the default's excess risk over that of the best tuned solver
NEAR = 2.0  # "arrived": within this factor of the best tuned excess risk
ALIKE = 1.1  # medians of few runs that differ by less are called equal


def judge(rows):
    """Print the verdict lines and return them with the table behind them."""
    cells = {}
    for row in rows:
        cell = cells.setdefault((row["problem"], row["epsilon"]), {})
        cell.setdefault(row["solver"], []).append(row)
    table = [summary(*key, paths) for key, paths in cells.items()]
    for line in lines(table):
        print(line)
    return {"figure": "fig3", "verdict": lines(table), "cells": table}


def summary(problem, epsilon, paths):
    """Final excess risks, ratio of the default to the best tuned one, calls until arrival."""
    final = {solver: path[-1]["excess"] for solver, path in paths.items()}
    best = min(TUNED, key=final.get)
    return {
        "problem": problem, "epsilon": epsilon, "start": paths["RGD"][0]["excess"],
        "final": final, "best_tuned": best,
        "default_over_best": round(final["default"] / final[best], 3),
        "passes_to_arrive": {s: arrival(path, NEAR * final[best]) for s, path in paths.items()},
        "settings": {solver: path[-1]["setting"] for solver, path in paths.items()},
    }  # fmt: skip


def arrival(path, excess):
    """Passes over the rows after which the median stays below; None if it does not."""
    last_above = max((k for k, row in enumerate(path) if row["excess"] > excess), default=-1)
    return path[last_above + 1]["passes"] if last_above + 1 < len(path) else None


def lines(table):
    """All verdict lines."""
    return [*cell_lines(table), *claims(table)]


def cell_lines(table):
    header = f"{'problem':29} eps    start |      RGD     RSGD    RSVRG  default | default/best"
    rows = [
        f"{c['problem']:29} {c['epsilon']:.1f} {c['start']:8.2g} | "
        + " ".join(f"{c['final'][s]:8.2g}" for s in (*TUNED, "default"))
        + f" | {c['default_over_best']:.2f} of {c['best_tuned']}"
        for c in table
    ]
    return [header, *rows]


def claims(table):
    """Who wins at equal privacy, who at equal gradient calls, and the default's ratios."""
    fair = [cell for cell in table if not borrowed(cell)]
    ratios = [c["default_over_best"] for c in table]
    missed = [f"{c['problem']} at {c['epsilon']}" for c in table if c["default_over_best"] > GOAL]
    left = len(table) - len(fair)
    return [
        *([f"not compared below: {left} cells in which RSVRG's setting is another problem's"]
          if left else []),
        *(between_the_tuned(fair) if fair else []),
        f"default / best tuned: {min(ratios):.2f} to {max(ratios):.2f}, geometric mean "
        f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, at most {GOAL:g} in "
        f"{sum(r <= GOAL for r in ratios)} of {len(ratios)}"
        + (f"; above: {', '.join(missed)}" if missed else ""),
    ]  # fmt: skip


def between_the_tuned(table):
    """RGD, RSGD and RSVRG against each other, where each was tuned for the cell."""
    count = len(table)
    wins = {
        s: sum(c["final"][s] <= ALIKE * c["final"][c["best_tuned"]] for c in table) for s in TUNED
    }
    alone = [c for c in table if c["best_tuned"] == "RSVRG" and margin(c) > ALIKE]
    where = ", ".join(f"{c['problem']} at {c['epsilon']}" for c in alone)
    behind = [c["final"]["RSVRG"] / c["final"][c["best_tuned"]] for c in table]
    arrived = {s: sum(c["passes_to_arrive"][s] is not None for c in table) for s in TUNED}
    first = {s: sum(soonest(c) == s for c in table) for s in TUNED}
    idle = sum(c["final"][c["best_tuned"]] > c["start"] / NEAR for c in table)
    return [
        f"equal privacy: lowest or within {ALIKE - 1:.0%} of it among the tuned: "
        + ", ".join(f"{s} in {wins[s]}" for s in TUNED) + f" of {count} cells",
        f"variance reduction wins by more than {ALIKE - 1:.0%} in {len(alone)} of {count} cells"
        + (f" ({where})" if where else "")
        + f"; RSVRG ends at {min(behind):.2f} to {max(behind):.2f} times the best tuned excess "
        f"(median {sorted(behind)[count // 2]:.2f})",
        f"equal gradient calls: within {NEAR:g}x of the best tuned excess with the fewest calls: "
        + ", ".join(f"{s} in {first[s]}" for s in TUNED) + "; that near at all: "
        + ", ".join(f"{s} in {arrived[s]}" for s in TUNED)
        + " (settings were tuned for the excess, not for the calls)",
        f"in {idle} of {count} cells no tuned solver halves the excess of the public start",
    ]  # fmt: skip


def borrowed(cell):
    """Whether a setting was tuned on another problem: it says nothing about its solver here."""
    return any("truth of" in words for words in cell["settings"].values())


def margin(cell):
    """Second best over best of the tuned."""
    first, second = sorted(cell["final"][s] for s in TUNED)[:2]
    return second / first


def soonest(cell):
    """The tuned solver that arrives first; None if none does."""
    times = {s: t for s in TUNED if (t := cell["passes_to_arrive"][s]) is not None}
    return min(times, key=times.get) if times else None
