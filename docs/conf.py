"""Settings of the documentation site: ``python3 run.py docs``. Nothing here needs a network."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "api"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from veilspan import __version__

project = "Veilspan"
author = "The Veilspan developers"
copyright = "the Veilspan developers, BSD-3-Clause"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "mathml",
    "reference",
    "folding",
]
exclude_patterns = ["pictures", "_templates"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False  # formulas are MathML
highlight_language = "text"

autodoc_typehints = "none"  # signatures stay readable; docstrings say the types
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_preprocess_types = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "Veilspan"
html_static_path = ["_static"]
html_css_files = ["veilspan.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/favicon.svg"
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")  # guides come first
html_show_sphinx = False
html_copy_source = False
html_use_index = False  # one page of all names, which nobody scrolls: the search finds them
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#a84300",
        "color-brand-content": "#00598c",
        "color-brand-visited": "#00598c",
    },
    "dark_css_variables": {
        "color-brand-primary": "#ff9a57",
        "color-brand-content": "#6cc3f5",
        "color-brand-visited": "#6cc3f5",
    },
    "navigation_with_keys": True,
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = False
