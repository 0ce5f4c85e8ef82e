"""What the studio refuses, and what every one of its answers says."""

import socket
import time
from types import SimpleNamespace

import pytest

from studio.running import run_studio
from studio.stories import go, send
from studio.test_declare import form_of
from veilspan.studio import guard, server
from veilspan.studio.errors import Refusal
from veilspan.studio.pages import run
from veilspan.studio.server import write_link
from veilspan.studio.settings import Settings, Table, read_settings
from veilspan.studio.state import Studio
from veilspan.studio.visits import read_number

FOREIGN = "https://evil.example"


def check_headers(answer):
    """Every answer forbids foreign scripts, framing and storing."""
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "server" not in answer.headers
    return answer


def test_a_link_works_once(running):
    link = write_link(running.studio).removeprefix(running.origin)
    first, second = running.visitor(), running.visitor()
    came = check_headers(first.get(link))
    assert came.status_code == 303
    cookie = came.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert first.get("/").status_code == 200
    assert check_headers(second.get(link)).status_code == 401
    assert check_headers(second.get("/enter?token=guessed")).status_code == 401
    assert check_headers(second.get("/enter")).status_code == 401
    assert check_headers(second.get("/")).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.nip.io", "", "127.0.0.1:x"]
)
def test_foreign_hosts_are_misdirected(running, host):
    visitor = running.enter()
    assert check_headers(visitor.get("/", headers={"Host": host})).status_code == 421
    assert check_headers(visitor.get("/nothing", headers={"Host": host})).status_code == 421


def test_other_names_of_this_machine_are_ours(running):
    port = running.studio.port
    visitor = running.enter()
    assert visitor.get("/", headers={"Host": f"LOCALHOST:{port}"}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "strange"])
def test_pages_are_not_read_from_other_sites(running, site):
    visitor = running.enter()
    for path in ("/", "/static/studio.js", "/enter?token=x", "/nothing"):
        answer = check_headers(visitor.get(path, headers={"Sec-Fetch-Site": site}))
        assert answer.status_code == 403
    assert visitor.get("/", headers={"Origin": FOREIGN}).status_code == 403
    for ours in ("none", "same-origin"):
        assert visitor.get("/", headers={"Sec-Fetch-Site": ours}).status_code == 200


@pytest.mark.parametrize("origin", [FOREIGN, "null", "http://127.0.0.1:1", None])
def test_forms_come_from_our_own_pages(running, origin):
    visitor = running.enter()
    fields = {"csrf": visitor.csrf()}
    headers = {} if origin is None else {"Origin": origin}
    answer = check_headers(visitor.post("/leave", data=fields, headers=headers))
    assert answer.status_code == 403
    assert visitor.get("/").status_code == 200, "still in"


def test_a_form_that_names_two_origins_is_not_taken(running):
    """Another program on the way might believe the first of them, and we the second."""
    visitor = running.enter()
    headers = [("Origin", FOREIGN), ("Origin", running.origin)]
    answer = check_headers(visitor.post("/leave", data={"csrf": visitor.csrf()}, headers=headers))
    assert answer.status_code == 400
    assert visitor.get("/").status_code == 200, "still in"


@pytest.mark.parametrize("token", ["", "guessed", "é"])
def test_forms_carry_the_token_of_their_session(running, token):
    visitor, other = running.enter(), running.enter()
    assert check_headers(visitor.submit("/leave", csrf=token)).status_code == 403
    assert visitor.submit("/leave", csrf=other.csrf()).status_code == 403
    assert visitor.get("/").status_code == 200


def test_leaving_ends_the_session_on_the_server(running):
    visitor = running.enter()
    cookies = dict(visitor.cookies)
    assert check_headers(visitor.submit("/leave")).status_code == 303
    assert running.visitor(cookies=cookies).get("/").status_code == 401


