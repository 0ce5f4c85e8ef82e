"""The cover and the head of a report, as a browser shows them: needs Playwright and Chromium."""

import os
import shutil
import tempfile
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veilspan import Ledger, LogisticRegression, Profile
from veilspan.datasets import make_ward
from veilspan.reports import write_report
from veilspan.reports.cover.meta import EXAMPLE

PATIENTS = 20_000
#: What is shown, in pixels: the cover, and the page behind it down to its links.
SIZE = {"x": 0, "y": 0, "width": 1000, "height": 1980}
#: Enough for letters and three coloured bars, in a third of the bytes.
COLOURS = 48


@dataclass(frozen=True)
class Shot:
    """A page that is drawn by a browser where other pictures are drawn by matplotlib."""

    page: Path

    def savefig(self, target: Path, **_: Any) -> None:
        """Write the top of the page as a PNG file."""
        from playwright.sync_api import sync_playwright

        chromium = os.environ.get("VEILSPAN_TEST_CHROMIUM") or shutil.which("chromium")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            view = {"width": SIZE["width"], "height": SIZE["height"]}
            window = browser.new_page(viewport=view, color_scheme="light")
            window.goto(self.page.as_uri())
            window.screenshot(path=target, clip=SIZE)
            browser.close()
        from PIL import Image  # comes with matplotlib

        Image.open(target).convert("RGB").quantize(COLOURS).save(target, optimize=True)


def draw(style: Any) -> Shot:
    """A logistic regression of a made-up ward, charged beside two earlier releases."""
    place = Path(tempfile.mkdtemp())
    ward = make_ward(PATIENTS, random_state=0)
    schema = ward.schema
    ledger = Ledger(str(place / "budget.db"), key=place / "ledger.key")
    account = ledger.dataset(schema.name, 3.0, 1e-6, unit=schema.protects)
    Profile(epsilon=0.5, schema=schema, ledger=account.with_key("profile")).fit(ward.columns)
    earlier = account.with_key("board, spring")
    LogisticRegression(epsilon=0.5, schema=schema, ledger=earlier).fit(ward.columns)
    model = LogisticRegression(epsilon=1.0, schema=schema, ledger=account).fit(ward.columns)
    model.privacy_ = replace(model.privacy_, release_id="0123456789abcdef")
    return Shot(write_report(place / "report.html", model, meta=tomllib.loads(EXAMPLE)))
