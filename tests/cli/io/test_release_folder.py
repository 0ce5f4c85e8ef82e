"""The folder that ``fit --out`` names: what is refused, what is followed, what is left."""

import os

import numpy as np
import pytest

from cli.commands import refused, run, write_csv
from veilspan import PCA, Ledger
from veilspan.cli.io import release_folder
from veilspan.releases import load, save

ROWS = np.random.default_rng(0).standard_normal((50, 3))


@pytest.fixture
def charged(tmp_path):
    """Options that charge a ledger, and the account."""
    key = tmp_path / "key"
    account = Ledger(tmp_path / "l.db", key=key).dataset("trial", 3.0, 1e-5)
    return ("--ledger", tmp_path / "l.db", "--dataset", "trial", "--key", key), account


def rows_file(tmp_path):
    return write_csv(tmp_path / "rows.csv", ROWS, "abc")


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_places_that_cannot_be_replaced_are_found_before_the_charge(charged, tmp_path, monkeypatch):
    options, account = charged
    words = ("fit", "pca", rows_file(tmp_path), *options, "--out")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert "is a link that leads nowhere" in refused(*words, tmp_path / "dangling")
    inside = tmp_path / "work" / "inside"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    (tmp_path / "home").symlink_to(inside)
    for out in (".", "..", inside, tmp_path / "home", "/"):
        assert "is a folder that is in use" in refused(*words, out)
        assert "is a folder that is in use" in refused(*words, out, "--force")
    assert account.spent().charges == 0


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_links_to_folders_are_followed(charged, tmp_path):
    options, account = charged
    words = ("fit", "pca", rows_file(tmp_path), *options, "--out", tmp_path / "link")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    result = run(*words, "--json").json
    assert result["release"] == str(tmp_path / "link")
    held = {path.name.partition("-")[0] for path in (tmp_path / "real").iterdir()}
    assert held == {"release.json", "arrays", "report.html"}
    first = load(tmp_path / "link").privacy_.release_id
    assert "holds a release already" in refused(*words)
    run(*words, "--force")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real").privacy_.release_id != first
    assert account.spent().charges == 2


def test_a_place_that_is_taken_meanwhile_is_left_alone(tmp_path):
    out = tmp_path / "r"

    def fit_slowly():
        with release_folder.open_folder(out, force=False) as folder:
            (folder / "release.json").write_text("mine")
            out.mkdir()
            (out / "release.json").write_text("theirs")

    with pytest.raises(FileExistsError, match="was taken by somebody else meanwhile"):
        fit_slowly()
    assert (out / "release.json").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_what_a_killed_fit_left_is_no_release(tmp_path):
    """Arrays that nothing names do not stand in the way of the next try."""
    out = tmp_path / "r"
    out.mkdir()
    (out / f"arrays-{'a' * 32}.npz").write_bytes(b"left")
    (out / ".release.json.0123abcd").write_bytes(b"left")
    run("fit", "pca", rows_file(tmp_path), "--out", out)
    assert len(list(out.iterdir())) == 3


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644)])
def test_the_users_umask_holds_for_all_that_is_written(tmp_path, mask, mode):
    rows = write_csv(tmp_path / "rows.csv", ROWS, "abc")
    out = tmp_path / "out"
    before = os.umask(mask)
    try:
        out.mkdir()
        run("fit", "pca", rows, "--out", out / "r", "--key", out / "key")
        run("transform", out / "r", rows, "--out", out / "z.csv")
        run("report", out / "r", "--out", out / "page.html")
        run("datasets", "spd", "--rows", 5, "--out", out / "spd.npy")
    finally:
        os.umask(before)
    files = {path.name: path.stat().st_mode & 0o777 for path in out.rglob("*") if path.is_file()}
    assert files.pop("key") == 0o600
    assert len(files) == 6
    assert set(files.values()) == {mode}
    assert (out / "r").stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_release_is_not_taken_for_one_that_it_replaces(tmp_path):
    from veilspan.cli.io.release_folder import read_replaced_id

    assert read_replaced_id(tmp_path / "nothing") == ""
    model = PCA(1).fit(ROWS)
    assert read_replaced_id(save(model, tmp_path / "r")) == model.privacy_.release_id
    (tmp_path / "r" / "release.json").write_text("{}")
    assert read_replaced_id(tmp_path / "r") == ""
