"""An estimator from its words, and an estimator that only the catalogue knows."""

import json
import subprocess
import sys

import numpy as np

from cli.commands import refused, run, write_csv

ROWS = np.random.default_rng(0).standard_normal((50, 3))


def test_values_that_python_cannot_read(tmp_path):
    rows = write_csv(tmp_path / "rows.csv", ROWS, "abc")
    words = ("fit", "pca", rows, "--out", tmp_path / "r", "-p")
    said = refused(*words, "n_components={[]:1}")
    assert said == "--param cannot read '{[]:1}' as a value."


def test_kinds_and_parameters_that_are_nearly_right(tmp_path):
    rows = write_csv(tmp_path / "rows.csv", ROWS, "abc")
    words = (rows, "--out", tmp_path / "r")
    for typed, meant in (
        ("logistik", "logistic"),
        ("RobustPCA", "robust-pca"),
        ("elasticnet", "elastic-net"),
        ("log", "logistic"),
    ):
        assert f"Did you mean {meant}?" in run("fit", typed, *words, expect=2).err
    assert "Did you mean" not in run("fit", "qqqq", *words, expect=2).err
    said = refused("fit", "pca", *words, "-p", "n_component=2")
    assert said.endswith('Did you mean "n_components"?')
    assert "schema" not in said


def test_a_column_that_is_nearly_right(tmp_path):
    rows = write_csv(tmp_path / "rows.csv", ROWS, ["length", "width", "height"])
    words = ("fit", "pca", rows, "--out", tmp_path / "r", "--columns")
    said = refused(*words, "length,widht")
    assert said.endswith(
        "has no column 'widht'; it has length, width, height. Did you mean \"width\"?"
    )
    said = refused(*words, "widht")  # the first line may be a row: nothing of it is told
    assert "length" not in said
    assert "its first line has 3 names, and --header allows to list them." in said
    assert "it has length, width, height" in refused(*words, "widht", "--header")


#: A line of the catalogue and its class, added before the command line is imported.
ADDED = """
import json, sys, types
from veilspan import catalogue
from veilspan.estimators.subspace.pca import PCA

class Twin(PCA):
    '''PCA again.'''

home = types.ModuleType("veilspan.estimators.subspace.twin")
home.Twin, Twin.__module__ = Twin, home.__name__
sys.modules[home.__name__] = home
kind = catalogue.Kind("Twin", "estimators.subspace.twin", "twin", "rows", {"n_components": 1})
catalogue.ESTIMATORS["Twin"] = catalogue.COMMANDS["twin"] = kind

from veilspan.cli import main

for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        print(f"exit code {end.code}")
"""


def test_a_line_in_the_catalogue_is_all_that_the_commands_need(tmp_path):
    write_csv(tmp_path / "rows.csv", ROWS, "abc")
    commands = [
        ["fit", "--help"],
        ["audit", "--help"],
        ["datasets"],
        ["plan", "twin", "--rows", "60", "--columns", "3"],
        ["fit", "twin", "rows.csv", "--out", "release", "-p", "n_components=1"],
        ["transform", "release", "rows.csv", "--out", "z.npy"],
        ["report", "release"],
        ["audit", "twin", "--runs", "0"],
    ]
    result = subprocess.run(
        [sys.executable, "-c", ADDED, json.dumps(commands)],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert result.stdout.count("exit code 0") == len(commands), result.stdout + result.stderr
    for shown in (
        "elastic-net, huber, profile, twin.",  # the help of fit and of audit
        "fit: pca, robust-pca, twin (-p n_components=2)",
        "Plan for Twin: 60 rows x 3 columns",
        "the variance of fresh rows along the components",
        "Twin: epsilon = 1",
        "50 rows x 1 columns written to z.npy",
        "Audit of Twin",
    ):
        assert shown in result.stdout
    assert np.load(tmp_path / "z.npy").shape == (50,)
