"""Two tables of MovieLens 1M: one rating a row, and one viewer a row.

Read from ``movielens-1m/`` below the folder of ``--data``: ``ml1m.npz`` (user, item, rating,
timestamp), ``movies.dat`` and ``users.dat``. A row of the first is a rating, not a person: it is a
test of accuracy on another kind of table, and no example of what to protect.
"""

from functools import cache

import numpy as np

GENRES = (
    "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama",
    "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War",
    "Western",
)  # fmt: skip
RATING_RANGES = {"year": (1919, 2000), "month": (0, 36), "hour": (0, 24)}
VIEWER_RANGES = {"films": (20, 3_706), "mean": (1, 5), **dict.fromkeys(GENRES, (0, 1))}
#: The first rating of the set, in seconds since 1970; months are counted from there.
FIRST, MONTH, HOUR = 956_703_932, 30.44 * 86_400, 3_600


@cache
def read_films(folder):
    """Year and genres of each film by its number, and sex, age and occupation of each viewer."""
    home = folder / "movielens-1m"
    lines = (home / "movies.dat").read_text(encoding="latin-1").splitlines()
    years, genres = np.zeros(4_000), np.zeros((4_000, len(GENRES)), dtype=bool)
    for line in lines:
        number, title, kinds = line.split("::")
        years[int(number)] = float(title.rstrip()[-5:-1])
        genres[int(number), [GENRES.index(kind) for kind in kinds.split("|")]] = True
    people = np.empty((6_041, 3), dtype="U2")
    for line in (home / "users.dat").read_text(encoding="latin-1").splitlines():
        number, *said, _ = line.split("::")
        people[int(number)] = said
    with np.load(home / "ml1m.npz") as found:
        ratings = {name: found[name] for name in found.files}
    return years, genres, people, ratings


def said_of(people, users):
    return {name: people[users, j] for j, name in enumerate(("sex", "age", "occupation"))}


@cache
def read_ratings(folder):
    """A row a rating: who rated what kind of film, when, and whether it got 4 or 5."""
    years, genres, people, ratings = read_films(folder)
    users, items = ratings["user"], ratings["item"]
    seconds = ratings["timestamp"] - FIRST
    flags = np.where(genres[items], "yes", "no")
    return {
        **said_of(people, users),
        "year": years[items],
        "month": seconds / MONTH,
        "hour": seconds % (24 * HOUR) / HOUR,
        **{name: flags[:, j] for j, name in enumerate(GENRES)},
        "liked": np.where(ratings["rating"] >= 4, "yes", "no"),
    }


@cache
def read_viewers(folder):
    """A row a viewer: age, occupation, how many films, mean rating, share of each genre."""
    _, genres, people, ratings = read_films(folder)
    users = ratings["user"]
    count = np.bincount(users, minlength=len(people))
    present = np.flatnonzero(count)
    count = count[present].astype(float)

    def mean(values):
        return np.bincount(users, values, minlength=len(people))[present] / count

    return {
        **said_of(people, present),
        "films": count,
        "mean": mean(ratings["rating"].astype(float)),
        **{name: mean(genres[ratings["item"], j].astype(float)) for j, name in enumerate(GENRES)},
    }
