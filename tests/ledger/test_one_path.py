"""One file, one path: a ledger that could be split is refused, whenever the second name appears."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest

from ledger.workers import request
from veilspan.ledger import Ledger
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.stores import one_path, sqlite

HARD = "hard links.*make a symbolic link"
MOUNTED = "Mount the folder, never the file"


@pytest.fixture
def ledger(file_ledger):
    """A ledger with one charge."""
    file_ledger.dataset("trial", 3, 1e-6).charge(request())
    return file_ledger


def every_way_in(ledger):
    """All that a handle can ask, none of it with a connection that knows of no second name."""
    handle = ledger.dataset
    return (
        lambda: handle("trial").charge(request()),
        lambda: handle("trial").spent(),
        lambda: handle("other", 1, 1e-6),
        ledger.history,
        ledger.verify,
        ledger.head,
    )


def test_a_hard_link_is_refused_at_every_door_and_by_both_names(ledger, tmp_path):
    """The link is made while a connection is kept: the next transaction sees it."""
    os.link(ledger.url, tmp_path / "second.db")
    for name in (ledger.url, str(tmp_path / "second.db")):
        for ask in every_way_in(Ledger(name, ledger.key_file)):
            with pytest.raises(LedgerError, match=HARD):
                ask()
    assert not (tmp_path / "second.db-wal").exists()
    os.unlink(tmp_path / "second.db")
    assert ledger.dataset("trial").charge(request()).entry == 4
    assert ledger.verify()


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_a_second_name_of_the_log_is_refused(ledger, tmp_path, ending):
    os.link(ledger.url + ending, tmp_path / f"second.db{ending}")
    with pytest.raises(LedgerError, match=HARD):
        ledger.dataset("trial").charge(request())
    # The refusal closed the last connection, whose log went into the file: nothing is lost.
    assert ledger.dataset("trial").charge(request()).entry == 4
    assert ledger.verify()


def test_a_handle_that_is_open_already_sees_a_link_made_later(ledger, tmp_path):
    handle = ledger.dataset("trial")
    handle.charge(request())
    os.link(ledger.url, tmp_path / "second.db")
    with pytest.raises(LedgerError, match=HARD):
        handle.charge(request())
    os.unlink(tmp_path / "second.db")
    assert handle.spent().charges == 2


def test_a_link_made_while_waiting_for_the_lock_is_seen(ledger, tmp_path):
    """The check stands behind the lock, not before the wait for it."""
    handle = ledger.dataset("trial")
    refusals = []

    def charge():
        with pytest.raises(LedgerError, match=HARD) as refused:
            handle.charge(request())
        refusals.append(refused)

    waiting = threading.Thread(target=charge)
    begun = threading.Event()
    begin = sqlite._begin

    def told(*arguments):
        begun.set()
        return begin(*arguments)

    with pytest.MonkeyPatch.context() as patch, ledger.journal.writing():
        patch.setattr(sqlite, "_begin", told)
        waiting.start()
        assert begun.wait(60)
        os.link(ledger.url, tmp_path / "second.db")
        # What this writer itself holds was checked when it began.
    waiting.join(60)
    assert len(refusals) == 1


def test_symbolic_links_are_one_path(ledger, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(ledger.url)
    (tmp_path / "folder").symlink_to(tmp_path)
    for place in (tmp_path / "elsewhere" / "link.db", tmp_path / "folder" / "budget.db"):
        handle = Ledger(place, ledger.key_file).dataset("trial")
        before = ledger.dataset("trial").spent().charges
        handle.charge(request())
        assert ledger.dataset("trial").spent().charges == handle.spent().charges == before + 1
    assert not (tmp_path / "elsewhere" / "link.db-wal").exists()
    assert ledger.verify()


# Mounts. The first test needs the right to mount, in a name space of its own.

BIND = """
import subprocess, sys
from ledger.workers import request
from veilspan.ledger import Ledger

folder, how = sys.argv[1:]
key = f"{folder}/ledger.key"
name = f"{folder}/budget.db"
handle = Ledger(name, key).dataset("trial")
if how == "later":
    handle.charge(request())
target = name if how == "itself" else f"{folder}/inside.db"
open(target, "a").close()
subprocess.run(["mount", "--bind", name, target], check=True)
where = name if how in ("itself", "later") else target
if how == "later":
    subprocess.run(["mount", "--bind", name, name], check=True)
