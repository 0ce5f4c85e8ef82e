"""How exact a private profile is, beside separate Laplace releases of one budget, and how fast.

    python benchmarks/profiles.py [--people 10000] [--rows 500000] [--fits 20]

A generated table of 18 columns (9 numbers, 6 categories, 3 booleans) at epsilon 1, delta 1e-6.
*Joint* is one :class:`veilspan.Profile`: all histograms in one Gaussian answer, one matrix of
moments. *Separate* is what people write first: one Laplace histogram a column and one Laplace mean
a number, epsilon divided among them. Both sides are measured, as the 95 % quantile of the error by
noise over all cells of all fits; the formula's value stands beside it.
"""

import argparse
import math
import resource
import time
import warnings

import numpy as np

from veilspan import Profile, Schema

NUMBERS, CATEGORIES, BOOLEANS = 9, 6, 3
EPSILON, DELTA = 1.0, 1e-6


def make_schema(count: int) -> Schema:
    """18 columns; the number of people is public."""
    text = f'veilspan_schema = 1\nname = "wide"\n[unit]\ncount = {count}\nsource = "made up"\n'
    for i in range(NUMBERS):
        text += f'[columns.x{i}]\ntype = "number"\nrange = [-3, 3]\nsource = "made up"\n'
    for i in range(CATEGORIES):
        text += f'[columns.c{i}]\ntype = "category"\ncategories = ["a", "b", "c", "d"]\n'
        text += 'other = true\nsource = "made up"\n'
    for i in range(BOOLEANS):
        text += f'[columns.b{i}]\ntype = "boolean"\ntrue = ["y"]\nfalse = ["n"]\nfill = false\n'
        text += 'source = "made up"\n'
    return Schema.from_toml(text)


def make_table(n: int, seed: int = 0) -> dict:
    """Normal numbers, four categories, a few cells missing."""
    rng = np.random.default_rng(seed)
    table = {f"x{i}": rng.standard_normal(n) for i in range(NUMBERS)}
    for cells in table.values():
        cells[rng.random(n) < 0.03] = np.nan
    for i in range(CATEGORIES):
        table[f"c{i}"] = rng.choice(["a", "b", "c", "d", ""], n).tolist()
    for i in range(BOOLEANS):
        table[f"b{i}"] = rng.choice(["y", "n"], n).tolist()
    return table


def errors(fitted: Profile, clean: Profile) -> dict[str, np.ndarray]:
    """Errors by noise of shares, of means in parts of the range, and of correlations."""
    shares = [fitted[c].all_shares.raw - clean[c].all_shares.raw for c in clean.column_names]
    means = [
        (fitted[c].mean.value - clean[c].mean.value) / (6.0 if c[0] == "x" else 1.0)
        for c in clean.column_names
        if clean[c].mean is not None
    ]
    found = {"share": np.concatenate(shares)}
    if means:
        found["mean"] = np.array(means)
    if clean.correlations is not None:
        above = np.triu_indices(len(clean.correlations.names), 1)
        found["correlation"] = (fitted.correlations.value - clean.correlations.value)[above]
    return {kind: np.abs(values) for kind, values in found.items()}


def measure(schema: Schema, table: dict, fits: int, **settings: object) -> dict[str, float]:
    """95 % quantile of errors over fits, in percent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = Profile(epsilon=math.inf, schema=schema, **settings).fit(table)
        parts = [
            errors(Profile(epsilon=EPSILON, schema=schema, **settings).fit(table), clean)
            for _ in range(fits)
        ]
    return {
        kind: 100 * float(np.quantile(np.concatenate([part[kind] for part in parts]), 0.95))
        for kind in parts[0]
    }


def separate(n: int, releases: int, seed: int = 0) -> tuple[float, float, float, float]:
    """Laplace histograms and means with epsilon divided among them: measured and by formula."""
    rng = np.random.default_rng(seed)
    scale = 2.0 * releases / EPSILON  # a row that is exchanged moves two counts by one
    measured = 100 * float(np.quantile(np.abs(rng.laplace(0, scale, 200_000)), 0.95)) / n
    mean_scale = 1.0 * releases / EPSILON  # of a sum, in parts of the range
    mean = 100 * float(np.quantile(np.abs(rng.laplace(0, mean_scale, 200_000)), 0.95)) / n
    return measured, 100 * scale * math.log(20) / n, mean, 100 * mean_scale * math.log(20) / n


def main() -> None:
    """Print both sides, then time and memory."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=500_000, help="for time and memory; 0 for none")
    parser.add_argument("--fits", type=int, default=20)
    given = parser.parse_args()
    n, columns = given.people, NUMBERS + CATEGORIES + BOOLEANS
    schema, table = make_schema(n), make_table(n)
    print(f"{columns} columns, {n:,} people, epsilon {EPSILON:g}, delta {DELTA:g}; 95 % by noise")
    print(f"{'':46}  share, points   mean, % of range   correlation")
    alone = measure(schema, table, given.fits, most_numbers=0)
    whole = measure(schema, table, given.fits)
    histograms = separate(n, columns)
    both = separate(n, columns + NUMBERS + BOOLEANS)
    rows = [
        ("histograms alone: one joint answer", alone["share"], None, None),
        ("histograms alone: 18 Laplace releases", histograms[0], None, None),
        ("  (formula)", histograms[1], None, None),
        ("whole profile: two joint answers", whole["share"], whole["mean"], whole["correlation"]),
        ("histograms and means: 30 Laplace releases", both[0], both[2], None),
        ("  (formula)", both[1], both[3], None),
    ]
    for name, share, mean, correlation in rows:
        told = "" if mean is None else f"{mean:.2f}"
        joint = "" if correlation is None else f"{correlation / 100:.3f}"
        print(f"{name:46}  {share:13.2f}   {told:>15}   {joint:>11}")
    if given.rows:
        large = make_table(given.rows)
        start = time.perf_counter()
        Profile(schema=make_schema(given.rows)).fit(large)
        taken = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{given.rows:,} rows in memory: {taken:.1f} s; peak {peak:,.0f} MB, the table included"
        )


if __name__ == "__main__":
    main()
