"""The choice of algorithm: every route of a plan on random shapes, and where the chosen one is not among the fastest.

A plan selects its algorithm in one function. Here that function is replaced by a constant, one route after the other,
and each fit is timed beside the plan's own choice. A route that raises, or whose fit is not certified, is left out.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.sweep import Maker, classes, clusters, regression

ALLOWED_RATIO = 1.5  # of the chosen route's time to that of the fastest
REPETITIONS = 3


@dataclass(frozen=True)
class Choice:
    """A plan's function that selects a route, the values that it may return, and fits that ask for it."""

    name: str
    selector: str
    routes: dict[str, Any]
    estimator: str
    make: Callable[..., Maker]
    params: dict[str, Any] = field(default_factory=dict)
    sparse: tuple[bool, ...] = (False, True)
    features: tuple[int, int] = (3, 4000)


GLM = {"newton": "newton", "subsample": "sample", "L-BFGS": "diagonal"}
CHOICES = (
    Choice(
        "least squares",
        "tenfold.plans.least_squares.select_solver",
        {"Gram matrix": "gram", "dual": "dual", "conjugate gradients": "conjugate"},
        "LinearRegression",
        regression,
    ),
    Choice(
        "ridge",
        "tenfold.plans.least_squares.select_solver",
        {"Gram matrix": "gram", "dual": "dual", "conjugate gradients": "conjugate"},
        "Ridge",
        regression,
    ),
    Choice(
        "lasso",
        "tenfold.plans.lasso._select_for_penalty",
        {"Gram matrix": ("gram", None), "working sets": ("columns", None)},
        "Lasso",
        regression,
        {"alpha": 0.05},
    ),
    Choice("logistic", "tenfold.plans.glm.select_solver", GLM, "LogisticRegression", classes, {"max_iter": 1000}),
    Choice(
        "multinomial",
        "tenfold.plans.glm.select_solver",
        {"whole Hessian": "newton", "blocks of classes": "blocks", "L-BFGS": "diagonal"},
        "LogisticRegression",
        lambda n, p, **more: classes(n, p, 5, **more),
        {"max_iter": 1000},
        features=(3, 1000),
    ),
    Choice(
        "components",
        "tenfold.plans.pca.select_method",
        {"scatter": "scatter", "samples": "samples", "Lanczos": "lanczos"},
        "PCA",
        clusters,
        {"n_components": 5},
        sparse=(False,),
        features=(8, 4000),
    ),
    Choice(
        "linear support vectors",
        "tenfold.plans.svm._prefers_dual",
        {"dual": True, "primal": False},
        "LinearSVC",
        classes,
        {"max_iter": 5000},
    ),
    Choice(
        "neighbours",
        "tenfold.pairwise.searches.uses_tree",
        {"tree": True, "products": False},
        "NearestNeighbors",
        clusters,
        {"n_neighbors": 10},
        sparse=(False,),
        features=(3, 60),
    ),
)


@dataclass(frozen=True)
class Case:
    """Seconds of the plan's own choice and of each route, on one shape."""

    choice: str
    label: str
    chosen: float
    routes: dict[str, float]

    @property
    def ratio(self) -> float:
        """The time of the choice over that of the fastest route."""
        return self.chosen / min([self.chosen, *self.routes.values()])

    def __str__(self) -> str:
        times = ", ".join(f"{name} {1e3 * seconds:.3g}" for name, seconds in sorted(self.routes.items()))
        return f"{self.ratio:6.2f}  {self.choice}, {self.label}: {1e3 * self.chosen:.3g} ms; {times}"


def draw_shapes(choice: Choice, count: int, rng: np.random.Generator) -> Iterator[tuple[str, Maker]]:
    """Random shapes of up to four million entries, dense and sparse in turn."""
    for number in range(count):
        sparse = choice.sparse[number % len(choice.sparse)]
        p = int(np.exp(rng.uniform(*np.log(choice.features))))
        n = int(np.exp(rng.uniform(np.log(60), np.log(min(4e6 * (10 if sparse else 1) / p, 200_000)))))
        density = float(np.exp(rng.uniform(np.log(2e-3), np.log(0.1)))) if sparse else 0.0
        options = {"density": density} if sparse else {}
        yield f"{n} x {p}" + (f" sparse {density:.2g}" if sparse else ""), choice.make(n, p, **options)


def measure(choice: Choice, label: str, make: Maker, seed: int) -> Case:
    """Time the plan's choice and every route on samples of one shape."""
    X, y = make(np.random.default_rng(seed))
    times: dict[str, list[float]] = {name: [] for name in ("", *choice.routes)}
    while all(len(parts) <= REPETITIONS for parts in times.values()) and sum(map(sum, times.values())) < 10.0:
        for name in tuple(times):
            seconds = _time(choice, name, X, y)
            if seconds is None:
                del times[name]
            else:
                times[name].append(seconds)
    routes = {name: min(parts[1:] or parts) for name, parts in times.items()}  # the least is the least disturbed
    return Case(choice.name, label, routes.pop("", np.nan), routes)


def _time(choice: Choice, route: str, X: Any, y: Any) -> float | None:
    """The seconds of a fit by a route, of neighbours with a search; the plan's choice where the route has no name. None
    where it raises, or is not certified.
    """
    module, _, function = choice.selector.rpartition(".")
    cls = getattr(importlib.import_module("tenfold"), choice.estimator)
    changed: Any = nullcontext()
    if route:
        changed = patch.object(importlib.import_module(module), function, lambda *_, **__: choice.routes[route])
    with changed:
        begin = time.perf_counter()
        try:
            model = cls(**choice.params).fit(X) if y is None else cls(**choice.params).fit(X, y)
        except Exception:  # a route that cannot take these samples
            return None
        if hasattr(model, "kneighbors"):
            model.kneighbors(X[:2000])
        seconds = time.perf_counter() - begin
    return seconds if model.certificate_.ok else None


def run(only: str, count: int, say: Callable[[str], None] = print) -> list[Case]:
    """Measure `count` random shapes of each choice whose name contains `only`."""
    warnings.simplefilter("ignore")
    cases = []
    for choice in CHOICES:
        if only not in choice.name:
            continue
        rng = np.random.default_rng(0)
        for number, (label, make) in enumerate(draw_shapes(choice, count, rng)):
            cases.append(measure(choice, label, make, number))
            say(str(cases[-1]))
    wrong = [case for case in cases if case.ratio > ALLOWED_RATIO]
    say(f"{len(cases)} shapes; in {len(wrong)} another route takes less than 1/{ALLOWED_RATIO:g} of the time:")
    for case in sorted(wrong, key=lambda case: -case.ratio):
        say(str(case))
    return cases
