"""Figure 1 and Table 2 of the manifold experiments: what is drawn, what times say."""

import json

import numpy as np
import pytest
from veilspan_experiments.riemannian import fig1, metropolis, printed_noise, table2, timing


def made_rows(explicit, ours=1.0):
    return [
        {"manifold": case, "m": m, "r": r or "", "method": method, "microseconds": cost * m}
        for case, r in fig1.PANELS.values()
        for m in (5, 10)
        for method, cost in (("veilspan", ours), ("transport", 2.0), ("explicit", explicit))
    ]


@pytest.mark.parametrize(
    ("explicit", "ours", "expected"),
    [
        (4e4, 1.0, [True, True, True, True]),
        (40.0, 1.0, [False, True, False, True]),
        (1.0, 3.0, [False, False, False, False]),
    ],
)
def test_verdicts_of_samplers_can_go_either_way(explicit, ours, expected):
    claims = fig1.claims(fig1.summary(made_rows(explicit, ours)))
    assert [claim.holds for claim in claims] == expected


def test_printed_samplers_draw_other_noise_than_they_say():
    facts = {fact["algorithm"][:11]: fact for fact in printed_noise.noise_facts()}
    assert printed_noise.exact(facts["Algorithm 3"])
    assert facts["Algorithm 5"]["noise_energy"] == pytest.approx(np.exp(-2))
    assert facts["Algorithm 6"]["noise_energy"] == pytest.approx(0.25)
    # (4 / 2)^2 times the smallest eigenvalue: the kernel lacks its root, the scale is doubled.
    assert facts["Algorithm 4"]["weakest_variance"] == pytest.approx(4 * 0.02)
    assert not facts["Algorithm 7"]["tangent"]
    assert not facts["Algorithm 8"]["tangent"]
    costs = printed_noise.noise_costs(list(facts.values()))
    assert [cost.method[:11] for cost in costs] == ["Algorithm 4", "Algorithm 5", "Algorithm 6"]
    assert all(cost.true > 2 * cost.claimed for cost in costs)


def test_exact_samplers_would_be_called_exact():
    fact = {"algorithm": "A", "point": "w", "tangent": True, "weakest_variance": 1.0,
            "noise_energy": 1.0, "strongest_variance": 1.0}  # fmt: skip
    assert printed_noise.noise_claim([fact]).holds
    assert not printed_noise.noise_claim([{**fact, "weakest_variance": 0.5}]).holds
    assert printed_noise.noise_costs([fact]) == []


def test_small_runs_of_times_write_their_claims(tiny_job):
    for module, name, count in ((fig1, "riemannian-fig1", 5), (table2, "riemannian-table2", 5)):
        job = tiny_job(name)
        module.run(job)
        record = json.loads(job.file("json").read_text())
        assert len(record["claims"]) == count
        assert all(isinstance(claim["holds"], bool) for claim in record["claims"])
        assert job.file("png").stat().st_size > 20_000


def made_seconds(noise, han):
    parts = {"step": 100.0, "clip": 1.0, "veilspan": noise, "secure": noise, "transport": noise,
             "explicit": han}  # fmt: skip
    return {"SPD(11)": {**parts, "metropolis": han}, "Sphere(784)": parts}


@pytest.mark.parametrize(
    ("noise", "han", "plain", "expected"),
    [
        (10.0, 2000.0, 1e9, [True, True, True, True, True]),
        (90.0, 500.0, 2e3, [False, False, False, False, False]),
    ],
)
def test_verdicts_of_overheads_can_go_either_way(noise, han, plain, expected):
    chain = {"best": 1e3, "plain": plain, "condition": 10.0}
    claims = table2.claims(table2.summary(made_seconds(noise, han), chain))
    assert [claim.holds for claim in claims] == expected


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
