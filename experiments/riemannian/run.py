"""The figures of Utpala, Han, Jawanpuria & Mishra (2023), rerun.

    python experiments/riemannian/run.py [fig1 fig2 fig3 | all] [--quick] [--data DIR] [--out DIR]

Writes a PNG and a CSV per figure and prints what it shows. --data is a folder with the files named
in data.py, for Fig. 3; without it rows are generated.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER.parent / "results" / "riemannian"
FIGURES = ("fig1", "fig2", "fig3")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", nargs="*", default=["all"], help="fig1, fig2, fig3, or all")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and settings")
    parser.add_argument("--data", type=Path, help="folder with images, digits, nouns (Fig. 3)")
    parser.add_argument("--cache", type=Path, help="folder for trained embeddings (Fig. 3)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    names = FIGURES if "all" in options.figures else options.figures
    unknown = sorted(set(names) - set(FIGURES))
    if unknown:
        parser.error(f"no such figure: {', '.join(unknown)}; choose from {', '.join(FIGURES)}")
    return max(run(name, options) for name in names)


def run(name, options):
    """One figure in a process of its own: timings of one must not depend on another's imports."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--out", str(options.out)]
    command += ["--quick"] if options.quick else []
    for folder in ("data", "cache"):
        if name == "fig3" and getattr(options, folder) is not None:
            command += [f"--{folder}", str(getattr(options, folder))]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env={**one_thread, **os.environ}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
