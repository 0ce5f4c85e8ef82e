"""The figures of Zhang & Balzano (2016), rerun with the library's GROUSE.

    python experiments/grouse/run.py [lemmas fig1 fig2 fig3 | all] [--quick] [--out DIR]

Writes a PNG, a CSV and a JSON verdict per figure and prints what holds. No data are needed.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: small matrices

# isort: split
import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

FIGURES = ("lemmas", "fig1", "fig2", "fig3")


def main(arguments=None):
    from common import RESULTS

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", nargs="*", default=["all"], help=f"{', '.join(FIGURES)}, or all")
    parser.add_argument("--quick", action="store_true", help="fewer trials and sizes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    names = FIGURES if "all" in options.figures else options.figures
    unknown = sorted(set(names) - set(FIGURES))
    if unknown:
        parser.error(f"no such figure: {', '.join(unknown)}; choose from {', '.join(FIGURES)}")
    for name in names:
        importlib.import_module(name).run(options.out, options.quick)


if __name__ == "__main__":
    main()
