"""Figure 1 of Utpala, Han, Jawanpuria, Mishra (2023): the time to draw one tangent Gaussian.

    python experiments/riemannian/fig1.py [--quick] [--out FOLDER]

Writes ``fig1.csv`` and ``fig1.png`` and prints what the figure says. The paper's methods (with
its misprints corrected) are those of ``benchmarks/geometry/paper_samplers.py``; "veilspan" is
`random_tangent`, which the paper does not have.
"""

import argparse
import csv
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PANELS = {
    "SPD(m), affine-invariant": ("spd-affine", None),
    "SPD(m), Bures-Wasserstein": ("spd-bures", None),
    "SPD(m), Log-Euclidean": ("spd-log", None),
    "Poincaré ball(m)": ("poincare", None),
    "Lorentz(m)": ("lorentz", None),
    "Sphere(m)": ("sphere", None),
    "Stiefel(m, 10)": ("stiefel", 10),
    "Stiefel(m, 20)": ("stiefel", 20),
    "Grassmann(m, 10)": ("grassmann", 10),
    "Grassmann(m, 20)": ("grassmann", 20),
}
#: method: (label, colour, marker); colours that stay apart for colour-blind readers.
STYLES = {
    "gram-schmidt": ("Gram-Schmidt", "#CC79A7", "v"),
    "explicit": ("explicit basis", "#E69F00", "s"),
    "sparse": ("explicit basis, sparse", "#999999", "D"),
    "transport": ("transport (the paper)", "#0072B2", "o"),
    "veilspan": ("veilspan", "#D55E00", "*"),
}


def measure(quick):
    sys.path.insert(0, str(ROOT / "benchmarks" / "geometry"))
    import one_thread  # noqa: F401  # before numpy

    # isort: split
    from sampling import sampler_times

    return [
        {"manifold": case, "m": sizes[0], "r": sizes[1] if len(sizes) > 1 else "", "method": k,
         "microseconds": round(1e6 * seconds, 2)}
        for (case, sizes), times in sampler_times(quick).items()
        for k, seconds in times.items()
    ]  # fmt: skip


def curve(rows, case, r, method):
    points = [
        (row["m"], row["microseconds"])
        for row in rows
        if (row["manifold"], row["r"] or None, row["method"]) == (case, r, method)
    ]
    return sorted(points)


def plot(rows, path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(17, 6.8), layout="constrained")
    handles = {}
    for i, (ax, (title, (case, r))) in enumerate(zip(axes.flat, PANELS.items())):
        for method, (label, colour, marker) in STYLES.items():
            points = curve(rows, case, r, method)
            if points:
                size = 10 if method == "veilspan" else 5
                (handles[label],) = ax.plot(
                    *zip(*points), color=colour, marker=marker, markersize=size, linewidth=1.6
                )
        ax.set_yscale("log")
        ax.set_title(title, fontsize=11)
        ax.grid(alpha=0.25)
        if i >= 5:
            ax.set_xlabel("m")
        if i % 5 == 0:
            ax.set_ylabel("microseconds per draw")
    ordered = [label for label, _, _ in STYLES.values() if label in handles]
    figure.legend(
        [handles[k] for k in ordered], ordered, loc="outside lower center", ncols=5, frameon=False
    )
    figure.suptitle("One tangent Gaussian: CPU time of one thread (lower is better)")
    figure.savefig(path, dpi=110)


def verdict(rows):
    """Compare at every size; orders of magnitude at the largest size a baseline could run."""
    gains, behind, ratios = [], [], []
    for case, r in PANELS.values():
        ours, paper = (dict(curve(rows, case, r, k)) for k in ("veilspan", "transport"))
        ratios += [paper[m] / ours[m] for m in ours]
        for method in ("gram-schmidt", "explicit", "sparse"):
            points = curve(rows, case, r, method)
            behind += [(case, m) for m, t in points if t < paper[m]]
            if points:
                m, t = points[-1]
                gains.append(t / paper[m])
    orders = sum(gain >= 100 for gain in gains)
    print(
        f"Fig. 1: transport loses to a basis at {len(behind)} sizes; at the largest sizes it is "
        f"{min(gains):,.1f}x to {max(gains):,.0f}x faster, and the paper's two orders of magnitude "
        f"hold against {orders} of {len(gains)} baselines. veilspan takes {1 / max(ratios):.2f} to "
        f"{1 / min(ratios):.2f} of the time of transport."
    )
    held = not behind and min(ratios) >= 1
    words = (
        "order of the curves reproduced, veilspan lowest everywhere" if held else "not reproduced"
    )
    print(f"verdict: {words}")
    return held


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no slow baselines")
    parser.add_argument("--out", type=Path, default=ROOT / "experiments" / "results" / "riemannian")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = measure(options.quick)
    with (options.out / "fig1.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, options.out / "fig1.png")
    verdict(rows)


if __name__ == "__main__":
    main()
