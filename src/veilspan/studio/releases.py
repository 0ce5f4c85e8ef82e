"""The releases of a studio: where they lie, their files by digest, audits, and withdrawals."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from veilspan._files import read_regular, write_whole
from veilspan._html import tag
from veilspan.ledger.approvals.withdrawals import say_withdrawn
from veilspan.studio.errors import Refusal
from veilspan.studio.state import Studio

MOST_BYTES = 2**28
REPORT = "report.html"
#: A policy as our own reports carry it: sources by their digests alone.
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]{1,600})"')
_BODY = re.compile(rb"<body[^>]*>")
_SCRIPT = re.compile(rb"<script>.*?</script>", re.DOTALL)
_SAFE = re.compile(r"[A-Za-z0-9 ;/+=:'-]+")
#: Fits of an audit on each of two tables: seconds to a minute.
AUDIT_RUNS = 200
#: Seconds after which an audit or a prediction is given up.
PATIENCE = 600.0


class ReleasedFile(NamedTuple):
    """A file of a release, with the digest under which it is downloaded."""

    path: Path
    digest: str
    size: int


class Released(NamedTuple):
    """A release: its request, its job, and its folder."""

    request: Any
    job: Any
    folder: Path

    @property
    def files(self) -> list[ReleasedFile]:
        """Its files; what is hidden, or no regular file (a link leads elsewhere), is left out."""
        found = []
        for path in sorted(self.folder.iterdir()):
            if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                data = read_regular(path, MOST_BYTES)
                found.append(ReleasedFile(path, hashlib.sha256(data).hexdigest(), len(data)))
        return found

    def statement(self) -> dict[str, Any]:
        """What the release promises, as its document says it."""
        from veilspan.releases.documents import read_document

        found: dict[str, Any] = read_document(self.folder, None)["statement"]
        return found


def list_releases(studio: Studio) -> list[Released]:
    """All releases of the studio, newest first."""
    requests: dict[str, Any] = {}
    for name in studio.settings.tables:
        account = studio.account(name)
        if account is not None:
            requests |= {request.id: request for request in account.requests()}
    found: dict[str, Released] = {}
    for job in studio.queue.jobs():
        if job.release_folder is not None and job.request_id in requests:
            found.setdefault(
                job.request_id, Released(requests[job.request_id], job, job.release_folder)
            )
    return list(found.values())


def find_release(studio: Studio, request_id: str) -> Released:
    """The release of a request; 404 if there is none."""
    for released in list_releases(studio):
        if released.request.id == request_id:
            return released
    raise Refusal(404, "There is no such release.", link=True)


def mark_report(data: bytes, words: str) -> bytes:
    """A report with a banner on top, in the look of its own alarms; its file stays as it is."""
    banner = str(tag("div", tag("strong", words), class_="alarm bad", role="alert")).encode()
    begins = _BODY.search(data)
    at = begins.end() if begins else 0
    return data[:at] + banner + data[at:]


def read_report(released: Released) -> tuple[bytes, str]:
    """The page of a release, and a policy that allows its own style and nothing else.

    The page names its style by a digest. A sandbox without scripts is put on top, so that a page
    that somebody exchanged on the disk could show something, and do nothing.
    """
    path = released.folder / REPORT
    if not path.exists() or path.is_symlink():
        raise Refusal(404, "This release has no report: veilspan report writes it.")
    data = read_regular(path, MOST_BYTES)
    found = _POLICY.search(data[:4000].decode("utf-8", "replace"))
    own = "" if found is None else found.group(1).replace("&#x27;", "'")
    style = "'none'"
    for part in own.split(";"):
        name, _, value = part.strip().partition(" ")
        if name == "style-src" and _SAFE.fullmatch(value) and "unsafe" not in value:
            style = value
    policy = (
        f"sandbox; default-src 'none'; style-src {style}; img-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'self'"
    )
    # Nothing may run in a sandbox, so that browsers complain of scripts: the one of a page goes.
    return _SCRIPT.sub(b"", data), policy


class Records:
    """What people did with releases: audits that ran, and what was withdrawn by earlier versions.

    A withdrawal is an entry of the ledger. It was a file of the studio's once, which still counts.
    """

    def __init__(self, studio: Studio) -> None:
        self._folder = studio.folder / "records"
        self._folder.mkdir(exist_ok=True, mode=0o700)
        self._running: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()

    def say_withdrawn(self, request: Any) -> str:
        """Who withdrew the release of a request, when and why; empty if nobody did."""
        if request.withdrawn_by is not None:
            return say_withdrawn(request.withdrawn_by, request.withdrawn_at, request.withdrawn_why)
        found = self._read(f"{request.id}.withdrawn.json")
        return "" if found is None else say_withdrawn(found["by"], found["at"], found["reason"])

    def audit(self, request_id: str) -> dict[str, Any] | None:
        """The audit of a release's method: None, ``{"running": True}``, or what it found."""
        found = self._read(f"{request_id}.audit.json")
        running = self._running.get(request_id)
        if found is None and running is not None and running.is_alive():
            return {"running": True}
        return found

    def start_audit(self, request: Any) -> None:
        """Try to refute the promise of the release's method, in a process of its own."""
        with self._lock:
            running = self._running.get(request.id)
            if running is None or not running.is_alive():
                thread = threading.Thread(target=self._audit, args=(request,), daemon=True)
                self._running[request.id] = thread
                thread.start()

    def _audit(self, request: Any) -> None:
        words = audit_words(request)
        done = run_command([*words[1:], "--json"])
        try:
            report = json.loads(done.stdout)
        except ValueError:
            report = {"failed": True}
        self._write(f"{request.id}.audit.json", report)

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self._folder / name
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(read_regular(path, MOST_BYTES))
        return found

    def _write(self, name: str, content: dict[str, Any]) -> None:
        text = json.dumps(content).encode()
        write_whole(self._folder / name, lambda stream: stream.write(text), 0o600)


def audit_words(request: Any) -> list[str]:
    """The command that audits the method of a release."""
    return [
        "veilspan", "audit", request.estimator, "--epsilon", f"{request.epsilon!r}",
        "--delta", f"{request.delta!r}", "--neighbors", request.neighbors,
        "--runs", str(AUDIT_RUNS),
    ]  # fmt: skip


def run_command(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of veilspan in a process of its own, at a low priority."""
    nice = ["nice", "-n", "10"] if os.name == "posix" else []
    return subprocess.run(
        [*nice, sys.executable, "-m", "veilspan", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
