import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veilspan.datasets import make_tree
from veilspan.geometry import PoincareBall

EPS = np.finfo(float).eps


@given(
    st.floats(1, 4), st.integers(0, 4), st.integers(2, 6), st.floats(0.05, 5),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_what_is_promised_of_every_tree(branching, depth, d, edge_length, seed):
    tree = make_tree(branching, depth, d, edge_length=edge_length, random_state=seed)
    ball = PoincareBall(d)
    np.testing.assert_array_equal(tree.points[0], np.zeros(d))
    assert ball.contains(tree.points).all()
    assert tree.parent[0] == -1
    assert tree.depth[0] == 0
    assert tree.depth.max() == depth
    children, parents = np.arange(1, len(tree.parent)), tree.parent[1:]
    assert np.all((parents >= 0) & (parents < children))
    np.testing.assert_array_equal(tree.depth[1:], tree.depth[parents] + 1)
    lengths = ball.dist(tree.points[parents], tree.points[1:])
    # A point at distance R is 2 exp(-R) from the edge of the ball, known to a few roundings.
    rounding = 1e-12 + 8 * EPS * np.exp(depth * edge_length)
    np.testing.assert_allclose(lengths, edge_length, rtol=0, atol=rounding)
    from_root = ball.dist(tree.points[0], tree.points)
    assert np.all(from_root <= tree.depth * edge_length + rounding)


def neighbours(tree, node):
    """Directions at a node to its children and, last, to its parent."""
    to = np.append(np.flatnonzero(tree.parent == node), tree.parent[node])
    logs = PoincareBall(tree.points.shape[1]).log(tree.points[node], tree.points[to[to >= 0]])
    return logs / np.linalg.norm(logs, axis=1, keepdims=True)


def test_sarkar_spaces_all_neighbours_evenly():
    tree = make_tree(3, 4, edge_length=2.5, random_state=1)
    for node in np.unique(tree.parent[tree.parent >= 0]):
        directions = neighbours(tree, node)
        angles = np.sort(np.arctan2(directions[:, 1], directions[:, 0]))
        gaps = np.diff(np.append(angles, angles[0] + 2 * np.pi))
        np.testing.assert_allclose(gaps, 2 * np.pi / len(angles), rtol=0, atol=1e-10)  # 20 EPS e^10


def test_siblings_obey_the_law_of_cosines():
    length = 1.7
    tree = make_tree(4, 3, edge_length=length, random_state=0)
    checked = 0
    for node in np.flatnonzero(tree.depth == 2):
        family = np.flatnonzero(tree.parent == node)
        theta = 2 * np.pi / (len(family) + 1)
        cosh = np.cosh(length) ** 2 - np.sinh(length) ** 2 * np.cos(theta)
        found = PoincareBall(2).dist(tree.points[family[:-1]], tree.points[family[1:]])
        np.testing.assert_allclose(found, np.arccosh(cosh), rtol=1e-12)
        checked += len(found)
    assert checked > 20


def test_no_child_points_back_in_many_dimensions():
    tree = make_tree(6, 3, 4, edge_length=1.0, random_state=2)
    for node in np.unique(tree.parent[tree.parent > 0]):
        *children, back = neighbours(tree, node)
        assert np.max(children @ back) <= 1e-9


def tree_distances(parent):
    """Numbers of edges between all nodes, parents before children."""
    out = np.zeros((len(parent), len(parent)))
    for node in range(1, len(parent)):
        out[node, :node] = out[:node, node] = out[parent[node], :node] + 1
    return out


def test_long_edges_keep_the_distances_of_the_tree():
    def worst(edge_length):
        tree = make_tree(2, 3, edge_length=edge_length, random_state=4)
        found = PoincareBall(2).pairwise(tree.points, tree.points) / edge_length
        pairs = ~np.eye(len(found), dtype=bool)
        ratio = found[pairs] / tree_distances(tree.parent)[pairs]
        assert ratio.max() <= 1 + 1e-8  # EPS e^18; measured 2e-10
        return ratio.min()

    assert worst(1.0) < worst(3.0) < worst(6.0)
    assert worst(6.0) > 0.85  # 0.90 of this tree


def test_levels_have_known_sizes_and_uneven_families():
    """A family of 256 nodes' 1,024 children has about the variance b + b^2 = 20 of a geometric.

    Families of equal expected size would have the variance b = 4 of a Poisson.
    """
    tree = make_tree(4, 5, random_state=5)
    np.testing.assert_array_equal(np.bincount(tree.depth), [1, 4, 16, 64, 256, 1024])
    parents = np.flatnonzero(tree.depth == 4)
    children = np.bincount(tree.parent[1:], minlength=len(tree.parent))[parents]
    assert 8 < children.var() < 60  # 5 and 16 standard deviations of a heavy-tailed statistic
    assert np.mean(children == 0) == pytest.approx(1 / 5, abs=0.15)  # six binomial deviations


def test_branches_end_on_many_levels():
    tree = make_tree(3, 6, random_state=0)
    is_leaf = ~np.isin(np.arange(len(tree.parent)), tree.parent)
    assert {3, 4, 5, 6} <= set(tree.depth[is_leaf])


def test_seeds_repeat():
    first, second, other = (make_tree(random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.points, second.points)
    assert not np.array_equal(first.parent, other.parent)


@pytest.mark.parametrize(
    "bad",
    [
        {"branching": 0.5},
        {"branching": np.inf},
        {"depth": -1},
        {"n_dimensions": 1},
        {"edge_length": 0},
        {"edge_length": np.nan},
        {"depth": 11, "edge_length": 2.0},
    ],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError, match="must"):
        make_tree(**{"branching": 2, "depth": 3, **bad})
