"""Threads: one rule, obeyed and restored."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from tenfold import machine
from tenfold.machine import (
    MIN_PARALLEL_ENTRIES,
    available_memory,
    one_blas_thread,
    require_memory,
    run_concurrently,
    threads,
)
from tenfold.stats.derivatives import Params, adjoint, forward


def scipy_threads():
    """What threadpoolctl itself says of the BLAS that SciPy carries."""
    counts = [
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas" and "scipy" in lib["filepath"]
    ]
    return min(counts)


@pytest.mark.parametrize("count", [1, 2])
def test_threads_obey_threadpool_limits(count):
    with threadpool_limits(count):
        assert threads() == count


def test_small_loops_take_one_thread():
    with threadpool_limits(2):
        assert threads(10) == 1


def test_inside_blas_has_one_thread_and_our_loops_keep_theirs():
    with threadpool_limits(2):
        with one_blas_thread:
            assert scipy_threads() == 1
            assert threads() == 2
        assert scipy_threads() == 2


def test_nested():
    with threadpool_limits(2):
        with one_blas_thread:
            with one_blas_thread:
                assert scipy_threads() == 1
                assert threads() == 2
            assert scipy_threads() == 1
            assert threads() == 2
        assert scipy_threads() == 2


def test_restored_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(ZeroDivisionError), one_blas_thread:
            raise ZeroDivisionError
        assert scipy_threads() == 2
        assert threads() == 2


def test_a_single_thread_stays_single():
    with threadpool_limits(1):
        with one_blas_thread:
            assert threads() == 1
        assert scipy_threads() == 1


def test_the_last_of_several_python_threads_restores():
    inside, leave = threading.Barrier(3), threading.Event()

    def hold():
        with one_blas_thread:
            inside.wait(timeout=10)
            leave.wait(timeout=10)

    with threadpool_limits(2):
        holders = [threading.Thread(target=hold) for _ in range(2)]
        for holder in holders:
            holder.start()
        inside.wait(timeout=10)
        with one_blas_thread:
            pass
        # the holders are still inside
        assert scipy_threads() == 1
        assert threads() == 2
        leave.set()
        for holder in holders:
            holder.join(timeout=10)
        assert scipy_threads() == 2


def in_child(work):
    """The bytes that `work` returns in a forked child; an error there fails here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, work())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pipe.read()
    os.waitpid(child, 0)
    return result


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_after_a_fork_inside_the_context_the_child_starts_afresh():
    with threadpool_limits(2), one_blas_thread:
        assert in_child(lambda: bytes([threads(), machine.one_blas_thread._users])) == bytes([2, 0])
        assert threads() == 2


def test_available_memory_is_a_number_of_bytes():
    assert 0 < available_memory() < 1 << 50


def test_missing_memory_raises_with_bytes_and_advice():
    with pytest.raises(
        MemoryError, match=r"The matrix needs 1,152,921,504,606,846,976 bytes and only [\d,]+ are available. Use less."
    ):
        require_memory("The matrix", 1 << 60, "Use less.")
    require_memory("A small matrix", 1 << 10, "")


def test_square_matrix_beyond_memory_raises_before_the_work(monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 1 << 20)
    X = np.random.default_rng(0).standard_normal((3000, 2000))
    from tenfold import Ridge

    with pytest.raises(MemoryError, match=r"2000 x 2000 matrix of second moments needs [\d,]+ bytes"):
        Ridge().fit(X, X[:, 0])


def test_the_limit_of_the_process_counts():
    """Under a limit of the address space, a matrix that does not fit is refused before it is made."""
    code = """
import resource
from tenfold.machine import available_memory, require_memory
size = 1024 * int(next(l for l in open("/proc/self/status") if l.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (size + (300 << 20), size + (300 << 20)))
assert available_memory() <= 300 << 20
require_memory("A matrix", 200 << 20, "")
try:
    require_memory("A matrix", 400 << 20, "Use less.")
except MemoryError as error:
    assert "419,430,400 bytes" in str(error) and "Use less." in str(error)
else:
    raise SystemExit("not refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_work_is_counted_on_request():
    X = np.ones((50, 4))
    params = Params(np.zeros((3, 4)), np.zeros(3))
    forward(X, params)
    with machine.counting_work() as outer:
        forward(X, params)
        with machine.counting_work() as inner:
            forward(sparse.csr_array(np.eye(50)[:, :4]), params)
            adjoint(X, np.ones((50, 2)))
    assert outer.products == 50 * 4 * 3
    assert inner.products == 4 * 3 + 50 * 4 * 2


def test_several_tasks_share_the_threads_and_keep_their_order():
    def work(k):
        together.wait(20)
        share = threads()
        together.wait(20)
        return k, share

    together = threading.Barrier(2)
    with threadpool_limits(2):
        assert run_concurrently(work, range(4), MIN_PARALLEL_ENTRIES) == [(k, 1) for k in range(4)]
        assert threads() == 2
    with threadpool_limits(1):
        assert run_concurrently(lambda k: k, range(3), MIN_PARALLEL_ENTRIES) == [0, 1, 2]


def test_an_interruption_stops_what_goes_on_or_leaves_what_has_not_begun(monkeypatch):
    def interrupt(tasks):
        assert begun.wait(20)
        raise KeyboardInterrupt

    def work(k):
        count.append(k)
        begun.set()
        assert halted.wait(20)
        return k

    monkeypatch.setattr(machine, "wait", interrupt)
    with threadpool_limits(2):
        begun, halted, count = threading.Event(), threading.Event(), []
        assert run_concurrently(work, range(3), MIN_PARALLEL_ENTRIES, halted.set) == [0, 1, 2]
        begun, halted, count = threading.Event(), threading.Event(), []
        threading.Timer(0.2, halted.set).start()
        with pytest.raises(KeyboardInterrupt):
            run_concurrently(work, range(50), MIN_PARALLEL_ENTRIES)
        assert len(count) <= 2


def test_items_that_need_much_memory_run_one_after_the_other(monkeypatch):
    monkeypatch.setattr(machine, "threads", lambda entries=0: 4)
    monkeypatch.setattr(machine, "available_memory", lambda: 3 << 30)
    names = [threading.current_thread().name]

    def work(item):
        names.append(threading.current_thread().name)
        return item

    assert machine.run_concurrently(work, range(4), 1 << 20, memory=2 << 30) == [0, 1, 2, 3]
    assert len(set(names)) == 1
    assert machine.run_concurrently(work, range(4), 1 << 20, memory=1 << 30) == [0, 1, 2, 3]
    assert len(set(names)) > 1
