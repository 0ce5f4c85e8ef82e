import json
import os
import subprocess
import sys

import numpy as np
import pytest

from veilspan import PrivacyStatement, __version__


def run(*arguments, cwd, expect=0):
    result = subprocess.run(
        [sys.executable, "-c", "from veilspan.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
    )
    assert result.returncode == expect, result.stderr
    return result


def test_demo_writes_a_picture_and_a_record_that_verifies(tmp_path):
    shown = run("demo", cwd=tmp_path).stdout
    assert "epsilon" in shown
    folder = tmp_path / "veilspan-demo"
    assert sorted(path.name for path in folder.iterdir()) == [
        "components.npy",
        "picture.png",
        "privacy.json",
    ]
    record = json.loads((folder / "privacy.json").read_text())
    assert PrivacyStatement.from_dict(record["privacy"]).verify()
    components = np.load(folder / "components.npy")
    np.testing.assert_allclose(components @ components.T, np.eye(2), atol=1e-12)
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_json(tmp_path):
    record = json.loads(run("demo", "--json", "--epsilon", "3", cwd=tmp_path).stdout)
    assert record["privacy"]["epsilon"] == pytest.approx(3)


def test_errors_are_one_sentence_without_a_traceback(tmp_path):
    result = run("demo", "--epsilon", "-1", cwd=tmp_path, expect=1)
    assert result.stderr.startswith("veilspan: epsilon must be positive")
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("--debug", "demo", "--epsilon", "-1", cwd=tmp_path, expect=1).stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_said_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("demo", "--out", "file/inside", cwd=tmp_path, expect=1)
    assert "Traceback" not in result.stderr


def test_version_and_help(tmp_path):
    assert __version__ in run("--version", cwd=tmp_path).stdout
    assert "demo" in run("--help", cwd=tmp_path).stdout
