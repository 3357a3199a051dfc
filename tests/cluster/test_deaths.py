"""Workers that are killed, data that are lost and a scheduler that is gone: the same bits, or an error that says so."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")

import dask.array as da  # noqa: E402
from fits import METHODS, bits, in_one_thread, ridge  # noqa: E402

import tenfold  # noqa: E402
from tenfold.data.dask import ClusterError, DaskRows, matrix  # noqa: E402
from tenfold.stats.moments import Moments  # noqa: E402

# workers cannot import this file
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def worker_pids(client):
    return list(client.run(os.getpid, on_error="ignore").values())


def kill_after(seconds, pid):
    def act():
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=act)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("method", "pause"), [("ridge", 0.15), pytest.param("logistic", 0.03, marks=pytest.mark.product)]
)
def test_a_worker_killed_in_the_middle_costs_time_alone(mortal, make_rows, method, pause):
    work, classes = METHODS[method]
    expected = in_one_thread(work, *make_rows(3000, classes=classes))
    X, y = make_rows(3000, classes=classes, pause=pause)
    victim = kill_after(0.6, worker_pids(mortal)[0])
    fitted = work(X, y)
    assert not victim.is_alive()  # it struck before the fit was done
    assert bits(fitted) == expected


@pytest.mark.slow
def test_a_worker_killed_with_persisted_rows(mortal, make_rows):
    X, y = make_rows(3000)
    expected = bits(ridge(X, y))
    X, y = dask.persist(X, y)
    distributed.wait([X, y])
    os.kill(worker_pids(mortal)[1], signal.SIGKILL)
    assert bits(ridge(X, y)) == expected


def scatter_rows(client):
    """Rows that are nowhere but in the memory of one worker each, and the process of the worker with the first."""
    futures = client.scatter([np.random.default_rng(i).standard_normal((200, 3)) for i in range(8)])
    lazy = [da.from_delayed(dask.delayed(future), (200, 3), dtype=np.float64) for future in futures]
    (owner,) = client.who_has(futures[:1])[futures[0].key]
    return da.concatenate(lazy), client.run(os.getpid, workers=[owner])[owner]


def test_lost_chunks_raise_cluster_error(mortal):
    X, pid = scatter_rows(mortal)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while pid in worker_pids(mortal) and time.monotonic() < deadline:
        time.sleep(0.1)
    with pytest.raises(ClusterError, match="the only copy of some rows"):
        ridge(X, np.ones((1600, 1)))


def slow_lift(block):
    time.sleep(0.5)
    return Moments.lift(block)


@pytest.mark.slow
def test_chunks_lost_during_a_fit(mortal):
    X, pid = scatter_rows(mortal)
    rows = DaskRows.of(matrix(X), np.ones((1600, 1)))
    victim = kill_after(0.4, pid)
    with pytest.raises(ClusterError, match="the only copy of some rows"):
        rows.fold(slow_lift)
    victim.join()


def test_rows_of_a_cluster_that_is_closed(start_cluster, make_rows):
    with start_cluster(1) as cluster, distributed.Client(cluster, set_as_default=False) as other:
        X, y = other.persist(make_rows(300))
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(ClusterError, match="persisted on a cluster that is no longer connected"),
    ):
        ridge(X, y)


def process(module, *options):
    """A Python process that can import what this one can."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-m", module, *options], stderr=subprocess.DEVNULL, env=environment)


@pytest.mark.slow
def test_a_scheduler_that_is_gone(tmp_path, make_rows):
    """An error in bounded time, and one again at the next fit."""
    file = tmp_path / "scheduler.json"
    options = ["--no-dashboard", "--scheduler-file", str(file)]
    scheduler = process("distributed.cli.dask_scheduler", "--port", "0", *options)
    worker = process("distributed.cli.dask_worker", *options)
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
            distributed.Client(scheduler_file=str(file), timeout="15s") as client,
        ):
            client.wait_for_workers(1, timeout=60)
            X, y = make_rows(3000, pause=0.2)
            victim = kill_after(1.0, scheduler.pid)
            begin = time.monotonic()
            model = tenfold.Ridge()
            with pytest.raises(ClusterError, match="connection to the scheduler is lost"):
                model.fit(X, y)
            assert time.monotonic() - begin < 60
            assert not hasattr(model, "coef_")
            victim.join()
            begin = time.monotonic()
            with pytest.raises(ClusterError, match="connection to the scheduler is lost"):
                ridge(X, y)
            assert time.monotonic() - begin < 60
    finally:
        for one in (worker, scheduler):
            one.kill()
            one.wait()
