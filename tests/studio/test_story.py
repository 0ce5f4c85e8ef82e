"""One person, from the question to the release, and the same by the command line and Python."""

import hashlib
import json
import re
import shlex
import threading
from pathlib import Path

import pytest

from cli.commands import run
from studio.stories import ask, go, release, send, sign, text_of, wait_for_job, words_of
from veilspan import load
from veilspan.ledger.dataset import Dataset


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A studio with one release, which tests of this module look at."""
    from studio.running import run_studio
    from veilspan.studio import demo

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "PATIENTS", 300)
        patch.setattr(demo, "VISITORS", 100)
        settings = demo.make_demo(tmp_path_factory.mktemp("told"))
    with run_studio(settings) as found:
        visitor = found.enter()
        found.visitor_inside = visitor
        found.released = release(visitor, method="profile", epsilon="0.5")
        yield found


def test_a_release_is_charged_once_and_says_who_approved(told):
    visitor, number = told.visitor_inside, told.released
    state = told.studio.account("ward").spent()
    assert (state.charges, state.released) == (1, 1)
    page = words_of(go(visitor, f"/r/{number}"))
    assert "Approved by Demo, who also asked: nobody else looked at it" in page
    report = go(visitor, f"/x/{number}/report").text
    assert "asked" in report
    assert told.studio.verify_ledger()


def test_the_same_command_and_python_give_the_same_release(told, tmp_path, monkeypatch):
    """The same key gives the same plan, charge and release, bit for bit."""
    monkeypatch.chdir(tmp_path)
    visitor, number = told.visitor_inside, told.released
    page = go(visitor, f"/r/{number}")
    folder = next(job for job in told.studio.queue.jobs()).release_folder
    before = told.studio.account("ward").spent()
    first = load(folder, key=told.studio.settings.key)
    command = shlex.split(text_of(page, "command"))
    place = command.index("--out") + 1
    command[place] = str(tmp_path / "again")
    assert "nothing was charged" in run(*command[1:]).err
    second = load(tmp_path / "again", key=told.studio.settings.key)
    python = re.sub(r"Path\('.*'\)", "Path('third')", text_of(page, "python"))
    exec(compile(python, "as-python", "exec"), {})
    third = load(tmp_path / "third", key=told.studio.settings.key)
    assert first.privacy_ == second.privacy_ == third.privacy_
    assert first.plan_ == second.plan_ == third.plan_
    assert told.studio.account("ward").spent() == before


def test_every_page_says_a_command_that_runs(told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visitor, number = told.visitor_inside, told.released
    draft = ask(visitor, method="pca")
    pages = ["/", "/d/ward", "/d/ward/schema", "/d/ward/ask", f"/r/{draft}/plan", f"/x/{number}"]
    pages += ["/requests", "/releases", "/d/visits"]  # the last has no schema and no budget yet
    for path in pages:
        page = go(visitor, path)
        for line in text_of(page, "command").splitlines():
            words = shlex.split(line)
            quick = ["--no-simulate"] if words[1] == "plan" else []
            if words[1] != "audit":
                run(*words[1:], *quick)
        exec(compile(text_of(page, "python"), "as-python", "exec"), {})


def test_lists_by_text_say_what_the_pages_say(told, capsys):
    """The same requests, of the same people, in the same states, and no others."""
    visitor = told.visitor_inside
    for path, state in (("/requests", None), ("/releases", "released")):
        page = go(visitor, path)
        shown = re.findall(r'href="/(?:r|x)/([0-9A-Z]{26})"', page.text)
        words = shlex.split(text_of(page, "command"))
        listed = run(*words[1:], "--json").json
        assert [each["id"] for each in listed] == shown
        assert {each["state"] for each in listed} <= {state} if state else listed
        capsys.readouterr()
        exec(compile(text_of(page, "python"), "as-python", "exec"), {})
        printed = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [line[0] for line in printed] == shown
        assert [line[-1] for line in printed] == [each["state"] for each in listed]


def test_the_entrance_has_nothing_to_reproduce(told):
    """Who is let in is no result: the page of the link and of the login says no command."""
    stranger = told.visitor()
    assert "as-command" not in stranger.get("/").text
    assert "as-command" not in stranger.get("/login").text


def test_the_plan_by_command_is_the_plan_that_is_charged(told):
    visitor = told.visitor_inside
    draft = ask(visitor, method="pca", params="n_components = 1")
    send(visitor, f"/r/{draft}/epsilon", {"epsilon": "0.7", "go": ""})
    command = shlex.split(text_of(go(visitor, f"/r/{draft}/plan"), "command"))
    planned = run(*command[1:], "--no-simulate", "--json").json["plan"]
    from veilspan.studio.asking import find_asking

    made = find_asking(told.studio, draft).plan(told.studio).to_dict()
    assert json.loads(json.dumps(made)) == planned


def test_files_come_by_their_digest(told):
    visitor, number = told.visitor_inside, told.released
    page = go(visitor, f"/x/{number}").text
    digests = set(re.findall(rf"/x/{number}/file/([0-9a-f]{{64}})", page))
    assert len(digests) >= 3
    for digest in digests:
        answer = go(visitor, f"/x/{number}/file/{digest}")
        assert hashlib.sha256(answer.content).hexdigest() == digest
        assert answer.headers["content-disposition"].startswith("attachment")
    go(visitor, f"/x/{number}/file/{'0' * 64}", expect=404)
    go(visitor, f"/x/{number}/file/..%2frelease.json", expect=404)


def test_what_a_fit_warned_of_is_on_its_pages(told):
    from veilspan.studio import job_files

    visitor, number = told.visitor_inside, told.released
    folder = next(job for job in told.studio.queue.jobs()).release_folder.parent
    job_files.add_event(folder, {"stage": "report", "warnings": ["noise <b>drowns</b> it"]})
    for path in (f"/r/{number}", f"/x/{number}"):
        page = go(visitor, path).text
        assert "The fit warns:" in page
        assert "noise &lt;b&gt;drowns&lt;/b&gt; it" in page


def test_the_report_is_in_a_box_of_its_own(told):
    answer = go(told.visitor_inside, f"/x/{told.released}/report")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox;")
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "style-src 'sha256-" in policy
    assert "<script" not in answer.text


def test_no_page_shows_a_row(told):
    """Ids of patients, notes and dates of the table are on no page."""
    visitor, number = told.visitor_inside, told.released
    with open(told.studio.settings.tables["ward"].data) as stream:
        ids = [line.split(",")[0] for line in stream][1:]
    for path in ("/", "/d/ward", "/d/ward/schema", "/d/ward/ask", f"/r/{number}", f"/x/{number}"):
        text = go(visitor, path).text
        assert not [each for each in ids if each in text]


def test_sending_again_changes_nothing(own_running):
    """Back, reload and a double click: one request, one approval, one charge."""
    visitor = own_running.enter()
    draft = ask(visitor)
    request = sign(visitor, draft)
    fields = {"epsilon": "0.5", "agree": "yes"}
    assert send(visitor, f"/r/{draft}/submit", fields) == request
    assert send(visitor, f"/r/{draft}/epsilon", {"epsilon": "2", "go": "on"}) == request
    wait_for_job(visitor, request)
    for form in ("start", "cancel"):
        send(visitor, f"{request}/{form}")
    state = own_running.studio.account("ward").spent()
    assert (state.charges, state.released) == (1, 1)
    assert len(own_running.studio.account("ward").requests()) == 1


def test_whoever_waits_for_the_ledger_stops_nobody_else(own_running, monkeypatch):
    """A ledger that others hold keeps the form that writes to it, and no other one."""
    asked, free = threading.Event(), threading.Event()
    ask_ledger = Dataset.ask

    def wait(*arguments):
        asked.set()
        assert free.wait(60)
        return ask_ledger(*arguments)

    monkeypatch.setattr(Dataset, "ask", wait)
    monkeypatch.setattr(own_running.studio.queue, "start", lambda _: None)
    first, second = own_running.enter(), own_running.enter()
    places = []
    draft = ask(first)
    thread = threading.Thread(target=lambda: places.append(sign(first, draft)))
    thread.start()
    try:
        assert asked.wait(60)
        other = ask(second)
        assert send(second, f"/r/{other}/epsilon", {"epsilon": "0.5", "go": "on"}).endswith("/sign")
        assert not places, "the first one still waits"
    finally:
        free.set()
        thread.join(60)
    assert len(places) == len(own_running.studio.account("ward").requests()) == 1


def test_what_does_not_fit_is_not_signed(own_running):
    visitor = own_running.enter()
    draft = ask(visitor)
    send(visitor, f"/r/{draft}/epsilon", {"epsilon": "50", "go": "on"})
    assert "does not fit" in words_of(go(visitor, f"/r/{draft}/sign"))
    fields = {"epsilon": "50.0", "agree": "yes"}
    assert send(visitor, f"/r/{draft}/submit", fields).endswith("/sign")
    assert own_running.studio.account("ward").requests() == []


def test_an_epsilon_that_was_not_looked_at_is_not_signed(own_running):
    visitor = own_running.enter()
    draft = ask(visitor)
    fields = {"epsilon": "0.25", "agree": "yes"}
    assert send(visitor, f"/r/{draft}/submit", fields).endswith("/sign")
    assert "look again" in words_of(go(visitor, f"/r/{draft}/sign"))


@pytest.mark.parametrize("epsilon", ["", "many", "-1", "0", "inf", "nan", "1e9", "1e400"])
def test_epsilons_that_are_none(told, epsilon):
    visitor = told.visitor_inside
    draft = ask(visitor)
    assert send(visitor, f"/r/{draft}/epsilon", {"epsilon": epsilon, "go": "on"}).endswith("/plan")
    assert "Epsilon is a number" in words_of(go(visitor, f"/r/{draft}/plan"))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("epsilon = 9", "has no setting"),
        ("random_state = 1", "has no setting"),
        ("ledger = None", "has no setting"),
        ("nonsense", "name = value"),
        ("n_components = -3", "do not go"),
    ],
)
def test_settings_that_do_not_go(told, params, said):
    visitor = told.visitor_inside
    fields = {"method": "pca", "params": params, "note": "", "draft": ""}
    assert send(visitor, "/d/ward/ask", fields) == "/d/ward/ask"
    assert said in words_of(go(visitor, "/d/ward/ask"))


def test_questions_that_the_schema_cannot_feed_say_why(told):
    page = words_of(go(told.visitor_inside, "/d/ward/ask"))
    assert "The column to predict, readmitted, holds classes." in page
    assert "who rated what" in page
    fields = {"method": "ridge", "params": "", "note": "", "draft": ""}
    assert send(told.visitor_inside, "/d/ward/ask", fields) == "/d/ward/ask"


def test_withdrawing_refunds_nothing(own_running, tmp_path, monkeypatch):
    visitor = own_running.enter()
    number = release(visitor)
    used = own_running.studio.account("ward").spent().fraction
    send(visitor, f"/x/{number}/withdraw", {"reason": "A wrong column"})
    page = words_of(go(visitor, f"/x/{number}"))
    assert "Withdrawn by Demo" in page
    assert "stays spent" in page
    account = own_running.studio.account("ward")
    assert account.spent().fraction == used
    last = account.history()[-1]
    assert (last.kind, last.content["reason"]) == ("withdrawal", "A wrong column")
    send(visitor, f"/x/{number}/withdraw", {"reason": "Once more"})
    assert account.history()[-1] == last
    assert own_running.studio.ledger.verify()
    for path in ("/releases", "/requests", f"/r/{number}"):
        assert "withdrawn" in words_of(go(visitor, path))
    # The report that its text writes again says it by itself.
    monkeypatch.chdir(tmp_path)
    for line in text_of(go(visitor, f"/x/{number}"), "command").splitlines()[:2]:
        run(*shlex.split(line)[1:])
    assert "Withdrawn by Demo" in Path("report.html").read_text()


def test_two_releases_side_by_side(own_running, capsys):
    visitor = own_running.enter()
    one, other = release(visitor, epsilon="0.3"), release(visitor, epsilon="0.6")
    answer = go(visitor, f"/compare?with={one}&with={other}")
    page = words_of(answer)
    assert "Epsilon differs 0.3 0.6" in page
    # By text: the two requests one below the other, and in Python what differs.
    first, second, *inspected = text_of(answer, "command").splitlines()
    pair = [run(*shlex.split(line)[1:], "--json").json for line in (first, second)]
    assert [(each["id"], each["epsilon"]) for each in pair] == [(one, 0.3), (other, 0.6)]
    for line in inspected:
        run(*shlex.split(line)[1:])
    capsys.readouterr()
    exec(compile(text_of(answer, "python"), "as-python", "exec"), {})
    printed = capsys.readouterr().out
    assert "epsilon: 0.3 | 0.6" in printed
    assert "estimator" not in printed
    assert visitor.get(f"/compare?with={one}").status_code == 303
    go(visitor, f"/compare?with={one}&with=nothing", expect=404)


def test_what_the_python_of_a_draft_charged_is_no_dead_end(own_running):
    """Its folder is its own and looked at before the charge; signing afterwards asks anew."""
    visitor = own_running.enter()
    drafts = [ask(visitor), ask(visitor)]
    for draft in drafts:
        send(visitor, f"/r/{draft}/epsilon", {"epsilon": "0.5", "go": "on"})
    python, other = (text_of(go(visitor, f"/r/{d}/sign"), "python") for d in drafts)
    place = re.search(r"Path\('(.*)'\)", python)[1]
    assert place != re.search(r"Path\('(.*)'\)", other)[1]
    command = shlex.split(text_of(go(visitor, f"/r/{drafts[0]}/sign"), "command"))
    assert command[command.index("--out") + 1] == place
    Path(place).mkdir()
    with pytest.raises(SystemExit, match="Nothing was charged"):
        exec(compile(python, "as-python", "exec"), {})
    assert own_running.studio.account("ward").spent().charges == 0
    Path(place).rmdir()
    exec(compile(python, "as-python", "exec"), {})
    assert own_running.studio.account("ward").spent().charges == 1
    fields = {"epsilon": "0.5", "agree": "yes"}
    again = send(visitor, f"/r/{drafts[0]}/submit", fields)
    assert again.endswith("/sign")
    assert drafts[0] not in again
    page = words_of(go(visitor, again))
    assert "charged already" in page
    assert place in page
    request = send(visitor, again.replace("/sign", "/submit"), fields)
    assert "Open the release" in wait_for_job(visitor, request).text
    assert own_running.studio.account("ward").spent().charges == 2


def test_a_withdrawn_release_is_marked_wherever_it_is_read(told):
    visitor, number = told.visitor_inside, told.released
    folder = next(job for job in told.studio.queue.jobs()).release_folder
    before, file = go(visitor, f"/x/{number}/report").text, (folder / "report.html").read_bytes()
    assert "Withdrawn by" not in before
    # As earlier versions did it: a file of the studio, which still counts.
    record = told.studio.folder / "records" / f"{number}.withdrawn.json"
    said = {"by": "Demo", "reason": "Wrong <b>table</b>.", "at": "2026-01-02"}
    record.write_text(json.dumps(said))
    try:
        marked = go(visitor, f"/x/{number}/report").text
        assert "Withdrawn by Demo" in marked
        assert "Wrong &lt;b&gt;table" in marked
        assert re.sub(r'<div class="alarm bad".*?</div>', "", marked, count=1) == before
        assert "Withdrawn by Demo" in words_of(go(visitor, f"/x/{number}"))
        assert (folder / "report.html").read_bytes() == file
    finally:
        record.unlink()


def test_links_in_the_folder_of_a_release_are_not_served(told, tmp_path):
    (tmp_path / "secret.txt").write_text("somebody's row")
    visitor, number = told.visitor_inside, told.released
    folder = next(job for job in told.studio.queue.jobs()).release_folder
    link = folder / "more.txt"
    link.symlink_to(tmp_path / "secret.txt")
    try:
        assert "more.txt" not in go(visitor, f"/x/{number}").text
        digest = hashlib.sha256(b"somebody's row").hexdigest()
        go(visitor, f"/x/{number}/file/{digest}", expect=404)
    finally:
        link.unlink()
