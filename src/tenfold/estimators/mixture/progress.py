"""What a fit of a mixture prints of its course."""

import time
from typing import Any

import numpy as np

from tenfold.solvers.loop import Callback, Record


class Reporter:
    """Says where each start begins and ends, and every so many steps; from verbose = 2 on with times, the change of the
    bound and the bound at the end, as scikit-learn says them.
    """

    def __init__(self, verbose: int, interval: int, also: Callback | None) -> None:
        self._all, self._interval, self._also = verbose >= 2, interval, also

    def begin(self, start: int) -> None:
        print(f"Initialization {start}")
        self._steps, self._bound = 0, -np.inf
        self._begun = self._last = time.perf_counter()

    def callback(self, record: Record, params: Any) -> bool:
        """A step was taken; whether somebody wants to stop."""
        self._steps += 1
        if self._steps % self._interval == 0:
            now = time.perf_counter()
            change = record.objective - self._bound
            more = f"\t time lapse {now - self._last:.5f}s\t ll change {change:.5f}" if self._all else ""
            print(f"  Iteration {self._steps}{more}")
            self._last = now
        self._bound = record.objective
        return self._also is not None and self._also(record, params)

    def end(self, bound: float, converged: bool) -> None:
        how = "converged" if converged else "did not converge"
        spent = time.perf_counter() - self._begun
        print(f"Initialization {how}." + (f" time lapse {spent:.5f}s\t lower bound {bound:.5f}." if self._all else ""))
