"""Take the pictures of the studio's guide: ``python docs/pictures/studio/take.py``.

Runs the demo hospital in a folder that is thrown away, walks through it in Chromium (Playwright, as
the tests do) from the first page to a release, and writes ``docs/images/studio-*.png``.
"""

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from veilspan.studio.demo import make_demo
from veilspan.studio.server import make_server, write_link

IMAGES = Path(__file__).resolve().parents[2] / "images"
CHROMIUM = os.environ.get("VEILSPAN_TEST_CHROMIUM") or shutil.which("chromium")
WINDOW = {"width": 1180, "height": 860}
#: Milliseconds to wait for a simulation or a fit.
PATIENCE = 300_000
COLOURS = 128


def main() -> None:
    """Run the demo and take all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        server, studio, taken = make_server(make_demo(Path(folder)))
        with taken:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
            thread.start()
            while not server.started:
                time.sleep(0.05)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=CHROMIUM, args=["--no-sandbox"]
                )
                walk(browser.new_page(viewport=WINDOW), studio)
                browser.close()
            server.should_exit = True
            thread.join(20)


def walk(page: Any, studio: Any) -> None:
    """From the first page to a release, a picture on the way of every page."""
    page.set_default_timeout(PATIENCE)
    origin = f"http://127.0.0.1:{studio.port}"

    def keep(name: str, **how: Any) -> None:
        target = IMAGES / f"studio-{name}.png"
        page.screenshot(path=target, **how)
        # Pages have few colours: a palette makes a third of the file, and nobody sees it.
        with Image.open(target) as picture:
            small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(target, optimize=True)
        print(target.name, target.stat().st_size // 1024, "KB")

    page.goto(write_link(studio))
    keep("datasets", clip={"x": 0, "y": 0, "width": 1180, "height": 560})
    page.goto(f"{origin}/d/ward/schema")
    keep("declare")
    page.goto(f"{origin}/d/ward/ask")
    page.check("input[value=logistic]")
    page.fill("#note", "Who is readmitted within 30 days? For the quality report.")
    keep("ask", full_page=True)  # the questions stand above the field that has just been filled
    page.click("button:has-text('Plan it')")
    page.wait_for_selector("#kept")
    keep("plan", full_page=True)
    page.click("button:has-text('Continue to the charge')")
    page.wait_for_url("**/sign")
    keep("sign")
    page.check("#agree")
    page.click("button:has-text('Sign and run')")
    page.wait_for_selector("text=Open the release")
    page.click("text=Open the release")
    page.wait_for_selector("iframe")
    page.frame_locator("iframe").locator("h1").wait_for()
    keep("release")


if __name__ == "__main__":
    main()
