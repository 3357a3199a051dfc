"""The Lasso and the elastic net, each target by itself."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import UNUSED

from tenfold.arrays import Array, Floats
from tenfold.data import MemoryRows, Rows
from tenfold.estimators.callbacks import CallbackSupportMixin, with_callbacks
from tenfold.estimators.lasso.functions import enet_path
from tenfold.estimators.lasso.lasso_fit import (
    GRAM,
    NO_PENALTY,
    ONLINE,
    REPORT_ONLY,
    SETTINGS,
    SparseModel,
    problem_of,
    settings_of,
)
from tenfold.estimators.parameters import Constraints, check_parameters, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import PathScores, read_mse_path
from tenfold.estimators.validation import as_rows, require_finite, restore_on_error, validate, validate_weights
from tenfold.plans.lasso import SparseFit, from_gram
from tenfold.problems import Glm


class ElasticNet(ScoreMixin, CallbackSupportMixin, MultiOutputMixin, RegressorMixin, SparseModel):
    """Least squares with an L1 and an L2 penalty: the elastic net.

    Minimises ``(1 / 2W) sum_i s_i (y_i - x_i.w - b)^2 + alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio) / 2 ||w||^2``, W
    the sum of the weights s_i of the samples; ``b`` is not penalised. Several targets are as many problems.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    l1_ratio : float, default=0.5
        Fraction of the L1 penalty: 1 is the Lasso, 0 is ridge regression.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        Whether to work on the Gram matrix, or that matrix (of centred samples where there is an intercept). False
        leaves the choice to the shape of the data; the optimum is the same.
    max_iter : int, default=1000
        Most sweeps over the features; a sweep over a few of them counts for as much as these are of all.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    tol : float, default=1e-4
        The fit ends when the duality gap is at most `tol` times the mean square of the centred targets.
    warm_start : bool, default=False
        Whether to start from the previous `coef_`; where their gap is small enough, no sweep is taken.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.
    random_state : int, RandomState instance, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.
    solver : {"auto", "cd", "ista", "fista", "uv"}, default="auto"
        "cd", for which "auto" stands, is coordinate descent. The others read the data once a step, from any source:
        proximal gradient descent, the same with momentum, and the online split into two non-negative halves, which goes
        through the samples one by one and seldom reaches a small gap.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (1, n_features) or (n_targets, n_features)
        `coef_` as a sparse matrix in CSR format.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The duality gap, computed by the judge at the weights as stored.
    n_iter_ : int or list of int
        Sweeps taken.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more. Weights that are not unique (columns that
        are repeated) are certified as well as others.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and memory p x p where there are few features or the data are in files, on a cluster or on a
    device; else some passes, and memory for the features that are used. Runs on dense and sparse arrays, files, devices
    and Dask collections, with sample weights.
    Rosasco, section 11.3; Zou and Hastie 2005; Friedman, Hastie and Tibshirani 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.8).fit(X, y)
    >>> round(model.score(X, y), 3), model.certificate_.ok
    (0.458, True)
    """

    path = staticmethod(enet_path)

    __metadata_request__fit: ClassVar = {"check_input": UNUSED}

    _registration: ClassVar = Registration(
        method="Elastic net",
        texts=("R11.3",),
        peer="sklearn.linear_model",
        reads=("one pass", "in memory"),
        certificate=("gap",),
        judge="lasso.single",
        outputs="linear_outputs.regression",
        report_only=REPORT_ONLY,
        path=PathScores(
            cv_class="ElasticNetCV",
            parameter="alpha",
            values="alphas",
            scores=read_mse_path,
            scoring="neg_mean_squared_error",
        ),
    )
    _constraints: ClassVar[Constraints] = {**SETTINGS, **ONLINE, **GRAM, "l1_ratio": (real(0, 1, "both"),)}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> "ElasticNet":
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight`, a number or (n,); `check_input` has no
        effect.
        """
        check_parameters(self, self._constraints)
        if self.alpha == 0:
            warnings.warn(NO_PENALTY, UserWarning, stacklevel=3)
        X, y = validate(self, X, y)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        start = self._start(self.warm_start, rows.targets, X.shape[1])
        problem = problem_of(self, multi_task=False)
        fitted = self._with_given_gram(X, rows, problem, start) or self._minimise(X, y, rows, problem, start=start)
        self._store(fitted, X, flat=y.ndim == 1, multi_task=False)
        return self

    def _with_given_gram(self, X: Array, rows: Rows, problem: Glm, start: Floats | None) -> SparseFit | None:
        """The fit from a Gram matrix that was given and can be used."""
        if isinstance(self.precompute, (bool, np.bool_)) or not isinstance(rows, MemoryRows):
            return None
        if rows.sparse or rows.on_device:
            return None
        given = check_array(self.precompute, dtype=np.float64, order="C", input_name="precompute")
        p = rows.shape[1]
        if given.shape != (p, p):
            raise ValueError(f"precompute must have shape {(p, p)}, the products of all columns; got {given.shape}.")
        settings = settings_of(self)
        fitted = require_finite(self, X, lambda: from_gram(rows, given, problem, settings, start, rows.dtype))
        if fitted is None:
            warnings.warn(
                "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix.",
                UserWarning,
                stacklevel=6,
            )
        return fitted


