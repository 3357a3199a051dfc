"""Fits by their plans, and what they leave behind."""

import numpy as np
import pytest

from tenfold.losses.classification import Logistic
from tenfold.penalties import L2
from tenfold.plans.glm import fit as fit_glm
from tenfold.plans.least_squares import fit as fit_least_squares

dask = pytest.importorskip("dask")
from tenfold.data.dask import DaskRows, matrix  # noqa: E402


def ridge(X, y):
    return fit_least_squares(DaskRows.of(matrix(X), y), np.ones(1), True)


def logistic(X, y):
    return fit_glm(DaskRows.of(matrix(X), y), Logistic(), L2(1e-3), True, solver="lbfgs", tol=1e-4, max_iter=100)


METHODS = {"ridge": (ridge, False), "logistic": (logistic, True)}
methods = pytest.mark.parametrize("method", METHODS)


def bits(fitted):
    """Every number that a fit leaves behind; times apart."""
    certificate = fitted.certificate
    numbers = (*fitted.params, certificate.value, certificate.objective, certificate.floor)
    return [np.asarray(number).tobytes() for number in numbers] + [fitted.iterations]


def in_one_thread(method, X, y):
    with dask.config.set(scheduler="synchronous"):
        return bits(method(X, y))
