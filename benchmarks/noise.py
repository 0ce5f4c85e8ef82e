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

from _limits import Limits
from _limits import measure as measure_limits
from _report import best_times, met, note, ratio, save, say, show
from veilspan.privacy.discrete import LARGEST, add_discrete_noise
from veilspan.privacy.grid import add_noise, noise_scale
from veilspan.privacy.noise import SecureNoise, cipher_name

BASELINE = "NumPy PCG64, raw stream"
UNSAFE, GRID = "PCG64, value + 5 z (unsafe)", "SecureNoise, on the grid"
SECURE = f"SecureNoise ({cipher_name()}), raw stream"
TARGET = 1.5


def calls(size: int) -> dict[str, Callable[[], np.ndarray]]:
    """What is timed, by name, for answers of ``size`` numbers."""
    plain = np.random.default_rng()
    chacha = np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))
    source = SecureNoise()
    value = plain.standard_normal(size) * 1e3
    grid = noise_scale(5.0, 1.0, size, largest=1e6)
    exact = noise_scale(5.0, 1.0, size, largest=1e6)
    timed = {
        BASELINE: lambda: plain.standard_normal(size),
        SECURE: lambda: source.generator.standard_normal(size),
        "ChaCha20, raw stream": lambda: chacha.standard_normal(size),
        UNSAFE: lambda: value + 5.0 * plain.standard_normal(size),
        GRID: lambda: add_noise(value, grid, source),
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


def ratios(found: dict[int, dict[str, float]], limits: Limits) -> list[dict | None]:
    """The raw stream and a whole answer of a million; writing them is what memory allows."""
    size = max(found)
    times = {name: 1e-9 * size * each for name, each in found[size].items()}
    stream, answer = f"raw stream, {size:,} normals", f"noisy answer, {size:,} numbers"
    return [
        ratio(stream, times[SECURE], times[BASELINE], "NumPy PCG64 (not secure)", "peer", TARGET),
        ratio(stream, times[SECURE], limits.traffic(8 * size), "writing them", "limit"),
        ratio(answer, times[GRID], times[UNSAFE], "NumPy PCG64 (not secure)", "peer"),
        ratio(answer, times[GRID], limits.traffic(16 * size), "reading and writing", "limit"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    with threadpool_limits(1):
        found = measure([100, 10_000, 1_000_000], 3 if options.quick else options.repeats)
    limits = measure_limits()
    print_table(found)
    beside = found[1_000_000][SECURE] / found[1_000_000][BASELINE]
    verdict = f"{beside:.2f}, {met(beside, TARGET)}"
    note(f"Target: {SECURE} within {TARGET} x PCG64 at a million: {verdict}.")
    save("noise", found, ratios(found, limits))


if __name__ == "__main__":
    main()
