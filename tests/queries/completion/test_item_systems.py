import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from queries.completion.test_residual_moment import ITEMS, RULE, slow_ratings, sparse_rows
from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError
from veilspan.curator.rows import Block
from veilspan.queries.completion.item_systems import ItemPoint, ItemSystems, pack_squares, unpack
from veilspan.queries.completion.rating_rows import RatingRule

RNG = np.random.default_rng(2)
POINT = ItemPoint(
    np.linspace(-0.2, 0.3, ITEMS), RNG.standard_normal((ITEMS, 2)), np.array([1, 4, 2, 3, 0.5])
)
SETTINGS = {"weight_budget": 3, "factor_norm": 0.1, "rating_norm": 0.3, "ridge": 0.5}
RELATIONS = ("replace-one", "add-remove")
WEIGHTS = ("uniform", "tail", "adaptive")


def slow_weights(items, importance, query):
    budget = query.weight_budget
    if query.item_weights == "uniform":
        return [min(1.0, math.sqrt(budget / len(items))) for _ in items]
    if query.item_weights == "tail":
        ranked = sorted(items, key=lambda j: (-importance[j], j))[: int(budget)]
        return [float(j in ranked) for j in items]
    total = math.sqrt(sum(importance[j] ** 2 for j in items))
    return [math.sqrt(budget) * importance[j] / total for j in items]


def reference(query):
    """One user's normal equations, an item at a time."""

    def contribution(row, point):
        bias, factors, importance = point
        items, y = slow_ratings(row)
        size = factors.shape[1]
        moments, responses = np.zeros((ITEMS, size, size)), np.zeros((ITEMS, size))
        if items:
            y = np.array(y) - bias[items]
            v = factors[items]
            u = np.linalg.solve(v.T @ v + query.ridge * np.eye(size), v.T @ y)
            u = u * min(1.0, query.factor_norm / (np.linalg.norm(u) or 1.0))
            w = np.array(slow_weights(items, importance, query))
            m = w * y
            m = m * min(1.0, query.rating_norm / (np.linalg.norm(m) or 1.0))
            for j, weight, rating in zip(items, w, m):
                moments[j] = weight * np.outer(u, u)
                responses[j] = rating * u
        first, second = np.triu_indices(size)
        scale = np.where(first == second, 1.0, math.sqrt(2))
        return moments[:, first, second] * scale, responses

    return contribution


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("make_rows", [None, sparse_rows], ids=["dense", "sparse"])
def test_the_query_keeps_its_contract(relation, weights, make_rows):
    query = ItemSystems(RULE, relation, **SETTINGS, item_weights=weights, moment_share=0.85)
    report = check_query(
        query,
        ITEMS,
        points=(tuple(POINT),),
        reference=reference(query),
        make_rows=make_rows,
        steps=60,
    )
    # What the search, whose seed is fixed, reaches of the declared bounds: 1 and at least 0.93.
    assert report.add_remove > 0.999
    assert report.replace_one > 0.92


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_sensitivity_is_one_and_shared_as_said(relation, share):
    query = ItemSystems(RULE, relation, **SETTINGS, moment_share=share)
    assert query.sensitivity(relation) == pytest.approx(1.0)
    alone = math.sqrt(SETTINGS["weight_budget"]) * SETTINGS["factor_norm"] ** 2
    alone *= math.sqrt(2) if relation == "replace-one" else 1.0
    assert (query.part_weights[0] * alone) ** 2 == pytest.approx(share)


