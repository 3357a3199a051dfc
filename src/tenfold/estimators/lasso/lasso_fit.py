"""Shared by the classes of the Lasso's family: parameters, the call of the plan, and fitted attributes."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats, is_sparse, on_host
from tenfold.data import Rows
from tenfold.estimators.callbacks import make_callback
from tenfold.estimators.parameters import Constraints, array_like, boolean, choice, integer, nothing, random_state, real
from tenfold.estimators.predictors import LinearPredictor
from tenfold.estimators.validation import convert_like, require_finite, store, warn_unless_certified
from tenfold.plans.centred_design import Settings
from tenfold.plans.lasso import SparseFit
from tenfold.plans.lasso import fit as fit_sparse
from tenfold.problems import Glm, lasso_problem
from tenfold.stats.derivatives import Params

NO_PENALTY = (
    "With alpha=0, this algorithm does not converge well. You are advised to use the LinearRegression estimator"
)

SETTINGS: Constraints = {
    "alpha": (real(0),),
    "fit_intercept": (boolean(),),
    "max_iter": (integer(1), nothing()),
    "copy_X": (boolean(),),
    "tol": (real(0),),
    "warm_start": (boolean(),),
    "random_state": (random_state(),),
    "selection": (choice("cyclic", "random"),),
}

SOLVER: Constraints = {"solver": (choice("auto", "cd", "ista", "fista"),)}
ONLINE: Constraints = {"solver": (choice("auto", "cd", "ista", "fista", "uv"),)}

GRAM: Constraints = {"precompute": (boolean(), array_like()), "positive": (boolean(),)}


def settings_of(model: Any) -> Settings:
    """The settings of a model's parameters."""
    seed = None
    if model.selection == "random":
        seed = int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max))
    solver = getattr(model, "solver", "auto")
    return Settings(
        float(model.tol),
        1000 if model.max_iter is None else int(model.max_iter),
        seed,
        solver="cd" if solver == "auto" else solver,
        gram=getattr(model, "precompute", False) is True,
    )


def problem_of(model: Any, *, multi_task: bool) -> Glm:
    """The problem of a model's parameters."""
    alpha, ratio = float(model.alpha), float(model.l1_ratio)
    positive = bool(getattr(model, "positive", False))
    return lasso_problem(alpha, ratio, bool(model.fit_intercept), positive=positive, multi_task=multi_task)


REPORT_ONLY = {
    "dual_gap_": "the gap at a dual point of the fit; certify computes its own",
    "n_iter_": "the sweeps of the solver",
}


class SparseModel(LinearPredictor, BaseEstimator):
    """A linear model with sparse weights."""

    _constraints: ClassVar[Constraints]

    fit_intercept: bool
    dual_gap_: Any
    n_iter_: Any

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse matrix, (1, n_features) or (n_targets, n_features)."""
        coef = self.coef_.toarray() if is_sparse(self.coef_) else on_host(self.coef_)
        matrix = sparse.csr_array if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix
        return matrix(np.atleast_2d(coef))

    def _minimise(self, X: Array, y: Array, rows: Rows, problem: Glm, **known: Any) -> SparseFit:
        settings = settings_of(self)

        def attributes(params: Params) -> dict[str, Any]:
            flat = rows.targets == 1
            return {
                "coef_": convert_like(params.coef[0] if flat else params.coef, X),
                "intercept_": convert_like(params.intercept[0] if flat else params.intercept, X),
            }

        settings = replace(settings, callback=make_callback(self, X, y, settings.max_iter, attributes))
        return require_finite(self, X, lambda: fit_sparse(rows, problem, settings, dtype=rows.dtype, **known))

    def _start(self, warm: bool, targets: int, p: int) -> Floats | None:
        """The weights (t, p) of the previous fit, for a warm start."""
        if not warm or not hasattr(self, "coef_"):
            return None
        coef = np.atleast_2d(np.asarray(on_host(self.coef_), dtype=np.float64))
        if coef.shape != (targets, p):
            raise ValueError(
                f"warm_start continues from coef_ of shape {coef.shape}, but these rows ask for {(targets, p)}."
            )
        return np.ascontiguousarray(coef)

    def _store(self, fitted: SparseFit, X: Array, *, flat: bool, multi_task: bool) -> None:
        """Set the fitted attributes; `flat` for targets (n,)."""
        single = multi_task or len(fitted.gaps) == 1
        store(self, fitted, X, coef_flat=single and not multi_task, intercept_flat=flat, intercept=self.fit_intercept)
        self.dual_gap_ = float(fitted.gaps[0]) if single else fitted.gaps
        self.n_iter_ = int(fitted.sweeps[0]) if single else [int(count) for count in fitted.sweeps]
        self.method_, self.status_, self.trace_ = fitted.method, fitted.certificate.status, fitted.trace
        warn_unless_certified(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
