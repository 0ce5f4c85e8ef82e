"""The studio in a real browser: the whole story of three people, and what must never happen.

Needs Playwright and Chromium (Debian: ``apt-get install chromium``; another one by the variable
``VEILSPAN_TEST_CHROMIUM``), and is skipped without them.
"""

import os
import shutil

import pytest

from reports.test_browser import CONTRAST
from studio.running import run_studio
from studio.test_team import PASSWORD, PEOPLE
from veilspan.studio import accounts, demo
from veilspan.studio.server import write_link
from veilspan.studio.settings import Settings, Table

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright (the extra `test`)")
CHROMIUM = os.environ.get("VEILSPAN_TEST_CHROMIUM") or shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.slow,
]
PHONE, DESK = {"width": 390, "height": 800}, {"width": 1280, "height": 900}
PATIENCE = 90_000
#: Lists and comparisons that are wider than their box: what is outside is seen by nobody.
CUT = """() => [...document.querySelectorAll("table.asked, table.compare")]
  .filter((e) => e.parentElement.scrollWidth > e.parentElement.clientWidth + 1)
  .map((e) => e.className)"""
#: What a screen reader needs and a person overlooks; each line of the result is a finding.
READABLE = """() => {
  const found = [];
  const name = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")
    || e.textContent.trim() || e.title
    || (e.labels && [...e.labels].map((l) => l.textContent.trim()).join(" "));
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (e.checkVisibility() && !name(e)) found.push("no label: " + (e.name || e.id));
  }
  for (const e of document.querySelectorAll("button, a[href], summary, iframe, [role=img]")) {
    if (e.checkVisibility() && !name(e)) found.push("no name: " + e.outerHTML.slice(0, 80));
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) {
    if (ids.filter((x) => x === id).length > 1) found.push("id twice: " + id);
  }
  for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby], label[for]")) {
    const named = [e.getAttribute("aria-describedby"), e.getAttribute("aria-labelledby"),
      e.getAttribute("for")].filter(Boolean).join(" ").split(" ");
    for (const id of named) if (!document.getElementById(id)) found.push("names nothing: " + id);
  }
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  let last = 1;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!e.checkVisibility()) continue;
    const level = Number(e.tagName[1]);
    if (level > last + 1) found.push("heading skips: " + e.textContent.slice(0, 40));
    last = level;
  }
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title) found.push("no title");
  if (document.querySelectorAll("main").length !== 1) found.push("not one main");
  for (const e of document.querySelectorAll("[tabindex]")) {
    if (Number(e.getAttribute("tabindex")) > 0) found.push("tabindex above 0");
  }
  for (const e of document.querySelectorAll("[style], [onclick], script:not([src])")) {
    found.push("inline: " + e.outerHTML.slice(0, 60));
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
def people(browser):
    """Windows of people; errors on the console and requests outside fail the test at its end.

    A test asks for its studio first: windows are then closed before it stops answering.
    """
    wrong, contexts = [], []

    def open_window(origin, **settings):
        settings.setdefault("viewport", DESK)
        context = browser.new_context(**settings)
        contexts.append(context)

        def answer(route):
            if route.request.url.startswith(f"{origin}/"):
                route.continue_()
            else:
                wrong.append(f"outside: {route.request.url}")
                route.abort()

        context.route("**/*", answer)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and wrong.append(m.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert wrong == []


def check(page):
    """What holds on every page: readable, and no wider than the screen."""
    page.wait_for_load_state("load")  # with its style sheets
    assert page.evaluate(READABLE) == [], page.url
    faint = [pair for pair in page.evaluate(CONTRAST) if pair[0] < 4.5]
    assert faint == [], page.url
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{page.url} is {wide} px too wide"
    cut = page.evaluate(CUT)
    assert cut == [], f"lists of {page.url} are cut"


def check_by_axe(page):
    """No finding of axe that is serious or worse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.wait_for_load_state("load")  # colours are those of the style sheets
    options = {"resultTypes": ["violations"], "iframes": False}
    found = axe.run(page, options=options).response["violations"]
    grave = [each for each in found if each["impact"] in ("serious", "critical")]
    told = [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in grave]
    assert told == [], page.url


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "PATIENTS", 300)
    monkeypatch.setattr(demo, "VISITORS", 100)


@pytest.fixture
def team(tmp_path, monkeypatch, small):
    monkeypatch.setattr(accounts, "COST", {"n": 2, "r": 8, "p": 1})
    settings = demo.make_demo(tmp_path / "hospital", team=True)
    with run_studio(settings) as found:
        for name, role in PEOPLE.items():
            found.studio.accounts.add(name, role, PASSWORD)
        yield found


