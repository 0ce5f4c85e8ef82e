"""Ways of scikit-surprise and implicit; each runs in the environment of its library."""

import numpy as np

Table = dict[str, np.ndarray]


def surprise_svd(table: Table, seed: int, factors: int, penalty: float, epochs: int) -> Table:
    """Its SVD; all predictions at once from its factors, as its ``predict`` would give them."""
    import surprise

    low, high = table["rating_range"].tolist()

    class Triples(surprise.Dataset):
        def __init__(self) -> None:
            super().__init__(surprise.Reader(rating_scale=(low, high)))

    users = np.repeat(np.arange(table["shape"][0]), np.diff(table["indptr"]))
    triples = zip(users.tolist(), table["indices"].tolist(), table["data"].tolist())
    trainset = Triples().construct_trainset([(str(u), str(i), r, None) for u, i, r in triples])
    model = surprise.SVD(n_factors=factors, reg_all=penalty, n_epochs=epochs, random_state=seed)
    model.fit(trainset)
    n_users, n_items = table["shape"].tolist()
    # Users and items without a rating keep zeros: the global mean, as in the library.
    left, right = np.zeros((n_users, factors)), np.zeros((n_items, factors))
    user_bias, item_bias = np.zeros(n_users), np.zeros(n_items)
    u = [int(trainset.to_raw_uid(k)) for k in range(trainset.n_users)]
    i = [int(trainset.to_raw_iid(k)) for k in range(trainset.n_items)]
    left[u], user_bias[u] = model.pu, model.bu
    right[i], item_bias[i] = model.qi, model.bi
    predicted = trainset.global_mean + user_bias[:, None] + item_bias + left @ right.T
    return {"ratings": np.clip(predicted, low, high).astype(np.float32)}


def implicit_als(
    table: Table, seed: int, factors: int, penalty: float, alpha: float, liked: float
) -> Table:
    """Ranked by its scores for "liked"; ratings by a least-squares line through those it was given.

    It learns what was liked, not ratings: the line, in the scores, the user's and the item's mean,
    is ours, so that it has an RMSE at all.
    """
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy import sparse

    rated = sparse.csr_array(
        (table["data"], table["indices"], table["indptr"]), shape=tuple(table["shape"])
    )
    likes = sparse.csr_matrix(rated, copy=True)  # zeros are taken out in place
    likes.data = (likes.data >= liked).astype(np.float32)
    likes.eliminate_zeros()
    model = AlternatingLeastSquares(
        factors=factors, regularization=penalty, alpha=alpha, iterations=15, num_threads=1,
        random_state=seed,
    )  # fmt: skip
    model.fit(likes, show_progress=False)
    scores = model.user_factors @ model.item_factors.T
    users = np.repeat(np.arange(rated.shape[0]), np.diff(rated.indptr))
    middle = rated.data.mean()
    user_mean = _means(users, rated.data, rated.shape[0], middle)
    item_mean = _means(rated.indices, rated.data, rated.shape[1], middle)
    columns = [scores[users, rated.indices], user_mean[users], item_mean[rated.indices]]
    line = np.stack([*columns, np.ones(len(users))], axis=1)
    a, b, c, d = np.linalg.lstsq(line, rated.data, rcond=None)[0]
    predicted = a * scores + b * user_mean[:, None] + c * item_mean + d
    return {"ratings": predicted.astype(np.float32), "scores": scores.astype(np.float32)}


def _means(index: np.ndarray, values: np.ndarray, size: int, middle: float) -> np.ndarray:
    """Mean of each group, drawn to the middle by five ratings."""
    counts = np.bincount(index, minlength=size)
    return (np.bincount(index, values, size) + 5 * middle) / (counts + 5)
