"""The measurement of private streams: it runs, its goals are judged right, its bound is one."""

import json

import numpy as np
import pytest

from experiments.streams import limits, run
from experiments.streams.methods import INDEPENDENT, MATRIX, METHODS, OURS_NAME
from experiments.streams.settings import SETTINGS, Setting, distance


def test_a_tiny_run_writes_its_files(tiny_job):
    job = tiny_job("streams")
    run.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert {cell["method"] for cell in record["facts"]["cells"]} == set(METHODS)
    assert record["facts"]["frontier"]


def test_verdicts():
    cells = {
        (s.name, m, t): (0.1, 0.0) for s in SETTINGS for m in METHODS for t in (1, 4, 16, 64, 128)
    }
    bounds = {"least": 0.96, "ends": 1.02}
    assert all(claim.holds for claim in run.judge(cells, bounds))
    worse = {**cells, (SETTINGS[3].name, OURS_NAME, 16): (0.14, 0.0)}
    failed = [claim.claim for claim in run.judge(worse, bounds) if not claim.holds]
    assert failed == [
        f"after 16 blocks at most 1.3 times {MATRIX}",
        f"after 16 blocks at most 1 times {INDEPENDENT}",
    ]


def test_every_method_finds_a_plain_subspace():
    setting = Setting(6, 2, 2000, 0.05, 5.0, 0.5)
    rng = np.random.default_rng(0)
    truth = setting.truth(rng)
    methods = {name: kind(setting, 0) for name, kind in METHODS.items()}
    for _ in range(6):
        block = setting.block(truth, rng)
        for method in methods.values():
            method.learn(block)
    for name, method in methods.items():
        assert distance(truth, method.basis()) < 0.02, name


@pytest.mark.parametrize("size", [1, 5, 30])
def test_no_mechanism_is_below_its_bound(size):
    """The certificate beside the noise of three real mechanisms, for random wishes."""
    rng = np.random.default_rng(size)
    known = (limits.ours(size), limits.square_root_std(size), limits.independent_std(size))
    for _ in range(4):
        wanted = dict(enumerate(rng.uniform(0.5, 3.0, size), start=1))
        rho, alpha, beta = limits.certificate(wanted, rounds=20)
        assert rho == pytest.approx(limits.check_certificate(wanted, alpha, beta))
        for std in known:
            assert max(std[t - 1] / p for t, p in wanted.items()) >= rho * (1 - 1e-9)


def test_one_block_alone_has_the_bound_of_its_column():
    assert limits.certificate({1: 1.0})[0] == pytest.approx(1.0)
