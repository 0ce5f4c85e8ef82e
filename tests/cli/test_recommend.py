"""``veilspan recommend``: items for users by their own ratings."""

from cli.commands import read_csv, refused, run


def test_recommendations(releases, tmp_path):
    words = ("recommend", releases / "recommend", releases / "ratings.csv")
    (mine,) = run(*words, "--k", 3, "--user", 7, "--json").json
    assert mine["user"] == 7
    items = [entry["item"] for entry in mine["items"]]
    rated = {int(line[1]) for line in read_csv(releases / "ratings.csv")[1:] if line[0] == "7"}
    assert len(set(items)) == 3
    assert not rated & set(items)
    shown = run(*words, "-k", 2).out.splitlines()
    assert shown[0].startswith("0: ")
    assert shown[-1].startswith("... and 280 more users")
    run(*words, "--k", 2, "--out", tmp_path / "r.csv")
    lines = read_csv(tmp_path / "r.csv")
    assert lines[0] == ["user", "rank", "item", "predicted"]
    assert len(lines) == 1 + 2 * 300


def test_recommend_refusals(releases):
    words = ("recommend", releases / "recommend", releases / "ratings.csv")
    assert "no ratings of the user 'zoe'" in refused(*words, "--user", "zoe")
    assert "--k must be at least 1" in refused(*words, "--k", 0)
    assert "go to a .csv file" in refused(*words, "--out", "r.npy")
    assert "is not a recommender; it is a PCA" in refused("recommend", releases / "pca", words[2])
