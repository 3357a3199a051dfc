"""Kernels of every class, for laws and unit tests."""

import math
import re

import numpy as np

from tenfold.kernels import (
    ARD,
    AdditiveChi2,
    AllSubsets,
    ArcSine,
    Chi2,
    Composed,
    Constant,
    Exp,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Normalised,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    White,
)

FREE = (0.1, 10.0)


def shift_and_bend(X):
    """A feature map with as many features."""
    return np.tanh(X) + 0.5


ELEMENTARY = [
    Linear(),
    Linear(0.7, FREE),
    Polynomial(2, 0.5, 0.0),
    Polynomial(3, 0.5, 1.0, coef0_bounds=FREE),
    Polynomial(1.5, 0.1, 9.0),
    AllSubsets(),
    Gaussian(0.8),
    Gaussian([0.5, 1.0, 2.0]),
    ARD([2.0, 0.5, 1.0]),
    Exponential(1.3),
    Exponential([1.3, 0.4, 2.0]),
    Laplacian(2.0),
    Laplacian([2.0, 1.0, 0.5]),
    *(Matern(0.9, nu=nu) for nu in (0.5, 0.8, 1.5, 2.5, 3.7, math.inf)),
    *(Matern([0.9, 1.5, 0.5], nu=nu) for nu in (0.5, 1.2, 1.5, 2.5, math.inf)),
    RationalQuadratic(0.9, 1.7),
    RationalQuadratic([0.9, 0.5, 2.0], 0.6),
    Periodic(0.9, 2.2),
    ArcSine(0.5, 1.5),
    Sigmoid(0.5, -1.0),
    AdditiveChi2(),
    Chi2(0.4),
    Constant(1.7),
    White(0.3),
]
COMPOSED = [
    2.0 * Gaussian(0.8) + White(0.1),
    Gaussian(0.8) + Linear(0.5, FREE) * 0.5,
    (Gaussian(0.8) + Linear(0.5, FREE)) ** 2 * Matern(1.1),
    Constant(2.0) * (Gaussian(0.8) * Periodic(1.0, 3.0)) + White(0.1, "fixed"),
    Exp(0.3 * Linear(0.5, FREE)),
    Scaled(RationalQuadratic(), 3.0),
    Normalised(Polynomial(2, 0.5, 1.0, coef0_bounds=FREE)),
    Normalised(Linear(0.3, FREE)) + 0.5,
    Composed(Gaussian(0.8), shift_and_bend),
    Composed(ARD([0.5, 1.0, 2.0]), shift_and_bend) * 2.0,
]
KERNELS = ELEMENTARY + COMPOSED


def name_of(kernel):
    """What a kernel prints, its functions by their names: workers must collect tests by equal names."""
    return re.sub(r"<function (\w+) at \w+>", r"\1", repr(kernel))


def draw_samples(n, seed=0):
    """Samples (n, 3) without negative entries, two of them equal, one of zeros."""
    X = np.abs(np.random.default_rng(seed).standard_normal((n, 3)))
    if n > 2:
        X[2] = X[0]
        X[1] = 0.0
    return X
