"""``veilspan datasets``: every table by its name, and what is refused."""

import pytest

from cli.commands import read_csv, refused, run
from veilspan.cli.simulation.generators import GENERATORS


@pytest.mark.parametrize("name", GENERATORS)
def test_datasets(name, tmp_path):
    out = tmp_path / "made.csv"
    columns = 9 if name != "tree" else 3
    words = ("--rows", 40, "--columns", columns, "--out", out, "--json")
    made = run("datasets", name, *words).json
    lines = read_csv(out)
    assert made["rows"] == len(lines) - 1
    assert made["columns"] == len(lines[0])
    before = out.read_bytes()
    assert refused("datasets", name, *words[:-1], "--seed", 1).startswith(f"{out} exists; choose")
    assert out.read_bytes() == before
    run("datasets", name, *words, "--force")
    assert out.read_bytes() == before
    run("datasets", name, *words, "--force", "--seed", 1)
    assert out.read_bytes() != before


def test_datasets_list_and_refusals(tmp_path):
    assert {entry["name"] for entry in run("datasets", "--json").json} == set(GENERATORS)
    assert "veilspan datasets NAME" in run("datasets").out
    assert "unknown dataset 'iris'; known are" in refused("datasets", "iris")
    assert "must be at least 1" in refused("datasets", "haystack", "--rows", 0)
    assert refused("datasets", "haystack", "--seed", -1) == "--seed must not be negative."
    assert "is not a square number" in refused("datasets", "spd", "--columns", 8)
    assert "must end in .csv" in refused("datasets", "haystack", "--out", tmp_path / "x.xls")
    assert list(tmp_path.iterdir()) == []
