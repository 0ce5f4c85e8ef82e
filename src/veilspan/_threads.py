"""One BLAS thread for small matrices.

Two threads on a busy machine can make the eigenvectors of a 30 x 30 matrix a hundred times slower
than one thread does; large matrices gain from all of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

#: Matrices of up to so many columns count as small; the number was chosen for speed.
SMALL = 256


def threads_for(size: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside the block if matrices of this size are small."""
    if size > SMALL:
        return nullcontext()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # scans the loaded libraries, which takes milliseconds
