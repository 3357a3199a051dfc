"""The family of the Lasso."""

from tenfold.estimators.lasso.cv import ElasticNetCV, LassoCV
from tenfold.estimators.lasso.functions import enet_path, lasso_path
from tenfold.estimators.lasso.multi_task import (
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
)
from tenfold.estimators.lasso.single import ElasticNet, Lasso

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "enet_path",
    "lasso_path",
]
