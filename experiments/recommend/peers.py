"""Methods without privacy that others would use, on the same split."""

import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from ..environments import ask
from .data import pairs

PACKAGES = ["scikit-surprise==1.1.5", "numpy"]
NAMES = {"surprise SVD": "SVD", "surprise baseline": "BaselineOnly"}


def surprise(data, name):
    """Held-out RMSE of an algorithm of scikit-surprise with its own defaults.

    It runs in an environment of its own (``surprise_inside.py``); raises ``PeerUnavailable``.
    """
    script = Path(__file__).with_name("surprise_inside.py")
    user, item = pairs(data.train)
    held_user, held_item = pairs(data.test)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ratings.npz"
        np.savez(
            file, user=user, item=item, rating=data.train.data, held_user=held_user,
            held_item=held_item, rating_range=data.rating_range,
        )  # fmt: skip
        found = ask("surprise", PACKAGES, script, NAMES[name], {"file": str(file)})
    return data.rmse(np.array(found))


def plain_als(data, rank=8, penalty=8.0, rounds=8):
    """Held-out RMSE of alternating ridge regressions on ratings less user mean and item bias.

    Both sides in dense blocks: for up to a few thousand items and some ten thousand users.
    """
    user, item = pairs(data.train)
    n_users, n_items = data.shape
    middle = float(np.mean(data.rating_range))
    counts = np.bincount(user, minlength=n_users)
    means = np.bincount(user, data.train.data, n_users) / np.maximum(counts, 1)
    means[counts == 0] = middle
    centred = data.train.data - means[user]
    item_counts = np.bincount(item, minlength=n_items)
    bias = np.bincount(item, centred, n_items) / (item_counts + 10.0)
    rest = sparse.csr_array((centred - bias[item], item, data.train.indptr), data.shape)
    seen = sparse.csr_array((np.ones(len(item)), item, data.train.indptr), data.shape)
    right = 0.1 * np.random.default_rng(0).standard_normal((n_items, rank))
    turned, seen_turned = rest.T.tocsr(), seen.T.tocsr()
    for _ in range(rounds):
        left = ridge(rest, seen, right, penalty)
        right = ridge(turned, seen_turned, left, penalty)
    left = ridge(rest, seen, right, penalty)
    u, j = pairs(data.test)
    return data.rmse(means[u] + bias[j] + np.einsum("ij,ij->i", left[u], right[j]))


def ridge(values, seen, factors, penalty):
    """Rows u_i = (sum_j v_j v_j^T + penalty I)^-1 sum_j y_ij v_j over what row i holds."""
    rank = factors.shape[1]
    outer = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), -1)
    gram = (seen @ outer).reshape(-1, rank, rank) + penalty * np.eye(rank)
    return np.linalg.solve(gram, (values @ factors)[..., None])[..., 0]
