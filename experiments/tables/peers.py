"""Asks DP-EBM, and fits gradient boosting without privacy as the ceiling."""

import tempfile
from pathlib import Path

import numpy as np

from veilspan.tables.columns import NumberColumn

from ..environments import ask
from . import sets

NAME = "interpret"
PACKAGES = ["interpret-core==0.7.4", "scikit-learn==1.7.2", "numpy<2.4", "pandas<3"]
SCRIPT = Path(__file__).with_name("ebm.py")


def ask_ebm(folder, case, epsilons, delta):
    """Scores of DP-EBM for a case (task, draw, rows, seed), at each epsilon."""
    name, draw, rows, seed = case
    return dp_ebm(sets.make_task(name, folder, draw, seed, rows), epsilons, delta, seed)


def ask_boosting(folder, case):
    """Score of gradient boosting for a case."""
    name, draw, rows, seed = case
    return boosted(sets.make_task(name, folder, draw, seed, rows))


def dp_ebm(task, epsilons, delta, seed):
    """Scores of DP-EBM at each epsilon; raises ``PeerUnavailable`` where it cannot run."""
    ranges = {c.name: c.range for c in task.schema.columns if isinstance(c, NumberColumn)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        arrays = {
            f"{part}:{name}": values if name in ranges else values.astype(str)
            for part, columns in (("train", task.train), ("test", task.test))
            for name, values in columns.items()
        }
        np.savez(file, **arrays)
        settings = {
            "file": str(file), "columns": [c.name for c in task.schema.features],
            "target": task.target, "ranges": ranges, "classes": task.is_classes,
            "epsilons": list(epsilons), "delta": delta, "seed": seed,
        }  # fmt: skip
        return ask(NAME, PACKAGES, SCRIPT, "fit", settings)


def boosted(task):
    """Gradient boosting of scikit-learn, not private: what the rows hold."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if task.is_classes else HistGradientBoostingRegressor
    train, test = (task.schema.encode(part) for part in (task.train, task.test))
    return float(kind(random_state=0).fit(train.x, train.y).score(test.x, test.y))