def test_a_session_that_was_brought_along_is_not_taken_over(running):
    """Session fixation: a cookie that somebody planted never becomes a session."""
    name = running.studio.cookie_name
    planted = running.visitor(cookies={name: "planted"})
    link = write_link(running.studio).removeprefix(running.origin)
    assert "planted" not in planted.get(link).headers["set-cookie"]
    assert running.visitor(cookies={name: "planted"}).get("/").status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py", "/static/..%2fsettings.py", "/static/%2e%2e/settings.py",
        "/static/....//studio.js", "/static/studio.js%00", "/static//etc/passwd", "/d/..%2f..",
        "/%2e%2e/%2e%2e/etc/passwd", "/static/", "/d/nobody", "/d/ward%00",
    ],
)  # fmt: skip
def test_no_path_leads_out(running, path):
    """Sent as it stands, for clients tidy such paths up."""
    visitor = running.enter()
    cookie = "; ".join(f"{k}={v}" for k, v in visitor.cookies.items())
    with socket.create_connection(("127.0.0.1", running.studio.port), 10) as raw:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{running.studio.port}\r\n"
        raw.sendall(f"{head}Cookie: {cookie}\r\nConnection: close\r\n\r\n".encode())
        answer = read_all(raw)
    assert b" 404 " in answer.split(b"\r\n")[0]
    assert b"content-security-policy" in answer
    assert b"root:" not in answer


def read_all(raw):
    data = b""
    while part := raw.recv(65536):
        data += part
    return data


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_not_answered(running, method):
    assert check_headers(running.enter().request(method, "/")).status_code == 405


def test_errors_have_the_headers_too(running, monkeypatch):
    from veilspan.studio.pages import datasets

    def fail(*_):
        raise RuntimeError("Mrs Miller's row")

    visitor = running.enter()
    monkeypatch.setattr(datasets, "_draw_card", fail)
    answer = check_headers(visitor.get("/"))
    assert answer.status_code in (409, 500)
    assert "Miller" not in answer.text
    assert check_headers(visitor.get("/nothing")).status_code == 404
    assert check_headers(visitor.get("/leave")).status_code == 405


def test_what_is_no_http_is_refused_in_few_words(running):
    with socket.create_connection(("127.0.0.1", running.studio.port), 10) as raw:
        raw.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = read_all(raw)
    assert b" 400 " in answer
    assert b"content-security-policy" in answer


def test_large_forms_are_not_read(running):
    visitor = running.enter()
    answer = check_headers(visitor.submit("/leave", {"x": "a" * 10_000_000}))
    assert answer.status_code == 413
    assert visitor.get("/").status_code == 200


def test_large_forms_without_a_length_are_not_read(running):
    visitor = running.enter()

    def body():
        for _ in range(100):
            yield b"x=" + b"a" * 100_000

    headers = {"Origin": running.origin, "Content-Type": "application/x-www-form-urlencoded"}
    answer = visitor.post("/leave", content=body(), headers=headers)
    assert check_headers(answer).status_code == 413


def test_slow_clients_are_given_up(running, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.5)
    visitor = running.enter()
    cookie = "; ".join(f"{k}={v}" for k, v in visitor.cookies.items())
    with socket.create_connection(("127.0.0.1", running.studio.port), 10) as raw:
        head = f"POST /leave HTTP/1.1\r\nHost: 127.0.0.1:{running.studio.port}\r\n"
        head += f"Origin: {running.origin}\r\nCookie: {cookie}\r\nContent-Length: 100\r\n"
        raw.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\ncs".encode())
        raw.settimeout(10)
        assert b" 408 " in raw.recv(65536).split(b"\r\n")[0]


