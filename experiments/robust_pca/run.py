"""The figures of Maunu, Yu & Lerman (2022), as printed and with the privacy they claim.

    python experiments/robust_pca/run.py [fig1 fig2 ... | all] [--quick] [--data DIR] [--out DIR]

Writes a PNG, a CSV and a JSON verdict per figure and prints one line each. --data is a folder with
the public files of Novembre et al. (2008) for Fig. 3; without it people are simulated.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: CPU times of one thread

# isort: split
import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

#: figure: the module that draws it
FIGURES = {
    "fig1": "fig1",
    "fig2": "sizes",
    "fig3": "fig3",
    "fig4": "fig4",
    "fig5": "fig5",
    "fig6": "fig6",
    "fig7": "sizes",
    "fig8": "sizes",
    "fig9": "sizes",
}


def main(arguments=None):
    from common import RESULTS

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figures", nargs="*", default=["all"], help="fig1 ... fig9, or all")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and sizes")
    parser.add_argument("--data", type=Path, help="folder with PCA.txt and *.eigs (Fig. 3)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    names = list(FIGURES) if "all" in options.figures else options.figures
    unknown = sorted(set(names) - set(FIGURES))
    if unknown:
        parser.error(f"no such figure: {', '.join(unknown)}; choose from {', '.join(FIGURES)}")
    for name in names:
        module = importlib.import_module(FIGURES[name])
        draw = getattr(module, f"run_{name}", None) or module.run
        draw(options.out, options.quick, options.data)


if __name__ == "__main__":
    main()
