"""The page in a real browser: light, dark, on paper, on a phone; nothing asked of the network.

Needs Playwright and Chromium (Debian: ``apt-get install chromium``; another one by the variable
``VEILSPAN_TEST_CHROMIUM``), and is skipped without them.
"""

import os
import re
import shutil
import subprocess
import warnings

import pandas as pd
import pytest

from reports.covers import FULL, META
from reports.releases import ROWS, page_of
from veilspan import PCA, Ledger, Profile
from veilspan.datasets import make_ward
from veilspan.reports import report_html, write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (the extra `test`)")
CHROMIUM = os.environ.get("VEILSPAN_TEST_CHROMIUM") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

NASTY = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
# Ratio of luminances of every visible text and what is painted behind it (WCAG 2, contrast).
CONTRAST = """() => {
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (colours) => {
    paint.clearRect(0, 0, 1, 1);
    for (const colour of colours) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => v / 255).map(
      (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("title, desc, caption, script, .skip")) continue;
    const behind = [];
    for (let e = element; e; e = e.parentElement) {
      behind.unshift(getComputedStyle(e).backgroundColor);
    }
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(rgb(behind)), light(rgb([...behind, colour]))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), walker.currentNode.data.trim()]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page; whatever goes wrong or outside is found at the end of the test."""
    wrong, pages = [], []

    def opened(text, **settings):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        page = browser.new_page(**settings)
        pages.append(page)

        def answer(route):
            if route.request.url == path.as_uri():
                route.continue_()
            else:
                wrong.append(route.request.url)
                route.abort()

        page.route("**/*", answer)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append("a dialog"), dialog.dismiss()))
        page.goto(path.as_uri())
        return page

    yield opened
    for page in pages:
        page.close()
    assert not wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_renders_and_can_be_read(visit, scheme):
    page = visit(page_of("PCA, centred"), color_scheme=scheme)
    assert page.locator("h1").inner_text() == "PCA"
    assert "differentially private" in page.locator(".sentence").inner_text()
    assert page.locator("svg.chart").count() == 3
    for chart in page.locator("svg.chart").all():
        assert chart.bounding_box()["height"] > 150
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(244, 245, 247)", "dark": "rgb(17, 20, 24)"}[scheme]
    low = [(ratio, words) for ratio, words in page.evaluate(CONTRAST) if ratio < 4.5]
    assert not low


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_what_is_not_private(visit, scheme):
    with pytest.warns(UserWarning, match="simulation"):
        release = PCA(2, random_state=0).fit(ROWS)
    page = visit(report_html(release), color_scheme=scheme)
    assert page.locator(".alarm").is_visible()
    low = [(ratio, words) for ratio, words in page.evaluate(CONTRAST) if ratio < 4.5]
    assert not low


def test_paper_is_light_and_holds_the_records(visit):
    page = visit(page_of("PCA"), color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 29, 33)"
    assert not page.locator("nav").is_visible()
    assert not page.locator("button").first.is_visible()
    assert len(page.pdf(prefer_css_page_size=True, print_background=True)) > 20_000


