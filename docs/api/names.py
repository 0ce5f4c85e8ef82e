"""Which names the reference holds, found by rules: a new public name cannot be forgotten.

Needs no Sphinx: `tests/test_site.py` reads it as well.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import veilspan

#: packages whose ``__all__`` is public
PACKAGES = (
    "audit",
    "datasets",
    "features",
    "geometry",
    "ledger",
    "metrics",
    "planning",
    "releases",
    "reports",
    "tables",
)


@dataclass(frozen=True)
class Section:
    """A heading of a page, and the full names of what stands under it."""

    title: str
    names: tuple[str, ...]


def value_of(name: str) -> Any:
    """Return what a full name such as ``veilspan.audit.audit`` stands for."""
    package, _, last = name.rpartition(".")
    return getattr(importlib.import_module(package), last)


@cache
def root_names() -> list[str]:
    """Return the public classes and functions of ``veilspan`` itself, by their full names."""
    return [
        f"veilspan.{name}"
        for name in veilspan.__all__
        if name != "__version__" and not inspect.ismodule(getattr(veilspan, name))
    ]


def package_names(package: str) -> list[str]:
    """Return the public names of a package, except those that ``veilspan`` has too."""
    module = importlib.import_module(f"veilspan.{package}")
    at_root = {id(value_of(name)) for name in root_names()}
    return [
        f"veilspan.{package}.{name}"
        for name in module.__all__
        if id(getattr(module, name)) not in at_root
    ]


def from_layer(*places: str) -> list[str]:
    """Return the names of ``veilspan`` that are defined in these packages or modules."""
    homes = tuple(f"veilspan.{place}" for place in places)
    return [
        name
        for name in root_names()
        if any(f"{value_of(name).__module__}.".startswith(f"{home}.") for home in homes)
    ]


def defined_in(package: str, wanted: Callable[[Any], bool]) -> list[str]:
    """Return public classes and functions of a package's modules, except those of the root."""
    at_root = {id(value_of(name)) for name in root_names()}
    return [
        f"{module.__name__}.{name}"
        for module in modules(package)
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == module.__name__
        and id(value) not in at_root
        and wanted(value)
    ]


def modules(package: str) -> Iterator[ModuleType]:
    """Import the modules of a package."""
    root = importlib.import_module(f"veilspan.{package}")
    for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        yield importlib.import_module(found.name)


def is_solver(value: Any) -> bool:
    """Tell whether this is a class that runs on a curator."""
    return inspect.isclass(value) and callable(getattr(value, "run", None))


def is_query(value: Any) -> bool:
    """Tell whether this is a question to the curator."""
    return inspect.isclass(value) and issubclass(value, veilspan.RowQuery)


def is_loss(value: Any) -> bool:
    """Tell whether this is a loss or a penalty."""
    return inspect.isclass(value) and value.__module__.startswith("veilspan.losses.")


def is_declaration(value: Any) -> bool:
    """Tell whether this is a part of a schema: a column, the unit, the format of a file."""
    homes = ("columns", "unit", "file_format")
    return inspect.isclass(value) and value.__module__.split(".")[2] in homes


def is_step_rule(value: Any) -> bool:
    """Tell whether this is a rule for the lengths of steps."""
    homes = ("steps", "secant_steps")
    return inspect.isclass(value) and value.__module__.rsplit(".", 1)[-1] in homes


def is_class_or_function(value: Any) -> bool:
    """Tell whether this is something to call."""
    return inspect.isclass(value) or inspect.isfunction(value)


def _sections(*pairs: tuple[str, list[str]]) -> list[Section]:
    return [Section(title, tuple(names)) for title, names in pairs if names]


LINEAR = ("estimators.linear.classification", "estimators.linear.regression")


@cache
def pages() -> dict[str, list[Section]]:
    """Return all pages of the reference: their names, and what they hold."""
    linear = from_layer(*LINEAR)
    others = [name for name in from_layer("estimators") if name not in linear]
    checks = from_layer("scikit_learn_checks")
    found = {
        "estimators": _sections(
            ("Structure", others), ("Linear models", linear), ("In scikit-learn", checks)
        ),
        "tables": _sections(
            ("What a schema declares", defined_in("tables", is_declaration)),
            ("From other formats", ["veilspan.tables.importers.import_schema"]),
        ),
        "privacy": _sections(
            ("Names of the package", from_layer("privacy")),
            ("All that a reviewer reads", defined_in("privacy", is_class_or_function)),
        ),
        "curator": _sections(
            ("Names of the package", from_layer("curator")),
            ("Behind the door", defined_in("curator", inspect.isclass)),
        ),
        "losses": _sections(
            ("Names of the package", from_layer("losses")),
            ("Losses and penalties", defined_in("losses", is_loss)),
        ),
        "queries": _sections(("Row queries", defined_in("queries", is_query))),
        "solvers": _sections(
            ("Names of the package", from_layer("solvers")),
            ("Solvers by name", defined_in("solvers", is_solver)),
            ("Lengths of steps", defined_in("solvers", is_step_rule)),
        ),
    }
    found["nonprivate"] = _sections(
        ("Robust subspaces, as references for figures", package_names("nonprivate.baselines")),
        ("How hard a robust problem is", package_names("nonprivate.diagnostics")),
        ("Streams", package_names("nonprivate.grouse")),
    )
    for package in PACKAGES:
        at_root, inside = from_layer(package), package_names(package)
        names = _sections(("Names of the package", [*at_root, *inside]))
        found[package] = [*names, *found.get(package, [])]
    return found
