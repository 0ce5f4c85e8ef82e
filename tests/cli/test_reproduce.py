"""``veilspan reproduce`` from end to end, on an item that takes a second."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import veilspan
from experiments.grouse import fig2
from experiments.registry import ITEMS
from veilspan.cli import experiments as finder
from veilspan.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
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
    for item in ITEMS:
        assert item.name in result.output
    assert result.output.count("not run") == len(ITEMS)


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

    monkeypatch.setattr(fig2, "run", broken)
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


# ---------------------------------------------------------------- where the experiments are


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A copy of the package alone, as a wheel installs it: a function runs its ``reproduce``."""
    site = tmp_path_factory.mktemp("site")
    source = Path(veilspan.__file__).parent
    shutil.copytree(source, site / "veilspan", ignore=shutil.ignore_patterns("__pycache__"))

    def reproduce(*arguments, cwd):
        return subprocess.run(
            [sys.executable, "-m", "veilspan", "reproduce", *arguments],
            env={**os.environ, "PYTHONPATH": str(site)},
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return reproduce


def test_a_checkout_is_found_where_the_command_runs(installed, tmp_path):
    result = installed("--json", "--out", str(tmp_path), cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert {row["name"] for row in json.loads(result.stdout)} == {item.name for item in ITEMS}


def test_without_a_checkout_one_sentence_says_how_to_get_one(installed, tmp_path):
    (tmp_path / "experiments").mkdir()  # somebody else's folder of that name is not run
    (tmp_path / "experiments" / "registry.py").write_text("raise SystemExit('never run')")
    result = installed(cwd=tmp_path)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        "veilspan: the experiments are in veilspan's repository, not in the installed package: "
        "clone the repository and run `veilspan reproduce` in its folder.\n"
    )


def test_the_checkout_of_an_editable_install_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert finder.find_checkout() == ROOT
    assert Path(finder.import_experiments("registry").__file__).is_relative_to(ROOT)


def test_only_words_of_the_experiments_are_repeated(tmp_path, monkeypatch):
    """What compiled code says of a file is not: it could quote a cell."""
    from veilspan._errors import raised_by_us

    def run(code):
        def broken(job):
            exec(code, {"__name__": "experiments.grouse.fig2"})

        monkeypatch.setattr(fig2, "run", broken)
        with pytest.raises(ValueError) as caught:
            invoke("grouse-fig2", "--tiny", "--out", str(tmp_path))
        return raised_by_us(caught.value)

    assert run("raise ValueError('the file has no header')")
    assert not run("float('a cell')")


def test_an_experiment_without_matplotlib_says_how_to_get_it(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None;"
        "from veilspan.cli import main;"
        "sys.argv = ['veilspan', 'reproduce', 'robust-pca-fig1', '--tiny', '--out', 'here']; main()"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        'veilspan: the experiments draw with matplotlib: pip install "veilspan[plots]" brings it.'
    )
    assert not (tmp_path / "here").exists()
