"""Probability distributions as values: finite joint tables, Gaussians, conjugate posteriors, changes of variables.

Where SciPy has a distribution, it is what a method returns: frozen distributions of `scipy.stats` with densities,
quantiles and samples.
"""

from tenfold.distributions.conjugate import BetaBernoulli, DirichletCategorical, GaussianWishart
from tenfold.distributions.divergences import cross_entropy, divergence, entropy
from tenfold.distributions.gaussian import Gaussian
from tenfold.distributions.tables import JointTable
from tenfold.distributions.transformed import Transformed

__all__ = [
    "BetaBernoulli",
    "DirichletCategorical",
    "Gaussian",
    "GaussianWishart",
    "JointTable",
    "Transformed",
    "cross_entropy",
    "divergence",
    "entropy",
]
