"""Time and interruption: a fit that nobody can wait for is ended, and what is there is kept.

In the main thread a timer's signal ends a running fit: Python looks for signals between its instructions, and our
compiled loops poll for them. The exceptions are of their own kind, because our solvers answer Ctrl-C with the model of
their last step, which here would only go on with the next fit. Elsewhere (other threads, systems without such timers)
the time is looked at between fits, and estimators that have a `time_limit` are given what is left.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from tenfold.machine import resident_memory


class OutOfTime(BaseException):
    """The time of a candidate, or of all, is over."""


class Stopped(BaseException):
    """Ctrl-C, under a name that no solver answers."""


def _can_signal() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """A context: `OutOfTime` at `deadline`, by `time.perf_counter`; Ctrl-C ends what runs inside at once."""
    left = deadline - time.perf_counter()
    if left <= 0.0:
        raise OutOfTime
    if not _can_signal():
        yield
        return

    def out_of_time(number: int, frame: Any) -> None:
        raise OutOfTime

    def stopped(number: int, frame: Any) -> None:
        raise Stopped

    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGALRM, out_of_time) if left < inf else None
    if ours:
        signal.signal(signal.SIGINT, stopped)
    try:
        if left < inf:
            signal.setitimer(signal.ITIMER_REAL, left)
        yield
    except Stopped:
        raise KeyboardInterrupt from None
    finally:
        if left < inf:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def left_inside(deadline: float) -> float | None:
    """Seconds that a fit is to be told of: None where a signal ends it, or nothing does."""
    return None if deadline == inf or _can_signal() else max(0.0, deadline - time.perf_counter())


def check(deadline: float) -> None:
    """Between two fits: whether there is time for the next."""
    if time.perf_counter() >= deadline:
        raise OutOfTime


class PeakMemory:
    """The most resident memory inside, beyond what was resident at its begin, in bytes.

    Memory that the process already had and uses again is not seen. None where the system does not tell.
    """

    bytes: int | None = None

    def __enter__(self) -> "PeakMemory":
        self._before = resident_memory(reset_peak=True)
        return self

    def __exit__(self, *_: Any) -> None:
        after = resident_memory()
        if self._before is not None and after is not None:
            self.bytes = max(0, after.peak - self._before.now)
