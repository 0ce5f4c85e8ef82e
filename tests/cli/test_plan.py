"""``veilspan plan``: the plan and the forecast, in words and as JSON."""

import numpy as np
import pytest

from cli.commands import refused, run
from veilspan import PCA, Ledger
from veilspan.ledger.words.sentences import list_what_fits, say_after_charge
from veilspan.planning import UtilityCurve, simulate

SHAPES = {"frechet": 4}


@pytest.fixture
def quick(monkeypatch):
    """Few fits: the curve's own tests look at more."""
    for name, value in (("GRID", 2), ("MOST_REPEATS", 2), ("ROWS_IN_ALL", 0), ("MOST_STEPS", 1)):
        monkeypatch.setattr(simulate, name, value)


@pytest.mark.parametrize(
    "kind", ["pca", "robust-pca", "frechet", "recommend", "logistic", "svc", "ridge", "huber"]
)
def test_plan(kind, quick):
    columns = SHAPES.get(kind, 8)
    found = run("plan", kind, "--rows", 400, "--columns", columns, "--json").json
    assert found["plan"]["n_rows"] == 400
    # A solver that chooses its questions as it goes has a budget to keep to, and a list of those
    # alone that come before.
    events = [event["name"] for event in found["plan"]["events"]]
    before = ["mean direction", "caps"] if kind == "robust-pca" else []
    assert events == before if found["plan"]["adaptive"] else events
    curve = UtilityCurve.from_dict(found["simulated"])
    assert curve.simulated_at == (0.03, 1.0, 10.0)
    assert curve.utility["strong"][0] < curve.utility["strong"][-1] <= 1
    assert found["simulated"]["conclusion"] == curve.conclusion
    assert found["not_simulated"] is None


def test_plan_in_words(quick):
    shown = run("plan", "pca", "--rows", 3_000_000, "--columns", 5, "--epsilon", 2).out
    assert shown.startswith("Plan for PCA: 3,000,000 rows x 5 columns, epsilon = 2")
    assert "With 3,000,000 rows at epsilon 2 noise costs little" in shown
    assert "made-up tables of 80,000 rows" in shown
    assert "Fewer rows than the 3,000,000 asked about, with the noise that those" in shown
    wide = run("plan", "pca", "--rows", 1000, "--columns", 501).out
    assert "Not simulated: more than 500 columns" in wide
    short = run("plan", "pca", "--rows", 1000, "--columns", 5, "--no-simulate").out
    assert "imulated" not in short


def test_a_plan_concludes():
    """Thirty rows at a tenth: nothing; and it says from how many rows on."""
    shown = run("plan", "pca", "--rows", 30, "--columns", 5, "--epsilon", 0.1).out
    assert "With 30 rows nothing can be learned at epsilon 0.1; from about" in shown


def test_plan_refusals():
    shape = ("--rows", 100, "--columns", 5)
    assert "unknown kind 'nope'" in run("plan", "nope", *shape, expect=2).err
    assert "epsilon must be positive" in refused("plan", "pca", *shape, "--epsilon", 0)
    assert "at least 2" in refused("plan", "pca", "--rows", 1, "--columns", 5)
    assert "is not a square number" in refused("plan", "frechet", *shape)
    sphere = ("-p", "manifold=sphere", "-p", "radius=1", "-p", "eigenvalues=1,2")
    assert "one of eigenvalues, norm and radius" in refused("plan", "frechet", *shape, *sphere)
    assert "needs --rows and --columns, or --schema" in refused("plan", "pca", "--columns", 5)


