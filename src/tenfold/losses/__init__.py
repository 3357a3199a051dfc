"""Losses of the raw prediction z, each with its slope, curvature and convex conjugate; written in the Array API.

``slope`` and ``curvature`` are the first and second derivative in z, ``conjugate(y, u) = sup_z u z - loss(y, z)`` is
infinite outside the domain of u. Fenchel and Young: ``loss(y, z) + conjugate(y, u) >= u z``, with equality where u is
the slope at z. No loss is negative, and its least value over z is zero: u = 0 is always in the domain, and the
conjugate there is zero.

A loss with a kink has the slope of one side there, or zero between the two. A loss that is not convex has no
conjugate, and as curvature that of a parabola above it that touches it at z, or, for deviances, Fisher's: what is
expected of the second derivative when the model is right.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "EpsilonInsensitive": "numbers",
    "Gamma": "deviances",
    "Hinge": "labels",
    "Huber": "numbers",
    "IdentityDeviance": "deviances",
    "JointHinge": "labels",
    "Laplace": "numbers",
    "Likelihood": "likelihoods",
    "LogDeviance": "deviances",
    "Logistic": "labels",
    "Loss": "loss",
    "ModifiedHuber": "labels",
    "Pieces": "loss",
    "PiecewiseLinear": "loss",
    "Poisson": "deviances",
    "Quantile": "numbers",
    "Softmax": "labels",
    "Square": "numbers",
    "SquaredEpsilonInsensitive": "numbers",
    "SquaredHinge": "labels",
    "Student": "numbers",
    "Tanh": "labels",
    "Tweedie": "deviances",
    "deviance": "deviances",
    "likelihood_of": "likelihoods",
}
"""The public names, loaded at their first use."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
