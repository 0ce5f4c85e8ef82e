"""What the door costs: one answer of the curator beside one plain product of the same table.

    python benchmarks/curator.py [--rows 100000] [--columns 100] [--repeats 5] [--quick]

An answer reads every row once: norms, clipping, a scaled product, noise. It is timed for several
sizes of the blocks against ``X.T @ X`` in the table's own type, in turns; then by part
at the default size; and its extra memory is traced for two numbers of rows, where it must not grow.

Sparse tables are multiplied entry by entry where they are thin and written out where they are not
(``curator/weighted_gram.py``). Both ways are timed at several densities, beside the same question
to the dense table: this is where the rule's ``SPARSE_SHARE`` comes from.
"""

import argparse
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import veilspan.curator.query as questions
import veilspan.curator.weighted_gram as gram
from _limits import Limits
from _limits import measure as measure_limits
from _report import best_times, met, note, ratio, save, say, seconds, show
from veilspan import Budget, GaussianEvent, Plan
from veilspan.curator.clipping import clip_weights, find_block_rows
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.noise import SecureNoise
from veilspan.queries.moments import SecondMoment

MEGABYTE = 1_000_000
SIZES = (1, 2, 4, 8, 16)
MOST_MEMORY = 64 * MEGABYTE
PLAIN = "plain"
THIN_ROWS, THIN_WIDTHS = 8192, (500, 2000)
DENSITIES = (0.001, 0.01, 0.05, 0.1, 0.2)
ENTRIES, WRITTEN, CHOSEN, DENSE = "entries", "written out", "the rule's", "dense table"


def tables(n: int, d: int) -> dict[str, Any]:
    """The same kind of rows in every layout; about half of them longer than 1."""
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((n, d)) / math.sqrt(d)
    short = dense / (2 * np.linalg.norm(dense, axis=1, keepdims=True))
    thin = sparse.random_array((n, d), density=0.05, format="csr", rng=rng, dtype=np.float64)
    return {
        "float64, half clipped": dense,
        "float64, none clipped": short,
        "float32, half clipped": dense.astype(np.float32),
        "CSR 5 %, half clipped": thin * math.sqrt(1 / (0.05 * d / 3)),
    }


def asking(x: Any) -> Callable[[], Any]:
    """A curator over ``x``, as a function that asks for one second moment."""
    plan = Plan(
        method="benchmark",
        budget=Budget(1e8, 1e-6),  # room for as many answers as are timed
        neighbors="replace-one",
        n_rows=x.shape[0],
        n_features=x.shape[1],
        events=(GaussianEvent("second moment", 5.0, count=10**9),),
    )
    curator = Curator(Rows(x), plan, SecureNoise())
    query = SecondMoment(1.0)
    return lambda: curator.answer(query, event="second moment")


def with_blocks(megabytes: int, ask: Callable[[], Any]) -> Callable[[], Any]:
    """The same question under another size of blocks."""

    def call() -> Any:
        default = questions.BLOCK_BYTES
        questions.BLOCK_BYTES = megabytes * MEGABYTE
        try:
            return ask()
        finally:
            questions.BLOCK_BYTES = default

    return call


def answer_times(x: Any, repeats: int) -> dict[str, float]:
    """CPU seconds of the plain product and of an answer, by size of the blocks."""
    ask = asking(x)
    calls = {PLAIN: lambda: x.T @ x}
    calls |= {f"{size} MB": with_blocks(size, ask) for size in SIZES}
    return best_times(calls, repeats)


