"""Time limits and interruption of fits.

In the main thread a timer's signal ends a running fit: Python handles signals between its instructions, and our
compiled loops poll for them. The exceptions derive from BaseException, not from KeyboardInterrupt, because our solvers
return the model of their last step on Ctrl-C, and the next fit would start. In other threads, and on systems without
such timers, the time is checked between fits, and an estimator's `time_limit` is set to the remaining time.
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
    """Ctrl-C, as an exception that no solver catches."""


def can_signal() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """A context: `OutOfTime` at `deadline`, by `time.perf_counter`; Ctrl-C ends what runs inside at once."""
    left = deadline - time.perf_counter()
    if left <= 0.0:
        raise OutOfTime
    if not can_signal():
        yield
        return

    def raise_out_of_time(number: int, frame: Any) -> None:
        raise OutOfTime

    def raise_stopped(number: int, frame: Any) -> None:
        raise Stopped

    is_default_handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGALRM, raise_out_of_time) if left < inf else None
    if is_default_handler:
        signal.signal(signal.SIGINT, raise_stopped)
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
        if is_default_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def remaining_time(deadline: float) -> float | None:
    """Seconds to set as `time_limit` of an estimator: None where a signal ends the fit, or there is no limit."""
    return None if deadline == inf or can_signal() else max(0.0, deadline - time.perf_counter())


def check(deadline: float) -> None:
    """Raise `OutOfTime` after the deadline: called between two fits."""
    if time.perf_counter() >= deadline:
        raise OutOfTime


class PeakMemory:
    """Peak resident memory within the context, beyond what was resident at its beginning, in bytes.

    Memory that the process already had and reuses is not counted. None where the system does not report it.
    """

    bytes: int | None = None

    def __enter__(self) -> "PeakMemory":
        self._before = resident_memory(reset_peak=True)
        return self

    def __exit__(self, *_: Any) -> None:
        after = resident_memory()
        if self._before is not None and after is not None:
            self.bytes = max(0, after.peak - self._before.now)
