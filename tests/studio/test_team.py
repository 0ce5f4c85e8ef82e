"""Several people: logging in, roles, and that nobody approves their own request."""

import socket
import threading
import time
from contextlib import ExitStack

import pytest

from cli.commands import refused, run
from studio.running import run_studio
from studio.stories import ask, go, send, sign, text_of, wait_for_job, words_of
from veilspan.studio import accounts, demo, guard

PASSWORD = "a quiet heron at dawn"
PEOPLE = {"Stella": "steward", "Anton": "analyst", "Olga": "officer", "Otto": "officer"}


@pytest.fixture
def cheap(monkeypatch):
    """Passwords that are quickly checked; the cost itself is tested with the accounts."""
    monkeypatch.setattr(accounts, "COST", {"n": 2, "r": 8, "p": 1})


@pytest.fixture
def team(tmp_path, monkeypatch, cheap):
    monkeypatch.setattr(demo, "PATIENTS", 300)
    monkeypatch.setattr(demo, "VISITORS", 100)
    settings = demo.make_demo(tmp_path / "hospital", team=True)
    with run_studio(settings) as found:
        for name, role in PEOPLE.items():
            found.studio.accounts.add(name, role, PASSWORD)
        yield found


def log_in(team, name, password=PASSWORD):
    visitor = team.visitor()
    headers = {"Origin": team.origin}
    answer = visitor.post("/login", data={"name": name, "password": password}, headers=headers)
    visitor.last = answer
    return visitor


def test_whoever_is_not_in_is_asked_to_log_in(team):
    visitor = team.visitor()
    assert visitor.get("/").headers["location"] == "/login"
    go(visitor, "/login")
    assert visitor.post("/d", data={}, headers={"Origin": team.origin}).status_code == 401
    go(visitor, "/enter?token=x", expect=401)


def test_logging_in_makes_a_new_session(team):
    visitor = log_in(team, "Stella")
    assert visitor.last.status_code == 303
    assert "Stella, steward" in words_of(go(visitor, "/"))
    first = dict(visitor.cookies)
    headers = {"Origin": team.origin}
    visitor.post("/login", data={"name": "Anton", "password": PASSWORD}, headers=headers)
    assert dict(visitor.cookies) != first
    assert "Anton, analyst" in words_of(go(visitor, "/"))
    assert team.visitor(cookies=first).get("/").status_code == 303, "the old session is over"


def test_half_sent_logins_keep_nobody_out(team):
    """More of them than requests are answered at a time, all waiting with half a form."""
    port = team.studio.port
    head = f"POST /login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {team.origin}\r\n"
    head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nname="
    with ExitStack() as stack:
        for _ in range(guard.MOST_OPEN + 5):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", port), 10))
            raw.sendall(head.encode())
        go(team.visitor(), "/login")
        visitor = log_in(team, "Stella")
        assert visitor.last.status_code == 303
        go(visitor, "/")


def half_sent(team, visitor, path="/d"):
    """A form of somebody who is let in, half of it; the rest never comes."""
    port = team.studio.port
    cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {team.origin}\r\n"
    head += f"Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    raw = socket.create_connection(("127.0.0.1", port), 10)
    raw.sendall(f"{head}Content-Length: 100\r\n\r\nname=".encode())
    return raw


def test_half_sent_forms_of_one_person_keep_nobody_else_out(team):
    """From as many sessions as they like: what they hold is counted by person."""
    greedy, other = [log_in(team, "Anton") for _ in range(3)], log_in(team, "Stella")
    with ExitStack() as stack:
        for number in range(guard.MOST_OPEN + 5):
            stack.enter_context(half_sent(team, greedy[number % 3]))
        go(other, "/")
        assert log_in(team, "Olga").last.status_code == 303
        page = go(greedy[0], "/", expect=503)
        assert "too many pages or forms" in words_of(page)
    for _ in range(100):  # let go, they are let in again
        if greedy[0].get("/").status_code == 200:
            break
        time.sleep(0.05)
    go(greedy[0], "/")


def test_forms_before_login_are_small(team):
    assert log_in(team, "Stella", "a" * 20_000).last.status_code == 413


@pytest.mark.parametrize(
    ("name", "password"), [("Stella", "wrong"), ("Nobody", PASSWORD), ("", ""), ("Stella", "")]
)
def test_wrong_pairs_are_told_apart_by_nobody(team, name, password):
    answer = log_in(team, name, password).last
    assert answer.status_code == 401
    assert "do not go together" in words_of(answer)
    assert "set-cookie" not in answer.headers


def test_an_account_waits_after_wrong_passwords(team):
    for _ in range(accounts.FREE_FAILURES):
        log_in(team, "Stella", "wrong")
    assert log_in(team, "Stella").last.status_code == 401
    assert log_in(team, "Anton").last.status_code == 303, "others are let in"


def test_foreign_pages_cannot_log_somebody_in(team):
    fields = {"name": "Stella", "password": PASSWORD}
    for headers in ({}, {"Origin": "https://evil.example"}):
        assert team.visitor().post("/login", data=fields, headers=headers).status_code == 403