def test_a_plan_foretells_what_the_ledger_will_say(tmp_path):
    """The same words and shares as after the fit, and nothing is charged by asking."""
    place, key = tmp_path / "budget.db", tmp_path / "key"
    account = Ledger(str(place), key=key).dataset("trial", 3.0, 1e-6)
    shape = ("--rows", 1000, "--columns", 4, "--no-simulate", "-p", "n_components=2")
    options = ("--ledger", place, "--dataset", "trial", "--ledger-key", key)
    told = run("plan", "pca", *shape, *options).out
    facts = run("plan", "pca", *shape, *options, "--json").json["account"]
    assert account.spent().charges == 0
    rows = np.random.default_rng(0).uniform(-1, 1, (1000, 4))
    release = PCA(2, ledger=account).fit(rows)
    state = account.spent()
    costs = account.entry(release.privacy_.ledger["entry"]).content["costs"]
    said = say_after_charge(state, costs, release.plan_)
    assert facts["told"] in told
    then = said.replace("release used", "fit would use").replace("is left", "would be left")
    assert facts["told"] == then
    assert facts["would_leave_fraction"] == state.shares.left
    assert facts["would_still_fit"] == list_what_fits(state)


def test_a_plan_that_the_ledger_does_not_cover(tmp_path):
    place, key = tmp_path / "budget.db", tmp_path / "key"
    Ledger(str(place), key=key).dataset("trial", 0.5, 1e-6)
    shape = ("plan", "pca", "--rows", 1000, "--columns", 4, "--no-simulate")
    options = ("--ledger", place, "--dataset", "trial", "--ledger-key", key)
    told = run(*shape, *options, expect=4).out
    assert "NOT COVERED: PCA with epsilon = 1 does not fit" in told
    assert "Still fits: one PCA at epsilon 0.4" in told
    assert not run(*shape, *options, "--json", expect=4).json["account"]["fits"]
    other = run(*shape, *options, "--neighbors", "add-remove", expect=1).err
    assert "is another promise" in other
    assert "go together" in run(*shape, "--ledger", place, expect=1).err
    assert "belong to a --ledger" in run(*shape, "--dataset", "trial", expect=1).err


@pytest.mark.slow
def test_a_plan_on_rows_like_those_of_a_released_profile(tmp_path, monkeypatch, quick):
    """Made, declared, profiled and planned through commands alone; what does not fit is refused."""
    monkeypatch.chdir(tmp_path)
    run("datasets", "ward", "--rows", 800, "--out", "ward.csv")
    run("profile", "ward.csv", "--schema", "ward.toml", "--epsilon", 2, "--out", "known")
    asked = ("plan", "pca", "-p", "n_components=2", "--schema", "ward.toml", "--epsilon", 0.5)
    shown = run(*asked, "--profile", "known").out
    assert "On rows like those of profile ward (released at epsilon 2): with 800 rows at" in shown
    assert "medium: the profile's correlations as released" in shown
    assert "No row was read." in shown
    curve = run(*asked, "--profile", "known", "--json").json["simulated"]
    assert curve["released"]
    assert curve["profile"] == "profile ward (released at epsilon 2)"
    fitted = run("fit", *asked[1:2], "ward.csv", *asked[2:], "--out", "model").out
    assert "smoker, admitted, read by the schema" in fitted  # components predict no target
    assert "model is a release of PCA" in refused(*asked, "--profile", "model")
    assert "no release at nowhere" in refused(*asked, "--profile", "nowhere")
    assert "leave --no-simulate out" in refused(*asked, "--profile", "known", "--no-simulate")
    shape = ("plan", "pca", "--rows", 100, "--columns", 5)
    assert "--profile needs --schema" in refused(*shape, "--profile", "known")
    text = (tmp_path / "ward.toml").read_text()
    (tmp_path / "ward.toml").write_text(text.replace("[0, 110]", "[0, 111]"))
    assert "the profile is of another schema (digest" in refused(*asked, "--profile", "known")


@pytest.mark.slow
def test_a_private_number_of_rows_is_taken_from_the_profile(tmp_path, monkeypatch, quick):
    monkeypatch.chdir(tmp_path)
    run("datasets", "ward", "--rows", 800, "--out", "ward.csv")
    text = (tmp_path / "ward.toml").read_text()
    private = text.replace("count    = 800", 'neighbors = "add-remove"')
    assert private != text
    (tmp_path / "ward.toml").write_text(private)
    run("profile", "ward.csv", "--schema", "ward.toml", "--epsilon", 2, "--out", "known")
    asked = ("plan", "pca", "-p", "n_components=1", "--schema", "ward.toml")
    assert 700 < run(*asked, "--profile", "known", "--json").json["simulated"]["n"] < 900
