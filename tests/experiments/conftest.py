"""A small job for the tests of the experiments."""

import pytest

from experiments import job, registry


@pytest.fixture
def tiny_job(tmp_path):
    """Make a job of the smallest scale for an item: ``tiny_job("grouse-fig1")``."""

    def make(name, **options):
        items = {item.name: item for item in registry.ITEMS}
        settings = {"scale": "tiny", "quiet": True, "peers": False, **options}
        return job.Job(items[name], tmp_path, **settings)

    return make
