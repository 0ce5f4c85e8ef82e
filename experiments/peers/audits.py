"""Lower bounds on epsilon, for the claims of other libraries and for ours.

Other libraries play games: many runs on two tables that differ in one row, and an event fixed
before any run; Clopper-Pearson bounds on its two rates give a lower bound on epsilon that holds
with confidence 1 - ALPHA whatever the mechanism (``veilspan.audit.bounds``). The games against
diffprivlib are those of ``benchmarks/audit_peers.py``; ours are audited by ``veilspan.audit``,
which reads transcripts and so sees more than outputs.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..environments import PeerUnavailable, ask
from .measure import ENVIRONMENTS, OURS, Metric, Table, Task, Way, Workers, run_way

#: Probability that a game's bound is too high. Small, since there are a dozen games and a bound
#: above the promise accuses somebody.
ALPHA = 1e-6
WIDTH = 5
# Thresholds of the scores, from the densities that the samplers draw from, before any run.
SQUARE, NEAR_ZERO, HALF = 0.9, -2.0, 0.5
DEVIATION = 4.5
#: by how much fewer runs slow fits get
SLOW = {"FrechetMean": 20, "RobustPCA": 4, "LogisticRegression": 2, "LinearRegression": 2}
SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "_audit_peers.py"


@dataclass(frozen=True)
class Verdict:
    """What was claimed and found of one mechanism; ``bound`` is ``None`` where nothing ran."""

    library: str
    what: str
    claimed: float
    bound: float | None
    runs: int
    delta: float = 0.0
    note: str = ""
    violated: bool = False  # by a check that gives no bound, such as a leak past the answers

    @property
    def refuted(self) -> bool:
        return self.violated or (self.bound is not None and self.bound > self.claimed)

    def text(self) -> str:
        """One phrase for the table."""
        if self.bound is None:
            return f"{self.what}: not audited ({self.note})"
        verdict = "REFUTED" if self.refuted else "no violation found"
        more = f"; {self.note}" if self.note else ""
        return (f"{self.what}: epsilon >= {self.bound:.3g}, claimed {self.claimed:.3g}: {verdict}"
                f" ({self.runs:,} runs{more})")  # fmt: skip

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "refuted": self.refuted}


def bound_of(first: Any, second: Any, threshold: float, delta: float = 0.0) -> float:
    """Lower bound on epsilon from the event "score > threshold"."""
    from veilspan.audit.bounds import error_rates

    return error_rates(np.asarray(first), np.asarray(second), threshold, ALPHA).epsilon(delta)


# ---------------------------------------------------------------- diffprivlib


def diffprivlib(question: str, what: str, epsilon: float, threshold: float, runs: int,
                **more: Any) -> Verdict:  # fmt: skip
    """Play one game of ``benchmarks/_audit_peers.py`` against diffprivlib and judge its claim."""
    settings = {"runs": runs, "epsilon": epsilon, **more}
    told = ask("diffprivlib", ENVIRONMENTS["diffprivlib"], SCRIPT, question, settings)
    bound = bound_of(told["first"], told["second"], threshold)
    return Verdict("diffprivlib", what, epsilon, bound, 2 * runs)


# ---------------------------------------------------------------- OpenDP


def opendp_pca(workers: Workers, runs: int) -> Verdict:
    """The game of diffprivlib's eigenvector step: the same algorithm, the same tables."""
    counts = ((63, 65), (64, 64))
    first, second = (np.repeat(np.eye(WIDTH)[:2], each, axis=0) for each in counts)
    what = "make_private_pca, nearly all on the eigenvector, d = 5"
    tables = {"first": first, "second": second}
    return opendp(workers, "opendp_pca_game", what, tables, {"runs": runs},
                  lambda sides: bound_of(*sides, SQUARE))  # fmt: skip


def opendp_noise(workers: Workers, runs: int) -> Verdict:
    """A Gaussian claims more than one point of its curve: the bound is on mu, told as epsilon."""
    from veilspan.audit.bounds import error_rates
    from veilspan.audit.verdict import Claim

    def bound(sides: tuple[Any, Any]) -> float:
        return Claim.of_mu(1 / DEVIATION).lower_bound(error_rates(*sides, HALF, ALPHA))

    table = {"first": np.array(0.0), "second": np.array(1.0)}
    options = {"runs": runs, "deviation": DEVIATION}
    return opendp(workers, "opendp_noise_game", "make_gaussian", table, options, bound, delta=1e-6)


