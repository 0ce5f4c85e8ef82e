"""What the package holds: so that a new class cannot be left out of a contract."""

import inspect
import pkgutil
from functools import cache
from importlib import import_module

import veilspan


@cache
def import_everything():
    """Import every module of the package."""
    for module in pkgutil.walk_packages(veilspan.__path__, "veilspan."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def all_of(kind):
    """Every class of the package below ``kind`` that can be made."""
    import_everything()
    for below in kind.__subclasses__():
        yield from all_of(below)
    if kind.__module__.startswith("veilspan.") and not inspect.isabstract(kind):
        yield kind
