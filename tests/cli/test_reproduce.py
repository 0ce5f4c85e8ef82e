"""``veilspan reproduce`` from end to end, on an item that takes a second."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from veilspan.cli.app import app
from veilspan.cli.experiments import experiment

ITEM = "grouse-lemmas"
runner = CliRunner()


def invoke(*arguments):
    result = runner.invoke(app, ["reproduce", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_list_names_every_item_and_its_status(tmp_path):
    result = invoke("--out", str(tmp_path))
    assert result.exit_code == 0
    for item in experiment("registry").ITEMS:
        assert item.name in result.output
    assert result.output.count("not run") == len(experiment("registry").ITEMS)


def test_a_run_writes_everything_and_the_list_knows(tmp_path):
    result = invoke(ITEM, "--tiny", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / f"{ITEM}.json").read_text())
    assert record["name"] == ITEM
    assert record["scale"] == "tiny"
    assert record["claims"]
    assert (tmp_path / f"{ITEM}.csv").exists()
    for stem in record["pictures"]:
        assert (tmp_path / f"{stem}.png").exists()
        assert (tmp_path / f"{stem}.svg").exists()
    rows = json.loads(invoke("--json", "--out", str(tmp_path)).stdout)
    status = next(row["status"] for row in rows if row["name"] == ITEM)
    assert status.startswith("tiny: ")


def test_json_only(tmp_path):
    result = invoke(ITEM, "--tiny", "--json", "--out", str(tmp_path))
    assert [record["name"] for record in json.loads(result.stdout)] == [ITEM]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig99"], "nothing to reproduce is called fig99"),
        ([ITEM, "--data", "."], "--data is for --full"),
        ([ITEM, "--full", "--data", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_wrong_requests_are_told_what_to_do(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        invoke(*arguments, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_one_that_fails_does_not_stop_the_others(tmp_path, monkeypatch):
    def broken(job):
        raise RuntimeError("no luck")

    monkeypatch.setattr(experiment("grouse.fig2"), "run", broken)
    result = invoke("grouse-fig2", ITEM, "--tiny", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "grouse-fig2: no luck" in result.stderr
    assert (tmp_path / f"{ITEM}.json").exists()
    assert not (tmp_path / "grouse-fig2.json").exists()


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    command = [sys.executable, "-m", "veilspan", "reproduce", "grouse-fig2", "--quick"]
    command += ["--out", str(tmp_path)]
    parts = tmp_path / "grouse-fig2.quick.cells.jsonl"
    environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while not parts.exists() or len(parts.read_text().splitlines()) < 3:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert not (tmp_path / "grouse-fig2.json").exists()
    rows = json.loads(invoke("--json", "--out", str(tmp_path)).stdout)
    assert "interrupted: run it again to go on" in [row["status"] for row in rows]
    again = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert "going on after" in again.stderr
    assert not parts.exists()


def test_a_page_from_the_results(tmp_path):
    result = invoke(ITEM, "--tiny", "--out", str(tmp_path), "--page", str(tmp_path / "e.md"))
    assert result.exit_code == 0
    assert "0 results taken over" in result.stderr  # a tiny run shows nothing
    assert (tmp_path / "e.md").read_text().startswith("# Evidence")
