"""The slow reference: line by line with the standard library's reader, cell by cell in Python."""

import csv
import io
import math

import numpy as np

from veilspan.tables.cell_rules import CellReader, read_cell


def rows_of(data, schema):
    """The cells of each row after the header; None for a row in which all are missing."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")[1:]
    if lines and not lines[-1]:
        lines.pop()
    for line in lines:
        line = line.removesuffix(b"\r").decode(schema.file.encoding, "replace")
        yield cells_of(line, schema.file.separator, len(schema.columns))


def cells_of(line, separator, width):
    # For csv a lone CR ends a row; for us it is a letter like any other.
    assert "\ue000" not in line
    limit = csv.field_size_limit(1 << 30)
    try:
        text = io.StringIO(line.replace("\r", "\ue000"), newline="")
        rows = list(csv.reader(text, delimiter=separator, strict=True))
    except csv.Error:
        return None
    finally:
        csv.field_size_limit(limit)
    if len(rows) != 1 or len(rows[0]) != width:
        return None
    return [cell.replace("\ue000", "\r") for cell in rows[0]]


def encode_slowly(data, schema):
    """Encoded rows, targets and presence of a CSV file."""
    names = [column.name for column in schema.columns]
    x, y, present = [], [], []
    for row in rows_of(data, schema):
        cells = dict.fromkeys(names) if row is None else dict(zip(names, row))
        x.append([v for c in schema.features for v in read_cell(c, cells[c.name], schema.file)])
        if schema.target is not None:
            reader = CellReader(schema.target, schema.file)
            value = float(reader.round(reader.read(cells[schema.target.name])))
            present.append(not math.isnan(value))
            y.append(target_of(schema, value))
    return np.array(x).reshape(-1, len(schema.columns_out)), np.array(y), np.array(present, bool)


def target_of(schema, value):
    if math.isnan(value):
        return 0.0
    if schema.target.type == "category":
        return float(schema.classes.index(schema.target.categories[int(value)]))
    return value if schema.target.type == "boolean" else float(np.clip(value, *schema.target.range))


def same_bits(encoded, expected):
    x, y, present = expected
    assert encoded.x.shape == x.shape
    assert encoded.x.tobytes() == x.tobytes()
    if encoded.y is not None:
        assert encoded.y.tobytes() == y.astype(np.float64).tobytes()
        assert encoded.present.tobytes() == present.tobytes()
