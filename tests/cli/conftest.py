"""Releases that the tests of several commands use."""

import pytest

from cli.commands import run


@pytest.fixture(scope="session")
def releases(tmp_path_factory):
    """A subspace, a classifier and a recommender, each with the table it was learned from."""
    place = tmp_path_factory.mktemp("releases")
    for name in ("haystack", "labels", "ratings"):
        run("datasets", name, "--rows", 300, "--out", place / f"{name}.csv")
    run("fit", "pca", place / "haystack.csv", "--out", place / "pca", "-p", "n_components=2",
        "--key", place / "key")  # fmt: skip
    run("fit", "logistic", place / "labels.csv", "--out", place / "logistic", "--target", "label",
        "-p", "feature_range=-1,1", "-p", "classes=0,1", "-p", "solver=objective")  # fmt: skip
    run("fit", "recommend", place / "ratings.csv", "--out", place / "recommend",
        "-p", "rating_range=1,5", "--items", "observed")  # fmt: skip
    return place
