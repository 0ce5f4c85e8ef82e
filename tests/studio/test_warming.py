"""Slow modules are loaded behind the first pages, by one thread at a time."""

import threading

from veilspan.studio import warming
from veilspan.studio.warming import Warming


def test_modules_and_pages_take_turns_and_pages_go_first(monkeypatch):
    """Two threads that load modules which need each other fail: never two at once."""
    inside, most, order, looked = [], [], [], threading.Event()

    def work(name):
        inside.append(name)
        most.append(len(inside))
        if name == "first":
            looked.wait(5)  # until a page waits for its turn
        order.append(inside.pop())

    monkeypatch.setattr(warming, "MODULES", ("first", "second"))
    monkeypatch.setattr(warming, "import_module", work)
    warm = Warming()
    warm.start()

    def show_page():
        with warm.turn():
            work("page")

    pages = [threading.Thread(target=show_page) for _ in range(4)]
    for page in pages:
        page.start()
    while warm._waiting < 4:
        pass
    looked.set()
    for page in pages:
        page.join(5)
    assert warm._over.wait(5)
    assert max(most) == 1
    assert order == ["first", *["page"] * 4, "second"]


def test_what_is_not_installed_is_left_out_and_pages_are_free_then(monkeypatch):
    monkeypatch.setattr(warming, "MODULES", ("no_such_module", "json"))
    warm = Warming()
    warm.start()
    assert warm._over.wait(5)
    with warm.turn(), warm.turn():  # at the same time
        pass
