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


def test_lists_of_what_people_have(tmp_path):
    """No ratings at all: fit, lists with reasons, and a list for somebody without a history."""
    lines = ["user,item"]
    for user in range(400):
        first = 0 if user % 2 else 5
        lines += [f"{user},{item}" for item in range(first, first + 3 + user % 3)]
    table, items = tmp_path / "loans.csv", tmp_path / "items.txt"
    table.write_text("\n".join(lines))
    items.write_text("\n".join(map(str, range(10))))
    words = ("--items", items, "-p", "task=rank", "--epsilon", 8)
    run("fit", "recommend", table, *words, "--out", tmp_path / "shop")
    (mine,) = run("recommend", tmp_path / "shop", table, "--user", 1, "--why", "--json").json
    assert not {0, 1, 2} & {entry["item"] for entry in mine["items"]}
    assert {own for entry in mine["items"] for own in entry.get("because_of", [])} <= set(range(4))
    assert run("recommend", tmp_path / "shop", "-k", 2).out.startswith("anybody: ")
    run("recommend", tmp_path / "shop", table, "--k", 2, "--out", tmp_path / "r.csv")
    assert read_csv(tmp_path / "r.csv")[0] == ["user", "rank", "item", "score"]
    page = tmp_path / "page.html"
    run("report", tmp_path / "shop", "--out", page)
    assert "Popular items" in page.read_text()
    plan = run("plan", "recommend", "-p", "task=rank", "--rows", 5000, "--columns", 200, "--json",
               "--no-simulate").json["plan"]  # fmt: skip
    assert [event["name"] for event in plan["events"]] == ["popularity", "tastes or popularity"]


def test_refusals_of_lists(releases, tmp_path):
    assert "whose ratings?" in refused("recommend", releases / "recommend")
    words = ("recommend", releases / "recommend", releases / "ratings.csv")
    assert "--why is for lists" in refused(*words, "--why")
    plain = tmp_path / "loans.csv"
    plain.write_text("user,item\n1,2\n2,3\n")
    assert "no column of ratings" in refused("recommend", releases / "recommend", plain)
    fit = ("fit", "recommend", plain, "--items", "observed", "--out", tmp_path / "r")
    assert "task=rank" in refused(*fit)
