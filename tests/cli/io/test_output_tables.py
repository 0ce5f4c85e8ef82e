"""Tables that commands write: read again as they were, and never over an input."""

import numpy as np
import pytest

from cli.commands import refused, run, write_csv
from veilspan.cli.io.output_tables import write_table
from veilspan.cli.io.tables import read_table

ROWS = np.random.default_rng(0).standard_normal((20, 3))


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_written_tables_are_read_again(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    write_table(tmp_path / f"a{suffix}", ["p", "q", "r"], list(ROWS.T))
    np.testing.assert_array_equal(read_table(str(tmp_path / f"a{suffix}")).rows, ROWS)
    assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]


def test_outputs_do_not_destroy_inputs(tmp_path):
    data = write_csv(tmp_path / "rows.csv", ROWS, "abc")
    run("fit", "pca", data, "--out", tmp_path / "r")
    before = data.read_bytes()
    (tmp_path / "same.csv").hardlink_to(data)
    for out in (data, tmp_path / "r" / ".." / "rows.csv", tmp_path / "same.csv"):
        assert "is the file that is read" in refused(
            "transform", tmp_path / "r", data, "--out", out
        )
        assert "is the file that is read" in refused(
            "recommend", tmp_path / "r", data, "--out", out
        )
    said = refused("report", tmp_path / "r", "--out", data)
    assert said == "--out must end in .html or .htm; got 'rows.csv'."
    assert "--force to replace it" in refused("datasets", "haystack", "--out", data)
    assert data.read_bytes() == before
    run("report", tmp_path / "r", "--out", tmp_path / "page.HTM")
