"""diffprivlib's PCA: run inside an environment that holds it, prints JSON.

``python diffprivlib_pca.py pca SETTINGS``; it imports nothing of ours. It is told the exact bounds
of every column and the exact length of the longest row, which no private fit could know.
"""

import json
import resource
import sys
import warnings


def pca(file, epsilon, ranks, seed, limit):
    """Components of one fit for each rank, within a limit of CPU seconds for all of them."""
    import numpy as np
    from diffprivlib.models import PCA

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    with np.load(file) as table:
        rows = table["rows"]
    bounds = rows.min(axis=0), rows.max(axis=0)
    norm = float(np.linalg.norm(rows - rows.mean(axis=0), axis=1).max())
    found = {}
    for rank in ranks:
        model = PCA(rank, epsilon=epsilon, bounds=bounds, data_norm=norm, random_state=seed)
        found[rank] = model.fit(rows.copy()).components_.tolist()
    return found


if __name__ == "__main__":
    print(json.dumps({"pca": pca}[sys.argv[1]](**json.loads(sys.argv[2]))))
