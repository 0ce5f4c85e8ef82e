"""A ledger that an earlier version wrote stays readable, and can still be charged."""

import json
import pickle
import shutil
from pathlib import Path

import pytest

from ledger.requests import request
from veilspan import (
    PCA,
    RGD,
    Ball,
    FrechetMean,
    LogisticRegression,
    MatrixCompletion,
    RobustPCA,
    catalogue,
)
from veilspan.estimators.charging import asked_parameters
from veilspan.geometry import SPD
from veilspan.ledger import Ledger
from veilspan.ledger.releases import question_of, unpack
from veilspan.losses.penalties import L2Ball
from veilspan.solvers.manifold.base import ManifoldResult

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("version", sorted(path.name for path in SAMPLES.iterdir()))
# Moved to another place, it has no anchor there, which a charge says once.
@pytest.mark.filterwarnings("ignore::veilspan.ledger.errors.LedgerWarning")
def test_an_earlier_ledger_says_what_it_said_and_goes_on(version, tmp_path):
    for name in ("budget.db", "ledger.key"):
        shutil.copy(SAMPLES / version / name, tmp_path)
    (tmp_path / "ledger.key").chmod(0o600)  # git keeps no such modes
    expected = json.loads((SAMPLES / version / "expected.json").read_text())
    ledger = Ledger(tmp_path / "budget.db", key=tmp_path / "ledger.key")
    assert ledger.verify()
    trial = ledger.dataset("trial-42")
    assert trial.spent().charges == expected["charges"]
    assert trial.left() == pytest.approx(expected["trial-42"], rel=1e-6)
    trial.charge(request())
    assert trial.spent().charges == expected["charges"] + 1
    assert trial.left() < expected["trial-42"]
    assert ledger.verify()


BALL = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
#: Digests of class and parameters as 0.1.0.dev0 wrote them, when modules lay elsewhere.
REQUESTS = [
    # What was its default then: rows cut to length 1 about the origin.
    (
        PCA(2, row_norm=1.0, center=None),
        "0e1da6d3f7d2cc44c032860579e6ef86ac82fb9fb92e4a43b88fa3c2e14b2958",
    ),
    # None was the default before there was "auto".
    (RobustPCA(2, center=None), "93ae7be3b82070a0423d59a63131db09eedd5b67599d6f69f5481123993085af"),
    (
        FrechetMean(BALL.manifold, ball=BALL, solver=RGD(steps=4)),
        "4b393c2b14a801598e943651040cc4e24a90bae8f5c947c90872b5d44fdd2822",
    ),
    (
        LogisticRegression(penalty=L2Ball(2.0), row_norm=1.0),
        "73ad5c424b1be1fec9b4fb82c55864d2d167d2c7faf38eef45eb60fb35a325f4",
    ),
    (
        MatrixCompletion(rating_range=(1, 5)),
        "1eae4a2240119a4f64ef1e91227d87e5595f53523abc9d445d6f295beafafb1a",
    ),
]


@pytest.mark.parametrize(("model", "digest"), REQUESTS, ids=lambda x: type(x).__name__)
def test_a_request_is_known_again_though_modules_moved(model, digest):
    assert question_of(type(model), asked_parameters(model)) == digest


def test_a_stored_result_is_found_where_it_lies_now():
    named = pickle.dumps({"result_": ManifoldResult}, protocol=0)
    before = named.replace(b"veilspan.solvers.manifold.base", b"veilspan.solvers.manifold")
    assert before != named
    assert unpack(before)["result_"] is ManifoldResult


def test_a_fit_by_a_schema_asks_what_it_asked_before_there_was_auto():
    """Its centre was private, and is."""
    table = catalogue.ESTIMATORS["Profile"].small_settings()["schema"]
    auto, before = (RobustPCA(2, schema=table, center=center) for center in ("auto", None))
    assert asked_parameters(auto) == asked_parameters(before)
    assert auto.plan(100).to_dict() == before.plan(100).to_dict()
    assert asked_parameters(RobustPCA(2, schema=table, center="origin"))["center"] == "origin"
