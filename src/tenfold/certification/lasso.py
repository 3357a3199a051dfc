"""The Lasso and its siblings: the duality gap at the fitted weights."""

from typing import Any

from tenfold.certification.models import params, status, validated
from tenfold.estimators.contract import as_rows, validate_weights
from tenfold.judge import Certificate, lasso_gap
from tenfold.problems import SparseLeastSquares
from tenfold.stats import Columns


def single(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _sparse(model, X, y, sample_weight, joint=False)


def multi_task(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    return _sparse(model, X, y, sample_weight, joint=True)


def _sparse(model: Any, X: Any, y: Any, sample_weight: Any, *, joint: bool) -> Certificate:
    X, y = validated(model, X, y, numeric=True)
    rows = as_rows(X, y, validate_weights(sample_weight, X))
    alpha = float(getattr(model, "alpha_", getattr(model, "alpha", 0.0)))
    ratio = float(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    positive = bool(getattr(model, "positive", False))
    problem = SparseLeastSquares(alpha * ratio, alpha * (1.0 - ratio), bool(model.fit_intercept), positive, joint)
    fitted, dtype = params(model, rows.targets)
    columns = rows.fold(Columns.lift)
    judged = lasso_gap(problem, rows, fitted, columns, tol=float(model.tol), status=status(model), dtype=dtype)
    return judged.certificate


JUDGES = {
    "Lasso": single,
    "ElasticNet": single,
    "LassoCV": single,
    "ElasticNetCV": single,
    "MultiTaskLasso": multi_task,
    "MultiTaskElasticNet": multi_task,
    "MultiTaskLassoCV": multi_task,
    "MultiTaskElasticNetCV": multi_task,
}
