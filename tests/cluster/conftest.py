"""A cluster of worker processes on this machine, and rows that its workers make."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def start_cluster():
    """A function that starts so many workers of one thread, in processes of their own, on ports that are free."""
    distributed = pytest.importorskip("distributed")

    def start(count):
        return distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
            silence_logs=50,
        )

    return start


@pytest.fixture(scope="module")
def client(start_cluster):
    """Two workers, for the tests of a file."""
    distributed = pytest.importorskip("distributed")
    with start_cluster(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def mortal(start_cluster):
    """Two workers for one test, which may kill them."""
    distributed = pytest.importorskip("distributed")
    with start_cluster(2) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def make_rows():
    """Rows of a linear relation, and their targets as numbers or classes, made by the workers chunk by chunk."""
    from made_rows import make

    return make
