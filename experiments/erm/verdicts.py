"""What the accuracies show: goals met, goals missed. All of them are goals of ours."""

import math

from ..job import Claim
from . import sets
from .tables import AUTO, EPSILONS, FIXED, GOALS, HINDSIGHT, PEER, PLAIN, SOLVERS


def judge(found, cells, epsilons=EPSILONS):
    """Judge our goals, the comparison with diffprivlib, and the choice made in hindsight."""
    return [
        *goals(cells, epsilons), *against_the_peer(cells, epsilons), *hindsight(found, epsilons)
    ]  # fmt: skip


def series(cells, name, method, epsilons):
    """Accuracies of a method on a set, in the order of epsilon."""
    keys = [(name, method, epsilon) for epsilon in epsilons]
    return " / ".join(f"{cells[key][0]:.3f}" if key in cells else "-" for key in keys)


def accuracy_table(cells, names, epsilons):
    """Accuracy, standard error, excess and seeds by set and method, for the record."""
    return [
        {"data": name, "method": method, "epsilon": epsilon, "accuracy": cell[0],
         "standard_error": cell[1], "excess": cell[2], "seeds": cell[3]}
        for (name, method, epsilon), cell in cells.items()
        if name in names and epsilon in (*epsilons, math.inf)
    ]  # fmt: skip


def goals(cells, epsilons):
    """The figures that the default has to reach."""
    found = []
    for name, wanted in GOALS.items():
        method = AUTO if name == "a9a" else FIXED
        judged = [
            (epsilon, goal, cells[name, method, epsilon])
            for epsilon, goal in zip(EPSILONS, wanted)
            if epsilon in epsilons and (name, method, epsilon) in cells
        ]
        if not judged:
            continue
        missed = [epsilon for epsilon, goal, cell in judged if cell[0] < goal]
        where = "" if name == "a9a" else " on its fixed split"
        text = ", ".join(f"{with_error(cell)} at {e:g}" for e, _, cell in judged)
        text += f"; missed at epsilon {', '.join(f'{e:g}' for e in missed)}" if missed else ""
        aims = " / ".join(f"{goal:.3f}" for _, goal, _ in judged)
        found.append(
            Claim(f"the default reaches {aims} on {name}{where}", text, not missed, who="ours")
        )
    return found


def with_error(cell):
    """Mean and, if there is one, its standard error."""
    return f"{cell[0]:.4f}" + ("" if math.isnan(cell[1]) else f" +- {cell[1]:.4f}")


def against_the_peer(cells, epsilons):
    """Ahead by more than one standard error, or both as good as without privacy."""
    places = {"ahead": [], "equal": [], "behind": [], "one seed": []}
    for name in dict.fromkeys(key[0] for key in cells):
        for epsilon in epsilons:
            if (name, PEER, epsilon) in cells:
                word, where = compared(cells, name, epsilon)
                places[word].append(where)
    judged = sum(len(places[word]) for word in ("ahead", "equal", "behind"))
    if not any(places.values()):
        return []
    text = f"ahead in {len(places['ahead'])} of {judged} cells"
    for word, says in (("equal", "both within 0.005 of the fit without privacy"),
                       ("behind", "neither"), ("one seed", "one seed, not judged")):  # fmt: skip
        text += f"; {says}: {', '.join(places[word])}" if places[word] else ""
    claim = "the default is ahead of diffprivlib with its best C by more than a standard error, or "
    claim += "both are as good as without privacy"
    return [Claim(claim, text, not places["behind"] if judged else None, who="ours")]


def compared(cells, name, epsilon):
    """One of four words, and the figures."""
    ours, theirs = cells[name, AUTO, epsilon], cells[name, PEER, epsilon]
    # A single seed has no standard error: the other's counts alone.
    error = math.hypot(*(cell[1] for cell in (ours, theirs) if cell[3] > 1))
    top = cells[name, PLAIN, math.inf][0]
    where = f"{name} at {epsilon:g} ({ours[0]:.4f} against {theirs[0]:.4f})"
    if ours[3] == theirs[3] == 1:
        return "one seed", where
    if ours[0] - theirs[0] > error:
        return "ahead", where
    return ("equal" if min(ours[0], theirs[0]) >= top - 0.005 else "behind"), where


def hindsight(found, epsilons):
    """How far the default is from the best of our solvers, on the seeds that both were run on."""
    by_seed = {
        (row["data"], row["method"], float(row["epsilon"]), int(row["seed"])): float(
            row["accuracy"]
        )
        for row in found
    }
    claims = []
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
        text = f"furthest behind {gap:+.4f} ({best} at epsilon {epsilon:g})"
        text += "" if held_out else "; the rule was chosen on this set, which is in its favour"
        claims.append(
            Claim(f"on {name} the default is at most {HINDSIGHT} behind the best of our solvers",
                  text, bool(gap <= HINDSIGHT), who="ours")
        )  # fmt: skip
    return claims


def mean_gap(by_seed, name, solver, epsilon):
    """Mean accuracy of a solver above the default's; ``None`` if it was not run."""
    gaps = [
        accuracy - by_seed[name, AUTO, epsilon, key[3]]
        for key, accuracy in by_seed.items()
        if key[:3] == (name, solver, epsilon)
    ]
    return sum(gaps) / len(gaps) if gaps else None
