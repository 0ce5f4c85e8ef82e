"""The figures on private recommendations (Jain, Thakkar & Thakurta 2018), rerun and taken further.

    python experiments/recommend/run.py [fig2 crossover | all] [--quick] [--data DIR] [--out DIR]

Each writes a CSV (Fig. 2 also a PNG) and prints what it shows. --data is a folder with the files
named in data.py; without it ratings are generated.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER.parent / "results" / "recommend"
FIGURES = ("fig2", "crossover")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", nargs="*", default=["all"], help="fig2, crossover, or all")
    parser.add_argument("--quick", action="store_true", help="one seed, fewer settings")
    parser.add_argument("--tiny", action="store_true", help="seconds, for tests: shows nothing")
    parser.add_argument("--seeds", type=int, help="splits and noise draws")
    parser.add_argument("--data", type=Path, help="folder with Jester, MovieLens, BookCrossing")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    names = FIGURES if "all" in options.figures else options.figures
    unknown = sorted(set(names) - set(FIGURES))
    if unknown:
        parser.error(f"no such figure: {', '.join(unknown)}; choose from {', '.join(FIGURES)}")
    return max(run(name, options) for name in names)


def run(name, options):
    """One figure in a process of its own, with one thread."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--out", str(options.out)]
    command += [f"--{flag}" for flag in ("quick", "tiny") if getattr(options, flag)]
    for value in ("seeds", "data"):
        if getattr(options, value) is not None:
            command += [f"--{value}", str(getattr(options, value))]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env={**one_thread, **os.environ}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