def log_in(people, team, name, **settings):
    page = people(team.origin, **settings)
    page.goto(team.origin)
    page.fill("#name", name)
    page.fill("#password", PASSWORD)
    page.click("button:has-text('Log in')")
    page.wait_for_selector("text=Datasets")
    return page


def test_three_people_from_schema_to_signed_report(team, people):
    """A steward declares, an analyst asks and plans, an officer approves, all read the report."""
    steward = log_in(people, team, "Stella")
    check(steward)
    steward.goto(f"{team.origin}/d/visits/schema")
    check(steward)
    place = steward.locator("section.declare-column:has(h3:text-is('age'))")
    place.locator("select[data-column=type]").select_option("integer")
    place.locator("[id$='-low']").fill("0")
    place.locator("[id$='-high']").fill("110")
    place.locator("[id$='-source']").fill("Nobody is older.")
    for column in ("creatinine", "sex", "ward", "smoker", "admitted", "readmitted"):
        own = steward.locator(f"section.declare-column:has(h3:text-is('{column}'))")
        own.locator("select[data-column=role]").select_option("ignore")
    steward.fill("#protects", "patient")
    steward.fill("#count", "100")
    steward.fill("#unit_source", "Annual report 2025, page 12")
    steward.click("button:has-text('Save')")
    steward.wait_for_selector("text=Saved.")
    steward.click("button:has-text('Freeze this schema')")
    steward.wait_for_selector("text=frozen and in force")
    check(steward)
    steward.fill("#epsilon", "2")
    steward.click("text=Open this budget")
    steward.wait_for_selector("text=The budget is open")

    analyst = log_in(people, team, "Anton", viewport=PHONE)
    analyst.goto(f"{team.origin}/d/visits/ask")
    check(analyst)
    analyst.check("input[value=profile]")
    analyst.fill("#note", "How old are they?")
    analyst.click("button:has-text('Plan it')")
    analyst.wait_for_selector("#slider")
    analyst.wait_for_selector("#uses")
    check(analyst)
    sent = []
    analyst.on("request", lambda request: sent.append(request.url))
    before = analyst.text_content("#odds")
    analyst.focus("#slider")
    for _ in range(12):
        analyst.keyboard.press("ArrowLeft")
    assert analyst.text_content("#odds") != before
    assert float(analyst.input_value("#epsilon")) < 1
    assert sent == [], "moving the slider asks for nothing"
    analyst.click("button:has-text('Continue to the charge')")
    analyst.wait_for_url("**/sign")
    check(analyst)
    analyst.check("#agree")
    analyst.click("button:has-text('Submit for approval')")
    analyst.wait_for_selector("text=It waits for an officer")

    officer = log_in(people, team, "Olga", color_scheme="dark")
    officer.click("text=Requests")
    officer.click("text=Profile of visits")
    officer.wait_for_selector("text=The exact charge")
    check(officer)
    officer.click("button:has-text('Approve, and run it')")
    officer.wait_for_selector("text=Open the release")
    officer.click("text=Open the release")
    officer.wait_for_selector("iframe")
    check(officer)
    report = officer.frame_locator("iframe")
    assert report.locator("h1").text_content()
    assert "Anton" in report.locator("body").text_content(), "the report says who asked"
    assert "Olga" in report.locator("body").text_content(), "and who approved"

    analyst.reload()
    analyst.wait_for_selector("text=Open the release")
    state = team.studio.account("visits").spent()
    assert (state.charges, state.released) == (1, 1)


def test_back_reload_and_two_tabs(own_running, people):
    """Nothing is sent twice, and nothing typed is lost."""
    page = people(own_running.origin)
    page.goto(write_link(own_running.studio))
    page.goto(f"{own_running.origin}/d/ward/ask")
    page.check("input[value=profile]")
    page.fill("#note", "One question")
    page.click("button:has-text('Plan it')")
    page.wait_for_selector("#slider")
    plan = page.url
    page.fill("#epsilon", "0.4")
    page.click("button:has-text('Keep this epsilon')")
    page.wait_for_selector("text=is kept")
    page.reload()
    assert page.input_value("#epsilon") == "0.4"
    page.click("ol.steps >> text=Ask")
    page.wait_for_selector("#note")
    assert page.input_value("#note") == "One question"
    other = page.context.new_page()
    other.goto(plan)
    other.click("button:has-text('Continue to the charge')")
    other.wait_for_url("**/sign")
    signing = other.url
    other.check("#agree")
    other.click("button:has-text('Sign and run')")
    other.wait_for_selector("text=Open the release")
    page.goto(signing)
    page.wait_for_selector("text=Open the release")
    other.go_back()
    other.reload()
    other.wait_for_selector("text=Progress")
    state = own_running.studio.account("ward").spent()
    assert (state.charges, state.released) == (1, 1)
    assert len(own_running.studio.account("ward").requests()) == 1


