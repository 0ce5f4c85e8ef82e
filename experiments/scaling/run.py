"""Time and memory against n, D, r, users and items, with the fitted exponents.

For every size of every estimator: CPU seconds of a fit (one thread) and its largest memory beyond
the table, over a range of that size with the others fixed. The exponent is fitted on the upper half
of the range, where overhead is small, and compared with the model of cost (``sweeps.py``).
"""

from functools import cache

from ..job import Claim
from ..values import number
from . import pictures
from .fits import TOLERANCE, Exponent, cpu_seconds, exponent, extra_bytes, judged
from .sweeps import SWEEPS, Sweep, prepared, releases

MEGABYTE = 1e6
NOTES = (
    "Time is CPU seconds of one thread, the best of a few fits; a first, small one, which pays "
    "for imports, is not counted. Memory is the peak that Python and NumPy allocate "
    "during a fit (tracemalloc) beyond the table, without the work space of LAPACK.",
    "Exponents are fitted on the upper half of each range only; the standard error is that of the "
    "residuals.",
    "RobustPCA decides from noisy answers how many releases it makes, so its time is given per "
    "release. MatrixCompletion and LogisticRegression run one named solver (covariance; 30 steps "
    "of gradient descent): their defaults change the solver with the sizes. LogisticRegression "
    "keeps its mapped rows if they take at most 64 MB and maps them at every step if they take "
    "more (large), 2 to 3 times as slow. SubspaceTracker gets "
    "its stream in blocks of 1,000 rows; given all rows in one call it holds about as much again "
    "as the table.",
)


@cache
def warm(model: str, scale: str) -> None:
    """Pay once for imports and compilation, with the smallest table."""
    sweep = next(sweep for sweep in SWEEPS if sweep.model == model)
    prepared(model, sweep.at(sweep.values(scale)[0], scale))()


def measure(job, sweep: Sweep) -> list[dict]:
    """A row per size: seconds and bytes of a fit."""
    from threadpoolctl import threadpool_limits

    def one(value):
        with threadpool_limits(1):
            if job.scale != "tiny":
                warm(sweep.model, job.scale)
            fit = prepared(sweep.model, sweep.at(value, job.scale))
            seconds = cpu_seconds(fit, *job.pick((1, 0.0), (3, 0.1), (5, 0.3)))
            peak, model = extra_bytes(fit)
        return {"seconds": seconds, "bytes": peak, "releases": releases(model)}

    rows = []
    for value in sweep.values(job.scale):
        cost = job.cell([sweep.name, value], lambda value=value: one(value))
        per_fit = number(cost["seconds"])
        # The number of releases follows noisy answers: only one of them has a cost by the sizes.
        shared = cost["releases"] if sweep.model == "RobustPCA" else 1
        rows.append({
            "model": sweep.model, "variable": sweep.variable, "value": value,
            "seconds": per_fit, "releases": cost["releases"], "cost": per_fit / shared,
            "extra_bytes": cost["bytes"],
            "fixed": " ".join(f"{k}={v}" for k, v in sweep.fixed(job.scale).items()),
        })  # fmt: skip
    return rows


def exponents(rows: list[dict]) -> tuple[Exponent, Exponent]:
    """Of time and of memory."""
    sizes = [row["value"] for row in rows]
    return tuple(exponent(sizes, [row[key] for row in rows]) for key in ("cost", "extra_bytes"))


def time_claim(sweep: Sweep, found: Exponent) -> Claim:
    law = "at most as" if sweep.at_most else "as"
    text = f"time of {sweep.model} grows {law} {sweep.variable}^{sweep.time:g}: {sweep.why}"
    return Claim(text, words(found), judged(found, sweep.time, at_most=sweep.at_most), "ours")


def memory_claim(sweep: Sweep, found: Exponent, rows: list[dict]) -> Claim:
    """Rows must cost nothing; the other sizes no more than their power in the answer."""
    largest = max(row["extra_bytes"] for row in rows) / MEGABYTE
    if sweep.memory == 0:
        text = f"memory of {sweep.model} beyond the table does not grow with {sweep.variable}"
    else:
        text = (
            f"memory of {sweep.model} beyond the table grows at most as "
            f"{sweep.variable}^{sweep.memory:g}"
        )
    measured = f"{words(found)}; at most {largest:.1f} MB"
    return Claim(text, measured, judged(found, sweep.memory, at_most=True), "ours")


def words(found: Exponent) -> str:
    return f"exponent {found.value:.2f} +- {found.error:.2f}, from {found.first:,.0f} on"


def verdict_of(claims: list[Claim]) -> str:
    """One sentence with the counts and the names of what fails."""
    parts = []
    for what in ("time", "memory"):
        ours = [c for c in claims if c.claim.startswith(what)]
        kept = sum(c.holds is True for c in ours)
        failed = [c.claim.split(":")[0] for c in ours if c.holds is False]
        unknown = sum(c.holds is None for c in ours)
        text = f"{what} follows the model of cost in {kept} of {len(ours)} cases"
        text += f" ({unknown} too uncertain to judge)" if unknown else ""
        parts.append(text + (f"; not: {', '.join(failed)}" if failed else ""))
    return f"Within {TOLERANCE:g} of the exponent, {'. '.join(parts)}."


def run(job) -> dict:
    """All sweeps, two pictures, the verdict."""
    rows, claims, fitted = [], [], []
    # The tracker's loop is compiled first, which takes longer than a tiny run.
    sweeps = [s for s in SWEEPS if job.scale != "tiny" or s.model != "SubspaceTracker"]
    for sweep in job.track(sweeps, "sizes"):
        found = measure(job, sweep)
        time, memory = exponents(found)
        rows += found
        fitted.append((sweep, found, time, memory))
        claims += [time_claim(sweep, time), memory_claim(sweep, memory, found)]
    job.picture(pictures.time_picture(fitted), "time")
    job.picture(pictures.memory_picture(fitted), "memory")
    facts = {
        sweep.name: {"time": vars(time), "memory": vars(memory)}
        for sweep, _, time, memory in fitted
    }
    return job.finish(verdict_of(claims), rows, claims, notes=NOTES, exponents=facts)
