"""The studio on a ledger that lies on a PostgreSQL server: the whole story, and killed jobs."""

import re
import time
from dataclasses import replace

import pytest

from studio.running import run_studio
from studio.stories import ask, go, send, sign, wait_for_job, words_of
from studio.test_jobs import Ward, later
from veilspan.datasets import make_visits
from veilspan.ledger import LedgerError, RequestError
from veilspan.ledger.stores import postgres
from veilspan.studio import job_files
from veilspan.studio.jobs import JobQueue

#: Seconds for which the server works on a commit in these tests.
SLOW = 2.0
_SLOW_COMMIT = f"""
CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep({SLOW}); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON veilspan_ledger.entries
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = 'charge')
    EXECUTE FUNCTION be_slow();
"""


@pytest.fixture
def ward(tmp_path, postgres_url):
    return Ward(tmp_path / "ward", postgres_url)


def make_commits_slow(url):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_SLOW_COMMIT)


@pytest.mark.slow
def test_from_a_schema_to_a_withdrawn_release(own_hospital, postgres_url):
    settings = replace(own_hospital, ledger=postgres_url)
    with run_studio(settings) as running:
        visitor, studio = running.enter(), running.studio
        # Declare.
        toml = make_visits(100).schema_toml.replace('"ward-visits"', '"visits"')
        send(visitor, "/d/visits/import", {"toml": toml})
        page = go(visitor, "/d/visits/schema").text
        digest = re.search(r'name="digest" value="([0-9a-f]{64})"', page).group(1)
        send(visitor, "/d/visits/freeze", {"digest": digest})
        send(visitor, "/d", {"name": "visits", "epsilon": "2", "delta": "1e-6"})
        # Ask, plan, sign, run.
        draft = ask(visitor, "visits")
        go(visitor, f"/r/{draft}/plan")
        request = sign(visitor, draft)
        assert "Open the release" in wait_for_job(visitor, request).text
        number = request.split("/")[2]
        account = studio.account("visits")
        assert account.request(number).state == "released"
        used = account.spent().fraction
        # Look at it, withdraw it.
        go(visitor, f"/x/{number}/report")
        send(visitor, f"/x/{number}/withdraw", {"reason": "A wrong column"})
        assert "Withdrawn by Demo" in words_of(go(visitor, f"/x/{number}"))
        assert account.history()[-1].kind == "withdrawal"
        assert account.spent().fraction == used
        for path in ("/", "/d/visits", "/requests", "/releases", request):
            go(visitor, path)
        # A second studio at the same ledger and folder finds all of it.
    with run_studio(settings) as running:
        assert "withdrawn" in words_of(go(running.enter(), "/releases"))
        assert running.studio.ledger.verify()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "state", "words"),
    [
        later("before_commit", "approved", "nothing was spent"),
        ("KILL:charged", "charged", "stays spent"),
        later("after_release", "released", "costs nothing"),
    ],
)
def test_a_job_that_is_killed(ward, place, state, words):
    asked = ward.ask()
    ward.fail_at(place)
    job = ward.finish(ward.queue.start(asked.id))
    assert job.stage == "failed"
    assert words in job.message
    assert job.cancel_costs == (state != "approved")
    assert ward.account.request(asked.id).state == state
    assert ward.account.spent().charges == (state != "approved")
    assert ward.ledger.verify()
    ward.queue.command = JobQueue(ward.queue.folder, "", "", {}).command
    if state == "charged":
        with pytest.raises(RequestError, match="that is spent"):
            ward.queue.start(asked.id)
    else:
        assert ward.finish(ward.queue.start(asked.id)).stage == "done"
        assert ward.account.spent().charges == 1


@pytest.mark.slow
def test_a_commit_that_was_on_its_way_when_the_job_was_killed(ward):
    """The server makes the charge after the death of who sent it; the state told is that."""
    asked = ward.ask()
    make_commits_slow(ward.ledger.url)
    ward.fail_at("in_commit")
    started = ward.queue.start(asked.id)
    place = ward.queue.jobs_folder / started.id
    while job_files.is_alive(place):
        time.sleep(0.02)
    assert ward.account.request(asked.id).state == "approved", "the commit is not made yet"
    job = ward.finish(ward.queue.get(started.id))
    assert ward.account.request(asked.id).state == "charged"
    assert (job.stage, job.cancel_costs) == ("failed", True)
    assert "stays spent" in job.message
    assert ward.account.spent().charges == 1
    assert ward.ledger.verify()


@pytest.mark.long
def test_a_commit_that_takes_longer_than_a_page_waits(ward, monkeypatch):
    """Nothing final is said before it is known; the next look finds it."""
    monkeypatch.setattr(job_files, "COMMIT_PATIENCE", 0.1)
    asked = ward.ask()
    make_commits_slow(ward.ledger.url)
    ward.fail_at("in_commit")
    started = ward.queue.start(asked.id)
    while job_files.is_alive(ward.queue.jobs_folder / started.id):
        time.sleep(0.02)
    job = ward.queue.get(started.id)
    assert "cannot be read now" in job.message
    assert "nothing was spent" not in job.message
    time.sleep(SLOW)
    job = ward.queue.get(started.id)
    assert "stays spent" in job.message
    assert job.cancel_costs


def test_waiting_for_writers(postgres_url, tmp_path):
    from veilspan.ledger import Ledger

    ledger = Ledger(postgres_url, tmp_path / "ledger.key")
    ledger.dataset("ward", 1, 1e-6)
    ledger.journal.wait_for_writers(1)  # nobody writes
    store = postgres.PostgresStore(postgres_url)
    with store.writing():
        begun = time.monotonic()
        with pytest.raises(LedgerError, match="held by another writer"):
            ledger.journal.wait_for_writers(0.1)
        assert time.monotonic() - begun < postgres.PATIENCE / 2
    ledger.journal.wait_for_writers(1)


@pytest.mark.long
def test_a_server_that_is_away_is_said_and_nothing_is_lost(ward):
    """A job whose ledger cannot be reached is neither free nor spent until it can be asked."""
    asked = ward.ask()
    ward.fail_at("KILL:charged")
    started = ward.queue.start(asked.id)
    while job_files.is_alive(ward.queue.jobs_folder / started.id):
        time.sleep(0.02)
    away = JobQueue(
        ward.queue.folder,
        ward.ledger.url.replace("veilspan_", "gone_"),
        ward.ledger.key_file,
        ward.queue.sources,
    )
    assert "cannot be read now" in away.get(started.id).message
    assert "stays spent" in ward.queue.get(started.id).message
