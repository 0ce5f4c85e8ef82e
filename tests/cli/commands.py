"""Commands in this process, and tables for them."""

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import numpy as np
import pytest

from veilspan.cli import main


@dataclass
class Result:
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def run(*words, expect=0):
    """Run a command; nothing in its texts may look like a traceback."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert ended.value.code == expect, err.getvalue()
    assert "Traceback" not in err.getvalue()
    return Result(out.getvalue(), err.getvalue())


def refused(*words, expect=1):
    """Run a command that must fail with one sentence; return it."""
    result = run(*words, expect=expect)
    assert result.out == ""
    lines = result.err.splitlines()
    assert len(lines) == 1, result.err
    assert lines[0].startswith("veilspan: ")
    return lines[0].removeprefix("veilspan: ")


def write_csv(path, table, names=None):
    """Write a table of numbers."""
    header = "" if names is None else ",".join(names) + "\n"
    body = "\n".join(",".join(repr(float(x)) for x in row) for row in np.asarray(table))
    path.write_text(header + body + "\n")
    return path


def read_csv(path):
    """The lines of a CSV file, as texts."""
    with open(path, newline="") as stream:
        return list(csv.reader(stream))
