"""A private PostgreSQL server for tests: its own cluster in a temporary folder, no network.

``VEILSPAN_TEST_POSTGRES`` names a server to use instead, by the URL of a database in which new
databases may be created.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

from veilspan.ledger.stores import postgres

OWN_SERVER = "VEILSPAN_TEST_POSTGRES"
DEBIAN = "/usr/lib/postgresql/*/bin"
# PostgreSQL refuses to run as root; Debian's package comes with this user.
UNPRIVILEGED = "postgres"
PATIENCE = 60  # seconds


def program(name):
    """Path of a program of the server, or None: Debian keeps them off the usual path."""
    folders = sorted(glob.glob(DEBIAN), key=lambda path: int(path.split("/")[-2]), reverse=True)
    return shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))


def why_no_server():
    """Why the tests cannot have a server, or None if they can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if os.environ.get(OWN_SERVER):
        return None
    if os.name != "posix" or not program("initdb") or not program("postgres"):
        return f"PostgreSQL is not installed, and {OWN_SERVER} names no server"
    if os.geteuid() == 0 and not unprivileged_user():
        return f"PostgreSQL does not run as root, and there is no user {UNPRIVILEGED}"
    return None


def unprivileged_user():
    import pwd

    try:
        return pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        return None


@contextmanager
def running_server():
    """URL of a server that lives as long as the block, unless it is somebody else's."""
    if os.environ.get(OWN_SERVER):
        yield os.environ[OWN_SERVER]
        return
    # Not pytest's folder: that is closed to other users, and socket paths must stay short.
    folder = Path(tempfile.mkdtemp(prefix="veilspan-pg-"))
    owner = unprivileged_user() if os.geteuid() == 0 else None
    as_owner = {}
    if owner:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    try:
        with _server(folder, {**as_owner, "cwd": folder}) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _server(folder, how):
    cluster = folder / "cluster"
    subprocess.run(
        [program("initdb"), "-D", cluster, "-U", "veilspan", "--auth=trust", "--no-sync"],
        check=True,
        capture_output=True,
        **how,
    )
    settings = {"listen_addresses": "", "unix_socket_directories": folder, "max_connections": 40}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("w") as log:
        # A child in our own process group: whatever stops the tests stops the server as well.
        server = subprocess.Popen(
            [program("postgres"), "-D", cluster, *options], stdout=log, stderr=log, **how
        )
    url = f"postgresql://veilspan@/postgres?host={folder}"
    try:
        _wait_until_it_answers(url, server, folder / "log")
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # "fast": ends connections, then stops
        server.wait(PATIENCE)


def _wait_until_it_answers(url, server, log):
    import psycopg

    until = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}") from None
            time.sleep(0.05)
        else:
            return


@contextmanager
def fresh_database(server_url):
    """URL of a new, empty database on the server; dropped afterwards."""
    import psycopg

    name = f"veilspan_{uuid.uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield re.sub(r"(?<=://)([^/?]*)(/[^?]*)?", rf"\1/{name}", server_url, count=1)
    finally:
        postgres.close_idle()
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
