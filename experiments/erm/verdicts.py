"""What the tables show, in words: goals met, goals missed.

python experiments/erm/verdicts.py FILE     prints the verdicts of a tables.csv again
"""

import csv
import math
import sys
from pathlib import Path

import sets
from tables import (
    AUTO,
    EPSILONS,
    FIXED,
    GOALS,
    HINDSIGHT,
    PEER,
    PLAIN,
    SOLVERS,
    best_of_peer,
    summary,
)


def show(found, epsilons=EPSILONS):
    """Print a table for each set and the verdicts."""
    cells = summary(found)
    for name in dict.fromkeys(row["data"] for row in found):
        print_table(name, cells, found, epsilons)
    print()
    goals(cells, epsilons)
    against_the_peer(cells, epsilons)
    hindsight(found, epsilons)


def print_table(name, cells, found, epsilons):
    sizes = next((row["rows"], row["columns"]) for row in found if row["data"] == name)
    print(f"\n{name}: {int(sizes[0]):,} rows x {sizes[1]} columns; accuracy +- standard error / ")
    print("excess risk at epsilon " + ", ".join(f"{epsilon:g}" for epsilon in epsilons))
    for method in dict.fromkeys(key[1] for key in cells if key[0] == name):
        texts, seeds = [], 0
        for epsilon in [*epsilons, float("inf")]:
            if (name, method, epsilon) in cells:
                accuracy, error, excess, seeds = cells[name, method, epsilon]
                spread = "         " if seeds == 1 else f"+- {error:.4f}"
                texts.append(f"{accuracy:.4f} {spread} / {excess:7.4f}")
        print(f"  {method:26} {'   '.join(texts)}   ({seeds} seeds)")


def goals(cells, epsilons):
    """The figures that the default has to reach."""
    for name, wanted in GOALS.items():
        for epsilon, goal in zip(EPSILONS, wanted):
            method = AUTO if name == "a9a" else FIXED
            if epsilon not in epsilons or (name, method, epsilon) not in cells:
                continue
            accuracy, error, _, _ = cells[name, method, epsilon]
            word = "met" if round(accuracy, 3) >= goal else "MISSED"
            print(
                f"verdict: {name} at epsilon {epsilon:g}: {accuracy:.4f} +- {error:.4f}, "
                f"goal {goal:.3f}: {word}"
            )


def against_the_peer(cells, epsilons):
    """Ahead by more than one standard error, or both as good as without privacy."""
    ahead, equal, behind, unjudged = [], [], [], []
    for name in dict.fromkeys(key[0] for key in cells):
        for epsilon in epsilons:
            if (name, PEER, epsilon) not in cells:
                continue
            ours, theirs = cells[name, AUTO, epsilon], cells[name, PEER, epsilon]
            # A single seed has no standard error: the other's counts alone.
            error = math.hypot(*(cell[1] for cell in (ours, theirs) if cell[3] > 1))
            top = cells[name, PLAIN, float("inf")]
            where = f"{name} at {epsilon:g} ({ours[0]:.4f} against {theirs[0]:.4f})"
            if ours[3] == theirs[3] == 1:
                unjudged.append(where)
            elif ours[0] - theirs[0] > error:
                ahead.append(where)
            elif min(ours[0], theirs[0]) >= top[0] - 0.005:
                equal.append(where)
            else:
                behind.append(where)
    print(
        f"verdict: the default is ahead of diffprivlib with its best C by more than one standard "
        f"error in {len(ahead)} of {len(ahead) + len(equal) + len(behind)} cells; both are within "
        f"0.005 of the fit without privacy in {len(equal)}: {'; '.join(equal) or '-'}; "
        f"neither: {'; '.join(behind) or '-'}"
    )
    if unjudged:
        print(f"verdict: one seed, no standard error: {'; '.join(unjudged)}")


def hindsight(found, epsilons):
    """How far the default is from the best of our solvers, on the seeds that both were run on."""
    by_seed = {
        (row["data"], row["method"], float(row["epsilon"]), int(row["seed"])): float(
            row["accuracy"]
        )
        for row in found
    }
    for name in dict.fromkeys(row["data"] for row in found):
        gaps = [
            (gap, epsilon, solver)
            for epsilon in epsilons
            for solver in SOLVERS
            for gap in [mean_gap(by_seed, name, solver, epsilon)]
            if gap is not None
        ]
        if not gaps:
            continue
        gap, epsilon, best = max(gaps)
        held_out = name.split(",")[0] in sets.HELD_OUT
        word = ("met" if gap <= HINDSIGHT else "MISSED") if held_out else "chosen on this set"
        print(
            f"verdict: {name}: furthest behind the best of our solvers {gap:+.4f} "
            f"({best} at epsilon {epsilon:g}), goal {HINDSIGHT}: {word}"
        )


def mean_gap(by_seed, name, solver, epsilon):
    """Mean accuracy of a solver above the default's; ``None`` if it was not run."""
    gaps = [
        accuracy - by_seed[name, AUTO, epsilon, key[3]]
        for key, accuracy in by_seed.items()
        if key[:3] == (name, solver, epsilon)
    ]
    return sum(gaps) / len(gaps) if gaps else None


def main():
    with Path(sys.argv[1]).open() as file:
        found = list(csv.DictReader(file))
    epsilons = sorted({float(row["epsilon"]) for row in found} - {float("inf")})
    show(best_of_peer(found), epsilons)


if __name__ == "__main__":
    main()