def part_times(x: Any, repeats: int) -> dict[str, float]:
    """CPU seconds of each part of one answer at the default size, summed over the blocks."""
    query = SecondMoment(1.0)
    rows = Rows(x)
    step = find_block_rows(query, rows, None)
    blocks = list(rows.blocks(step))
    ready = [query.prepare(block, None) for block in blocks]
    norms = [query.norms(block, None) for block in ready]
    roots = [np.sqrt(clip_weights(norm, query.bound))[:, None] for norm in norms]
    scaled = [root * block for root, block in zip(roots, ready)]
    return best_times(
        {
            "blocks, float64": lambda: _each(lambda b: query.prepare(b, None), rows.blocks(step)),
            "norms": lambda: _each(lambda b: query.norms(b, None), ready),
            "weights": lambda: _each(lambda v: clip_weights(v, query.bound), norms),
            "scaling": lambda: _each(lambda w, b: w * b, roots, ready),
            "product": lambda: _each(lambda s: s.T @ s, scaled),
        },
        repeats,
    )


def _each(function: Callable[..., Any], *blocks: Any) -> None:
    for items in zip(*blocks):
        function(*items)


def with_share(share: float, ask: Callable[[], Any]) -> Callable[[], Any]:
    """The same question under another rule for what is thin."""

    def call() -> Any:
        default = gram.SPARSE_SHARE
        gram.SPARSE_SHARE = share
        try:
            return ask()
        finally:
            gram.SPARSE_SHARE = default

    return call


def thin_table(n: int, d: int, density: float) -> Any:
    """CSR rows, about half of them longer than 1."""
    rng = np.random.default_rng(0)
    x = sparse.random_array((n, d), density=density, format="csr", rng=rng, dtype=np.float64)
    return x * math.sqrt(1 / (density * d / 3))


def thin_times(n: int, d: int, density: float, repeats: int) -> dict[str, float]:
    """CPU seconds of one answer over a sparse table, both ways and the rule's, and its bytes."""
    x = thin_table(n, d, density)
    ask = asking(x)
    times = best_times(
        {
            ENTRIES: with_share(math.inf, ask),
            WRITTEN: with_share(0.0, ask),
            CHOSEN: ask,
            DENSE: asking(x.toarray()),
            PLAIN: lambda: (x.T @ x).toarray(),
        },
        repeats,
    )
    return times | {"bytes": peak_memory(x)}


def measure_thin(n: int, repeats: int) -> dict[str, dict[str, float]]:
    """Times of sparse answers by width and density."""
    found = {}
    for d in THIN_WIDTHS:
        for density in DENSITIES:
            name = f"CSR {100 * density:g} %, {d} columns"
            say(f"{name} ...")
            found[name] = thin_times(n, d, density, repeats)
    return found


def peak_memory(x: Any) -> int:
    """Largest number of bytes that one answer allocates."""
    ask = asking(x)
    ask()
    tracemalloc.start()
    try:
        ask()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure_times(n: int, d: int, repeats: int) -> tuple[dict, dict]:
    """Times of answers and of their parts, by table."""
    answers, parts = {}, {}
    for name, x in tables(n, d).items():
        say(f"{name} ...")
        answers[name] = answer_times(x, repeats)
        parts[name] = part_times(x, repeats)
    return answers, parts


def measure_memory(sizes: list[int], d: int) -> dict[str, dict[int, int]]:
    """Extra bytes of one answer, by table and number of rows."""
    found: dict[str, dict[int, int]] = {}
    for n in sizes:
        say(f"memory, {n:,} rows ...")
        for name, x in tables(n, d).items():
            found.setdefault(name, {})[n] = peak_memory(x)
    return found


def print_answers(n: int, d: int, answers: dict[str, dict[str, float]]) -> None:
    """Plain time, then each size of blocks as a multiple of it."""
    sizes = [f"{size} MB" for size in SIZES]
    rows = [
        [name, seconds(times[PLAIN])] + [f"{times[size] / times[PLAIN]:.2f}" for size in sizes]
        for name, times in answers.items()
    ]
    title = f"One answer over {n:,} x {d}, as a multiple of X.T @ X, by size of the blocks"
    show(title, ["", "X.T @ X, CPU", *sizes], rows)
    overall = {
        size: math.prod(times[size] / times[PLAIN] for times in answers.values())
        ** (1 / len(answers))
        for size in sizes
    }
    default = questions.BLOCK_BYTES // MEGABYTE
    listed = ", ".join(f"{size} {ratio:.2f}" for size, ratio in overall.items())
    note(f"Geometric means: {listed}. The default is {default} MB.\n")


