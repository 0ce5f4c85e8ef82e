"""Our ways to a model of a table, scored on new rows: curves, straight lines, bins."""

import warnings
from dataclasses import replace

from veilspan import LinearRegression, LogisticRegression

from . import sets

AUTO, LINEAR, BINS = "auto (ours)", "linear", "bins"
FEATURES = {AUTO: "auto", LINEAR: "linear", BINS: "bins"}


def score(task, method, epsilon, delta, seed, relation):
    """Accuracy or R^2 of one of our ways on the test rows."""
    kind = LogisticRegression if task.is_classes else LinearRegression
    said = {"epsilon": epsilon, "delta": delta, "random_state": seed, "neighbors": relation}
    if relation == "add-remove":  # a guess that anybody could make
        said["expected_rows"] = max(100, round(task.rows, -3))
    unit = replace(task.schema.unit, neighbors=relation)
    schema = replace(task.schema, unit=unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds make simulations; loud noise is the point
        model = kind(schema=schema, features=FEATURES[method], **said).fit(task.train)
        return float(model.score(task.test))


def ask_ours(folder, case, relation, epsilons, delta):
    """Scores by method at each epsilon, of a case (task, draw, rows, seed)."""
    name, draw, rows, seed = case
    task = sets.make_task(name, folder, draw, seed, rows)
    return [
        {method: score(task, method, epsilon, delta, seed, relation) for method in FEATURES}
        for epsilon in epsilons
    ]
