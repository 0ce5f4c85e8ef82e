"""One BLAS thread for small matrices.

Two threads on a busy machine can make the eigenvectors of a 30 x 30 matrix a hundred times slower
than one thread does; large matrices gain from all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

#: Matrices of up to so many columns count as small; the number was chosen for speed.
SMALL = 256

_limited: ContextVar[bool] = ContextVar("veilspan_one_thread", default=False)


def threads_for(size: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside the block if matrices of this size are small."""
    # Setting the limit takes longer than many a sum: whoever asks many questions sets it once.
    if size > SMALL or _limited.get():
        return nullcontext()
    return _one_thread()


@contextmanager
def _one_thread() -> Iterator[None]:
    token = _limited.set(True)
    # Most are at one thread already where fits run side by side: those are left alone.
    several = [(library, threads) for library in _libraries() if (threads := _count(library)) > 1]
    try:
        for library, _ in several:
            library.set_num_threads(1)
        yield
    finally:
        for library, threads in several:
            library.set_num_threads(threads)
        _limited.reset(token)


def _count(library: Any) -> int:
    """Threads of a library; one that does not say counts as one."""
    return library.get_num_threads() or 1


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()  # scans the loaded libraries, which takes milliseconds
    return list(controller.select(user_api="blas").lib_controllers)
