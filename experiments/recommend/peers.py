"""Methods without privacy that others would use, on the same split.

scikit-surprise runs in an environment of its own under ``.venvs/peers`` (made on first use; where
it cannot be made the reason is printed and the rows are left out). Inside it this file is called as

    python peers.py FILE NAME

where FILE holds the training triples and the held-out pairs.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PACKAGES = ["scikit-surprise==1.1.5", "numpy"]
NAMES = {"surprise SVD": "SVD", "surprise baseline": "BaselineOnly"}


def surprise(data, name):
    """Held-out RMSE of an algorithm of scikit-surprise with its own defaults, or ``None``."""
    sys.path.insert(0, str(BENCHMARKS))
    from data import pairs

    from _peers import PeerUnavailable, peer_environ, peer_python

    try:
        python = peer_python("surprise", PACKAGES)
    except PeerUnavailable as error:
        print(f"  {name} left out: {error}", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ratings.npz"
        user, item = pairs(data.train)
        held_user, held_item = pairs(data.test)
        np.savez(
            file, user=user, item=item, rating=data.train.data, held_user=held_user,
            held_item=held_item, rating_range=data.rating_range,
        )  # fmt: skip
        command = [str(python), __file__, str(file), NAMES[name]]
        done = subprocess.run(command, env=peer_environ(), capture_output=True, text=True)
    if done.returncode:
        print(f"  {name} failed: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return data.rmse(np.array(json.loads(done.stdout)))


def plain_als(data, rank=8, penalty=8.0, rounds=8):
    """Held-out RMSE of alternating ridge regressions on ratings less user mean and item bias.

    Both sides in dense blocks: for up to a few thousand items and some ten thousand users.
    """
    from data import pairs
    from scipy import sparse

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


def inside(file, name):
    """Run in the environment of scikit-surprise, which holds neither pandas nor this package."""
    import surprise as library

    with np.load(file) as ratings:
        train = list(zip(*(ratings[k].tolist() for k in ("user", "item", "rating"))))
        held = list(zip(*(ratings[k].tolist() for k in ("held_user", "held_item"))))
        scale = tuple(ratings["rating_range"].tolist())

    class Triples(library.Dataset):
        def __init__(self):
            super().__init__(library.Reader(rating_scale=scale))

    rows = [(str(u), str(i), r, None) for u, i, r in train]
    trainset = Triples().construct_trainset(rows)
    options = {"random_state": 0} if name == "SVD" else {"verbose": False}
    model = getattr(library, name)(**options).fit(trainset)
    print(json.dumps([model.predict(str(u), str(i)).est for u, i in held]))


if __name__ == "__main__":
    inside(*sys.argv[1:])