def print_parts(parts: dict[str, dict[str, float]]) -> None:
    """Where the time of an answer goes."""
    names = list(next(iter(parts.values())))
    rows = [[table, *(seconds(times[name]) for name in names)] for table, times in parts.items()]
    show("Parts of one answer at the default size, CPU", ["", *names], rows)


def print_memory(found: dict[str, dict[int, int]]) -> None:
    """Extra memory, which must not grow."""
    counts = list(next(iter(found.values())))
    rows = [
        [name, *(f"{sizes[n] / MEGABYTE:.1f} MB" for n in counts)] for name, sizes in found.items()
    ]
    show("Peak extra memory of one answer", ["", *(f"{n:,} rows" for n in counts)], rows)
    growth = max(sizes[counts[-1]] / sizes[counts[0]] for sizes in found.values())
    largest = max(max(sizes.values()) for sizes in found.values())
    note(f"Target: does not grow with the rows: factor {growth:.2f}, {met(growth, 1.1)}.")
    note(f"Target: at most 64 MB: {largest / MEGABYTE:.1f} MB, {met(largest, MOST_MEMORY)}.")


def print_thin(n: int, found: dict[str, dict[str, float]]) -> None:
    """Both ways of multiplying sparse rows, and where the rule stands."""
    ways = (ENTRIES, WRITTEN, CHOSEN, DENSE, PLAIN)
    rows = [
        [name, *(seconds(times[way]) for way in ways), f"{times['bytes'] / MEGABYTE:.0f} MB"]
        for name, times in found.items()
    ]
    title = f"One answer over {n:,} sparse rows, CPU"
    show(title, ["", *ways[:-1], "X.T @ X", "memory"], rows)
    lost = max(times[CHOSEN] / min(times[ENTRIES], times[WRITTEN]) for times in found.values())
    note(f"Target: the rule is at most 2 times the better way: {lost:.2f}, {met(lost, 2.0)}.\n")


def ratios(answers: dict[str, dict[str, float]], shape: tuple[int, int], limits: Limits) -> list:
    """An answer at the default size of blocks beside the product, and beside what BLAS could do."""
    default, found = f"{questions.BLOCK_BYTES // MEGABYTE} MB", []
    for name, times in answers.items():
        case = f"one answer, {name}"
        found.append(ratio(case, times[default], times[PLAIN], "X.T @ X", "peer"))
        if "CSR" not in name:  # rows are summed in float64, also those of float32
            found.append(ratio(case, times[default], limits.gram(*shape), "dsyrk", "limit"))
    return found


def thin_ratios(found: dict[str, dict[str, float]]) -> list:
    """A sparse answer beside the plain sparse product, and beside the same rows as dense ones."""
    out = []
    for name, times in found.items():
        case = f"one answer, {name}"
        out.append(ratio(case, times[CHOSEN], times[PLAIN], "X.T @ X", "peer"))
        out.append(ratio(case, times[CHOSEN], times[DENSE], "dense table", "peer"))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a fifth of the rows, 2 repeats")
    options = parser.parse_args()
    n = options.rows // 5 if options.quick else options.rows
    repeats = 2 if options.quick else options.repeats
    with threadpool_limits(1):
        answers, parts = measure_times(n, options.columns, repeats)
        memory = measure_memory([n, 4 * n], options.columns)
        thin_rows = THIN_ROWS // 2 if options.quick else THIN_ROWS
        thin = measure_thin(thin_rows, repeats)
    limits = measure_limits()
    print_answers(n, options.columns, answers)
    print_parts(parts)
    print_memory(memory)
    print_thin(thin_rows, thin)
    results = {"answers": answers, "parts": parts, "memory": memory, "thin": thin}
    found = ratios(answers, (n, options.columns), limits) + thin_ratios(thin)
    save("curator", results, found)


if __name__ == "__main__":
    main()
