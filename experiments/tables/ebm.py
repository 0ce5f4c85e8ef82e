"""DP-EBM (interpret-core) on the same tables, in an environment of its own.

Run by its own Python: ``python ebm.py fit '{"file": ..., ...}'`` prints a score for each epsilon.
It is given the true bounds of the columns and, for numbers, of the targets; its own relation is
add-remove of a row (its accounting), half of the noise of replace-one.
"""

import json
import sys


def fit(settings):
    import numpy as np
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    with np.load(settings["file"], allow_pickle=False) as found:
        columns = {name: found[name] for name in found.files}
    names, target = settings["columns"], settings["target"]
    parts = {
        part: (
            np.array([columns[f"{part}:{name}"].astype(object) for name in names], object).T,
            columns[f"{part}:{target}"],
        )
        for part in ("train", "test")
    }
    kinds = ["continuous" if name in settings["ranges"] else "nominal" for name in names]
    bounds = {
        i: tuple(settings["ranges"][name])
        for i, name in enumerate(names)
        if name in settings["ranges"]
    }
    scores = []
    for epsilon in settings["epsilons"]:
        said = {
            "epsilon": epsilon, "delta": settings["delta"], "feature_types": kinds, "n_jobs": 1,
            "random_state": settings["seed"], "privacy_bounds": bounds,
        }  # fmt: skip
        kind = DPExplainableBoostingClassifier
        if not settings["classes"]:
            kind = DPExplainableBoostingRegressor
            low, high = settings["ranges"][target]
            said |= {"privacy_target_min": low, "privacy_target_max": high}
        model = kind(**said).fit(*parts["train"])
        scores.append(float(model.score(*parts["test"])))
    return scores


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    print(json.dumps({"fit": fit}[sys.argv[1]](json.loads(sys.argv[2]))))
