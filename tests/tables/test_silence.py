"""A secret in any cell is in no output, no log, no warning and no traceback."""

import datetime
import io
import logging
import traceback
import warnings
from decimal import Decimal

import numpy as np
import pytest

from tables.hostile import HEADER, NAMES, SCHEMA, SECRET, usual_lines
from veilspan.tables.encoding import encode_batches, encode_table
from veilspan.tables.sources import csv_file
from veilspan.tables.sources.csv_file import CsvFile
from veilspan.tables.sources.csv_lines import parse_lines

RAW = SECRET.encode()
#: Kinds of cells with the secret inside, as they stand in a line.
PLANTED = {
    "text": RAW,
    "broken date": b"2022-02-30" + RAW,
    "open quote": b'"' + RAW,
    "stray quote": RAW + b'"',
    "quoted": b'"' + RAW + b'"',
    "quoted badly": b'"' + RAW + b'"x',
    "extra cell": RAW + b"," + RAW,
    "many extra cells": (RAW + b",") * 100,
    "NUL": RAW + b"\0",
    "Latin-1": RAW + b"\xe9\xff",
    "lone CR": RAW + b"\r" + RAW,
    "overflow": b"1e400" + RAW,
    "underscore": b"1_000" + RAW,
    "NaN": b"NaN" + RAW,
    "ten megabytes": RAW * 1_000_000,
    "byte order mark": b"\xef\xbb\xbf" + RAW,
}


@pytest.fixture(params=["pyarrow", "python"])
def parser(request, monkeypatch):
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr(csv_file, "choose_parser", lambda: (parse_lines, 1 << 20))


def strictly(function):
    """Run where every warning is an error."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        return function()


@pytest.mark.parametrize("name", PLANTED)
def test_lines(name, parser, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    lines = usual_lines(np.random.default_rng(0), 40)
    clean = encode_table(SCHEMA, CsvFile(io.BytesIO(HEADER + b"\n".join(lines))))
    places = (0, 3, 8) if name == "ten megabytes" else range(len(NAMES))
    for place in places:
        cells = lines[20].split(b",")
        cells[place] = PLANTED[name]
        planted = [*lines[:20], b",".join(cells), *lines[21:]]
        source = CsvFile(io.BytesIO(HEADER + b"\n".join(planted)))
        encoded = strictly(lambda source=source: encode_table(SCHEMA, source))
        assert len(encoded) == 40
        others = np.arange(40) != 20
        assert encoded.x[others].tobytes() == clean.x[others].tobytes()
        assert SECRET not in repr(source)
    out = capfd.readouterr()
    assert SECRET not in out.out + out.err + caplog.text


def test_secrets_in_memory(capfd, caplog):
    caplog.set_level(logging.DEBUG)
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    odd = [SECRET, SECRET.encode(), [SECRET], {SECRET: 1}, Decimal("sNaN"), 10**5000, object()]
    odd += [datetime.time(1), np.datetime64("NaT"), np.str_(SECRET), float("nan"), None, 1j]
    columns = {name: np.empty(len(odd), dtype=object) for name in NAMES}
    for values in columns.values():
        values[:] = odd
    tables = [columns, pd.DataFrame(columns)]
    tables.append(pa.table({name: [SECRET, None] for name in NAMES}))
    tables.append(pa.table({name: [[SECRET], None] for name in NAMES}))
    tables.append(pd.DataFrame({name: pd.Categorical([SECRET, SECRET]) for name in NAMES}))
    for table in tables:
        encoded = strictly(lambda table=table: encode_table(SCHEMA, table))
        assert not encoded.present.any()
    out = capfd.readouterr()
    assert SECRET not in out.out + out.err + caplog.text


def test_an_error_in_the_middle_of_a_file_says_nothing_of_it(tmp_path):
    """A stream that fails (a disk, a network) raises its own error, without what was read."""

    class Failing(io.BytesIO):
        def read(self, size=-1):
            if self.tell() > 50_000:
                raise OSError("the disk is gone")
            return super().read(min(size, 10_000))

    data = HEADER + (RAW + b",\n") * 20_000
    with pytest.raises(OSError, match="the disk is gone") as told:
        for _ in encode_batches(SCHEMA, CsvFile(Failing(data))):
            pass
    assert SECRET not in "".join(traceback.format_exception(told.value))


def test_a_walk_that_is_left_early_ends_its_thread():
    import threading

    data = HEADER + b"\n".join(usual_lines(np.random.default_rng(0), 200))
    before = threading.active_count()
    walk = encode_batches(SCHEMA, CsvFile(io.BytesIO(data)))
    next(walk)
    walk.close()
    assert threading.active_count() == before
