"""Threads, memory, work counting and cancellation.

The compiled loops and SciPy's BLAS are never parallel at the same time. The number of threads is that of SciPy's BLAS,
so `threadpoolctl.threadpool_limits`, OMP_NUM_THREADS and joblib's limits are respected without an option of ours.
"""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from math import inf
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

import scipy
import scipy.linalg.blas
from threadpoolctl import ThreadpoolController

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]


class _Library(NamedTuple):
    """Getter and setter of the number of threads of a BLAS."""

    get: Callable[[], int | None]
    set: Callable[[int], None]


@cache
def _scipy_blas() -> tuple[_Library, ...]:
    # the library of SciPy's wheel is found directly; searching all loaded libraries takes a hundred small fits
    for file in (Path(scipy.__file__).parent.parent / "scipy.libs").glob("libscipy_openblas*"):
        library = ctypes.CDLL(str(file))
        if hasattr(library, "scipy_openblas_get_num_threads"):
            return (_Library(library.scipy_openblas_get_num_threads, library.scipy_openblas_set_num_threads),)
    libraries = [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]
    scipy_libraries = [lib for lib in libraries if "scipy" in lib.filepath]
    return tuple(_Library(lib.get_num_threads, lib.set_num_threads) for lib in scipy_libraries or libraries)


def _blas_threads() -> int:
    libraries = _scipy_blas()
    if not libraries:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(library.get() or 1) for library in libraries)


def _set_blas_threads(count: int) -> None:
    for lib in _scipy_blas():
        lib.set(count)


class _OneBlasThread:
    """Sets SciPy's BLAS to one thread while any user is inside; the last one restores the count."""

    def __init__(self) -> None:
        self._start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._saved = 0

    def _after_fork(self) -> None:
        if self._users:  # the users do not exist in the child
            _set_blas_threads(self._saved)
        self._start()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._saved = _blas_threads()
                if self._saved > 1:
                    _set_blas_threads(1)
            self._users += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._saved > 1:
                _set_blas_threads(self._saved)

    def threads(self) -> int:
        with self._lock:
            return self._saved if self._users else _blas_threads()


one_blas_thread = _OneBlasThread()
"""A context in which small dense algebra gives the same bits for any number of threads."""


class _Sharing:
    """Counts concurrent users, who divide the threads."""

    def __init__(self) -> None:
        self._start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self.users = 0

    def __enter__(self) -> None:
        with self._lock:
            self.users += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self.users -= 1


sharing = _Sharing()
"""A context for tasks that a scheduler runs concurrently in one process: together they use the threads of one."""


MIN_PARALLEL_ENTRIES = 1 << 15  # a loop over fewer entries ends before a second thread has woken up


