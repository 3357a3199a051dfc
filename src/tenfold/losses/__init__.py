"""Losses of the raw prediction z, each with its slope, curvature and convex conjugate; written in the Array API.

``slope`` and ``curvature`` are the first and second derivative in z, ``conjugate(y, u) = sup_z u z - loss(y, z)`` is
infinite outside the domain of u. Fenchel and Young: ``loss(y, z) + conjugate(y, u) >= u z``, with equality where u is
the slope at z. No loss is negative, and its least value over z is zero: u = 0 is always in the domain, and the
conjugate there is zero.

A nonsmooth loss has a one-sided slope at its kinks, or zero between the two. A loss that is not convex has no
conjugate, and as curvature that of a quadratic upper bound that touches it at z or, for deviances, the Fisher
information.
"""

from importlib import import_module
from typing import Any

# the public names, loaded at their first use
_HOME = {
    "EpsilonInsensitive": "regression",
    "Gamma": "deviances",
    "Hinge": "classification",
    "Huber": "regression",
    "IdentityDeviance": "deviances",
    "JointHinge": "classification",
    "Laplace": "regression",
    "Likelihood": "likelihoods",
    "LogDeviance": "deviances",
    "Logistic": "classification",
    "Loss": "loss",
    "ModifiedHuber": "classification",
    "Pieces": "loss",
    "PiecewiseLinear": "loss",
    "Poisson": "deviances",
    "Quantile": "regression",
    "Softmax": "classification",
    "Square": "regression",
    "SquaredEpsilonInsensitive": "regression",
    "SquaredHinge": "classification",
    "Student": "regression",
    "Tanh": "classification",
    "Tweedie": "deviances",
    "deviance": "deviances",
    "likelihood_of": "likelihoods",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
