"""Losses of the raw prediction z, each with its slope, curvature and convex conjugate; written in the Array API.

``slope`` and ``curvature`` are the first and second derivative in z, ``conjugate(y, u) = sup_z u z - loss(y, z)`` is
infinite outside the domain of u. Fenchel and Young: ``loss(y, z) + conjugate(y, u) >= u z``, with equality where u is
the slope at z. No loss is negative, and its least value over z is zero: u = 0 is always in the domain, and the
conjugate there is zero.

A loss with a kink has the slope of one side there, or zero between the two. A loss that is not convex has no
conjugate, and as curvature that of a parabola above it that touches it at z, or, for deviances, Fisher's: what is
expected of the second derivative when the model is right.
"""

from tenfold.losses.deviances import Gamma, IdentityDeviance, LogDeviance, Poisson, Tweedie, deviance
from tenfold.losses.labels import Hinge, JointHinge, Logistic, ModifiedHuber, Softmax, SquaredHinge, Tanh
from tenfold.losses.likelihoods import Likelihood, likelihood_of
from tenfold.losses.loss import Loss, Pieces, PiecewiseLinear
from tenfold.losses.numbers import (
    EpsilonInsensitive,
    Huber,
    Laplace,
    Quantile,
    Square,
    SquaredEpsilonInsensitive,
    Student,
)

__all__ = [
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Huber",
    "IdentityDeviance",
    "JointHinge",
    "Laplace",
    "Likelihood",
    "LogDeviance",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Pieces",
    "PiecewiseLinear",
    "Poisson",
    "Quantile",
    "Softmax",
    "Square",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Student",
    "Tanh",
    "Tweedie",
    "deviance",
    "likelihood_of",
]
