"""``veilspan studio``: what it refuses, how quickly it starts, how it ends."""

import json
import os
import signal
import subprocess
import sys

import httpx
import pytest

from cli.commands import refused, run


def start(*words, cwd):
    return subprocess.Popen(
        [sys.executable, "-m", "veilspan", "studio", "--no-browser", "--json", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def stop(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    return out


def test_the_demo_opens_by_its_link(tmp_path):
    process = start("--demo", cwd=tmp_path)
    try:
        link = json.loads(process.stdout.readline())["link"]
        with httpx.Client(timeout=30, follow_redirects=True) as visitor:
            page = visitor.get(link)
            assert page.status_code == 200
            assert "ward" in page.text
            assert "no budget yet" in page.text
    finally:
        stop(process)
    assert process.returncode == 130
    assert (tmp_path / "veilspan-demo" / "ward.csv").exists()


def test_it_starts_in_a_second(tmp_path):
    """In time of the processor, since other tests run beside it: until the server is ready."""
    code = (
        "import time\n"
        "from veilspan.cli.studio.command import collect_settings\n"
        "settings = collect_settings(['ward=ward.csv'], [], {}, None, demo=False)\n"
        "from veilspan.studio.server import make_server\n"
        "make_server(settings)[2].close()\n"
        "print(time.process_time())"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert float(found.stdout) < 1.5, "0.6 s where nothing else runs"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "the studio needs a table"),
        (("--data", "ward"), "--data takes NAME=FILE"),
        (("--data", "a=x.csv", "--data", "a=y.csv"), "twice"),
        (("--schema", "ward=w.toml"), "--schema ward=... is of no table"),
        (("--data", "a=x.csv", "--host", "0.0.0.0"), "in the clear"),
        (("--data", "a=x.csv", "--port", "70000"), "a port is a number"),
        (("--data", "a/b=x.csv"), "holds no slash"),
        (("--demo", "--ledger", "b.db"), "--demo brings"),
    ],
)
def test_refusals_say_what_to_do(words, told):
    assert told in refused("studio", *words)


def test_help_names_the_demo():
    assert "--demo" in run("studio", "--help").out


def test_an_approval_binds_a_path_that_is_the_same_from_everywhere(tmp_path, monkeypatch):
    from veilspan.cli.studio.command import collect_settings
    from veilspan.studio.fits import name_source

    found = []
    server = "postgresql://reader@db.example/clinic"
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        told = ["ward=ward.csv", f"pg={server}"]
        found.append(collect_settings(told, ["ward=ward.toml"], {}, None, demo=False))
    monkeypatch.chdir(tmp_path)
    first, second = (settings.tables["ward"] for settings in found)
    assert name_source(first) == str(tmp_path / "one" / "ward.csv")
    assert name_source(first) != name_source(second)
    assert first.schema == tmp_path / "one" / "ward.toml"
    assert found[0].tables["pg"].data == server
    places = (found[0].folder, found[0].key, found[0].ledger)
    assert all(os.path.isabs(place) for place in places)
