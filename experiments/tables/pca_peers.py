"""PCA of other libraries on the same tables, each in an environment of its own."""

import tempfile
from pathlib import Path

import numpy as np

from ..environments import PeerUnavailable, ask
from .pca_tables import find_table

DIFFPRIVLIB, OPENDP = "diffprivlib, exact bounds", "OpenDP, exact bounds"
LIMIT = 30  # CPU seconds of a library's fits to one table
#: Columns of a table that they are asked to fit: their samplers take minutes, or no end.
MOST_COLUMNS = 50
#: Environment, packages and script of each.
PEERS = {
    DIFFPRIVLIB: ("diffprivlib", ["diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy<2.4"],
                  Path(__file__).with_name("diffprivlib_pca.py")),
    OPENDP: ("opendp", ["opendp[scikit-learn]==0.16.0"],
             Path(__file__).with_name("opendp_pca.py")),
}  # fmt: skip


def captured(moment, components):
    """Variance that orthonormal components hold."""
    return float(np.sum((components @ moment) * components))


def ask_peer(peer, name, folder, epsilons, ranks, seeds):
    """(epsilon, rank, seed, ratio) of each fit; nothing where it does not end in time."""
    rows = find_table(name, folder)
    if rows.shape[1] > MOST_COLUMNS:
        return []
    moment = np.cov(rows.T, bias=True)
    values, found = np.linalg.eigvalsh(moment)[::-1], []
    environment, packages, script = PEERS[peer]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "rows.npz"
        np.savez(file, rows=rows)
        for epsilon in epsilons:
            for seed in seeds:
                settings = {"file": str(file), "epsilon": epsilon, "ranks": list(ranks),
                            "seed": seed, "limit": LIMIT}  # fmt: skip
                try:
                    told = ask(environment, packages, script, "pca", settings)
                except PeerUnavailable:
                    break  # as the other seeds would
                for rank, components in told.items():
                    basis = np.linalg.qr(np.array(components).T)[0].T
                    ratio = captured(moment, basis) / float(values[: int(rank)].sum())
                    found.append((epsilon, int(rank), seed, ratio))
    return found