def test_silent_clients_are_given_up(hospital, monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with run_studio(hospital) as found:
        with socket.create_connection(("127.0.0.1", found.studio.port), 10) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            raw.settimeout(10)
            start = time.monotonic()
            assert raw.recv(100) == b""
            assert time.monotonic() - start < 5
        assert found.enter().get("/").status_code == 200


def test_a_second_head_that_does_not_come_is_given_up(hospital, monkeypatch):
    """Bytes that drip in keep no connection open, on its second request as on its first."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(server, "KEEP_ALIVE", 1)
    with run_studio(hospital) as found:
        port = found.studio.port
        with socket.create_connection(("127.0.0.1", port), 10) as raw:
            head = f"HEAD /nothing HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode()
            for _ in range(2):  # two whole requests are answered, by heads alone
                raw.sendall(head + b"\r\n")
                assert b" 404 " in raw.recv(65536).split(b"\r\n")[0]
            raw.sendall(head)
            raw.settimeout(0.2)
            start = time.monotonic()
            assert drip(raw, start + 10), "still open"
            assert time.monotonic() - start < 8


def drip(raw, until):
    """Send a header now and then; return whether the other side closed before ``until``."""
    while time.monotonic() < until:
        try:
            raw.sendall(b"X-a: b\r\n")
            if raw.recv(65536) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "studio.example"])
def test_other_machines_need_tls_and_accounts(tmp_path, host):
    place = (tmp_path, "b.db", tmp_path / "k")
    with pytest.raises(ValueError, match="in the clear"):
        Settings(*place, host=host)
    with pytest.raises(ValueError, match="log in"):
        Settings(*place, host=host, url="https://studio.example")
    Settings(*place, host=host, url="https://studio.example", team=True)
    with pytest.raises(ValueError, match="https"):
        Settings(*place, host=host, url="http://studio.example", team=True)


def test_behind_a_proxy_only_the_declared_name_is_ours(tmp_path):
    declared = Settings(tmp_path, "b.db", tmp_path / "k", url="https://studio.example", team=True)
    from veilspan.studio.app import make_app

    made = make_app(Studio(declared, 80))
    assert made.hosts == {"studio.example"}
    assert made.origins == {"https://studio.example"}
    assert Studio(declared, 80).cookie_name.startswith("__Host-")


def test_a_configuration_says_all_of_it(tmp_path):
    place = tmp_path / "studio.toml"
    place.write_text(
        '[studio]\nledger = "b.db"\nkey = "k"\nfolder = "s"\nport = 8700\n'
        '[datasets.ward]\ndata = "ward.csv"\nschema = "ward.toml"\n'
    )
    found = Settings(**read_settings(place))
    assert found.port == 8700
    assert found.ledger == str(tmp_path / "b.db")
    assert found.tables["ward"] == Table(
        "ward", str(tmp_path / "ward.csv"), None, tmp_path / "ward.toml"
    )
    place.write_text('[studio]\nlegder = "b.db"\n')
    with pytest.raises(ValueError, match="Did you mean"):
        read_settings(place)
    place.write_text('[datasets."a/b"]\ndata = "x.csv"\n')
    with pytest.raises(ValueError, match="slash"):
        Settings(tmp_path, "b", tmp_path, **read_settings(place))


ODD = ["²", "٣", "9" * 5000, "-1", "1_0", "x"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_digits_are_refused(odd):
    with pytest.raises(Refusal) as refused:
        read_number(odd)
    assert refused.value.status == 400
    assert read_number("012") == 12


def test_odd_digits_of_forms_and_headers_are_400(own_running, monkeypatch):
    visitor = own_running.enter()
    for odd in ODD:
        assert visitor.submit("/d/ward/schema", {"began": odd}).status_code == 400
    account = own_running.studio.account("ward")
    request = SimpleNamespace(id="r", asked_by="Demo")
    monkeypatch.setattr(run, "find_request", lambda *_: (account, request))
    monkeypatch.setattr(run, "find_job", lambda *_: SimpleNamespace(id="j"))
    for form in ("approve", "refuse"):
        fields = {"version": "²", "reason": "no"}
        assert visitor.submit(f"/r/r/{form}", fields).status_code == 400
    for odd in ("²".encode("latin-1"), b"9" * 5000):
        answer = visitor.get("/r/r/events", headers={"Last-Event-ID": odd})
        assert answer.status_code == 400


def test_the_version_of_a_schema_is_any_text(own_running):
    visitor = own_running.enter()
    fields = form_of(go(visitor, "/d/ward/schema")) | {"version": "²"}
    send(visitor, "/d/ward/schema", fields)
    assert form_of(go(visitor, "/d/ward/schema"))["version"] == "²"


def test_looking_at_the_head_of_a_link_does_not_use_it(running):
    link = write_link(running.studio).removeprefix(running.origin)
    visitor = running.visitor()
    head = check_headers(visitor.head(link))
    assert head.status_code == 200
    assert "set-cookie" not in head.headers
    assert visitor.get(link).status_code == 303
