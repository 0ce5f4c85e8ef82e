"""A studio of a made-up ward."""

from dataclasses import replace

import pytest

pytest.importorskip("starlette", reason="needs the extra `studio`")
pytest.importorskip("uvicorn", reason="needs the extra `studio`")
pytest.importorskip("httpx", reason="needs httpx (the extra `test`)")

from ledger.server import fresh_database, running_server, why_no_server
from studio.running import run_studio
from veilspan.studio import demo


@pytest.fixture(scope="session")
def hospital(tmp_path_factory):
    """Settings of a small demo hospital that tests share and only read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "PATIENTS", 300)
        patch.setattr(demo, "VISITORS", 100)
        return demo.make_demo(tmp_path_factory.mktemp("hospital"))


@pytest.fixture
def own_hospital(tmp_path, monkeypatch):
    """Settings of a small demo hospital of one test."""
    monkeypatch.setattr(demo, "PATIENTS", 300)
    monkeypatch.setattr(demo, "VISITORS", 100)
    return demo.make_demo(tmp_path / "hospital")


@pytest.fixture(scope="session")
def postgres_server():
    reason = why_no_server()
    if reason:
        pytest.skip(reason)
    with running_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server):
    """An empty database on a server, for a ledger."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def running(hospital):
    with run_studio(replace(hospital)) as found:
        yield found


@pytest.fixture
def own_running(own_hospital):
    with run_studio(own_hospital) as found:
        yield found
