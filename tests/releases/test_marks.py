"""The file beside a release that protects little or nobody: there before it, gone after it."""

import warnings

import numpy as np
import pytest

from veilspan import PCA
from veilspan.releases import files, load, save

ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 3))


def fit(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PCA(1, **options).fit(ROWS)


def marks(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".txt")


def test_a_mark_follows_the_release(tmp_path):
    place = tmp_path / "r"
    for options, expected in (
        ({"epsilon": 20.0}, ["WEAK.txt"]),
        ({"random_state": 1}, ["NOT_PRIVATE.txt"]),
        ({}, []),
        ({"epsilon": np.inf}, ["NOT_PRIVATE.txt"]),
        ({"delta": 0.5, "allow_weak": True}, ["WEAK.txt"]),
    ):
        save(fit(**options), place, overwrite=True)
        assert marks(place) == expected
        assert load(place).privacy_.private == ("NOT_PRIVATE.txt" not in expected)
    assert "publishing a random row" in (place / "WEAK.txt").read_text()


def test_files_of_somebody_else_stay(tmp_path):
    (tmp_path / "WEAK.txt").write_text("my notes")
    save(fit(), tmp_path)
    assert (tmp_path / "WEAK.txt").read_text() == "my notes"


def test_a_release_that_could_not_be_written_leaves_no_mark(tmp_path, monkeypatch):
    place = tmp_path / "r"
    save(fit(), place)

    def full(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr(files, "_switch", full)
    with pytest.raises(OSError, match="No space"):
        save(fit(epsilon=20.0), place, overwrite=True)
    assert marks(place) == []
    assert load(place).privacy_.strength.grade == "strong"


def test_the_mark_is_there_when_the_release_comes(tmp_path, monkeypatch):
    """Whoever is killed on the way leaves a mark too many, never a weak release without one."""
    seen = []
    switch = files._switch

    def look(folder, *given, **named):
        seen.append(marks(folder))
        switch(folder, *given, **named)

    monkeypatch.setattr(files, "_switch", look)
    save(fit(epsilon=20.0), tmp_path / "r")
    save(fit(), tmp_path / "r", overwrite=True)
    assert seen == [["WEAK.txt"], ["WEAK.txt"]]
