"""Which code can change the figures of an item: what its module imports, and what that imports.

A record names a digest of this code alone. An edit of another family, of the documentation, of a
docstring or of a comment leaves it valid; an edit of anything that the item may run does not.

Imports are read from the source, not from a running interpreter: those inside functions count as
well, and nothing has to be run to tell whether a record still holds. Three ways lead to a module:
an import, a name that a package loads late (``veilspan.PCA``), and a text that names one
(``"linear.auto.AutoLinear"`` in a table of solvers, ``"ebm.py"`` beside the module that starts it).
"""

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import veilspan
from veilspan.catalogue import ESTIMATORS

ROOTS = {
    "veilspan": Path(veilspan.__file__).parent,
    "experiments": Path(__file__).parent,
}
#: What keeps books, draws or lists, and computes no figure; and tables of all that there is, whose
#: lines are followed one by one where they are used.
ASIDE = {
    "experiments",
    "experiments.registry",
    "experiments.job",
    "experiments.cells",
    "experiments.recheck",
    "experiments.cpu",
    "experiments.records",
    "experiments.values",
    "experiments.imports",
    "experiments.style",
    "veilspan",
    "veilspan.catalogue",
    "veilspan._version",
    "veilspan._earlier_names",
    "veilspan._files",
    "veilspan._progress",
    "veilspan._log",
    "veilspan._notebook",
    "veilspan._html",
    "veilspan._printable",
    "veilspan._words",
}
#: Packages that a fitted estimator can be handed to (its page, its folder, its budget). An item
#: that calls them imports them itself, and then they count.
HANDED_TO = ("veilspan.cli", "veilspan.ledger", "veilspan.releases", "veilspan.reports")
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
#: Where texts are relative to, beside the package of the module that they stand in.
TEXTS_NAME = ("veilspan", "veilspan.solvers")


def digest_imports(module: str) -> str:
    """Digest of a module of the experiments and of all code that it may run."""
    return _digest_modules(frozenset(find_imports(module)))


@cache
def find_imports(module: str, *, everything: bool = False) -> tuple[str, ...]:
    """Name the modules that a module may run, itself among them, in alphabetical order.

    With ``everything`` also those of `ASIDE` and `HANDED_TO`: all that can be loaded.
    """
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        left_out = not everything and (name in ASIDE or _handed(name, module))
        if name in found or left_out:
            continue
        found.add(name)
        waiting += _parents(name)
        waiting += _named_in(name)
    return tuple(sorted(found))


def _handed(name: str, asker: str) -> bool:
    inside = [p for p in HANDED_TO if name == p or name.startswith(p + ".")]
    return bool(inside) and not _asks_for(asker, inside[0])


@cache
def _asks_for(asker: str, package: str) -> bool:
    """Whether a module of the asker's own folder imports a package."""
    folder = asker.rpartition(".")[0]
    siblings = [m for m in _modules() if m.rpartition(".")[0] == folder]
    return any(
        name == package or name.startswith(package + ".") for s in siblings for name in _named_in(s)
    )


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:k]) for k in range(1, len(parts))]


@cache
def _modules() -> dict[str, Path]:
    """Every module of both packages, by name."""
    found = {}
    for package, root in ROOTS.items():
        for path in root.rglob("*.py"):
            parts = [package, *path.relative_to(root).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def _named_in(name: str) -> tuple[str, ...]:
    """Modules that one module names: by imports, by attributes of the package, by texts."""
    path = _modules()[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = set(_late_names(name))  # texts of such a table are followed only where they are used
    found: set[str] = set()
    ours: set[str] = set()  # names that stand for the package itself
    for node in _run_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            ours |= {a.asname or a.name for a in node.names if a.name == "veilspan"}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, package)
            for alias in node.names:
                found |= {origin, f"{origin}.{alias.name}", *_late(origin, alias.name)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ours:
                found |= {f"veilspan.{node.attr}", *_late("veilspan", node.attr)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not late:
            found |= set(_modules_in_text(node.value, package))
    return tuple(sorted(found & set(_modules())))


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that can run: not what only type checkers see."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _only_for_types(node.test):
            waiting += node.orelse
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _only_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _origin(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def _late(package: str, name: str) -> list[str]:
    home = _late_names(package).get(name)
    return [] if home is None else [home]


@cache
def _late_names(package: str) -> dict[str, str]:
    """Names that a package loads when they are first used, and the modules that hold them."""
    path = _modules().get(package)
    found = {}
    if path is not None and path.name == "__init__.py":
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            table = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if table and node.targets[0].id == "_HOME":
                homes = ast.literal_eval(node.value)
                found = {name: f"{package}.{home}" for name, home in homes.items()}
    if package == "veilspan":
        found |= {name: f"veilspan.{kind.home}" for name, kind in ESTIMATORS.items()}
    return found


def _modules_in_text(text: str, package: str) -> Iterator[str]:
    if text.endswith(".py") and "/" not in text:
        yield f"{package}.{text.removesuffix('.py')}"
    elif "." in text and all(part.isidentifier() for part in text.split(".")):
        for base in ("", *(f"{b}." for b in (package, *TEXTS_NAME))):
            yield base + text
            yield base + text.rpartition(".")[0]


@cache
def _digest_modules(names: frozenset[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted({p for name in names for p in _files_of(name)}, key=_place):
        code = _strip_prose(path) if path.suffix == ".py" else path.read_text(encoding="utf-8")
        digest.update(_place(path).encode() + b"\0" + code.encode() + b"\0")
    return digest.hexdigest()[:16]


def _files_of(name: str) -> Iterable[Path]:
    """A module's file, and the settings that lie beside it under its name."""
    path = _modules()[name]
    return [path, *path.parent.glob(f"{path.stem}_*.json")]


def _place(path: Path) -> str:
    root = next(r for r in ROOTS.values() if path.is_relative_to(r))
    return path.relative_to(root.parent).as_posix()


def _strip_prose(path: Path) -> str:
    """Source without docstrings, comments and empty lines, which change no figure."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, ast.Module | ast.ClassDef | FUNCTIONS)
        if documented and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            for row in range(first.lineno - 1, first.end_lineno or first.lineno):
                lines[row] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())
