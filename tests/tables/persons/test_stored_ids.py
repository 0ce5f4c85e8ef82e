"""Ids of a stored type that is never read are refused, and a type that says nothing is not."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tables.persons.tables import make_schema
from veilspan import PCA, Profile, SchemaError
from veilspan.tables.file_format import FileFormat
from veilspan.tables.persons.person_ids import IdReader
from veilspan.tables.sources.open_table import as_source

SCHEMA = make_schema(neighbors="add-remove", count=None)
REST = {"when": ["2020-05-01"] * 4, "age": [1.0] * 4, "kind": ["a"] * 4, "label": ["yes"] * 4}


def arrow(ids):
    return pa.table({"who": ids, **{name: pa.array(values) for name, values in REST.items()}})


UNREAD = {
    "bytes": arrow(pa.array([b"p1", b"p2", b"p3", b"p4"])),
    "uuids": arrow(pa.array([bytes([i]) * 16 for i in range(4)], pa.binary(16))),
    "lists": arrow(pa.array([[1], [2], [3], [4]])),
    "numpy's bytes": {"who": np.array([b"p1", b"p2", b"p3", b"p4"]), **REST},
    "spans of time": pd.DataFrame({"who": pd.to_timedelta([1, 2, 3, 4], unit="h"), **REST}),
}


@pytest.mark.parametrize("kind", UNREAD)
@pytest.mark.parametrize("model", [PCA(1), Profile()])
def test_every_row_would_be_left_out_so_it_is_said(kind, model):
    """Under add-remove nothing would be: no count is compared."""
    model.set_params(schema=SCHEMA, neighbors="add-remove")
    with pytest.raises(SchemaError, match="store ids as texts or whole numbers"):
        model.fit(UNREAD[kind])


def test_a_column_of_gaps_alone_says_nothing():
    """Its type follows from its cells: with one id more it would be another."""
    model = PCA(1, schema=SCHEMA, neighbors="add-remove")
    for ids in (pa.nulls(4), pa.array(["p1", None, None, None])):
        assert model.fit(arrow(ids)).privacy_.private


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_decimals_keep_digits_that_no_float_has(kind):
    """So databases hand out long keys: two people who differ in the twentieth digit are two."""
    keys = [Decimal("12345678901234567890"), Decimal("12345678901234567891"), Decimal(7), None]
    stored = {"arrow": arrow(pa.array(keys, pa.decimal128(38, 0)))}
    stored["pandas"] = pd.DataFrame({"who": keys, **REST})
    reader = IdReader("who", FileFormat())
    (batch,) = as_source(stored[kind], FileFormat()).batches([reader.column])
    found = batch["who"].distinct()
    names = [reader.read(value) for value in found.values]
    assert [names[code] if code >= 0 else "" for code in found.codes] == [
        "12345678901234567890", "12345678901234567891", "7", "",
    ]  # fmt: skip
