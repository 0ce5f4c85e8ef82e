"""``veilspan plan``: the plan and the forecast, in words and as JSON."""

import pytest

from cli.commands import refused, run
from veilspan.cli.simulation import forecast

SHAPES = {"frechet": 4}


@pytest.mark.parametrize(
    "kind", ["pca", "robust-pca", "frechet", "recommend", "logistic", "svc", "ridge", "huber"]
)
def test_plan(kind, monkeypatch):
    monkeypatch.setattr(forecast, "SEEDS", 1)
    monkeypatch.setattr(forecast, "EPSILONS", (0.1, 10.0))
    columns = SHAPES.get(kind, 8)
    found = run("plan", kind, "--rows", 400, "--columns", columns, "--json").json
    assert found["plan"]["n_rows"] == 400
    # A solver that chooses its questions as it goes has a budget to keep to, and a list of those
    # alone that come before.
    events = [event["name"] for event in found["plan"]["events"]]
    before = ["mean direction", "caps"] if kind == "robust-pca" else []
    assert events == before if found["plan"]["adaptive"] else events
    errors = found["simulated"]["errors"]
    assert list(errors) == ["0.1", "1", "10", "inf"]
    assert errors["0.1"] > errors["inf"]


def test_plan_in_words(monkeypatch):
    monkeypatch.setattr(forecast, "SEEDS", 1)
    monkeypatch.setattr(forecast, "EPSILONS", (3.0,))
    shown = run("plan", "pca", "--rows", 3_000_000, "--columns", 5, "--epsilon", 2).out
    assert shown.startswith("Plan for PCA: 3,000,000 rows x 5 columns, epsilon = 2")
    assert "2  " in shown.split("<- asked for")[0].splitlines()[-1]
    assert "no privacy" in shown
    assert "made-up tables of 400,000 rows" in shown
    assert "Fewer rows than the 3,000,000 asked about" in shown
    wide = run("plan", "pca", "--rows", 1000, "--columns", 501).out
    assert "Not simulated: more than 500 columns" in wide
    short = run("plan", "pca", "--rows", 1000, "--columns", 5, "--no-simulate").out
    assert "Simulated" not in short


def test_plan_refusals():
    shape = ("--rows", 100, "--columns", 5)
    assert "unknown kind 'nope'" in run("plan", "nope", *shape, expect=2).err
    assert "epsilon must be positive" in refused("plan", "pca", *shape, "--epsilon", 0)
    assert "at least 2" in refused("plan", "pca", "--rows", 1, "--columns", 5)
    assert "is not a square number" in refused("plan", "frechet", *shape)
    sphere = ("-p", "manifold=sphere", "-p", "radius=1", "-p", "eigenvalues=1,2")
    assert "one of eigenvalues, norm and radius" in refused("plan", "frechet", *shape, *sphere)
    assert "needs --rows and --columns, or --schema" in refused("plan", "pca", "--columns", 5)