def threads(entries: int = MIN_PARALLEL_ENTRIES) -> int:
    """The number of threads for a compiled loop over `entries` entries."""
    return 1 if entries < MIN_PARALLEL_ENTRIES else max(1, one_blas_thread.threads() // max(1, sharing.users))


PRODUCTS_AFTER_INTERRUPT = 2e8  # products an interrupted fit may still spend, mainly on its certificate: some 0.1 s


class Interruption:
    """The budget of products of a fit and its threads: infinite until it is interrupted."""

    def __init__(self) -> None:
        self.left = inf

    def limit(self, products: float) -> None:
        """Limits the remaining budget; a negative one cancels at the next poll."""
        self.left = min(self.left, products)

    def spend(self, products: float) -> None:
        """Raises KeyboardInterrupt when the budget is exhausted."""
        if self.left < inf:
            self.left -= products
            if self.left < 0.0:
                raise KeyboardInterrupt


_interruption: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


@contextmanager
def interruptible() -> Iterator[None]:
    """The context of a fit: `limit_after_interrupt` limits its remaining work. Nested fits belong to the outer one."""
    if _interruption.get() is not None:
        yield
        return
    token = _interruption.set(Interruption())
    try:
        yield
    finally:
        _interruption.reset(token)


def limit_after_interrupt() -> None:
    """Called by a solver that was interrupted and returned its last iterate: the rest of the fit, mainly its
    certificate, raises KeyboardInterrupt when it takes long.
    """
    state = _interruption.get()
    if state is not None:
        state.limit(PRODUCTS_AFTER_INTERRUPT)


def interrupted() -> bool:
    """Whether the fit of this thread was interrupted."""
    state = _interruption.get()
    return state is not None and state.left < inf


def poll() -> None:
    """Raise KeyboardInterrupt when the fit of this thread was interrupted and its budget is exhausted. Signals reach
    only the main thread, so loops that may run in others call this; compiled loops do so themselves.
    """
    state = _interruption.get()
    if state is not None:
        state.spend(0.0)


LITTLE_MEMORY = 1 << 26  # bytes below which nobody asks what is available

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_concurrently(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    entries: int,
    stop: Callable[[], None] | None = None,
    memory: int = 0,
) -> list[Result]:
    """work(item) for all items, concurrently where there are threads, which they divide; results in order.

    Where an item needs much `memory`, in bytes, only as many are worked on at a time as have room.
    After an interruption pending items are cancelled, and running ones end at their next poll; with `stop`, it is
    called instead, and the results are awaited.
    """
    workers = min(len(items), threads(entries))
    if memory > LITTLE_MEMORY and workers > 1:
        workers = min(workers, available_memory() // memory)
    if workers < 2:
        return [work(item) for item in items]
    state = _interruption.get() or Interruption()

    def run(item: Item) -> Result:
        _interruption.set(state)
        with sharing:
            return work(item)

    with ThreadPoolExecutor(workers) as pool:
        # each in a copy of the context, which counts its work
        tasks = [pool.submit(copy_context().run, run, item) for item in items]
        try:
            wait(tasks)
        except KeyboardInterrupt:
            if stop is None:
                state.limit(-1.0)
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            state.limit(PRODUCTS_AFTER_INTERRUPT)
            stop()
        except BaseException:  # a time limit: running items end at their next poll and are not awaited
            state.limit(-1.0)
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [task.result() for task in tasks]


class Work:
    """A counter of multiplications with entries of the rows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.products = 0.0

    def add(self, products: float) -> None:
        with self._lock:
            self.products += products


_work: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def counting_work() -> Iterator[Work]:
    """A context that counts the work of all passes over rows, in this thread and those that copy its context."""
    work = Work()
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)


def spend(products: float) -> None:
    """Counts products with entries of the rows; raises KeyboardInterrupt when an interrupted fit has exhausted its
    budget.
    """
    work = _work.get()
    if work is not None:
        work.add(products)
    state = _interruption.get()
    if state is not None:
        state.spend(products)


def available_memory() -> int:
    """Bytes that can be allocated: free or reclaimable, within the limits of the container and of the process."""
    limits = [_free_memory()]
    group = Path("/sys/fs/cgroup")
    for ceiling, used, details in (
        ("memory.max", "memory.current", "memory.stat"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
    ):
        try:
            taken = int((group / used).read_text()) - _field(group / details, "inactive_file")
            limits.append(int((group / ceiling).read_text()) - taken)
        except (OSError, ValueError):
            continue  # not this cgroup version, or no limit
    if resource is not None:
        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            limits.append(most - 1024 * _field(Path("/proc/self/status"), "VmSize:"))
    return max(0, min(limits))


def _free_memory() -> int:
    """Free memory of the machine, with the page cache."""
    kilobytes = _field(Path("/proc/meminfo"), "MemAvailable:")
    if kilobytes:
        return 1024 * kilobytes
    if "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 1 << 50  # unknown: no limit


def _field(file: Path, name: str) -> int:
    """The number after `name` at the start of a line of `file`; 0 where there is none."""
    try:
        for line in file.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return 0


class Resident(NamedTuple):
    """Resident memory of the process in bytes: now, and the most since the peak was reset or the process began."""

    now: int
    peak: int


def resident_memory(*, reset_peak: bool = False) -> Resident | None:
    """Resident memory of the process; None where the system does not report it. Linux can reset the peak."""
    status = Path("/proc/self/status")
    if reset_peak:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return None  # otherwise an old peak would be reported
    now, peak = _field(status, "VmRSS:"), _field(status, "VmHWM:")
    return Resident(1024 * now, 1024 * peak) if now and peak else None


def require_memory(what: str, size: int, instead: str) -> None:
    """Raise MemoryError early when `size` bytes for `what` are not available."""
    if size > LITTLE_MEMORY and size > available_memory():
        raise MemoryError(f"{what} needs {size:,} bytes and only {available_memory():,} are available. {instead}")
