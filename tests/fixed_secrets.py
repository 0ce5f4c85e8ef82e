"""Secrets of the tests: drawn anew by the library for every release, the same here in every run.

A red build must mean a change, not bad luck: a test that passes by the noise that is drawn would
fail one day in somebody's hands. Keys of secure noise, ids and tokens all come from
`secrets.token_bytes`, which in the processes of the tests is a stream of its own for every test and
every fixture, whichever worker runs it and after what. ``--draws 7`` draws other noise, to find
tests that noise decides.

Processes that a test starts draw true secrets, and a fork draws others than its parent.
"""

import hashlib
import itertools
import os
import secrets
from contextlib import contextmanager


class FixedSecrets:
    """Stands in for ``secrets.token_bytes``: bytes by the place in the suite and a count."""

    def __init__(self, draws):
        self._draws, self._owner = draws, os.getpid()
        self._stream = ("before all tests", itertools.count())

    @contextmanager
    def at(self, place):
        """Draw from the stream of one test or fixture."""
        before, self._stream = self._stream, (place, itertools.count())
        try:
            yield
        finally:
            self._stream = before

    def __call__(self, nbytes=None):
        place, count = self._stream
        mine = os.getpid()
        words = (self._draws, place, next(count), 0 if mine == self._owner else mine)
        size = secrets.DEFAULT_ENTROPY if nbytes is None else nbytes
        return hashlib.shake_256(repr(words).encode()).digest(size)


def draw_fixed_secrets(draws):
    """Take the place of the system's secrets in this process."""
    fixed = FixedSecrets(draws)
    secrets.token_bytes = fixed
    return fixed
