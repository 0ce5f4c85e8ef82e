"""Draw the pictures of the guides: ``python docs/pictures/draw.py [NAME ...]``.

Each module beside this one has a function ``draw(style)`` that returns a figure from generated rows
with fixed seeds. The pictures are small PNG files in ``docs/images``.
"""

import importlib
import sys
import warnings
from pathlib import Path

from veilspan import NotPrivateWarning

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in {"draw"})


def main(chosen: list[str]) -> None:
    """Draw the chosen pictures, or all."""
    sys.path[:0] = [str(HERE), str(HERE.parents[1])]  # the pictures, and the experiments' style
    from experiments import style

    warnings.simplefilter("ignore", NotPrivateWarning)  # simulations, with seeds
    for name in chosen or NAMES:
        figure = importlib.import_module(name).draw(style)
        target = HERE.parent / "images" / f"{name}.png"
        figure.savefig(target, dpi=110, metadata={"Software": None})
        print(target.name, target.stat().st_size // 1024, "KB")


if __name__ == "__main__":
    main(sys.argv[1:])
