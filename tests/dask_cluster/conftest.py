"""A cluster of two processes; these tests are left out where Dask is not installed."""

import importlib.util
import warnings

import pytest

if any(importlib.util.find_spec(name) is None for name in ("dask.array", "distributed")):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="1 GB",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(warnings.simplefilter, "ignore")
        yield client


@pytest.fixture
def client(cluster):
    """The cluster with both workers alive."""
    cluster.wait_for_workers(2)
    return cluster


@pytest.fixture
def threads():
    """Dask without a cluster."""
    import dask

    with dask.config.set(scheduler="threads"):
        yield
