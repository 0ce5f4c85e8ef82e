"""Figure 1 and Table 2 of the manifold experiments: what is drawn, what times say."""

import json

import numpy as np
import pytest

from experiments.riemannian import fig1, metropolis, printed_noise, table2, timing


def made_rows(basis, ours=1.0, last=None):
    """All methods at all sizes, or baselines only at the first sizes, up to place ``last``."""
    rows = []
    for case, r in fig1.PANELS.values():
        sizes = fig1.paper_sizes(case)
        for method in ("veilspan", *fig1.METHODS[case]):
            cost = {"veilspan": ours, "transport": 2.0}.get(method, basis)
            run = sizes[:last] if method in fig1.BASELINES else sizes
            rows += [{"manifold": case, "m": m, "r": r or "", "method": method,
                      "microseconds": cost * m} for m in run]  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("basis", "ours", "expected"),
    [
        (4e4, 1.0, [True, True, True, True]),
        (40.0, 1.0, [False, True, False, True]),
        (1.0, 3.0, [False, False, False, False]),
    ],
)
def test_verdicts_of_samplers_can_go_either_way(basis, ours, expected):
    claims = fig1.claims(fig1.summary(made_rows(basis, ours)))
    assert [claim.holds for claim in claims] == expected


@pytest.mark.parametrize("basis", [40.0, 4e4])
def test_baselines_at_smaller_sizes_than_the_papers_are_unknown(basis):
    claims = fig1.claims(fig1.summary(made_rows(basis, last=2)))
    assert [claims[k].holds for k in (0, 2)] == [None, None]
    assert "0 of 10 baselines" in claims[2].measured
    assert "unknown: explicit up to spd-affine(10)" in claims[2].measured


def test_a_baseline_of_full_size_refutes_what_others_leave_unknown():
    rows = made_rows(4e4, last=2)
    full = {"manifold": "sphere", "m": 2000, "r": "", "method": "explicit"}
    for microseconds, holds in ((40.0 * 2000, False), (4e4 * 2000, None)):
        found = fig1.summary([*rows, {**full, "microseconds": microseconds}])
        assert fig1.orders(found)[1] is holds


def test_a_baseline_that_never_ran_is_unknown():
    rows = [row for row in made_rows(4e4) if row["method"] != "gram-schmidt"]
    words, holds = fig1.orders(fig1.summary(rows))
    assert holds is None
    assert "gram-schmidt on spd-affine not at all" in words
    assert fig1.orders(fig1.summary(rows), ("explicit",))[1]


def test_printed_samplers_draw_other_noise_than_they_say():
    found = printed_noise.noise_facts()
    facts = {fact["algorithm"][:11]: fact for fact in found}
    assert printed_noise.exact(facts["Algorithm 3"])
    assert facts["Algorithm 5"]["noise_energy"] == pytest.approx(np.exp(-2))
    assert facts["Algorithm 6"]["noise_energy"] == pytest.approx(0.25)
    # (4 / 2)^2 times the smallest eigenvalue: the kernel lacks its root, the scale is doubled.
    assert facts["Algorithm 4"]["weakest_variance"] == pytest.approx(4 * 0.02)
    assert not facts["Algorithm 7"]["tangent"]
    assert not facts["Algorithm 8"]["tangent"]
    best, *costs = printed_noise.noise_costs(found)
    assert "kernel of Sec. 4.1" in best.method
    assert best.true == pytest.approx(0.475, abs=0.001)  # four times the variance
    assert [cost.method[:11] for cost in costs] == ["Algorithm 4", "Algorithm 5", "Algorithm 6"]
    assert all(cost.true > 2 * cost.claimed for cost in costs)


def test_exact_samplers_would_be_called_exact():
    fact = {"algorithm": "A", "point": "w", "tangent": True, "weakest_variance": 1.0,
            "noise_energy": 1.0, "strongest_variance": 1.0}  # fmt: skip
    assert printed_noise.noise_claim([fact]).holds
    assert not printed_noise.noise_claim([{**fact, "weakest_variance": 0.5}]).holds
    assert printed_noise.noise_costs([fact]) == []


@pytest.mark.long
def test_small_runs_of_times_write_their_claims(tiny_job):
    # Not judged: gains at sizes that are not the paper's, and a chain that did not run.
    for module, name, unknown in (
        (fig1, "riemannian-fig1", {0, 2}),
        (table2, "riemannian-table2", {1}),
    ):
        job = tiny_job(name)
        module.run(job)
        record = json.loads(job.file("json").read_text())
        holds = [claim["holds"] for claim in record["claims"]]
        assert len(holds) == 5
        assert {k for k, value in enumerate(holds) if value is None} == unknown
        assert job.file("png").stat().st_size > 20_000


def made_seconds(noise, han):
    parts = {"step": 100.0, "clip": 1.0, "veilspan": noise, "secure": noise, "transport": noise,
             "explicit": han}  # fmt: skip
    return {"SPD(11)": {**parts, "metropolis": han}, "Sphere(784)": parts}


@pytest.mark.parametrize(
    ("noise", "han", "plain", "expected"),
    [
        (10.0, 2000.0, 1e9, [True, None, True, True, True]),
        (90.0, 500.0, 2e3, [False, None, False, False, False]),
    ],
)
def test_verdicts_of_overheads_can_go_either_way(noise, han, plain, expected):
    chain = {"best": 1e3, "plain": plain, "condition": 10.0}
    claims = table2.claims(table2.summary(made_seconds(noise, han), chain))
    assert [claim.holds for claim in claims] == expected
    # A chain that was computed judges nothing; what the timed one gives is said.
    assert f"gives {han / noise:.0f};" in claims[1].measured


def test_the_walk_draws_the_tangent_gaussian():
    """Mean energy of 300 draws of d = 3 dimensions: 12 standard errors wide, P(fail) < 1e-6."""
    rng = np.random.default_rng(0)
    w = np.diag([0.5, 2.0])
    inverse = np.linalg.inv(w)
    draws = [metropolis.walk(w, rng, 60) for _ in range(300)]
    energies = [np.trace(inverse @ v @ inverse @ v) for v in draws]
    assert np.mean(energies) == pytest.approx(3, abs=12 * np.sqrt(6 / 300))
    assert all(np.allclose(v, v.T) for v in draws)


def test_chains_get_longer_with_dimension_accuracy_and_condition():
    def steps(spreads, eta=1e-6):
        return metropolis.steps_needed(np.array(spreads), eta, np.random.default_rng(0))

    plain = steps([1.0] * 10)
    assert steps([1.0] * 40) > 2 * plain
    assert steps([1.0] * 10, eta=1e-12) > 1.9 * plain
    assert steps([1.0] * 9 + [0.01]) > 1e3 * plain
    spreads = metropolis.plain_spreads(np.diag([1.0, 4.0]))
    np.testing.assert_allclose(sorted(spreads), [1 / 4, 1 / 2, 1])


def test_times_are_per_call():
    calls = []
    found = timing.interleaved({"a": lambda: calls.append(1)}, 0.001, 2, 0.01)
    assert 0 < found["a"] < 0.01
    assert len(calls) > 3