def opendp(
    workers: Workers,
    question: str,
    what: str,
    tables: dict[str, np.ndarray],
    options: dict[str, Any],
    bound: Callable[[tuple[Any, Any]], float],
    delta: float = 0.0,
) -> Verdict:
    """Play in OpenDP's environment; its own map says what it claims."""
    seen: list[dict[str, np.ndarray]] = []

    def score(answer: dict[str, np.ndarray], table: Table) -> tuple[float]:
        seen.append(answer)
        return (0.0,)

    table, runs = Table(tables, None), options["runs"]
    way = Way("opendp", what, f"ways_private.{question}", (options,))
    game = Task(what, (Metric("none"),), lambda: [table], lambda: table, (way,), score)
    found = run_way(game, way, workers, warm={**options, "runs": 2})
    if not seen:
        raise PeerUnavailable(found.failure)
    claimed = float(seen[0]["epsilon"])
    value = bound((seen[0]["first"], seen[0]["second"]))
    return Verdict("opendp", what, claimed, value, 2 * runs, delta)


# ---------------------------------------------------------------- ours


def our_models() -> dict[str, Any]:
    """Every private estimator of the table, small; their audits search for the worst rows."""
    import veilspan as v
    from veilspan.geometry import SPD

    ball = v.Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
    return {
        "PCA": v.PCA(1),
        "RobustPCA": v.RobustPCA(1),
        "SubspaceTracker": v.SubspaceTracker(1, epsilon=1.0, block_size=5),
        "LogisticRegression": v.LogisticRegression(row_norm=1.0, classes=(0, 1)),
        "LinearRegression": v.LinearRegression(feature_range=(-1, 1), target_range=(-1, 1)),
        "FrechetMean": v.FrechetMean(SPD(2), ball=ball),
        "MatrixCompletion": v.MatrixCompletion(rating_range=(1, 5)),
    }


def own_rows(name: str) -> np.ndarray | None:
    """Rows to audit on; by default (``None``) few extreme ones, where one row matters most."""
    if name != "RobustPCA":
        return None
    from veilspan.datasets import make_haystack

    # With few rows its budget goes to the start; here the refinement runs as well.
    return make_haystack(2000, 4, 1, noise=0.05, random_state=1).rows


def ours(name: str, runs: int) -> Verdict:
    """Replay on extreme rows, then a game by transcripts."""
    from veilspan.audit import audit

    report = audit(our_models()[name], own_rows(name), runs=runs, alpha=ALPHA, sizes=(5,))
    replay, game = report.lines
    # The replay's worst rows have exactly the loss that was paid for: rounding is no violation.
    note = f"replay of extreme rows: {replay.lower_bound or 0:.3g}"
    bound = (game.lower_bound or 0.0) if game.ok else report.lower_bound
    return Verdict(OURS, name, 1.0, bound, 2 * runs, report.delta, note, not report.ok)


def all_audits(job: Any, workers: Workers, others: bool) -> dict[str, list[Verdict]]:
    """Verdicts by the keys that ways name; kept as they are finished."""
    runs = job.pick(4, 20, 1000)
    found: dict[str, Callable[[], Verdict]] = {}
    names = job.pick(["PCA"], ["PCA", "RobustPCA", "MatrixCompletion"], [*our_models()])
    for name in names:
        share = SLOW.get(name, 1)
        found[f"ours {name}"] = lambda name=name, share=share: ours(name, max(2, runs // share))
    if others:
        found |= {
            "diffprivlib PCA": lambda: diffprivlib(
                "eigenvector", "its eigenvector step, d = 5", 1.0, SQUARE, 8000, width=WIDTH),
            "diffprivlib PCA, whole": lambda: diffprivlib(
                "pca", "the whole, d = 5", 2.0, SQUARE, 2000, width=WIDTH),
            "diffprivlib LogisticRegression": lambda: diffprivlib(
                "logistic", "with data_norm = 30", 1.0, NEAR_ZERO, 4000),
            "opendp PCA": lambda: opendp_pca(workers, 6000),
            "opendp Gaussian": lambda: opendp_noise(workers, 20_000),
        }  # fmt: skip
    verdicts: dict[str, list[Verdict]] = {}
    for key in job.track(found, "audits"):
        verdicts.setdefault(key.split(",")[0], []).append(kept(job, key, found[key]))
    return verdicts


def kept(job: Any, key: str, audit: Callable[[], Verdict]) -> Verdict:
    """A verdict, kept once it is found; a library that cannot be run is asked again next time."""
    try:
        record = job.cell(["audit", key], lambda: asdict(audit()))
    except PeerUnavailable as error:
        library, what = key.split(" ", 1)
        return Verdict(library, what, float("nan"), None, 0, note=str(error))
    return Verdict(**{**record, "claimed": float(record["claimed"])})