def press_until(page, selector, key="Tab", most=80):
    """Move the focus by the keyboard until it is where it is wanted."""
    for _ in range(most):
        if page.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"the keyboard does not reach {selector}")


def test_by_the_keyboard_alone(own_running, people):
    page = people(own_running.origin)
    page.goto(write_link(own_running.studio))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    press_until(page, "a[href='/d/ward']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/d/ward")
    press_until(page, "a[href='/d/ward/ask']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask")
    press_until(page, "#note")
    page.keyboard.type("By the keyboard")
    press_until(page, "form button:not([type=button])")
    page.keyboard.press("Enter")
    page.wait_for_selector("#slider")
    press_until(page, "#slider")
    page.keyboard.press("ArrowLeft")
    press_until(page, "button[value=on]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sign")
    press_until(page, "#agree")
    page.keyboard.press("Space")
    press_until(page, "form button:not(.quiet)")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Open the release")


NASTY = 'x"><img src=x onerror=alert(1)><script>alert(2)</script>'
TURNED = "name\u202egnp.exe\u2066"


def test_hostile_names_are_inert(people, tmp_path):
    """Names of columns and datasets, notes and schemas are text, wherever they are shown."""
    (tmp_path / "t.csv").write_text(f'"{NASTY.replace(chr(34), chr(34) * 2)}",x y,"=cmd"\n1,2,3\n')
    name = "<b>ward & ‘sons’"
    tables = {name: Table(name, str(tmp_path / "t.csv"))}
    settings = Settings(tmp_path / "s", str(tmp_path / "b.db"), tmp_path / "k", tables,
                        person="<i>Eve</i>")  # fmt: skip
    with run_studio(settings) as found:
        page = people(found.origin)
        page.goto(write_link(found.studio))
        assert page.locator("main b, main i, main img").count() == page.locator("main p b").count()
        check(page)
        page.click(f"text={name}")
        page.wait_for_selector("h1")
        page.goto(page.url + "/schema")
        page.check("#names")
        page.click("button:has-text('Show the names')")
        page.wait_for_selector("#declare")
        assert page.locator("#declare img, #declare script").count() == 0
        assert NASTY in page.locator("#declare h3").first.text_content()
        page.fill("#about", NASTY)
        page.fill("#owner", TURNED)
        page.click("button:has-text('Save')")
        page.wait_for_selector("text=Saved.")
        assert "\u202e" not in page.content()
        assert page.input_value("#about") == NASTY
        check(page)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A studio with a release, to be looked at."""
    from studio.stories import release

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "PATIENTS", 300)
        patch.setattr(demo, "VISITORS", 100)
        settings = demo.make_demo(tmp_path_factory.mktemp("looked-at"))
    with run_studio(settings) as found:
        found.number = release(found.enter())
        yield found


LOOKS = {
    "desk": {},
    "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True},
    "twice as large": {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2},
    "dark": {"color_scheme": "dark"},
    "without script": {"java_script_enabled": False},
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_looks_right(people, released, look):
    page = people(released.origin, **LOOKS[look])
    page.goto(write_link(released.studio))
    number = released.number
    pages = ("/", "/d/ward", "/d/visits", "/d/ward/schema", "/d/visits/schema", "/d/ward/ask",
             f"/r/{number}", f"/x/{number}", f"/x/{number}/report", "/requests", "/releases",
             "/d/visits/import")  # fmt: skip
    for path in pages:
        page.goto(released.origin + path)
        if path.endswith("/report"):  # has tests of its own; here that it fits
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        elif look == "without script":
            assert page.locator("h1").count() == 1
        else:
            check(page)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(people, released, colours):
    page = people(released.origin, color_scheme=colours)
    page.goto(write_link(released.studio))
    number = released.number
    for path in ("/", "/d/ward", "/d/visits/schema", "/d/ward/ask", f"/r/{number}", f"/x/{number}",
                 "/d/visits/import", "/requests", "/releases"):  # fmt: skip
        page.goto(released.origin + path)
        check_by_axe(page)
    page.goto(f"{released.origin}/d/ward/ask")
    page.click("button:has-text('Plan it')")
    page.wait_for_selector("#uses")
    check_by_axe(page)
    page.click("button:has-text('Continue to the charge')")
    page.wait_for_url("**/sign")
    check_by_axe(page)


def test_paper_shows_the_page_and_no_buttons(people, released):
    page = people(released.origin)
    page.goto(write_link(released.studio))
    page.goto(f"{released.origin}/r/{released.number}")
    page.emulate_media(media="print")
    assert not page.locator("header.bar").is_visible()
    assert page.locator("h1").is_visible()
    assert len(page.pdf()) > 5000
