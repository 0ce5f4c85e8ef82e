"""One BLAS thread for small matrices: set where there are several, and given back."""

import pytest

from veilspan import _threads


class Library:
    def __init__(self, threads):
        self.threads, self.calls = threads, []

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, threads):
        self.threads = threads
        self.calls.append(threads)


def test_libraries_of_several_threads_get_one_and_have_theirs_back(monkeypatch):
    several, one, silent = Library(4), Library(1), Library(None)
    monkeypatch.setattr(_threads, "_libraries", lambda: [several, one, silent])

    def fail():
        with _threads.threads_for(3):
            assert several.threads == 1
            with _threads.threads_for(3):  # set once, not for each of many questions
                raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert several.calls == [1, 4]
    assert one.calls == silent.calls == []


def test_large_matrices_keep_all_threads(monkeypatch):
    several = Library(4)
    monkeypatch.setattr(_threads, "_libraries", lambda: [several])
    with _threads.threads_for(_threads.SMALL + 1):
        assert several.threads == 4


def test_the_libraries_of_this_process_are_found():
    assert all(library.get_num_threads() >= 1 for library in _threads._libraries())
    assert _threads._libraries()
