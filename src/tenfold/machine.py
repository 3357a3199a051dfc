"""Threads and memory of the machine, and the work that it is given.

One rule for threads: our loops and SciPy's BLAS are never parallel at the same time. The number of threads is the one
that SciPy's BLAS is set to, so `threadpoolctl.threadpool_limits`, OMP_NUM_THREADS and joblib's workers are obeyed
without a switch of ours.
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
    """How to ask a BLAS for its number of threads, and how to set it."""

    get: Callable[[], int | None]
    set: Callable[[int], None]


@cache
def _scipy_blas() -> tuple[_Library, ...]:
    # the library inside SciPy's wheel is found at once; searching all that is loaded takes a hundred times as long as
    # a small fit
    for file in (Path(scipy.__file__).parent.parent / "scipy.libs").glob("libscipy_openblas*"):
        library = ctypes.CDLL(str(file))
        if hasattr(library, "scipy_openblas_get_num_threads"):
            return (_Library(library.scipy_openblas_get_num_threads, library.scipy_openblas_set_num_threads),)
    found = [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]
    own = [lib for lib in found if "scipy" in lib.filepath]
    return tuple(_Library(lib.get_num_threads, lib.set_num_threads) for lib in own or found)


def _blas_threads() -> int:
    libraries = _scipy_blas()
    if not libraries:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(library.get() or 1) for library in libraries)


def _set_blas_threads(count: int) -> None:
    for lib in _scipy_blas():
        lib.set(count)


class _OneBlasThread:
    """Holds SciPy's BLAS at one thread while anybody is inside; the last one out restores the count."""

    def __init__(self) -> None:
        self._start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._saved = 0

    def _after_fork(self) -> None:
        if self._users:  # the threads that were inside do not exist in the child
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
"""A context: small dense algebra inside gives the same bits whatever the number of threads."""


class _Sharing:
    """Counts who is inside: each gets its share of the threads."""

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
"""A context for tasks that a scheduler runs at once in one process: together they use the threads that one would."""


SMALL = 1 << 15
"""A loop over fewer numbers is done before a second thread has woken up."""


def threads(entries: int = SMALL) -> int:
    """The number of threads that a loop of ours over so many numbers may use now."""
    return 1 if entries < SMALL else max(1, one_blas_thread.threads() // max(1, sharing.users))


AFTER_INTERRUPT = 2e8
"""Products with entries of the samples that an interrupted fit may still spend, on its certificate above all: some
tenths of a second.
"""


class Interruption:
    """How many products a fit, and the threads that work for it, may still spend: no end of them until somebody
    interrupts it.
    """

    def __init__(self) -> None:
        self.left = inf

    def limit(self, products: float) -> None:
        """From now on at most so many; none at all where it is negative."""
        self.left = min(self.left, products)

    def spend(self, products: float) -> None:
        """Raises KeyboardInterrupt where nothing is left."""
        if self.left < inf:
            self.left -= products
            if self.left < 0.0:
                raise KeyboardInterrupt


_interruption: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


@contextmanager
def interruptible() -> Iterator[None]:
    """A context, that of a fit: after `limit_after_interrupt` little more is done inside. A fit inside a fit is a part
    of it.
    """
    if _interruption.get() is not None:
        yield
        return
    token = _interruption.set(Interruption())
    try:
        yield
    finally:
        _interruption.reset(token)


def limit_after_interrupt() -> None:
    """Say that a solver answered an interruption with its last step: the rest of the fit, its certificate above all,
    ends by a KeyboardInterrupt where it takes long.
    """
    state = _interruption.get()
    if state is not None:
        state.limit(AFTER_INTERRUPT)


def interrupted() -> bool:
    """Whether the fit that this thread works for was interrupted."""
    state = _interruption.get()
    return state is not None and state.left < inf


def poll() -> None:
    """Raise KeyboardInterrupt where the fit that this thread works for was interrupted and may do no more. Signals
    reach the main thread alone; loops that may run in others call this, compiled ones by themselves.
    """
    state = _interruption.get()
    if state is not None:
        state.spend(0.0)


Item = TypeVar("Item")
Result = TypeVar("Result")


def at_once(
    work: Callable[[Item], Result], items: Sequence[Item], entries: int, stop: Callable[[], None] | None = None
) -> list[Result]:
    """work(item) of all, several at once where there are threads, each on its share of them; results in their order.

    After an interruption, what has not begun is left, and what has ends where it polls; or with `stop`, it is called,
    and its answers are waited for.
    """
    workers = min(len(items), threads(entries))
    if workers < 2:
        return [work(item) for item in items]
    state = _interruption.get() or Interruption()

    def shared(item: Item) -> Result:
        _interruption.set(state)
        with sharing:
            return work(item)

    with ThreadPoolExecutor(workers) as pool:
        # each in a copy of the context, where work is counted
        tasks = [pool.submit(copy_context().run, shared, item) for item in items]
        try:
            wait(tasks)
        except KeyboardInterrupt:
            if stop is None:
                state.limit(-1.0)
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            state.limit(AFTER_INTERRUPT)
            stop()
        except BaseException:  # a limit of time: what runs ends where it polls, and is not waited for to finish
            state.limit(-1.0)
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [task.result() for task in tasks]


class Work:
    """Multiplications with entries of the rows, counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.products = 0.0

    def add(self, products: float) -> None:
        with self._lock:
            self.products += products


_work: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def counting_work() -> Iterator[Work]:
    """A context: the work of all passes over rows inside, in this thread and in those that copy its context."""
    work = Work()
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)


def spend(products: float) -> None:
    """Say how many entries of the rows are multiplied by something now; raises KeyboardInterrupt in a fit that was
    interrupted, and has spent what it might.
    """
    work = _work.get()
    if work is not None:
        work.add(products)
    state = _interruption.get()
    if state is not None:
        state.spend(products)


def available_memory() -> int:
    """Bytes that may still be taken: free or easily freed, within the limits of a container and of the process."""
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
            continue  # not this kind of container, or no limit
    if resource is not None:
        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            limits.append(most - 1024 * _field(Path("/proc/self/status"), "VmSize:"))
    return max(0, min(limits))


def _free_memory() -> int:
    """What the machine can give: the cache of files counts as free."""
    kilobytes = _field(Path("/proc/meminfo"), "MemAvailable:")
    if kilobytes:
        return 1024 * kilobytes
    if "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 1 << 50  # not known: nothing is refused


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
    """What the process has in memory; None where the system does not tell. Linux can forget the peak so far."""
    status = Path("/proc/self/status")
    if reset_peak:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return None  # without it a peak of long ago would be taken for one of now
    now, peak = _field(status, "VmRSS:"), _field(status, "VmHWM:")
    return Resident(1024 * now, 1024 * peak) if now and peak else None


def require_memory(what: str, size: int, instead: str) -> None:
    """Refuse before the work starts when `size` bytes for `what` are not there."""
    if size > 1 << 26 and size > available_memory():
        raise MemoryError(f"{what} needs {size:,} bytes and only {available_memory():,} are available. {instead}")
