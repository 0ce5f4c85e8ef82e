"""Where ``veilspan reproduce`` finds the experiments.

They are a package of the repository, ``experiments``, which imports veilspan and not the other way
round; no wheel holds them. So they are looked for in a checkout: the one that veilspan is installed
from (in editable mode), or else the current directory.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

#: The checkout, if this file lies in one: <checkout>/src/veilspan/cli/experiments.py.
_INSTALLED_FROM = Path(__file__).resolve().parents[3]


def find_checkout() -> Path:
    """Return the checkout whose experiments match this library, or else the current directory.

    Raises
    ------
    FileNotFoundError
        If neither is a checkout; the text says how to get one.
    """
    for root in (_INSTALLED_FROM, Path.cwd()):
        # Both are asked for, so that somebody else's folder of this name is not run.
        if (root / "experiments" / "registry.py").is_file() and (root / "src/veilspan").is_dir():
            return root
    raise FileNotFoundError(
        "the experiments are in veilspan's repository, not in the installed package: clone the "
        "repository and run `veilspan reproduce` in its folder."
    )


def import_experiments(module: str) -> ModuleType:
    """Import a module of the experiments, such as ``"registry"`` or ``"robust_pca.fig1"``."""
    root = str(find_checkout())
    if root not in sys.path:
        sys.path.insert(0, root)  # first: another package may be called experiments
    return importlib.import_module(f"experiments.{module}")
