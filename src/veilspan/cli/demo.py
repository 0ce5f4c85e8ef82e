"""The demo: the smallest honest release from end to end."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veilspan.cli.files import write_whole
from veilspan.datasets import Haystack, make_haystack
from veilspan.estimators.pca import PCA

N_ROWS, N_FEATURES, N_COMPONENTS = 5_000, 20, 2


@dataclass(frozen=True)
class DemoResult:
    """What the demo learned, and how far it is from the truth."""

    data: Haystack
    private: PCA
    plain: PCA
    seconds: float

    def errors(self) -> dict[str, float]:
        """Distance to the true subspace: 0 is perfect, 1 is orthogonal."""
        return {
            "private": subspace_error(self.data.subspace, self.private.components_),
            "without privacy": subspace_error(self.data.subspace, self.plain.components_),
        }


def subspace_error(truth: np.ndarray, found: np.ndarray) -> float:
    """|P - P'|_F / sqrt(2 r) of two r-dimensional subspaces given by orthonormal rows."""
    overlap = float(np.sum((truth @ found.T) ** 2))
    return float(np.sqrt(max(0.0, 1 - overlap / len(truth))))


def run_demo(out: Path, epsilon: float, delta: float, *, as_json: bool = False) -> None:
    """Generate rows, release two components, write a picture and the record."""
    result = learn(epsilon, delta)
    record = {
        "rows": N_ROWS,
        "columns": N_FEATURES,
        "components": N_COMPONENTS,
        "errors": result.errors(),
        "privacy": result.private.privacy_.to_dict(),
    }
    write_whole(out / "privacy.json", lambda f: f.write(json.dumps(record, indent=2).encode()))
    write_whole(out / "components.npy", lambda f: np.save(f, result.private.components_))
    figure = draw(result)
    write_whole(out / "picture.png", lambda f: figure.savefig(f, format="png", dpi=150))
    if as_json:
        print(json.dumps(record, indent=2))
    else:
        show(result, out)


def learn(epsilon: float, delta: float) -> DemoResult:
    """Fit with and without privacy."""
    data = make_haystack(N_ROWS, N_FEATURES, N_COMPONENTS, noise=0.1, random_state=7)
    start = time.perf_counter()
    private = PCA(N_COMPONENTS, epsilon=epsilon, delta=delta).fit(data.rows)
    seconds = time.perf_counter() - start
    return DemoResult(data, private, PCA(N_COMPONENTS, epsilon=np.inf).fit(data.rows), seconds)


def show(result: DemoResult, out: Path) -> None:
    """Print what happened."""
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table

    table = Table(title=f"{N_ROWS:,} rows x {N_FEATURES} columns, half of them outliers")
    table.add_column("principal subspace")
    table.add_column("distance to the truth", justify="right")
    for name, error in result.errors().items():
        table.add_row(name, f"{error:.3f}")
    console = Console()
    console.print(table)
    console.print(Panel(repr(result.private.privacy_), title="privacy_", expand=False))
    check = result.private.privacy_.verify()
    verdict = "agrees" if check else "DISAGREES"
    console.print(f"Re-accounted from the record: epsilon = {check.recomputed:.6g} ({verdict}).")
    console.print(
        f"Fitted in {result.seconds:.2f} s. Look at {out / 'picture.png'}", highlight=False
    )


def draw(result: DemoResult) -> Any:
    """Rows in the true, the private and the plain coordinates, side by side."""
    from matplotlib.figure import Figure

    privacy = result.private.privacy_
    views = {
        "true subspace": result.data.subspace,
        f"private (ε = {privacy.epsilon:g}, δ = {privacy.delta:g})": result.private.components_,
        "without privacy": result.plain.components_,
    }
    figure = Figure(figsize=(10.5, 3.8), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    for axis, (title, basis) in zip(axes, views.items()):
        points = result.data.rows @ (aligned(basis, result.data.subspace)).T
        for inlier, color, label in ((False, "#c9c9c9", "outlier"), (True, "#0072b2", "inlier")):
            chosen = points[result.data.is_inlier == inlier]
            axis.scatter(*chosen.T, s=4, c=color, label=label, linewidths=0, alpha=0.7)
        axis.set(title=title, aspect="equal", xticks=[], yticks=[])
        axis.spines[:].set_color("#dddddd")
    axes[0].legend(loc="upper left", markerscale=3, frameon=False, fontsize=8)
    return figure


def aligned(basis: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The same subspace in the basis nearest to the reference, so that pictures compare."""
    left, _, right = np.linalg.svd(reference @ basis.T)
    return np.asarray(left @ right @ basis)
