"""Progress output of mixture fits."""

import time
from typing import Any

import numpy as np

from tenfold.solvers.loop import Callback, Record


class Reporter:
    """Prints the begin and end of each start and every `interval` steps; from verbose = 2 on with times, the change of
    the bound and the final bound, in scikit-learn's format.
    """

    def __init__(self, verbose: int, interval: int, callback: Callback | None) -> None:
        self._all, self._interval, self._callback = verbose >= 2, interval, callback

    def begin(self, start: int) -> None:
        print(f"Initialization {start}")
        self._steps, self._bound = 0, -np.inf
        self._begun = self._last = time.perf_counter()

    def callback(self, record: Record, params: Any) -> bool:
        """Report a step; returns whether the callback requests a stop."""
        self._steps += 1
        if self._steps % self._interval == 0:
            now = time.perf_counter()
            change = record.objective - self._bound
            more = f"\t time lapse {now - self._last:.5f}s\t ll change {change:.5f}" if self._all else ""
            print(f"  Iteration {self._steps}{more}")
            self._last = now
        self._bound = record.objective
        return self._callback is not None and self._callback(record, params)

    def end(self, bound: float, converged: bool) -> None:
        outcome = "converged" if converged else "did not converge"
        spent = time.perf_counter() - self._begun
        print(
            f"Initialization {outcome}." + (f" time lapse {spent:.5f}s\t lower bound {bound:.5f}." if self._all else "")
        )