def test_a_removed_person_and_a_new_password_end_sessions(team):
    visitor, other = log_in(team, "Stella"), log_in(team, "Olga")
    team.studio.accounts.remove("Stella")
    assert visitor.get("/").status_code == 303
    team.studio.accounts.set_password("Olga", "another quiet heron")
    assert other.get("/").status_code == 303


def test_a_link_for_a_new_password_ends_the_old_one_at_once(team):
    """Whoever lost a laptop must not wait until they chose another password."""
    visitor = log_in(team, "Anton")
    team.studio.accounts.reset_link("Anton")
    assert visitor.get("/").status_code == 303
    assert log_in(team, "Anton").last.status_code == 401


def test_a_login_that_was_broken_off_checks_no_password(team, monkeypatch):
    asked = []
    monkeypatch.setattr(team.studio.accounts, "verify", lambda *given: asked.append(given))
    head = f"POST /login HTTP/1.1\r\nHost: 127.0.0.1:{team.studio.port}\r\n"
    head += f"Origin: {team.origin}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    with socket.create_connection(("127.0.0.1", team.studio.port), 10) as raw:
        raw.sendall(f"{head}Content-Length: 100\r\n\r\nname=Olga&password=gues".encode())
    go(team.visitor(), "/login")
    team.visitor().post("/login", data={"name": "Olga"}, headers={"Origin": team.origin})
    assert asked == [("Olga", "")], "only the form that came as a whole"


def test_a_link_lets_somebody_choose_a_password_once(team):
    token = team.studio.accounts.reset_link("Anton")
    visitor = team.visitor()
    assert "For Anton" in words_of(go(visitor, f"/password?token={token}"))
    headers = {"Origin": team.origin}
    fields = {"token": token, "password": "x", "again": "y"}
    assert visitor.post("/password", data=fields, headers=headers).status_code == 400
    fields |= {"password": "a calm grey lake", "again": "a calm grey lake"}
    assert visitor.post("/password", data=fields, headers=headers).status_code == 303
    assert log_in(team, "Anton", "a calm grey lake").last.status_code == 303
    assert log_in(team, "Anton").last.status_code == 401
    go(visitor, f"/password?token={token}", expect=401)


def test_three_people_from_the_question_to_the_release(team):
    analyst, officer, steward = (log_in(team, name) for name in ("Anton", "Olga", "Stella"))
    request = sign(analyst, ask(analyst))
    assert "waits for an officer" in words_of(go(analyst, request))
    assert team.studio.account("ward").spent().charges == 0
    assert "1 request to approve" in words_of(go(officer, "/"))
    send(officer, f"{request}/approve", {"note": "Looked at it", "version": "1"})
    page = words_of(wait_for_job(officer, request))
    assert "Approved by Olga" in page
    assert "Looked at it" in page
    number = request.split("/")[2]
    for visitor in (analyst, officer, steward):
        go(visitor, f"/x/{number}")
    assert "nobody else" not in page


def test_forged_forms_cannot_approve(team):
    """Whoever asked, analysts and stewards: refused by the studio, and by the ledger below it."""
    analyst, steward = log_in(team, "Anton"), log_in(team, "Stella")
    request = sign(analyst, ask(analyst))
    for visitor in (analyst, steward):
        send(visitor, f"{request}/approve", {"note": "", "version": "1"}, expect=403)
        send(visitor, f"{request}/start", expect=409 if visitor is analyst else 403)
    account = team.studio.account("ward")
    assert account.requests()[0].state == "open"
    assert account.spent().charges == 0


def test_nobody_approves_their_own(team, monkeypatch):
    """Also an officer whose role was analyst when they asked."""
    analyst = log_in(team, "Anton")
    request = sign(analyst, ask(analyst))
    team.studio.accounts.remove("Anton")
    team.studio.accounts.add("Anton", "officer", PASSWORD)
    again = log_in(team, "Anton")
    assert "Nobody approves their own request" in words_of(go(again, request))
    send(again, f"{request}/approve", {"version": "1"}, expect=409)
    assert team.studio.account("ward").requests()[0].state == "open"


