"""What a reader of the built site sees, in Chromium: tall pages, and what a search finds first."""

import os
import shutil
from contextlib import contextmanager

CHROMIUM = os.environ.get("VEILSPAN_TEST_CHROMIUM") or shutil.which("chromium")
WIDTH = 1280
#: Nobody scrolls further than this, in pixels.
TALLEST = 12_000
#: Of pages of words those with the largest files are the tallest, give or take a few.
LARGEST = 12


@contextmanager
def opened():
    """A page of a browser as wide as a laptop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": WIDTH, "height": 800})
        finally:
            browser.close()


def find_tall_pages(page, site, pages):
    """Pages above the limit, with their height."""
    found = {}
    for path in pages:
        page.goto(path.as_uri())
        height = page.evaluate("document.documentElement.scrollHeight")
        if height > TALLEST:
            found[str(path.relative_to(site))] = height
    return found


def tall_candidates(site):
    """The pages with the largest files, and those of the evidence, which are tall by pictures."""
    pages = sorted(site.rglob("*.html"), key=lambda path: -path.stat().st_size)
    evidence = [path for path in pages if path.parent.name == "evidence"]
    return [*pages[:LARGEST], *evidence]


def first_result(page, site, words):
    """Title of what a search lists first."""
    page.goto(f"{(site / 'search.html').as_uri()}?q={words}")
    page.wait_for_selector("#search-results ul.search li a")
    return page.inner_text("#search-results ul.search li a >> nth=0")