def test_both_parts_can_move_to_their_limits_at_once():
    """Users of opposite u and nearly zero ratings who agree on one item: nothing less is safe.

    The item that both rate loses 1/n of the distance in H; there are n = 400 of them each.
    """
    n = 400
    rule = RatingRule(-1.0, 1.0, n, "middle")
    bounds = {"weight_budget": n, "factor_norm": 1e-3, "rating_norm": 1e-3, "ridge": 1.0}
    query = ItemSystems(rule, "replace-one", **bounds)
    width = 2 * n - 1
    ratings = np.array([[1.0, *[0.003] * (n - 1)], [1.0, *[-0.003] * (n - 1)]])
    items = np.array([np.arange(n), [0, *range(n, width)]])
    table = sparse.csr_array((ratings.ravel(), items.ravel(), [0, n, 2 * n]), shape=(2, width))
    factors = np.ones((width, 1))
    factors[0] = 0.0
    point = ItemPoint(np.zeros(width), factors, np.ones(width))
    space = query.space(width, point)
    parts = query.prepare(Block(table), point)
    one, two = (space.embed(query.weighted_sum(parts, chosen, point)) for chosen in np.eye(2))
    assert 0.99 < np.linalg.norm(one - two) <= 1 + 1e-9


class HalfSigned(ItemSystems):
    """As if the responses could not change their sign."""

    def _reach(self, neighbors):
        moment, response = self._lengths
        return (math.sqrt(2) * moment, math.sqrt(2) * response)


class UnclippedUsers(ItemSystems):
    """Users' vectors are not clipped, and the norms say that they were."""

    def prepare(self, block, point):
        self.factor_norm *= 10
        parts = super().prepare(block, point)
        self.factor_norm /= 10
        return parts

    def norms(self, block, point):
        return np.minimum(super().norms(block, point), self.bound)


def test_broken_copies_are_caught():
    query = HalfSigned(RULE, "replace-one", **SETTINGS, moment_share=0.05)
    with pytest.raises(QueryCheckError, match="replace-one"):
        check_query(query, ITEMS, points=(tuple(POINT),))
    query = UnclippedUsers(RULE, "add-remove", **SETTINGS)
    with pytest.raises(QueryCheckError):
        check_query(query, ITEMS, points=(tuple(POINT),))


@pytest.mark.parametrize("weights", WEIGHTS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), budget=st.integers(1, 6))
def test_every_user_stays_within_all_three_bounds(weights, seed, budget):
    bounds = {**SETTINGS, "weight_budget": budget}
    query = ItemSystems(RULE, "replace-one", **bounds, item_weights=weights)
    parts = query.prepare(sparse_rows(np.random.default_rng(seed), 15), POINT)
    slack = 1 + 1e-12
    assert np.all(parts.weights.power(2).sum(axis=1) <= budget * slack)
    assert np.all(parts.weights.data >= 0)
    assert np.all(np.linalg.norm(parts.users, axis=1) <= query.factor_norm * slack)
    lengths = np.sqrt(parts.weighted_ratings.power(2).sum(axis=1))
    assert np.all(lengths <= query.rating_norm * slack)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_packing_keeps_norms_and_inverts(seed, size):
    users = np.random.default_rng(seed).standard_normal((4, size))
    packed = pack_squares(users)
    np.testing.assert_allclose(np.linalg.norm(packed, axis=1), np.sum(users**2, axis=1))
    outer = np.einsum("ia,ib->iab", users, users)
    np.testing.assert_allclose(unpack(packed, size), outer, rtol=0, atol=1e-14)


def test_the_place_in_the_block_plays_no_part():
    block = sparse_rows(np.random.default_rng(0), 40)
    turned = np.random.default_rng(1).permutation(40)
    query = ItemSystems(RULE, "replace-one", **SETTINGS, item_weights="tail")
    one, two = (query.prepare(b, POINT) for b in (block, Block(block.x[turned])))
    assert one.users[turned].tobytes() == two.users.tobytes()
    assert one.weights[turned].toarray().tobytes() == two.weights.toarray().tobytes()


def test_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="item_weights must be one of"):
        ItemSystems(RULE, "replace-one", **SETTINGS, item_weights="random")
    with pytest.raises(ValueError, match="moment_share"):
        ItemSystems(RULE, "replace-one", **SETTINGS, moment_share=1.0)
