"""Run by ``peers.py`` in the environment of scikit-surprise, which holds none of our packages.

``python surprise_inside.py NAME '{"file": FILE}'`` fits on the triples in FILE and prints the
predictions for its held-out pairs.
"""

import json
import sys

import numpy as np
import surprise as library


def main(name, settings):
    """Fit scikit-surprise's algorithm ``name`` and print its predictions as JSON."""
    with np.load(json.loads(settings)["file"]) as ratings:
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
    main(*sys.argv[1:])
