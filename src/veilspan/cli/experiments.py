"""The folder of experiments as a package, from a checkout or from an installed wheel."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

NAME = "veilspan_experiments"
_PACKAGE = Path(__file__).resolve().parents[1]
#: where it may lie: beside ``src`` in a checkout, inside the package in a wheel
_PLACES = (_PACKAGE.parents[1] / "experiments", _PACKAGE / "_experiments")


def experiments_folder() -> Path:
    """Return the folder with the experiments."""
    for place in _PLACES:
        if (place / "registry.py").is_file():
            return place
    raise FileNotFoundError(
        "the experiments are not installed: install veilspan from a wheel, or work in a checkout."
    )


def experiment(module: str = "") -> ModuleType:
    """Import a module of the experiments, such as ``"registry"`` or ``"robust_pca.fig1"``."""
    if NAME not in sys.modules:
        _load(experiments_folder())
    return importlib.import_module(f"{NAME}.{module}" if module else NAME)


def _load(folder: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the experiments in {folder}.")
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
