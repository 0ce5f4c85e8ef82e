"""Arrays that grow row by row in secret files, as they come or dealt into buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veilspan.curator.secret_file import SecretFile

#: What a row has in one array: its shape and type; ``None`` stands for an array that there is not.
Form = tuple[tuple[int, ...], Any] | None
Arrays = tuple[np.ndarray | None, ...]


def bytes_of_row(forms: Sequence[Form]) -> int:
    """Bytes that a row takes in all arrays."""
    return sum(
        int(np.prod(form[0], dtype=np.int64)) * np.dtype(form[1]).itemsize for form in forms if form
    )


class ArrayFile:
    """Several arrays of the same length, each in a secret file of its own.

    Parameters
    ----------
    forms : sequence of Form
        What a row has in each.
    """

    def __init__(self, forms: Sequence[Form]) -> None:
        self.forms = tuple(forms)
        self.row_bytes = bytes_of_row(forms)
        self.n_rows = 0
        self._files = [None if form is None else SecretFile() for form in forms]

    def append(self, *arrays: np.ndarray | None) -> None:
        """Add rows at the end of all arrays."""
        for form, file, array in zip(self.forms, self._files, arrays, strict=True):
            if form is not None and file is not None and array is not None:
                file.append(np.asarray(array, dtype=form[1]))
                n = len(array)
        self.n_rows += n

    def read(self, start: int, stop: int) -> Arrays:
        """The rows from ``start`` to ``stop``, in arrays of their own."""
        n = min(stop, self.n_rows) - start
        found: list[np.ndarray | None] = []
        for form, file in zip(self.forms, self._files):
            if form is None or file is None:
                found.append(None)
            else:
                out = np.empty((n, *form[0]), dtype=form[1])
                found.append(file.read_into(out, start * bytes_of_row([form])))
        return tuple(found)

    def split(self, forms: Sequence[Form]) -> ArrayFile:
        """The same bytes as more rows that have less each."""
        parts = object.__new__(ArrayFile)
        parts.forms, parts._files = tuple(forms), self._files
        parts.row_bytes = bytes_of_row(forms)
        parts.n_rows = self.n_rows * self.row_bytes // parts.row_bytes
        return parts

    def close(self) -> None:
        """Give the room on the disk back now."""
        for file in self._files:
            if file is not None:
                file.close()


class DealtFile:
    """Rows dealt into buckets, those of a bucket in the order in which they came.

    A file only grows, so rows are sorted by their buckets some at a time: a bucket lies in as many
    pieces as there were times, and neighbouring buckets lie side by side in each.

    Parameters
    ----------
    forms : sequence of Form
        What a row has in each array.
    buckets : int
        How many there are.
    """

    def __init__(self, forms: Sequence[Form], buckets: int) -> None:
        self._file = ArrayFile(forms)
        self.row_bytes = self._file.row_bytes
        self._starts: list[int] = []
        self._ends: list[np.ndarray] = []  # counted from each time's start: four bytes do
        #: Rows of each bucket so far.
        self.sizes = np.zeros(buckets, dtype=np.int64)

    def deal(self, codes: np.ndarray, *arrays: np.ndarray | None) -> None:
        """Add rows, each to the bucket that its code says."""
        order = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes, minlength=len(self.sizes))
        self._starts.append(self._file.n_rows)
        self._ends.append(np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32))
        self._file.append(*(None if array is None else array[order] for array in arrays))
        self.sizes += sizes

    def collect(self, first: int, last: int) -> Arrays:
        """The rows of the buckets from ``first`` to before ``last``, time after time."""
        pieces = [
            self._file.read(start + int(ends[first]), start + int(ends[last]))
            for start, ends in zip(self._starts, self._ends)
            if ends[first] < ends[last]
        ]
        if not pieces:
            return self._file.read(0, 0)
        return tuple(
            None if form is None else np.concatenate(parts)
            for form, parts in zip(self._file.forms, zip(*pieces))
        )

    def close(self) -> None:
        """Give the room on the disk back now."""
        self._file.close()
