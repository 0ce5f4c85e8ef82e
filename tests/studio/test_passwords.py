"""Passwords of servers are on no page: whoever reads pages need not know them."""

import re

from studio.running import run_studio
from studio.stories import ask, words_of
from veilspan.datasets import make_ward
from veilspan.studio.as_text import account_as_text, fit_as_text, release_as_text, schema_as_text
from veilspan.studio.asking import find_asking
from veilspan.studio.settings import Settings, Table
from veilspan.studio.state import Studio

SECRET = "HUNTER2"
SERVER = f"postgresql://reader:{SECRET}@127.0.0.1:9/clinic"


def make_settings(folder):
    """A table on a server that does not answer, with and without a schema."""
    made = make_ward(100)
    made.save(folder / "ward.csv", folder / "ward.toml")
    tables = {
        "pg": Table("pg", SERVER, "visits", folder / "ward.toml"),
        "new": Table("new", SERVER, "visits"),
    }
    return Settings(folder / "s", str(folder / "b.db"), folder / "k", tables)


def test_no_page_shows_a_password(tmp_path):
    settings = make_settings(tmp_path)
    with run_studio(settings) as found:
        visitor = found.enter()
        opened = visitor.submit("/d", {"name": "pg", "epsilon": "3", "delta": "1e-6"})
        assert opened.status_code == 303
        draft = ask(visitor, dataset="pg")
        waiting = ["/", f"/r/{draft}/plan", f"/r/{draft}/sign", "/d/new/schema", "/releases"]
        seen = {}
        while waiting:
            path = waiting.pop()
            seen[path] = visitor.get(path)
            assert SECRET not in seen[path].text, f"{path}: {words_of(seen[path])}"
            links = re.findall(r'(?:href|src)="(/[^"#]*)"', seen[path].text)
            waiting += [link for link in set(links) if link not in (*seen, *waiting)]
        fields = {"epsilon": "1.0", "agree": "yes"}
        signed = visitor.submit(f"/r/{draft}/submit", fields)
        assert SECRET not in visitor.get(signed.headers["location"]).text
        assert "postgresql://reader@127.0.0.1:9/clinic" in seen["/d/pg"].text
        assert {"/d/pg", "/d/pg/schema", f"/r/{draft}/sign"} <= set(seen)


def test_the_ledgers_password_is_in_no_text(tmp_path):
    from dataclasses import replace
    from types import SimpleNamespace

    settings = make_settings(tmp_path)
    with run_studio(settings) as found:
        visitor = found.enter()
        visitor.submit("/d", {"name": "pg", "epsilon": "3", "delta": "1e-6"})
        asking = find_asking(found.studio, ask(visitor, dataset="pg"))
        request = SimpleNamespace(
            estimator="profile", epsilon=1.0, delta=1e-6, neighbors="replace-one", dataset="pg"
        )
    studio = Studio(replace(settings, ledger=SERVER))
    texts = [
        *account_as_text(studio.settings),
        *account_as_text(studio.settings, "pg"),
        *schema_as_text(studio, "pg"),
        *schema_as_text(studio, "new"),
        *fit_as_text(studio, asking, "studio-1"),
        *release_as_text(studio, SimpleNamespace(folder=tmp_path, request=request)),
    ]
    assert not [text for text in texts if SECRET in text]
    assert sum("reader@127.0.0.1:9" in text for text in texts) >= 8
