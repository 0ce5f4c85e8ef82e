"""OpenDP's PCA: run inside an environment that holds it, prints JSON.

``python opendp_pca.py pca SETTINGS``; it imports nothing of ours. Rows are centred at their exact
mean and it is told the exact length of the longest of them, which no private fit could know: with a
known origin all of epsilon goes to the components. Its promise is pure epsilon-DP for one replaced
row (``map(2)``). It has no seed.
"""

import json
import resource
import sys


def pca(file, epsilon, ranks, seed, limit):
    """Components of one fit for each rank, within a limit of CPU seconds for all of them."""
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    with np.load(file) as table:
        rows = table["rows"]
    rows = rows - rows.mean(axis=0)
    rows = rows / np.linalg.norm(rows, axis=1).max()
    size, width = rows.shape
    domain = dp.numpy.array2_domain(
        norm=1.0 + 1e-9, p=2, origin=np.zeros(width), size=size, num_columns=width, T=float
    )
    make = dp.sklearn.decomposition.make_private_pca
    found = {}
    for rank in ranks:
        measurement = make(
            domain, dp.symmetric_distance(), epsilon, norm=1.0 + 1e-9, num_components=rank
        )
        if measurement.map(2) > epsilon * (1 + 1e-9):
            raise ValueError("the measurement spends more than epsilon.")
        found[rank] = np.asarray(measurement(rows).Vt)[:rank].tolist()
    return found


if __name__ == "__main__":
    print(json.dumps({"pca": pca}[sys.argv[1]](**json.loads(sys.argv[2]))))
