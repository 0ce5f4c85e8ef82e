"""Jobs that are done, cancelled and killed at every stage: the ledger's truth is what is told."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from veilspan.cli import main
from veilspan.datasets import make_ward
from veilspan.ledger import Ledger, RequestError
from veilspan.releases import load
from veilspan.studio import job_files
from veilspan.studio.fits import draft_fit, name_source
from veilspan.studio.jobs import JobQueue
from veilspan.studio.settings import Table
from veilspan.tables.schema import Schema

if os.name != "posix":
    pytest.skip("jobs in sessions of their own, and kill -9", allow_module_level=True)

KILLED = Path(__file__).with_name("killed_job.py")
PARAMS = {"n_components": 2, "random_state": 0}


def later(*values):
    """A stage that is tried with the long tests; each takes a process or two."""
    return pytest.param(*values, marks=pytest.mark.long)


class Ward:
    """A small ward with an approved request and a queue."""

    def __init__(self, folder, ledger=None):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        make_ward(120).save(folder / "ward.csv", folder / "ward.toml")
        self.schema = Schema.load(folder / "ward.toml")
        self.table = Table("ward", str(folder / "ward.csv"), schema=folder / "ward.toml")
        self.ledger = Ledger(ledger or folder / "budget.db", folder / "ledger.key")
        self.account = self.ledger.dataset("ward", 3, 1e-6, schema=self.schema, test=True)
        self.queue = JobQueue(
            folder / "studio", self.ledger.url, self.ledger.key_file, {"ward": self.table}
        )

    def ask(self, epsilon=1.0, approve=True, **changes):
        params = {**PARAMS, **changes}
        draft = draft_fit(self.table, self.schema, "pca", params, epsilon, 1e-6, asked_by="Ana")
        asked = self.account.ask(draft)
        return self.account.approve(asked.id, by="Otto", role="officer") if approve else asked

    def fail_at(self, place):
        self.queue.command = [sys.executable, str(KILLED), place]

    def finish(self, job):
        until = time.monotonic() + 240
        while not job.ended:
            assert time.monotonic() < until, self.queue.events(job.id)
            time.sleep(0.05)
            job = self.queue.get(job.id)
        return job

    def wait_for(self, job, stage):
        until = time.monotonic() + 240
        while not any(event["stage"] == stage for event in self.queue.events(job.id)):
            assert time.monotonic() < until
            time.sleep(0.02)


@pytest.fixture
def ward(tmp_path):
    return Ward(tmp_path / "ward")


def test_a_job_from_its_request_to_its_release(ward):
    with (ward.folder / "ward.csv").open("a") as file:
        file.write(",,\n")
    asked = ward.ask()
    first = ward.queue.start(asked.id)
    assert ward.queue.start(asked.id).id == first.id  # a second click
    job = ward.finish(first)
    assert (job.stage, job.message, job.steward_message) == ("done", "", "")
    assert job.cancel_costs
    # What the fit warned of is kept for the pages: here that a seed is a simulation.
    assert any("random_state" in words for words in job.warnings)
    assert any("the table has 121 rows, the schema says 120" in words for words in job.warnings)
    assert len(set(job.warnings)) == len(job.warnings)
    events = ward.queue.events(job.id)
    stages = list(dict.fromkeys(event["stage"] for event in events))
    assert stages == ["wait", "read", "charged", "fit", "report", "done"]
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    model = load(job.release_folder, key=ward.ledger.key_file)
    steps = [event for event in events if event["stage"] == "fit"]
    assert job.of == len(steps) == sum(event.count for event in model.plan_.events)
    assert [event["step"] for event in steps] == list(range(1, len(steps) + 1))
    assert (job.release_folder / "report.html").exists()
    assert "asked by Ana, approved by Otto" in (job.release_folder / "report.html").read_text()
    assert ward.account.request(asked.id).state == "released"
    assert ward.account.spent().charges == 1
    assert ward.queue.start(asked.id).id == job.id
    assert ward.queue.cancel(job.id).stage == "done"
    assert ward.queue.events(job.id, after=len(events)) == []
    assert ward.ledger.verify()
    # A studio that is started anew finds the same.
    again = JobQueue(ward.queue.folder, ward.ledger.url, ward.ledger.key_file, ward.queue.sources)
    assert again.jobs() == [job]
    assert oct(job.release_folder.parent.stat().st_mode)[-3:] == "700"
    left = {path.name for path in job.release_folder.parent.iterdir()}
    assert left == {"alive", "events.jsonl", "process.json", "release", "task.json"}
    for name in (job_files.TASK, job_files.EVENTS):
        assert oct((job.release_folder.parent / name).stat().st_mode)[-3:] == "600"


def run_command(*words):
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return stop.value.code


def arrays_of(folder):
    return sorted(path.name for path in folder.glob("arrays-*.npz"))


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
def test_a_job_is_the_command_and_the_call(ward, tmp_path):
    """The same key, seed and words: the same plan, charge and digest of what is released."""
    asked = ward.ask()
    job = ward.finish(ward.queue.start(asked.id))
    other = Ward(tmp_path / "other")
    twin = other.ask()
    assert (twin.plan_digest, twin.question, twin.schema_digest) == (
        asked.plan_digest,
        asked.question,
        asked.schema_digest,
    )
    words = ["fit", "pca", other.table.data, "--schema", other.table.schema, "--epsilon", 1.0]
    words += ["-p", "n_components=2", "-p", "random_state=0"]
    words += ["--ledger", other.ledger.url, "--key", other.ledger.key_file, "--dataset", "ward"]
    words += ["--request", twin.key, "--out", tmp_path / "release"]
    assert run_command(*words) == 5  # a seed is not private
    assert arrays_of(tmp_path / "release") == arrays_of(job.release_folder)
    assert other.account.request(twin.id).state == "released"

    def charge(one):
        content = next(e for e in one.account.history() if e.kind == "charge").content
        return {name: content[name] for name in ("plan", "question", "costs", "schema", "epsilon")}

    assert charge(ward) == charge(other)
    # And in Python, under the key of the job: its release again, at no cost.
    from veilspan import PCA, open_table

    model = PCA(
        **PARAMS, schema=ward.schema, epsilon=1.0, delta=1e-6, neighbors=ward.schema.neighbors,
        ledger=ward.account.with_key(asked.key),
    )  # fmt: skip
    model.fit(open_table(ward.table.data))
    assert model.privacy_.release_id == load(job.release_folder).privacy_.release_id
    assert ward.account.spent().charges == 1


@pytest.mark.parametrize(
    ("place", "state", "words"),
    [
        later("KILL:wait", "approved", "nothing was spent"),
        ("KILL:read", "approved", "nothing was spent"),
        ("before_commit", "approved", "nothing was spent"),
        ("KILL:charged", "charged", "stays spent"),
        later("KILL:fit", "charged", "stays spent"),
        later("before_release", "charged", "stays spent"),
        ("after_release", "released", "costs nothing"),
        later("KILL:report", "released", "costs nothing"),
        later("before_rename", "released", "costs nothing"),
    ],
)
def test_a_job_that_is_killed(ward, place, state, words):
    asked = ward.ask()
    ward.fail_at(place)
    job = ward.finish(ward.queue.start(asked.id))
    assert job.stage == "failed"
    assert words in job.message
    assert ward.account.request(asked.id).state == state
    assert job.cancel_costs == (state != "approved")
    assert job.release_folder is None
    assert ward.account.spent().charges == (state != "approved")
    assert ward.queue.events(job.id)[-1]["stage"] == "failed"
    left = {path.name for path in (ward.queue.jobs_folder / job.id).iterdir()}
    assert not left & {"reserve", job_files.TEMPORARY}
    assert ward.ledger.verify()
    if place == "KILL:read":  # free: it is started again, and runs
        ward.queue.command = JobQueue(ward.queue.folder, "", "", {}).command
        assert ward.finish(ward.queue.start(asked.id)).stage == "done"
        assert ward.account.spent().charges == 1
    elif place == "after_release":  # paid for: it is given again
        ward.queue.command = JobQueue(ward.queue.folder, "", "", {}).command
        again = ward.finish(ward.queue.start(asked.id))
        assert again.stage == "done"
        assert load(again.release_folder).privacy_.ledger["request"]["id"] == asked.id
        assert ward.account.spent().charges == 1
    elif state == "charged":
        with pytest.raises(RequestError, match="that is spent"):
            ward.queue.start(asked.id)


@pytest.mark.parametrize(
    ("place", "stage", "words", "state"),
    [
        ("no_room", "failed", "The disk is full", "approved"),
        ("full_folder", "failed", "costs nothing", "released"),
        ("busy_ledger", "done", "", "released"),
        ("no_events", "done", "", "released"),
        ("secret_error", "failed", "broke off after its charge", "charged"),
    ],
)
def test_what_goes_wrong_is_said(ward, place, stage, words, state):
    asked = ward.ask()
    ward.fail_at(place)
    job = ward.finish(ward.queue.start(asked.id))
    assert job.stage == stage
    assert words in job.message
    assert ward.account.request(asked.id).state == state
    if place == "secret_error":
        assert "Miller" in job.steward_message
        assert "Miller" not in json.dumps(ward.queue.events(job.id)) + job.message


def test_a_missing_file_is_told_to_the_steward(ward):
    asked = ward.ask()
    Path(ward.table.data).unlink()
    job = ward.finish(ward.queue.start(asked.id))
    assert job.stage == "failed"
    assert "could not be opened" in job.message
    assert "Nothing was charged" in job.message
    assert "does not exist" in job.steward_message
    assert ward.account.request(asked.id).state == "approved"


def test_a_file_that_was_exchanged_for_another(ward):
    """A column that was declared is gone: public, and seen before the charge."""
    asked = ward.ask()
    path = Path(ward.table.data)
    path.write_text(path.read_text().replace(ward.schema.features[0].name, "other", 1))
    job = ward.finish(ward.queue.start(asked.id))
    assert job.stage == "failed"
    assert "Nothing was charged" in job.message
    assert "column" in job.steward_message
    assert ward.account.request(asked.id).state == "approved"


def test_a_ledger_that_others_hold(ward):
    asked = ward.ask()
    ward.fail_at("impatient")
    other = sqlite3.connect(ward.ledger.url, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        job = ward.finish(ward.queue.start(asked.id))
    finally:
        other.close()
    assert (job.stage, job.cancel_costs) == ("failed", False)
    assert "is held by another writer" in job.message
    assert ward.account.request(asked.id).state == "approved"


SERVER = """
import os, signal, subprocess, sys
from pathlib import Path
from veilspan.studio import job_files, jobs
from veilspan.studio.settings import Table

