"""Prototypes of classes: centres of k-means within each class, and their certificate."""

from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.data import MemoryRows
from tenfold.judge import prototypes as judge
from tenfold.judge.certificate import Certificate
from tenfold.plans import kmeans
from tenfold.solvers.loop import Status

MAX_STEPS = 1000  # iterations of k-means in a class


def fit_prototypes(
    X: Floats, number: Integers, classes: int, weight: Floats | None, k: int, random: Any
) -> tuple[Floats, Integers, Certificate]:
    """Centres (m, p), the class of each, and the certificate: k-means within every class, until no centre moves; of a
    class with at most k distinct samples, these themselves.
    """
    parts, names = [], []
    for c in range(classes):
        inside = number == c
        samples, own = np.ascontiguousarray(X[inside]), None if weight is None else weight[inside]
        distinct = np.unique(samples, axis=0)
        if len(distinct) <= k:
            centres = distinct
        else:
            memory = MemoryRows(samples, np.zeros((len(samples), 0)), own)
            settings: dict[str, Any] = {"starts": 1, "max_iter": MAX_STEPS, "tol": 0.0, "random": random}
            run = kmeans.of_rows(memory, kmeans.plus_plus(k), k, **settings)
            if run.status is Status.INTERRUPTED:  # prototypes of some of the classes are of no use
                raise KeyboardInterrupt
            centres = run.centres
        parts.append(centres)
        names.append(np.full(len(centres), c))
    prototypes, which = np.concatenate(parts), np.concatenate(names)
    return prototypes, which, judge.prototypes(X, number, weight, prototypes, which)
