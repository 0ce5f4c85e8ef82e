"""What a secure normal costs: nanoseconds per number, beside NumPy's PCG64 in the same run.

    python benchmarks/noise.py [--repeats 15] [--quick]

Rows: the two ciphers' raw streams; a plain noisy answer as one would write it in NumPy (which
leaks through its low bits); the library's answer on a grid; the exact discrete Gaussian. Target:
the AES stream within 1.5 times PCG64.
"""

import argparse
import secrets
from collections.abc import Callable

import numpy as np
from randomgen import ChaCha
from threadpoolctl import threadpool_limits

from _report import best_times, met, note, save, say, show
from veilspan.privacy.discrete import LARGEST, LEAST_BITS, add_discrete_noise
from veilspan.privacy.grid import add_noise, noise_scale
from veilspan.privacy.noise import SecureNoise, cipher_name

BASELINE = "NumPy PCG64, raw stream"
SECURE = f"SecureNoise ({cipher_name()}), raw stream"
TARGET = 1.5


def calls(size: int) -> dict[str, Callable[[], np.ndarray]]:
    """What is timed, by name, for answers of ``size`` numbers."""
    plain = np.random.default_rng()
    chacha = np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))
    source = SecureNoise()
    value = plain.standard_normal(size) * 1e3
    grid = noise_scale(5.0, 1.0, size, largest=1e6)
    exact = noise_scale(5.0, 1.0, size, largest=1e6, least_bits=LEAST_BITS + 1)
    timed = {
        BASELINE: lambda: plain.standard_normal(size),
        SECURE: lambda: source.generator.standard_normal(size),
        "ChaCha20, raw stream": lambda: chacha.standard_normal(size),
        "PCG64, value + 5 z (unsafe)": lambda: value + 5.0 * plain.standard_normal(size),
        "SecureNoise, on the grid": lambda: add_noise(value, grid, source),
    }
    if size <= LARGEST:
        timed["SecureNoise, exact discrete"] = lambda: add_discrete_noise(value, exact, source)
    return timed


def measure(sizes: list[int], repeats: int) -> dict[int, dict[str, float]]:
    """Nanoseconds per number, by size and name."""
    found = {}
    for size in sizes:
        say(f"{size:,} numbers ...")
        times = best_times(calls(size), repeats)
        found[size] = {name: 1e9 * time / size for name, time in times.items()}
    return found


def print_table(found: dict[int, dict[str, float]]) -> None:
    """One row per source; the ratios refer to the same run."""
    sizes = list(found)
    rows = []
    for name in found[sizes[0]]:
        row = [name]
        for size in sizes:
            nanoseconds = found[size].get(name)
            if nanoseconds is None:
                row += ["-", "-"]
            else:
                row += [f"{nanoseconds:,.1f}", f"{nanoseconds / found[size][BASELINE]:.2f}"]
        rows.append(row)
    columns = [""]
    for size in sizes:
        columns += [f"{size:,}", "/ PCG64"]
    show("Nanoseconds per normal (CPU), by size of the answer", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    with threadpool_limits(1):
        found = measure([100, 10_000, 1_000_000], 3 if options.quick else options.repeats)
    print_table(found)
    ratio = found[1_000_000][SECURE] / found[1_000_000][BASELINE]
    note(
        f"Target: {SECURE} within {TARGET} x PCG64 at a million: {ratio:.2f}, {met(ratio, TARGET)}."
    )
    save("noise", found)


if __name__ == "__main__":
    main()
