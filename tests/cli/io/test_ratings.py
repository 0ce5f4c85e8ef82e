"""Ratings in files: ids keep their kind, and errors quote nobody."""

import pytest

from veilspan.cli.io.ratings import read_ids, read_ids_like, read_items, read_ratings

SECRET = "Karoline"


def test_ids():
    assert read_ids(["1", "20"]) == [1, 20]
    assert read_ids(["01", "20"]) == ["01", "20"]
    assert read_ids(["a", "1"]) == ["a", "1"]
    assert read_ids_like([1, 2], ["2", "x"]) == [2, "x"]
    assert read_ids_like(["1", "a"], ["1"]) == ["1"]


def test_ratings(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("who,what,stars\nann,7,5\nbob,9,1\n")
    users, items, ratings = read_ratings(str(path), None, "who,what,stars")
    assert (users, items, ratings.tolist()) == (["ann", "bob"], [7, 9], [5.0, 1.0])
    assert read_ratings(str(path), ["7", "9"], "who,what,stars")[1] == ["7", "9"]
    with pytest.raises(ValueError, match="must have the columns user, item, rating"):
        read_ratings(str(path), None)
    assert read_ratings(str(path), None, "who,what")[2] is None  # what people have
    with pytest.raises(ValueError, match="names three columns"):
        read_ratings(str(path), None, "who")
    path.write_text(f"user,item,rating\n{SECRET},7,\n")
    with pytest.raises(ValueError, match="empty or say NA in rating"):
        read_ratings(str(path), None)
    (tmp_path / "items.txt").write_text("7\n\n9\n")
    assert read_items(str(tmp_path / "items.txt")) == [7, 9]
    assert read_items("observed") is None
    (tmp_path / "none.txt").write_text("\n")
    with pytest.raises(ValueError, match=r"none\.txt lists no item"):
        read_items(str(tmp_path / "none.txt"))
    with pytest.raises(FileNotFoundError, match="--items names one, or says observed"):
        read_items(str(tmp_path / "nothing"))
