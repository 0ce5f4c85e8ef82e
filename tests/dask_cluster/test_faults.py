"""Processes that die in the middle: no answer twice, no charge twice, no charge lost."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from veilspan import PCA, Ledger, RobustPCA
from veilspan.curator.curator import Curator
from veilspan.curator.dask import rows as dask_rows
from veilspan.ledger.errors import LedgerError
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

from .tables import far, parts, rows

# Steps that sample, so that a second run of a task could also choose others.
SOLVER = GeodesicGradientDescent(steps=8, halvings=1, sampling_rate=0.5)


@pytest.fixture
def draws(monkeypatch):
    """Counts how often noise is added in this process."""
    made = []
    add_noise = Curator._add_noise
    monkeypatch.setattr(Curator, "_add_noise", lambda *args: (made.append(1), add_noise(*args))[1])
    return made


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
def test_a_worker_killed_in_the_middle_of_a_step(client, monkeypatch, draws, tmp_path):
    x = rows()
    ledger = Ledger(tmp_path / "budget.db", key=tmp_path / "key")
    account = ledger.dataset("rehearsal", epsilon=10, delta=1e-5, test=True)

    def fit(**options):
        return RobustPCA(2, solver=SOLVER, random_state=0, **options).fit(parts(x))

    undisturbed = fit()
    planned = sum(event.count for event in undisturbed.plan_.events)
    assert len(draws) == planned
    draws.clear()
    started, calls = dask_rows.start, []
    pids, killed = client.run(os.getpid), []

    def killing(calls_of_groups, inputs):
        futures = started(calls_of_groups, inputs)
        calls.append(1)
        if len(calls) == 3:
            where = client.who_has(inputs[0])
            victim = next(worker for workers in where.values() for worker in workers)
            os.kill(pids[victim], signal.SIGKILL)
            killed.append(pids[victim])
        return futures

    monkeypatch.setattr(dask_rows, "start", killing)
    model = fit(ledger=account)
    assert len(calls) == planned
    assert len(draws) == planned
    assert far(model.components_, undisturbed.components_) <= 1e-9
    spent = account.spent()
    assert (spent.charges, spent.released) == (1, 1)
    client.wait_for_workers(2)
    assert len(killed) == 1  # a worker that held a part
    assert killed[0] not in client.run(os.getpid).values()


CLIENT = textwrap.dedent(
    """
    import sys, time
    import dask.array as da
    from distributed import Client
    from veilspan import PCA, Ledger
    from veilspan.curator.curator import Curator

    def hang(*args):
        print("summed", flush=True)
        time.sleep(600)

    if __name__ == "__main__":
        scheduler, folder = sys.argv[1:]
        Curator._add_noise = hang  # the exact sum is here; nothing is out
        account = Ledger(folder + "/budget.db", key=folder + "/key").dataset("trial")
        with Client(scheduler):
            PCA(2, epsilon=1.0, ledger=account.with_key("figure")).fit(
                da.random.default_rng(0).random((600, 6), chunks=(200, 6))
            )
    """
)


def test_the_client_killed_after_the_charge(client, tmp_path):
    ledger = Ledger(tmp_path / "budget.db", key=tmp_path / "key")
    account = ledger.dataset("trial", epsilon=3, delta=1e-5)
    script = tmp_path / "fit.py"
    script.write_text(CLIENT)
    command = [sys.executable, str(script), client.scheduler.address, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert line == "summed\n"
    spent = account.spent()
    assert (spent.charges, spent.released) == (1, 0)
    import dask.array as da

    table = da.random.default_rng(0).random((600, 6), chunks=(200, 6))
    # The same fit under the same key: what was charged for it may have been seen.
    with pytest.raises(LedgerError, match="it broke off, or still runs"):
        PCA(2, epsilon=1.0, ledger=account.with_key("figure")).fit(table)
    spent = account.spent()
    assert (spent.charges, spent.released) == (1, 0)
    PCA(2, epsilon=1.0, ledger=account).fit(table)
    spent = account.spent()
    assert (spent.charges, spent.released) == (2, 1)
    assert len(client.scheduler_info()["workers"]) == 2
