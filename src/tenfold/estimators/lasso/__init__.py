"""The family of the Lasso."""

from tenfold.estimators.lasso.single import ElasticNet, Lasso

__all__ = ["ElasticNet", "Lasso"]