def test_two_officers_and_two_clicks_make_one_charge(team):
    analyst = log_in(team, "Anton")
    request = sign(analyst, ask(analyst))
    officers = [log_in(team, name) for name in ("Olga", "Otto", "Olga", "Otto")]
    tokens = [officer.csrf() for officer in officers]

    def approve(officer, token):
        officer.submit(f"{request}/approve", {"version": "1"}, csrf=token)

    threads = [threading.Thread(target=approve, args=pair) for pair in zip(officers, tokens)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for_job(analyst, request)
    state = team.studio.account("ward").spent()
    assert (state.charges, state.released) == (1, 1)
    assert len([job for job in team.studio.queue.jobs() if job.stage == "done"]) == 1


def test_an_edit_voids_what_was_looked_at(team):
    analyst, officer = log_in(team, "Anton"), log_in(team, "Olga")
    request = sign(analyst, ask(analyst))
    draft = send(analyst, f"{request}/edit").split("/")[2]
    assert sign(analyst, draft, "0.9") == request
    send(officer, f"{request}/approve", {"version": "1"}, expect=409)
    found = team.studio.account("ward").requests()[0]
    assert (found.version, found.state, found.epsilon) == (2, "open", 0.9)


def test_a_refusal_says_why_and_costs_nothing(team):
    analyst, officer = log_in(team, "Anton"), log_in(team, "Olga")
    request = sign(analyst, ask(analyst))
    send(officer, f"{request}/refuse", {"reason": "", "version": "1"})
    send(officer, f"{request}/refuse", {"reason": "Too much", "version": "1"})
    assert "Refused by Olga: Too much" in words_of(go(analyst, request))
    send(officer, f"{request}/approve", {"version": "1"}, expect=409)
    assert team.studio.account("ward").spent().charges == 0


def test_roles_do_their_own_work_only(team):
    analyst, officer = log_in(team, "Anton"), log_in(team, "Olga")
    for path in ("/d/ward/schema", "/d/ward/freeze", "/d/ward/import", "/d"):
        send(analyst, path, {"name": "ward"}, expect=403)
    send(officer, "/d/ward/ask", {"method": "profile"}, expect=403)
    draft = ask(analyst)
    go(officer, f"/r/{draft}/plan", expect=404)
    send(officer, f"/r/{draft}/submit", expect=403)
    assert "Ask a question" in words_of(go(analyst, "/d/ward"))
    assert "Ask a question" not in words_of(go(officer, "/d/ward")), "a way that ends at once"
    assert "Not for you to do" in words_of(go(analyst, "/d/ward/import", expect=403))


def test_what_was_taken_back_is_not_called_refused(team):
    analyst = log_in(team, "Anton")
    request = sign(analyst, ask(analyst))
    send(analyst, f"{request}/refuse", {"reason": "taken back", "version": "1"})
    for page in (request, "/requests", "/d/ward"):
        assert '<span class="chip ">taken back</span>' in go(analyst, page).text


@pytest.fixture
def config(tmp_path):
    place = tmp_path / "studio.toml"
    place.write_text(
        '[studio]\nteam = true\nurl = "https://studio.example"\nfolder = "s"\nledger = "b.db"\n'
        'key = "k"\n[datasets.ward]\ndata = "ward.csv"\n'
    )
    return place


def test_people_are_added_by_a_command(config):
    words = ("studio", "people", "add", "Ada", "--role", "officer", "--config", config)
    found = run(*words, "--link", "--json")
    assert found.json["link"].startswith("https://studio.example/password?token=")
    listed = run("studio", "people", "list", "--config", config).out
    assert "Ada  officer  (has chosen no password yet)" in listed
    assert "/password?token=" in run(*words[:2], "reset", "Ada", *words[-2:], "--link").out
    assert "a role is one of" in refused(
        "studio", "people", "add", "Bo", "--role", "king", "--config", config, "--link"
    )
    run("studio", "people", "remove", "Ada", "--config", config)
    assert run("studio", "people", "list", "--config", config, "--json").json == []


def test_a_studio_comes_back_from_its_backup(own_hospital, tmp_path):
    place = ["--folder", own_hospital.folder, "--ledger", own_hospital.ledger]
    own_hospital.folder.mkdir(exist_ok=True)
    run("studio", "backup", "--out", tmp_path / "copy.zip", *place, "--key", own_hospital.key)
    into = tmp_path / "back"
    said = run(
        "studio", "restore", tmp_path / "copy.zip", "--into", into, "--key", own_hospital.key
    )
    assert "verifies" in said.out
    assert "exists" in refused(
        "studio", "restore", tmp_path / "copy.zip", "--into", into, "--key", own_hospital.key
    )


def test_budgets_of_a_team_need_approval(team, tmp_path):
    """Those of the demo and those that are opened here; older ones are warned of."""
    from veilspan.datasets import make_visits
    from veilspan.ledger import Ledger
    from veilspan.ledger.errors import LedgerError
    from veilspan.studio.schemas import freeze_schema
    from veilspan.tables.schema import Schema

    toml = make_visits(100).schema_toml.replace('"ward-visits"', '"visits"')
    schema = Schema.from_toml(toml)
    freeze_schema(team.studio, "visits", schema)
    steward = log_in(team, "Stella")
    send(steward, "/d", {"name": "visits", "epsilon": "2", "delta": "1e-6"})
    for name in ("ward", "visits"):
        assert team.studio.account(name).spent().terms.approval
        assert "without approvals" not in words_of(go(steward, f"/d/{name}"))
    analyst = log_in(team, "Anton")
    python = text_of(go(analyst, f"/r/{ask(analyst)}/sign"), "python")
    with pytest.raises(LedgerError, match="approv"):
        exec(compile(python, "as-python", "exec"), {})
    assert team.studio.account("ward").spent().charges == 0
    old = Ledger(tmp_path / "old.db", tmp_path / "old.key")
    old.dataset("visits", epsilon=2.0, delta=1e-6, schema=schema)
    team.studio.__dict__["ledger"] = old
    assert "without approvals" in words_of(go(steward, "/d/visits"))
