"""The documentation site: complete, whole, and nothing loaded from elsewhere."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import site_in_a_browser as browser
import veilspan

DOCS = Path(__file__).resolve().parents[1] / "docs"
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
OUTSIDE = re.compile(r"(?:\w+:)?//")
#: What somebody looks for, and the page that says it.
FOUND_FIRST = {
    "epsilon": "Choosing epsilon and delta",
    "how to choose epsilon": "Choosing epsilon and delta",
    "ledger": "The ledger: privacy budgets that outlive a process",
    "privacy budget": "The ledger: privacy budgets that outlive a process",
    "missing": "Missing data",
    "several rows per person": "Several rows per person",
    "large files": "Large files that do not fit into memory",
    "confidence intervals": "Error bars and confidence intervals",
    "notebook": "Gallery and notebooks",
    "docker": "Docker",
}
TOOLS = ("sphinx", "myst_parser", "furo", "sphinx_design", "sphinx_copybutton")


def load(name):
    """Import a module of `docs/api`, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_api_{name}", DOCS / "api" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def names():
    return load("names")


@pytest.fixture(scope="module")
def listed(names):
    return {
        id(names.value_of(name))
        for sections in names.pages().values()
        for section in sections
        for name in section.names
    }


# The reference, without Sphinx.


def public_packages():
    """Packages of ours that say what is public in them."""
    folders = sorted(Path(veilspan.__file__).parent.glob("*/__init__.py"))
    modules = [importlib.import_module(f"veilspan.{path.parent.name}") for path in folders]
    return [m for m in modules if hasattr(m, "__all__") and m.__name__ != "veilspan.cli"]


def test_every_public_name_is_in_the_reference(names, listed):
    missing = [
        f"{module.__name__}.{name}"
        for module in [veilspan, *public_packages()]
        for name in module.__all__
        if name != "__version__"
        and not isinstance(value := getattr(module, name), type(veilspan))
        and id(value) not in listed
    ]
    assert not missing


def test_every_public_package_is_known(names):
    found = {module.__name__.removeprefix("veilspan.") for module in public_packages()}
    assert found == set(names.PACKAGES)


def test_every_page_of_the_reference_has_its_file(names):
    for page in names.pages():
        assert f".. reference:: {page}\n" in (DOCS / "api" / f"{page}.rst").read_text()


def test_names_stand_once(names):
    all_names = [name for page in names.pages().values() for part in page for name in part.names]
    assert len(all_names) == len(set(all_names)) == len({id(names.value_of(n)) for n in all_names})


# The tree of pages, without Sphinx.


def toctree_entries(path):
    """Pages that a page lists, relative to the folder of pages."""
    text = path.read_text()
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", text, flags=re.S | re.M)
    blocks += re.findall(r"^\.\. toctree::\n((?:[ ]+.*\n|\n)*)", text, flags=re.M)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    folder = path.parent.relative_to(DOCS)
    named = [os.path.normpath(folder / line) for line in lines if re.match(r"[\w.]", line)]
    if "*" in lines:
        here = {str(other.relative_to(DOCS).with_suffix("")) for other in path.parent.glob("*.md")}
        named += sorted(here - {*named, str(path.relative_to(DOCS).with_suffix(""))})
    return named


def sources():
    return [path for suffix in ("md", "rst") for path in DOCS.rglob(f"*.{suffix}")]


def test_every_listed_page_exists_and_every_page_is_listed():
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in sources()}
    listed = [entry for path in sources() for entry in toctree_entries(path)]
    assert len(listed) == len(set(listed))
    assert set(listed) | {"index"} == pages


def test_pictures_exist_and_are_small():
    for path in sources():
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text()):
            picture = path.parent / target
            assert picture.is_file(), f"{path.name}: {target}"
            assert picture.stat().st_size < 400_000, target


def test_every_guide_picture_can_be_drawn_again():
    for script in (DOCS / "pictures").glob("*.py"):
        if script.stem != "draw":
            assert 1000 < (DOCS / "images" / f"{script.stem}.png").stat().st_size < 120_000


# Docstrings become reStructuredText.


def test_formulas_of_docstrings_are_literal():
    written = load("docstrings").rewritten(
        ["It releases", "", "    M = |x| * y_", "", "with |x| at most 1 and ``a|b`` as it is."]
    )
    assert "    M = |x| * y_" in written
    assert ".. code-block:: text" in written
    assert r"with \|x\| at most 1 and ``a|b`` as it is." in written


def test_lists_of_docstrings_stay_lists():
    lines = ["- one", "", "    more of one", "- two"]
    assert load("docstrings").rewritten(lines) == lines


def test_commands_are_all_there():
    text = "\n".join(load("commands").written())
    for command in ("demo", "audit", "reproduce", "ledger create", "ledger verify"):
        assert f"\nveilspan {command}\n---" in text
    assert ".. option:: --epsilon <" in text
    assert "--tiny" not in text


# The built site.


class Resources(HTMLParser):
    """Collect what a page loads; links that a reader may follow are not loaded."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "link" and values.get("rel") in {"canonical", "author", "license"}:
            return
        self.found += [value for name, value in attributes if (tag, name) in LOADED and value]


def built(out):
    """The site: one that is built already, or a new one."""
    if "VEILSPAN_SITE" in os.environ:
        return Path(os.environ["VEILSPAN_SITE"])
    if any(importlib.util.find_spec(tool) is None for tool in TOOLS):
        pytest.skip("needs the extra docs: python3 run.py docs builds the site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", out / "doctrees", DOCS, out / "html"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return out / "html"


def test_site(names, tmp_path):
    """One test, so that parallel runs build the site once."""
    site = built(tmp_path)
    nothing_is_loaded_from_elsewhere(site)
    the_reference_is_complete(site, names)
    formulas_are_drawn_without_a_script(site)
    it_has_a_logo_and_an_icon(site)
    if browser.CHROMIUM is not None and importlib.util.find_spec("playwright"):
        a_reader_finds_the_way(site)


def nothing_is_loaded_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        reader = Resources()
        reader.feed(page.read_text())
        assert reader.found
        outside = [url for url in reader.found if OUTSIDE.match(url)]
        assert not outside, f"{page.name}: {outside}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text()), sheet.name


def the_reference_is_complete(site, names):
    for page, sections in names.pages().items():
        text = (site / "api" / f"{page}.html").read_text()
        for section in sections:
            for name in section.names:
                assert f'id="{name}"' in text, name


def formulas_are_drawn_without_a_script(site):
    assert "<math" in (site / "api" / "geometry.html").read_text()
    for page in site.rglob("*.html"):
        assert "mathjax" not in page.read_text().lower(), page.name


def it_has_a_logo_and_an_icon(site):
    text = (site / "index.html").read_text()
    assert re.search(r'<link rel="(shortcut )?icon" href="_static/favicon\.svg', text)
    assert re.search(r'<img[^>]* src="_static/logo\.svg', text)


def a_reader_finds_the_way(site):
    with browser.opened() as page:
        assert browser.find_tall_pages(page, site, browser.tall_candidates(site)) == {}
        for words, title in FOUND_FIRST.items():
            assert browser.first_result(page, site, words) == title


def test_an_outside_resource_is_seen():
    reader = Resources()
    reader.feed('<script src="https://cdn.example/x.js"></script><a href="https://example"></a>')
    assert [url for url in reader.found if OUTSIDE.match(url)] == ["https://cdn.example/x.js"]
    assert OUTSIDE.match("//cdn.example/x.js")
    assert not OUTSIDE.match("_static/x.js")