class Lasso(ElasticNet):
    """Least squares with an L1 penalty: the Lasso.

    Minimises ``(1 / 2W) sum_i s_i (y_i - x_i.w - b)^2 + alpha ||w||_1``, W the sum of the weights s_i of the samples;
    ``b`` is not penalised. Several targets are as many problems.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; from max_j |x_j.y| / W on (centred, weighted) all weights are zero.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        Whether to work on the Gram matrix, or that matrix (of centred samples where there is an intercept). False
        leaves the choice to the shape of the data; the optimum is the same.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    max_iter : int, default=1000
        Most sweeps over the features; a sweep over a few of them counts for as much as these are of all.
    tol : float, default=1e-4
        The fit ends when the duality gap is at most `tol` times the mean square of the centred targets.
    warm_start : bool, default=False
        Whether to start from the previous `coef_`; where their gap is small enough, no sweep is taken.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.
    solver : {"auto", "cd", "ista", "fista", "uv"}, default="auto"
        "cd", for which "auto" stands, is coordinate descent. The others read the data once a step, from any source:
        proximal gradient descent, the same with momentum, and the online split into two non-negative halves, which goes
        through the samples one by one and seldom reaches a small gap.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (1, n_features) or (n_targets, n_features)
        `coef_` as a sparse matrix in CSR format.
    dual_gap_ : float or ndarray of shape (n_targets,)
        The duality gap, computed by the judge at the weights as stored.
    n_iter_ : int or list of int
        Sweeps taken, for each target.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more. Weights that are not unique (features that
        are repeated) are certified as well as others.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and memory p x p where there are few features or the data are in files, on a cluster or on a
    device; else some passes, and memory for the features that are used. Runs on dense and sparse arrays, files, devices
    and Dask collections, with sample weights.
    Rosasco, section 11.3; Cookbook, ch. 18; Tibshirani 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=0.5).fit(X, y)
    >>> model.coef_.round()
    array([  0.,   0., 471., 137.,   0.,   0., -58.,   0., 408.,   0.])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Lasso",
        texts=("R11.3", "B18"),
        peer="sklearn.linear_model",
        reads=("one pass", "in memory"),
        certificate=("gap",),
        judge="lasso.single",
        outputs="linear_outputs.regression",
        report_only=REPORT_ONLY,
        path=PathScores(
            cv_class="LassoCV",
            parameter="alpha",
            values="alphas",
            scores=read_mse_path,
            scoring="neg_mean_squared_error",
        ),
    )
    _constraints: ClassVar[Constraints] = {**SETTINGS, **ONLINE, **GRAM}

    l1_ratio = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
