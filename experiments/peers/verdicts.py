"""What the rows say: claims of ours that can fail, each judged by the numbers."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..job import Claim, Cost
from .audits import ALPHA
from .measure import OURS
from .tasks_linear import SPREAD

Row = dict[str, Any]
SLOWEST, LARGEST, FEW_MEGABYTES = 2.0, 2.0, 10.0
TICK = 1e-5  # CPU seconds: less is not told apart
EXACT = 1e-6  # smaller errors count as none


def private(row: Row) -> bool:
    return row["guarantee"] != "none"


def as_good(row: Row, other: Row) -> bool:
    """Whether ``row`` is at least as accurate as ``other``, to the digits that are shown."""
    if row["better"] == "lower":
        return row["quality"] <= other["quality"]
    return row["quality"] >= other["quality"]


def comparable(row: Row, other: Row) -> bool:
    """Whether ``row`` is as accurate as ``other``, or nearly, so that times may be compared."""
    if row["better"] == "lower":
        return row["quality"] <= max(1.1 * other["quality"], EXACT)
    return row["quality"] >= other["quality"] - 0.01


def by_task(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Answered rows of each task and metric."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["quality"] is not None:
            found.setdefault((row["task"], row["metric"]), []).append(row)
    return found


def split(rows: list[Row], condition: Callable[[Row], bool]) -> tuple[list[Row], list[Row]]:
    """Ours and the others', of the rows that meet a condition."""
    kept = [row for row in rows if condition(row)]
    return ([r for r in kept if r["library"] == OURS], [r for r in kept if r["library"] != OURS])


def judged(claim: str, good: list[str], bad: list[str], unit: str) -> Claim:
    """A claim that holds if nothing speaks against it, and is not judged if nothing speaks."""
    if not good and not bad:
        return Claim(claim, f"not judged: no {unit} was run here", None, who="ours")
    measured = f"{len(good)} of {len(good) + len(bad)} {unit}s"
    measured += f"; not: {'; '.join(bad)}" if bad else ""
    return Claim(claim, measured, not bad, who="ours")


def accuracy(rows: list[Row]) -> Claim:
    """Our best private way, by the truth, against every private way of others."""
    good, bad, chosen = [], [], []
    for (task, metric), group in by_task(rows).items():
        own, others = split(group, private)
        if not own or metric == SPREAD.name:  # a property of the draws, not of a method
            continue
        for other in others:
            best = max(own, key=lambda r: r["quality"] * (1 if r["better"] == "higher" else -1))
            text = (f"{task}: {best['quality']:.5g} against {other['quality']:.5g} of "
                    f"{other['library']}")  # fmt: skip
            (good if as_good(best, other) else bad).append(text)
        if others and len(own) > 1:
            chosen.append(f"{task} (of {len(own)})")
    claim = "ours is at least as accurate as every other private way that gives an answer"
    found = judged(claim, good, bad, "other private way")
    more = f"; the best of ours by the truth was taken for {'; '.join(chosen)}" if chosen else ""
    return replace(found, measured=found.measured + more)


def answers(rows: list[Row]) -> Claim:
    """Whether a fit of ours, private or not, gives no answer within the limit; and whose others."""
    own, others = split(rows, lambda row: True)
    good = [r["task"] for r in own if not r["failure"]]
    bad = [f"{r['what']} on {r['task']}: {r['failure']}" for r in own if r["failure"]]
    stopped = sorted({f"{r['library']} on {r['task']}" for r in others if r["failure"]})
    found = judged("ours always gives an answer", good, bad, "row")
    more = f"; others without: {'; '.join(stopped)}" if stopped else ""
    return replace(found, measured=found.measured + more)


def times(rows: list[Row], condition: Callable[[Row], bool], kind: str) -> Claim:
    """For each way of others our fastest that is as accurate; the worst way of each library.

    A fast way of ours that is less accurate must neither win nor hide a slow one that is not.
    """
    good, bad, out = [], [], []
    for (task, metric), group in by_task(rows).items():
        own, others = split(group, condition)
        if not own:
            continue
        for library in sorted({r["library"] for r in others}):
            ratios = []
            for other in (r for r in others if r["library"] == library):
                mine = [r for r in own if metric == SPREAD.name or comparable(r, other)]
                if mine:
                    fastest = min(r["cpu_seconds"] for r in mine)
                    ratios.append(fastest / max(other["cpu_seconds"], TICK))
                else:
                    out.append(f"{library} on {task} ({metric})")
            if ratios:
                text = f"{task} ({metric}): {max(ratios):.2g} times {library}"
                (good if max(ratios) <= SLOWEST else bad).append(text)
    claim = (f"{kind}, ours takes at most {SLOWEST:g} times the CPU time of every way of another "
             "library to be as accurate as it")  # fmt: skip
    found = judged(claim, good, bad, "comparison")
    more = f"; left out, none of ours is as accurate: {'; '.join(out)}" if out else ""
    return replace(found, measured=found.measured + more)


def memory(rows: list[Row]) -> Claim:
    """Our leanest way against the leanest of others, beyond imports and the rows themselves."""
    good, bad = [], []
    for (task, _), group in by_task(rows).items():
        own, others = split(group, lambda row: row["memory_mb"] is not None)
        if not own or not others:
            continue
        mine, theirs = (min(r["memory_mb"] for r in side) for side in (own, others))
        text = f"{task}: {mine:.0f} MB against {theirs:.0f}"
        (good if mine <= max(LARGEST * theirs, FEW_MEGABYTES) else bad).append(text)
    claim = (f"a fit of ours holds at most {LARGEST:g} times the memory of the leanest other "
             f"library, or {FEW_MEGABYTES:g} MB")  # fmt: skip
    return judged(claim, good, bad, "comparison")


def audited(verdicts: dict[str, list[Any]]) -> Claim:
    """No audit refutes a promise of ours."""
    ours = [v for group in verdicts.values() for v in group if v.library == OURS]
    good = [v.what for v in ours if not v.refuted]
    bad = [v.text() for v in ours if v.refuted]
    found = judged("no audit refutes a promise of ours", good, bad, "audited estimator")
    silent = sum(v.bound == 0 and not v.refuted for v in ours)
    more = (f"; the game's bound is 0 for {silent} of them, where the verdict rests on the replay "
            "of extreme rows") if silent else ""  # fmt: skip
    return replace(found, measured=found.measured + more)


def costs(verdicts: dict[str, list[Any]]) -> list[Cost]:
    """Promises that an audit refutes, with the lower bound that it found."""
    why = f"a lower bound from a game, too high with probability at most {ALPHA:g}"
    return [
        Cost(f"{v.library}, {v.what}", v.claimed, round(v.bound, 3), v.delta, "replace-one", why)
        for group in verdicts.values() for v in group if v.refuted
    ]  # fmt: skip


def claims(rows: list[Row], verdicts: dict[str, list[Any]]) -> list[Claim]:
    """All claims, in the order of importance."""
    return [
        accuracy(rows),
        answers(rows),
        audited(verdicts),
        times(rows, private, "with privacy"),
        times(rows, lambda row: not private(row), "without privacy"),
        memory(rows),
    ]
