"""Two blocks of columns of the same rows: canonical correlations and partial least squares."""

from tenfold.estimators.two_blocks.canonical import CCA
from tenfold.estimators.two_blocks.partial import PLSSVD, PLSCanonical, PLSRegression
from tenfold.estimators.two_blocks.views import MultiviewCCA

__all__ = ["CCA", "PLSSVD", "MultiviewCCA", "PLSCanonical", "PLSRegression"]
