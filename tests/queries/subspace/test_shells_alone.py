"""A row is in the same shell wherever it stands and however its table is stored."""

import numpy as np

from veilspan.curator.rows import Block
from veilspan.queries.subspace.shells import ShellSums

#: A row whose length is an edge but for the order in which its squares are added up.
ROW = np.float32([
    6.7301288, 6.3439207, -2.6683571, 0.52650946, 2.7826245, -0.087693624, 1.4908767, 2.1060855,
    4.1728001, -0.50221694, -1.7289342, 7.2353904e-4,
]).astype(float)  # fmt: skip


def lengths_near(row, count=200):
    """The row at lengths around it, a last bit or so apart."""
    return row * (1 + 2.0**-52 * np.arange(-count // 2, count // 2)[:, None])


def test_rows_stored_by_columns_keep_their_shells_alone():
    rows = lengths_near(ROW)
    edge = float(np.sqrt((ROW**2).sum()))
    query = ShellSums(np.array([edge / 2, edge, 2 * edge]))
    together = query.prepare(Block(np.asfortranarray(rows)), None).shells
    assert len(set(together.tolist())) == 2  # both sides of the edge: the order would matter
    alone = [query.prepare(Block(np.asfortranarray(row[None])), None).shells[0] for row in rows]
    np.testing.assert_array_equal(together, alone)
    moved = query.prepare(Block(np.asfortranarray(rows + 1.0)), np.ones(12)).shells
    one = [
        query.prepare(Block(np.asfortranarray(row[None] + 1.0)), np.ones(12)).shells[0]
        for row in rows
    ]
    np.testing.assert_array_equal(moved, one)


def test_the_order_of_adding_up_would_matter():
    """The twin: squares added up as the columns are stored."""
    rows = lengths_near(ROW)
    stored = np.asfortranarray(rows)
    together = np.einsum("ij,ij->i", stored, stored)
    alone = np.array([np.einsum("ij,ij->i", row[None], row[None])[0] for row in rows])
    assert (together != alone).any()
