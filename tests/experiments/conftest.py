"""Make ``veilspan_experiments`` importable and give tests a small job."""

import pytest

from veilspan.cli.experiments import experiment

experiment()


@pytest.fixture
def tiny_job(tmp_path):
    """Make a job of the smallest scale for an item: ``tiny_job("grouse-fig1")``."""

    def make(name, **options):
        items = {item.name: item for item in experiment("registry").ITEMS}
        settings = {"scale": "tiny", "quiet": True, "peers": False, **options}
        return experiment("job").Job(items[name], tmp_path, **settings)

    return make
