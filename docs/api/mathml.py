"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml, pick_math_environment, wrap_math_code
from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)


def formula(text: str, block: bool) -> str:
    """Turn LaTeX into MathML."""
    if block and "\\begin{" not in text and pick_math_environment(text) == "align*":
        text = wrap_math_code(text, as_block=True)  # several lines, or columns
    # docutils knows \bigl and \ldots, but not their short forms.
    text = re.sub(r"\\([bB]igg?)(?![a-zA-Z])", r"\\\1l", text).replace(r"\dots", r"\ldots")
    try:
        return latex2mathml.tex2mathml(text, as_block=block)
    except MathError as error:
        log.warning("cannot draw the formula %r: %s", text, error)
        return f"<code>{html.escape(text)}</code>"


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(formula(node.astext(), block=False))
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula that stands by itself."""
    self.body.append(f'<div class="math">{formula(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Take the place of MathJax."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_math, None), block_renderers=(visit_math_block, None)
    )
