"""How the time of a fit grows: with the number of threads, and with the number of samples.

One row a family. Threads are set for a whole process, so that each number has a fresh one; samples double five times in
one process. The exponent is the slope of log time over log samples along the last doublings, where overhead has
faded: 1 for the methods that read all samples some times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from math import log
from statistics import median
from typing import Any

import numpy as np

from benchmarks.data import ROOT
from benchmarks.sweep import Maker, classes, clusters, log_link, positive, regression

THREADS = (1, 2, 4, 8, 16)
DOUBLINGS = 5
LAST_DOUBLINGS = 3  # of which the exponent is taken
REPETITIONS = 3


@dataclass(frozen=True)
class Row:
    """A class with parameters, its samples and features, and what is timed after the fit."""

    name: str
    make: Callable[[int, int], Maker]
    samples: int
    features: int
    params: dict[str, Any] = field(default_factory=dict)
    then: str = ""  # a method of the fitted model, called with up to 2 000 samples

    @property
    def label(self) -> str:
        return f"{self.name} {self.samples} x {self.features}"


def five_classes(n: int, p: int) -> Maker:
    return classes(n, p, 5)


ROWS = (
    Row("Ridge", regression, 400_000, 60),
    Row("RidgeCV", regression, 200_000, 40, {"alphas": np.logspace(-3, 3, 30)}),
    Row("LogisticRegression", classes, 400_000, 60),
    Row("LinearSVC", classes, 200_000, 40),
    Row("Lasso", regression, 3000, 6000, {"alpha": 0.05}),
    Row("LassoCV", regression, 100_000, 100),
    Row("PoissonRegressor", lambda n, p: log_link(regression(n, p)), 200_000, 40),
    Row("SGDClassifier", classes, 200_000, 40, {"max_iter": 5, "tol": None}),
    Row("GaussianNB", five_classes, 400_000, 60),
    Row("MultinomialNB", lambda n, p: positive(five_classes(n, p)), 400_000, 60),
    Row("LinearDiscriminantAnalysis", five_classes, 400_000, 60),
    Row("NearestNeighbors", clusters, 100_000, 20, {"n_neighbors": 10}, "kneighbors"),
    Row("KMeans", clusters, 200_000, 20, {"n_clusters": 50, "n_init": 1, "random_state": 0}),
    Row("GaussianMixture", clusters, 100_000, 10, {"n_components": 8, "max_iter": 20, "tol": 0.0, "random_state": 0}),
    Row("PCA", clusters, 200_000, 60, {"n_components": 5}),
)


def measure(row: Row, samples: int) -> float:
    """The median seconds of the fits after the first."""
    cls = getattr(import_module("tenfold"), row.name)
    X, y = row.make(samples, row.features)(np.random.default_rng(0))
    times = []
    for _ in range(REPETITIONS + 1):
        begin = time.perf_counter()
        model = cls(**row.params).fit(X) if y is None else cls(**row.params).fit(X, y)
        if row.then:
            getattr(model, row.then)(X[:2000])
        times.append(time.perf_counter() - begin)
    return median(times[1:])


def measure_threads(row: Row, threads: int) -> float:
    """The same in a fresh process with so many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    command = [sys.executable, "-m", "benchmarks.scaling", row.name]
    environment = os.environ | {name: str(threads) for name in names}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def measure_samples(row: Row) -> list[float]:
    """Seconds for samples that double up to those of the row."""
    return [measure(row, row.samples >> k) for k in range(DOUBLINGS, -1, -1)]


def exponent(seconds: list[float]) -> float:
    """The slope of log time over log samples along the last doublings."""
    return log(seconds[-1] / seconds[-1 - LAST_DOUBLINGS]) / log(2.0**LAST_DOUBLINGS)


def run(only: str, say: Callable[[str], None]) -> dict[str, tuple[list[float], list[float]]]:
    """Of each row the seconds by threads, up to the cores of this machine, and by samples."""
    warnings.simplefilter("ignore")
    results = {}
    for row in ROWS:
        if only.lower() not in row.name.lower():
            continue
        by_threads = [measure_threads(row, threads) for threads in THREADS if threads <= (os.cpu_count() or 1)]
        results[row.label] = by_threads, measure_samples(row)
        say(f"{row.label}: {render_row(row.label, *results[row.label])}")
    return results


def render_row(label: str, by_threads: list[float], by_samples: list[float]) -> str:
    cells = [label, f"{1e3 * by_threads[0]:.1f} ms", *(f"{by_threads[0] / other:.1f}" for other in by_threads[1:])]
    cells += [f"{1e3 * seconds:.1f}" for seconds in by_samples]
    return "| " + " | ".join([*cells, f"{exponent(by_samples):.2f}"]) + " |"


def render(results: dict[str, tuple[list[float], list[float]]], machine: str) -> str:
    """The page: speed-up by threads, and milliseconds by samples with their exponent."""
    threads = THREADS[: max((len(parts[0]) for parts in results.values()), default=1)]
    head = ["row", "1 thread", *(f"{count} threads" for count in threads[1:])]
    head += [f"n / {1 << k}" if k else "n" for k in range(DOUBLINGS, -1, -1)] + ["exponent"]
    lines = [
        "# Threads and samples",
        "",
        f"Measured on {machine}; written by `python -m benchmarks --scaling`. Medians of {REPETITIONS} fits after the "
        "first, the certificate included. For more threads: how many times as fast as one. For samples that double: "
        f"milliseconds, and the exponent of the last {LAST_DOUBLINGS} doublings.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *(render_row(label, *parts) for label, parts in results.items()),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    (chosen,) = (row for row in ROWS if row.name == sys.argv[1])
    print(json.dumps(measure(chosen, chosen.samples)))
