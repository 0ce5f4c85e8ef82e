"""The table "peers": accuracy, time, memory and audits of other libraries beside ours.

Every way of every library runs in a process that does nothing else, with one thread; a small table
first, so that imports and compilers are not measured. "At its best": where a library has options
that matter, several are tried and the one is shown that comes out best by the test rows or the
truth, which is a gift (column ``granted``); ours run with their defaults, and where two of our
estimators do a task, accuracy is judged by the better one, the same gift.
"""

from typing import Any

from ..environments import PeerUnavailable
from . import tasks_linear, tasks_other, tasks_subspace
from .audits import ALPHA, Verdict, all_audits
from .measure import HERE, OURS, Task, Way, Workers, not_run, rows_of, run_way
from .picture import pictures
from .verdicts import claims, costs

NOTES = (
    "diffprivlib and OpenDP promise pure epsilon-DP for PCA, logistic and linear regression, ours "
    "(epsilon, delta)-DP with delta = 1e-6, a weaker promise that needs less noise.",
    "Ours use seeds here (a simulation of the noise, on public rows) so that a run can be "
    "repeated; the row on noise measures the secure source.",
    "Memory is the largest resident size during a fit beyond what the process held before it, "
    "after imports and with the rows loaded; less than the allocator had to spare shows as 0.",
    "Quality is the median over tables; CPU seconds are the median over tables of the least of a "
    "few fits, one thread.",
    "Two of ours do private PCA; accuracy is judged by the better of them, by the truth, as the "
    "options of other libraries are chosen.",
    "Times are compared with every way of every library whose accuracy one of ours reaches, up to "
    "10 % of an error or 0.01 of a score, by the fastest of ours that does; what none of ours "
    "reaches is left out and named. A library is judged by the way of it that is worst for us.",
    "So the time of scikit-learn's PCA is held against our PCA without privacy, not against "
    "RobustPCA, which takes several times as long (its rows show it) for a smaller error.",
    f"A game's lower bound on epsilon is too high with probability at most {ALPHA:g}, so that a "
    "dozen of them accuse nobody by chance; bounds this sure are low, and 0 after few runs.",
    "An audit can refute a promise, never prove it. Games against diffprivlib's logistic "
    "regression use data_norm = 30, where its bound on the Hessian fails; the rows of this table "
    "use data_norm = 1, where no violation is known.",
    "Audits of ours use five extreme rows, where one row matters most, and 2,000 rows for "
    "RobustPCA, so that its refinement runs; the automatic solver of a linear model can be another "
    "one there than in the rows of this table.",
    "Rows of private PCA have inliers with residuals of 5 %; without any, RobustPCA refines until "
    "rounding and would look better still.",
    "implicit learns what was liked, not ratings: recall is its measure, and a line fitted to its "
    "scores gives it an RMSE.",
    "geomstats stops by its own tolerance; it was given 1e-14 and 200 steps.",
)  # fmt: skip


def run(job: Any) -> dict[str, Any]:
    """Measure everything, audit what promises something, judge, draw."""
    others = job.full and job.peers
    tasks = all_tasks(job)[:: job.pick(5, 1, 1)]
    pairs = [(task, way) for task in tasks for way in task.ways
             if others or way.library in HERE]  # fmt: skip
    found = []
    with Workers() as workers:
        for task, way in job.track(pairs, "fits"):
            found += measured(job, workers, task, way)
        verdicts = all_audits(job, workers, others)
    rows = [finished(row, verdicts) for row in found]
    add_ratios(rows)
    pictures(job, rows)
    judged = claims(rows, verdicts)
    return job.finish(
        sentence(rows, verdicts),
        rows,
        judged,
        costs=costs(verdicts),
        source=source(job),
        notes=NOTES if others else (*NOTES, "Other libraries run in a full run only."),
        audits=[v.record() for group in verdicts.values() for v in group],
        shown=[shown(row) for row in rows],
    )


def shown(row: dict[str, Any]) -> dict[str, str]:
    """A row as people read it."""
    answer = row["failure"] or f"{row['metric']} {row['quality']:.4g}"
    return {
        "task": row["task"], "library": f"{row['library']} {row['version']}", "way": row["what"],
        "quality": answer, "CPU s": _short(row["cpu_seconds"]),
        "over ours": _short(row["time_ratio"]), "MB": _short(row["memory_mb"]),
        "promise": row["guarantee"], "audit": row["audit"], "granted": row["granted"],
    }  # fmt: skip


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def all_tasks(job: Any) -> list[Task]:
    """Everything that is compared, at the job's scale."""
    return [*tasks_subspace.tasks(job), *tasks_linear.tasks(job), *tasks_other.tasks(job)]


def measured(job: Any, workers: Workers, task: Task, way: Way) -> list[dict[str, Any]]:
    """Rows of one way, kept once computed; one that cannot be run is tried again next time."""

    def compute() -> list[dict[str, Any]]:
        return rows_of(task, way, run_way(task, way, None if job.scale == "tiny" else workers))

    try:
        return job.cell([task.name, way.library, way.what], compute)
    except PeerUnavailable as error:
        return not_run(task, way, str(error))


def finished(row: dict[str, Any], verdicts: dict[str, list[Verdict]]) -> dict[str, Any]:
    """The row with the words of its audits in the place of their key."""
    found = verdicts.get(row["audit"], [])
    words = "; ".join(verdict.text() for verdict in found)
    if not words:
        words = "nothing is promised" if row["guarantee"] == "none" else "not audited"
    return {**row, "audit": words}


def add_ratios(rows: list[dict[str, Any]]) -> None:
    """CPU time over that of the first way of ours in the same task."""
    base: dict[str, float] = {}
    for row in rows:
        if row["library"] == OURS and row["cpu_seconds"]:
            base.setdefault(row["task"], row["cpu_seconds"])
    for row in rows:
        own, spent = base.get(row["task"]), row["cpu_seconds"]
        row["time_ratio"] = None if own is None or spent is None else float(f"{spent / own:.3g}")


def sentence(rows: list[dict[str, Any]], verdicts: dict[str, list[Verdict]]) -> str:
    """Say whom we stand beside, who gave no answer, and whose promises an audit refutes."""
    libraries = sorted({row["library"] for row in rows} - {OURS})
    silent = sorted({row["library"] for row in rows if row["failure"]})
    refuted = sorted({v.library for group in verdicts.values() for v in group if v.refuted})
    text = f"{len({row['task'] for row in rows})} tasks beside {', '.join(libraries)}"
    text += f"; without an answer somewhere: {', '.join(silent)}" if silent else ""
    return text + (f"; audits refute promises of {', '.join(refuted)}" if refuted else "") + "."


def source(job: Any) -> str:
    """Name the sets that were used: those of --data only where their files are there."""
    found = "generated rows; breast cancer and digits of scikit-learn"
    folders = {"a9a": "a9a/a9a.gz", "MovieLens-1M": "movielens-1m/ml1m.npz"}
    real = [n for n, f in folders.items() if job.data is not None and (job.data / f).is_file()]
    return "; ".join([found, *real])
