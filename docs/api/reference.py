"""The reference, written while the site is built: names by rules, commands from their own help."""

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parent))
import commands
import docstrings
import names


class Written(SphinxDirective):
    """A directive that writes reStructuredText in its place."""

    required_arguments = 0

    def written(self) -> list[str]:
        """Return the text."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the text where the directive stands."""
        return self.parse_text_to_nodes(
            StringList(self.written(), source=self.get_source_info()[0]),
            allow_section_headings=True,
        )


class Reference(Written):
    """One page of the reference: a table of its names, then each of them in full."""

    required_arguments = 1

    def written(self) -> list[str]:
        """Return headings, tables and autodoc directives."""
        lines: list[str] = []
        for section in names.pages()[self.arguments[0]]:
            lines += [section.title, "-" * len(section.title), "", *_table(section.names)]
            for name in section.names:
                lines += _entry(name)
        return lines


def _table(full_names: tuple[str, ...]) -> list[str]:
    lines = [".. list-table::", "   :widths: 35 65", "   :class: reference-names", ""]
    for name in full_names:
        first = docstrings.escaped(_summary(names.value_of(name)))
        lines += [f"   * - :py:obj:`~{name}`", f"     - {first}"]
    return [*lines, ""]


def _summary(value: Any) -> str:
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0]
    # A role is looked up in the module of a docstring, which a table is not in.
    return re.sub(r":\w+:`~?([^`]+)`", r"``\1``", " ".join(paragraph.split()))


def _entry(name: str) -> list[str]:
    value = names.value_of(name)
    if inspect.isclass(value):
        options = ["   :members:", "   :member-order: bysource"]
        if not issubclass(value, BaseException) and hasattr(value, "get_params"):
            # What an estimator inherits from ours is part of its face; scikit-learn's is not.
            options += ["   :inherited-members: BaseEstimator"]
        return [f".. autoclass:: {name}", *options, ""]
    if inspect.isfunction(value):
        return [f".. autofunction:: {name}", ""]
    return [f".. autodata:: {name}", ""]


class Commands(Written):
    """All commands of the command line with their options."""

    def written(self) -> list[str]:
        """Return a heading for each command."""
        return commands.written()


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    """Link a name by its home to its place in the reference.

    Docstrings name things by the module that defines them; the reference has them under their
    public names. What exists and is not in the reference is left as plain text. What does not
    exist at all stays unresolved: a warning, and warnings are errors.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    found = _found(target, node.get("py:module"), node.get("py:class"))
    if found is None:
        return None
    domain = env.get_domain("py")
    for public in _public_names(found, target):
        if public in domain.objects:
            return domain.resolve_xref(
                env, node["refdoc"], app.builder, "obj", public, node, content
            )
    return content


def _found(target: str, module: str | None, inside: str | None) -> Any:
    tries = [target, f"{module}.{target}", f"{module}.{inside}.{target}", f"builtins.{target}"]
    return next((value for value in map(_imported, tries) if value is not None), None)


def _imported(path: str) -> Any:
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:cut]))
        except (ImportError, ValueError):
            continue
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value
    return None


def _public_names(found: Any, target: str) -> list[str]:
    same = [
        name
        for sections in names.pages().values()
        for section in sections
        for name in section.names
        if names.value_of(name) is found
    ]
    home = re.sub(r"\.\w+$", "", target)  # of a method: its class, if that is public
    owner = _imported(home) if "." in target else None
    if inspect.isclass(owner):
        same += [f"{name}.{target.rsplit('.', 1)[1]}" for name in _public_names(owner, home)]
    return same


def link_types(app: Sphinx, doctree: nodes.document) -> None:
    """Link our own classes where the type of a parameter names one; other words stay words."""
    public = {name.rsplit(".", 1)[1]: name for name in names.root_names() if name[9].isupper()}
    for node in list(doctree.findall(pending_xref)):
        # Written roles have a literal inside; the words of a type do not.
        if node.get("refdomain") != "py" or isinstance(node.next_node(), nodes.literal):
            continue
        name = public.get(node["reftarget"].rsplit(".", 1)[-1])
        if name is None:
            node.replace_self(node.children)
        else:
            node["reftarget"] = name
            node.attributes.pop("refspecific", None)


def name_fields(app: Sphinx, doctree: nodes.document) -> None:
    """Call the attributes of a class by the name that our docstrings have for them."""
    for node in doctree.findall(nodes.field_name):
        if node.astext() == "Variables":
            node[:] = [nodes.Text("Attributes")]


def skip(app: Sphinx, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn's mixins give to every estimator: it is documented there."""
    home = getattr(thing, "__module__", None) or ""
    return True if home.startswith("sklearn.") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register directives and hooks."""
    app.add_directive("reference", Reference)
    app.add_directive("commands", Commands)
    # Before napoleon, which runs at 500 and would read sections out of formulas.
    app.connect("autodoc-process-docstring", docstrings.tidy, priority=400)
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", link_types)
    app.connect("doctree-read", name_fields)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