@pytest.mark.parametrize("name", ["PCA, centred", "MatrixCompletion", "FrechetMean, matrices"])
def test_a_phone_is_wide_enough(visit, name):
    page = visit(page_of(name), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def printed_pages(pdf):
    """How many sheets a PDF of Chromium has, whose objects are not compressed."""
    return len(re.findall(rb"/Type /Page\b(?!s)", pdf))


def count_sheets(page, hidden):
    """How many sheets a page takes without the parts that a selector names."""
    page.evaluate(
        "hidden => document.querySelectorAll(hidden).forEach(part => part.style.display = 'none')",
        hidden,
    )
    return printed_pages(page.pdf(prefer_css_page_size=True, print_background=True))


@pytest.fixture(scope="module")
def long_account(tmp_path_factory):
    """An account with a long name and more releases than a cover lists."""
    place = tmp_path_factory.mktemp("ledger")
    ledger = Ledger(str(place / "budget.db"), key=place / "key")
    account = ledger.dataset("w" * 90, epsilon=3.0, delta=1e-6)
    for i in range(7):
        name = f"a release with a name that is long, and longer, and longest, number {i}"
        PCA(2, epsilon=0.2, ledger=account.with_key(name)).fit(ROWS)
    return account


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_cover_can_be_read(visit, scheme, long_account):
    release = PCA(2, ledger=long_account).fit(ROWS)
    page = visit(report_html(release, meta=META), color_scheme=scheme)
    assert page.locator("#cover h2").inner_text() == META["title"]
    assert page.locator(".signatures > div").count() == 2
    assert page.locator(".checklist .initial").count() == 6
    low = [(ratio, words) for ratio, words in page.evaluate(CONTRAST) if ratio < 4.5]
    assert not low


@pytest.mark.parametrize("options", [{}, {"epsilon": 8.0}, {"random_state": 0}])
@pytest.mark.parametrize("meta", [META, FULL], ids=["usual", "full"])
def test_a_cover_is_one_sheet_of_paper(visit, long_account, options, meta):
    """However long its entries are; what is behind it starts on the next sheet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ledger = long_account if not options else None
        release = PCA(2, ledger=ledger, **options).fit(ROWS)
    with_cover = report_html(release, meta=meta)
    sheets = [
        count_sheets(visit(with_cover), hidden)
        for hidden in ("nothing", "main > :not(#cover)", "#cover")
    ]
    assert sheets[1] == 1
    assert sheets[0] == 1 + sheets[2]
    page = visit(with_cover, viewport={"width": 695, "height": 1017})  # A4 without its margins
    page.emulate_media(media="print")
    box = page.locator("#cover").bounding_box()
    assert box["y"] + box["height"] <= 1017
    assert page.evaluate("document.documentElement.scrollWidth") <= 695


def test_every_sheet_says_whose_it_is_and_which(visit, tmp_path):
    """Page numbers and the release's id at the foot of all sheets."""
    pdftotext = shutil.which("pdftotext")
    if pdftotext is None:
        pytest.skip("needs pdftotext (Debian: poppler-utils)")
    release = PCA(2).fit(ROWS)
    short = report_html(release, meta=META)
    assert 'class="cover card roomy"' in short
    assert 'class="cover card"' in report_html(release, meta=FULL)
    pdf = tmp_path / "report.pdf"
    pdf.write_bytes(visit(short).pdf(prefer_css_page_size=True, print_background=True))
    told = subprocess.run(
        [pdftotext, "-layout", pdf, "-"], capture_output=True, text=True, check=True
    )
    sheets = told.stdout.split("\f")[:-1]
    for number, sheet in enumerate(sheets, 1):
        foot = sheet.strip().splitlines()[-1]
        assert foot.startswith(f"Privacy report of release {release.privacy_.release_id}")
        assert foot.endswith(f"Page {number} of {len(sheets)}")


def test_a_profile_fits_a_phone(visit):
    ward = make_ward(2000, random_state=0)
    release = Profile(schema=ward.schema).fit(ward.columns)
    page = visit(report_html(release), viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_cover_fits_a_phone(visit, long_account):
    release = PCA(2, ledger=long_account).fit(ROWS)
    page = visit(report_html(release, meta=FULL), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_buttons_copy(visit):
    page = visit(page_of("PCA"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator('button[data-copy="code-text"]')
    button.click()
    page.wait_for_function("e => e.textContent === 'Copied'", arg=button.element_handle())
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#code-text").text_content()


def test_without_scripts_there_are_no_buttons(visit):
    page = visit(page_of("PCA"), java_script_enabled=False)
    assert page.locator("h1").is_visible()
    assert not page.locator("button").first.is_visible()


def test_names_run_nothing(visit, tmp_path):
    table = pd.DataFrame(ROWS, columns=[NASTY, *"bcdef"])
    release = PCA(2).fit(table)
    path = write_report(tmp_path / "nasty.html", release, title=NASTY, public_rows={NASTY: table})
    page = visit(path.read_text())
    assert page.locator("h1").inner_text() == NASTY
    assert page.locator("img").count() == 0


def test_the_policy_stops_what_is_put_in_later(browser, tmp_path):
    """The other side: a handler in the page is refused, and the refusal is seen."""
    path = tmp_path / "report.html"
    path.write_text(page_of("PCA").replace("<h1>", "<h1 onclick='document.title = 1'>"))
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    page.locator("h1").click()
    assert page.title() == "PCA"
    assert any("Content Security Policy" in text for text in said)
    page.close()