home, place, *asked = sys.argv[1:]
home = Path(home)

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def die_after(function):
    def called(*arguments, **options):
        function(*arguments, **options)
        die()
    return called

if place == "before task":
    job_files.write_json = die
elif place == "after task":
    job_files.write_json = die_after(job_files.write_json)
elif place == "before pipe":
    subprocess.Popen = die_after(subprocess.Popen)
table = Table("ward", str(home / "ward.csv"), schema=home / "ward.toml")
ledger = str(home / "budget.db")
queue = jobs.JobQueue(home / "studio", ledger, home / "ledger.key", {"ward": table})
for one in asked:
    queue.start(one)
die()
"""


@pytest.mark.parametrize("place", ["before task", "after task", "before pipe", "after all"])
def test_a_studio_that_is_killed(ward, place):
    """At any moment of the start: nothing is charged, or the job goes on without it."""
    asked = ward.ask()
    words = [sys.executable, "-c", SERVER, str(ward.folder), place, asked.id]
    assert subprocess.run(words, check=False, timeout=240).returncode == -signal.SIGKILL
    jobs = ward.queue.jobs()
    assert len(jobs) == (place != "before task")
    for job in jobs:
        ended = ward.finish(job)
        assert ended.stage == ("done" if place == "after all" else "failed")
        assert ended.cancel_costs == (place == "after all")
    if place == "before pipe":  # it is started again and runs
        assert ward.finish(ward.queue.start(asked.id)).stage == "done"
    charged = place in ("before pipe", "after all")
    assert ward.account.request(asked.id).state == ("released" if charged else "approved")
    assert ward.account.spent().charges == charged
    assert ward.ledger.verify()


def test_cancelling(ward):
    first, second = ward.ask(), ward.ask(n_components=1)
    ward.fail_at("sleep_in_fit")
    running = ward.queue.start(first.id)
    ward.wait_for(running, "fit")
    waiting = ward.queue.start(second.id)
    ward.wait_for(waiting, "wait")
    assert ward.queue.get(running.id).cancel_costs
    assert not ward.queue.get(waiting.id).cancel_costs
    assert ward.queue.get(waiting.id).stage == "wait"
    other = JobQueue(ward.queue.folder, ward.ledger.url, ward.ledger.key_file, ward.queue.sources)
    free = other.cancel(waiting.id)  # a studio that was started anew
    assert (free.stage, free.cancel_costs) == ("cancelled", False)
    assert "nothing was spent" in free.message
    assert ward.account.request(second.id).state == "approved"
    spent = ward.queue.cancel(running.id)
    assert (spent.stage, spent.cancel_costs) == ("cancelled", True)
    assert "stays spent" in spent.message
    assert ward.account.request(first.id).state == "charged"
    assert not job_files.is_alive(ward.queue.jobs_folder / running.id)
    assert ward.ledger.verify()


@pytest.mark.parametrize("place", ["stop_after_commit", "stop_after_commit_unread"])
def test_cancelling_between_the_charge_and_its_receipt(ward, place):
    """The ledger says what was spent, not the memory of a process that was interrupted."""
    asked = ward.ask()
    ward.fail_at(place)
    job = ward.finish(ward.queue.start(asked.id))
    assert ward.account.request(asked.id).state == "charged"
    assert (job.stage, job.cancel_costs) == ("cancelled", True)
    assert "stays spent" in job.message
    assert ward.queue.events(job.id)[-1]["charged"]


def test_one_at_a_time_and_the_studio_may_die(ward):
    """Two jobs, started by a queue that is then forgotten: both are done, one after the other."""
    asked = [ward.ask(), ward.ask(n_components=1)]
    queue = JobQueue(ward.queue.folder, ward.ledger.url, ward.ledger.key_file, ward.queue.sources)
    started = [queue.start(one.id) for one in asked]
    del queue
    jobs = [ward.finish(job) for job in started]
    assert [job.stage for job in jobs] == ["done", "done"]
    first, second = sorted(jobs, key=lambda job: job.ended_at)
    log = ward.queue.jobs_folder / first.id / job_files.EVENTS
    assert log.stat().st_mtime <= second.ended_at
    assert ward.account.spent().charges == 2


def test_first_come_first_served(tmp_path):
    """Jobs take their turns in the order of their ids, however their processes are scheduled."""
    served, threads = [], []
    places = [tmp_path / f"{number:026}" for number in range(4)]
    handles = {}
    for place in places:
        place.mkdir()
        handles[place] = job_files.hold_alive(place)

    def work(place):
        with job_files.taking_turns(place):
            served.append(place)
            time.sleep(0.3)
        os.close(handles[place])

    for place in reversed(places[1:]):
        threads.append(threading.Thread(target=work, args=(place,)))
        threads[-1].start()
    time.sleep(0.5)
    assert served == []
    os.close(handles[places[0]])  # the first one is killed
    for thread in threads:
        thread.join(30)
    assert served == places[1:]


def test_what_is_not_started(ward):
    with pytest.raises(RequestError, match="not approved yet: nothing was started"):
        ward.queue.start(ward.ask(approve=False).id)
    refused = ward.ask(approve=False)
    ward.account.refuse(refused.id, by="Otto", role="officer", reason="no")
    with pytest.raises(RequestError, match="was refused: nothing was started"):
        ward.queue.start(refused.id)
    with pytest.raises(RequestError, match="there is no request"):
        ward.queue.start("nothing")
    for name in ("nothing", "../../ward.csv", "0" * 26):
        with pytest.raises(RequestError, match="no such job"):
            ward.queue.get(name)
    asked = ward.ask()
    moved = Table("ward", ward.table.data + ".new", schema=ward.table.schema)
    ward.queue.sources = {"ward": moved}
    with pytest.raises(RequestError, match="declared to lie elsewhere"):
        ward.queue.start(asked.id)
    ward.queue.sources = {"ward": ward.table}
    ward.table.schema.write_text(ward.table.schema.read_text() + '\n[unit]\nprotects = "x"\n')
    with pytest.raises(Exception, match=r"not at hand any more|schema"):
        ward.queue.start(asked.id)
    assert ward.queue.jobs() == []
    assert ward.account.spent().charges == 0


def test_a_request_that_was_edited_meanwhile(ward):
    asked = ward.ask()
    ward.fail_at("sleep_in_read")
    ward.queue.start(asked.id)
    place = next(ward.queue.jobs_folder.glob("0*"))
    task = job_files.read_json(place / job_files.TASK)
    assert task["binding"] == asked.binding
    assert "Ana" not in json.dumps(task)
    assert ward.ledger.url not in json.dumps(task)  # which may hold a password
    assert ward.queue.cancel(place.name).stage == "cancelled"
    job_files.write_json(place / job_files.TASK, {**task, "binding": "other"})
    (place / job_files.EVENTS).unlink()
    from veilspan.studio import job_process

    job_process.run(place, {"data": ward.table.data, "table": None, "ledger": ward.ledger.url})
    assert "edited since" in ward.queue.get(place.name).message
    assert ward.account.request(asked.id).state == "approved"


def test_torn_lines_are_passed_over(tmp_path):
    job_files.add_event(tmp_path, {"stage": "wait"})
    with open(tmp_path / job_files.EVENTS, "ab") as stream:
        stream.write(b'{"stage": "re')
    assert [event["stage"] for event in job_files.read_events(tmp_path)] == ["wait"]
    job_files.add_event(tmp_path, {"stage": "read"})
    assert [event["stage"] for event in job_files.read_events(tmp_path)] == ["wait", "read"]


def test_a_source_is_named_without_its_password():
    table = Table("ward", "postgresql://me:secret@host/db", "visits")
    assert "secret" not in name_source(table)
    assert name_source(table).endswith("table visits")


def test_a_damaged_schema_is_said_and_another_copy_is_taken(ward):
    asked = ward.ask()
    kept = ward.queue.folder / "schemas" / f"{ward.schema.digest}.toml"
    kept.parent.mkdir(parents=True, exist_ok=True)
    for damage in (b"", b"\xff\x00", b"[unit", b'veilspan_schema = "x"\n'):
        kept.write_bytes(damage)
        assert ward.queue._find_schema(asked, ward.table) == ward.table.schema
    without = Table("ward", ward.table.data)
    with pytest.raises(RequestError, match="is damaged"):
        ward.queue._find_schema(asked, without)
    kept.unlink()
    with pytest.raises(RequestError, match="not at hand any more"):
        ward.queue._find_schema(asked, without)