for ask in (
    lambda: Ledger(where, key).dataset("trial").charge(request()),
    lambda: handle.charge(request()) if where == name else Ledger(where, key).verify(),
    lambda: Ledger(where, key).dataset("trial").spent(),
):
    try:
        ask()
    except Exception as error:
        print(type(error).__name__, str(error))
    else:
        print("granted")
"""


def may_mount():
    """Whether this process may mount in a name space of its own."""
    try:
        tried = subprocess.run(
            ["unshare", "--mount", "sh", "-c", "mount --bind /etc/hosts /etc/hosts"],
            capture_output=True,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


@pytest.mark.parametrize("how", ["elsewhere", "itself", "later"])
def test_a_real_bind_mount_of_the_file_is_refused(ledger, tmp_path, how):
    if not may_mount():
        pytest.skip("mounting is not allowed here")
    told = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", BIND, str(tmp_path), how],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("LedgerError") and MOUNTED in line for line in lines), lines
    assert not (tmp_path / "inside.db-wal").exists()
    assert ledger.dataset("trial").spent().charges == (2 if how == "later" else 1)


def test_a_mounted_file_is_refused_where_the_kernel_only_has_its_table(ledger, monkeypatch):
    monkeypatch.setattr(one_path, "_ask_kernel", lambda path: None)
    handle = ledger.dataset("trial")
    handle.charge(request())
    for ending in ("", "-wal", "-shm"):
        mounted = frozenset({"/", os.path.realpath(ledger.url) + ending})
        with monkeypatch.context() as patch:
            patch.setattr(one_path, "mount_points", lambda mounted=mounted: mounted)
            with pytest.raises(LedgerError, match=MOUNTED):
                handle.charge(request())
    assert handle.spent().charges == 2


def test_the_table_of_mounts_is_read_as_the_kernel_writes_it(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        r"95 22 254:0 /a /my\040data/bud\134get\011.db rw shared:1 - ext4 /dev/vda rw" + "\n"
    )
    assert one_path.mount_points(str(table)) == {"/", "/my data/bud\\get\t.db"}
    assert one_path.mount_points(str(tmp_path / "none")) == frozenset()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the kernel of Linux")
def test_the_kernel_and_its_table_agree(tmp_path):
    (tmp_path / "file").touch()
    asked = one_path._ask_kernel(str(tmp_path / "file"))
    assert one_path._ask_kernel(str(tmp_path / "none")) is None
    assert "/proc" in one_path.mount_points()
    if asked is None:
        pytest.skip("this kernel only has its table")
    truth = os.stat(tmp_path / "file")
    assert asked[:4] == (truth.st_mode, truth.st_nlink, truth.st_dev, truth.st_ino)
    assert not asked.mounted
    assert one_path._ask_kernel("/proc").mounted


def test_a_file_that_was_moved_while_it_was_open_is_found_again(ledger, tmp_path):
    """A symbolic link that follows its file: the kept connection has its log in the old folder."""
    (tmp_path / "new").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(ledger.url)
    handle = Ledger(link, ledger.key_file).dataset("trial")
    handle.charge(request())
    for ending in ("-shm", "-wal", ""):
        os.rename(ledger.url + ending, tmp_path / "new" / f"budget.db{ending}")
    link.unlink()
    link.symlink_to(tmp_path / "new" / "budget.db")
    with pytest.raises(LedgerError, match="moved or replaced"):
        handle.charge(request())
    assert handle.charge(request()).entry == 5
    assert handle.spent().charges == 3


# Waiting.


def hold_until(path, held, release):
    """Hold the write lock of a database in another process."""
    connection = sqlite.sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    held.set()
    release.wait(20)  # then let go, so that a test that fails ends
    connection.execute("ROLLBACK")
    connection.close()


def test_ctrl_c_acts_while_another_writer_holds_the_ledger(ledger):
    context = multiprocessing.get_context("forkserver")
    held, release = context.Event(), context.Event()
    other = context.Process(target=hold_until, args=(ledger.url, held, release))
    other.start()
    try:
        assert held.wait(60)
        handle = ledger.dataset("trial")
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            handle.charge(request())
        # The other one still holds the lock: it was Ctrl-C that ended the wait.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite, "PATIENCE", 0.0)
            with pytest.raises(LedgerError, match="held by another writer"):
                handle.charge(request())
    finally:
        release.set()
        other.join(60)
    assert handle.spent().charges == 1
