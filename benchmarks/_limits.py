"""What this machine can do at most, measured here and now: arithmetic by BLAS and memory traffic.

A suite measures its limits in its own process, so that both sides of a ratio saw the same machine.
One BLAS thread, CPU seconds, the best of a few rounds.
"""

from dataclasses import asdict, dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from _report import best_times

_SIDE = 512  # of the matrices: far beyond overhead, a few milliseconds a product
_ENTRIES = 8_000_000  # of the vectors: 64 MB, beyond any cache


@dataclass(frozen=True)
class Limits:
    """Operations and bytes per second; a multiplication with its addition is two operations."""

    dgemm: float
    sgemm: float
    dsyrk: float
    ssyrk: float
    copy: float
    triad: float

    def product(self, n: int, m: int, k: int, *, single: bool = False) -> float:
        """Least seconds of an (n, k) times (k, m) product."""
        return 2.0 * n * m * k / (self.sgemm if single else self.dgemm)

    def gram(self, n: int, d: int, *, single: bool = False) -> float:
        """Least seconds of X^T X of n rows and d columns, of which BLAS computes one half."""
        return 1.0 * n * d * (d + 1) / (self.ssyrk if single else self.dsyrk)

    def traffic(self, size: float) -> float:
        """Least seconds to move this many bytes from or to memory."""
        return size / max(self.copy, self.triad)

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def measure(repeats: int = 5) -> Limits:
    """Rates of this process, about a second."""
    with threadpool_limits(1):
        return Limits(**_arithmetic(repeats), **_memory(repeats))


def _arithmetic(repeats: int) -> dict[str, float]:
    from scipy.linalg.blas import dsyrk, ssyrk

    rng = np.random.default_rng(0)
    double = np.asfortranarray(rng.standard_normal((_SIDE, _SIDE)))
    single = double.astype(np.float32)
    times = best_times(
        {
            "dgemm": lambda: double @ double,
            "sgemm": lambda: single @ single,
            "dsyrk": lambda: dsyrk(1.0, double, trans=1),
            "ssyrk": lambda: ssyrk(1.0, single, trans=1),
        },
        repeats,
    )
    full, half = 2.0 * _SIDE**3, 1.0 * _SIDE**2 * (_SIDE + 1)
    return {name: (half if "syrk" in name else full) / time for name, time in times.items()}


def _memory(repeats: int) -> dict[str, float]:
    """Bandwidth as in STREAM: copy reads and writes 8 bytes an entry, triad reads two of them.

    NumPy has no fused triad: ``add`` of two arrays into a third moves the same bytes.
    """
    a, b, c = (np.ones(_ENTRIES) for _ in range(3))
    times = best_times(
        {"copy": lambda: np.copyto(c, a), "triad": lambda: np.add(a, b, out=c)}, repeats
    )
    return {name: _ENTRIES * (16 if name == "copy" else 24) / t for name, t in times.items()}
