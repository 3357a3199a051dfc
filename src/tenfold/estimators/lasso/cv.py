"""The Lasso and the elastic net with the penalty chosen by cross-validation."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import column_or_1d
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from tenfold.arrays import Array, Floats, is_array_api, on_host
from tenfold.cross_validation.lasso_cv import Grid, errors_by_columns, mean_squared_errors, split_moments
from tenfold.cross_validation.ridge_kfold import Split
from tenfold.data import MemoryRows, Rows
from tenfold.estimators.lasso.alpha_grid import alphas_from, check_alphas, largest_alpha
from tenfold.estimators.lasso.functions import enet_path, lasso_path
from tenfold.estimators.lasso.lasso_fit import REPORT_ONLY, SparseModel, settings_of
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
    splitter,
)
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import (
    as_rows,
    check_no_extra_params,
    require_finite,
    restore_on_error,
    validate,
    validate_weights,
)
from tenfold.plans.centred_design import Centred, fold_with_targets
from tenfold.plans.lasso import SparseFit, select_method, xty_of_moments
from tenfold.plans.lasso import fit as fit_sparse
from tenfold.plans.least_squares import fold_moments
from tenfold.problems import Glm, lasso_problem

PATH: Constraints = {
    "eps": (real(0, closed="neither"),),
    "alphas": (integer(1), array_like()),
    "fit_intercept": (boolean(),),
    "max_iter": (integer(1),),
    "tol": (real(0),),
    "copy_X": (boolean(),),
    "cv": (splitter(),),
    "verbose": (integer(0), boolean()),
    "n_jobs": (nothing(), integer(-(2**31))),
    "random_state": (random_state(),),
    "selection": (choice("cyclic", "random"),),
}

SINGLE: Constraints = {"precompute": (choice("auto"), boolean(), array_like()), "positive": (boolean(),)}


PATH_REPORT_ONLY = {
    "mse_path_": (
        "errors of cross-validation are not computed again; cross_val_score of the model without CV at one alpha, "
        'with the same cv and scoring="neg_mean_squared_error", recomputes those of one candidate'
    )
}


class SparseModelCV(ScoreMixin, RegressorMixin, SparseModel):
    """Paths of all folds, then a fit to all samples with the best penalty."""

    _multi_task: ClassVar[bool] = False

    eps: float
    alphas: Any
    tol: float
    max_iter: int
    cv: Any
    l1_ratio_: Any

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Choose the penalty and fit to X (n, p), y and optional `sample_weight`, a number or (n,); further `params` go
        to the splitter.
        """
        check_parameters(self, self._constraints)
        split = self._route(sample_weight, params)
        X, y = validate(self, X, y)
        y = self._targets(y)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        fitted = require_finite(self, X, lambda: self._choose(rows, y, split))
        self._store(fitted, X, flat=not self._multi_task, multi_task=self._multi_task)
        return self

    def _targets(self, y: Array) -> Array:
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(f"For multi-task outputs, use MultiTask{type(self).__name__}")
        return y if is_array_api(y) and y.ndim == 1 else column_or_1d(y, warn=True)

    def _choose(self, rows: Rows, y: Array, split: dict[str, Any]) -> SparseFit:
        splits = self._splits(rows, y, split)
        settings = settings_of(self)
        positive = bool(getattr(self, "positive", False))
        problem = self._problem(0.0, 1.0)
        ratios = [float(ratio) for ratio in np.atleast_1d(np.asarray(getattr(self, "l1_ratio", 1.0), dtype=float))]
        count = (
            len(splits) * len(ratios) * (int(self.alphas) if isinstance(self.alphas, Integral) else len(self.alphas))
        )
        moments = None
        if select_method(rows, count) == "gram":
            parts = split_moments(rows, splits)
            moments = fold_moments(rows) if parts.total is None else parts.total
            grids = self._grids(xty_of_moments(moments, problem.intercept), positive, ratios)
            errors = mean_squared_errors(rows, splits, parts, problem, grids, settings)
            self.cv_method_ = parts.how
        else:
            grids = self._grids(Centred.of(rows, fold_with_targets(rows), problem.intercept).xty, positive, ratios)
            errors = errors_by_columns(rows, splits, problem, grids, settings)
            self.cv_method_ = f"{len(splits)} splits, training sets by weights on shared rows"
        self.mse_path_ = np.squeeze(errors)
        mean = errors.mean(axis=2)
        best = [int(np.argmin(part)) for part in mean]
        ratio = int(np.argmin([part[index] for part, index in zip(mean, best, strict=True)]))
        self.alpha_ = float(grids[ratio].alphas[best[ratio]])
        if hasattr(self, "l1_ratio"):
            self.l1_ratio_ = ratios[ratio]
        nested_grid = isinstance(self.alphas, Integral) and len(ratios) > 1
        self.alphas_ = np.stack([grid.alphas for grid in grids]) if nested_grid else grids[0].alphas
        problem = self._problem(self.alpha_, ratios[ratio])
        return fit_sparse(rows, problem, settings, moments=moments, dtype=rows.dtype)

    def _problem(self, alpha: float, l1_ratio: float) -> Glm:
        positive, intercept = bool(getattr(self, "positive", False)), bool(self.fit_intercept)
        return lasso_problem(alpha, l1_ratio, intercept, positive=positive, multi_task=self._multi_task)

    def _grids(self, xty: Floats, positive: bool, ratios: list[float]) -> list[Grid]:
        if not isinstance(self.alphas, Integral):
            alphas = check_alphas(self.alphas)
            return [Grid(ratio, alphas) for ratio in ratios]
        top = largest_alpha(xty, positive)
        return [Grid(ratio, alphas_from(top, ratio, float(self.eps), int(self.alphas))) for ratio in ratios]

    def _splits(self, rows: Rows, y: Array, split: dict[str, Any]) -> list[Split]:
        if is_array_api(y):
            # folds of consecutive or shuffled samples do not depend on y
            blind = self.cv is None or isinstance(self.cv, (Integral, KFold))
            y = None if blind else on_host(y)
        X = rows.whole().X if isinstance(rows, MemoryRows) and not rows.on_device else np.zeros((rows.shape[0], 1))
        return [Split.of(train, test, rows.shape[0]) for train, test in check_cv(self.cv).split(X, y, **split)]

    def _route(self, weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters for the splitter."""
        if get_config()["enable_metadata_routing"]:
            given = params if weight is None else {**params, "sample_weight": weight}
            return dict(process_routing(self, "fit", **given).splitter.split)
        check_no_extra_params(self, params)
        return {}

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata for `fit` and for the splitter."""
        mapping = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add_self_request(self).add(splitter=check_cv(self.cv), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = not self._multi_task
        tags.target_tags.multi_output = self._multi_task
        return tags


class LassoCV(SparseModelCV):
    """The Lasso with alpha chosen by cross-validation.

    Minimises ``(1 / 2W) sum_i s_i (y_i - x_i.w - b)^2 + alpha ||w||_1``, W the sum of the weights s_i of the samples,
    with the alpha of the smallest mean squared error over the folds (the mean of the folds' weighted means). The second
    moments of all folds come from one pass over the data; every path is solved on those of the other folds, merged, and
    never touches the samples again.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest alpha of the grid over its largest.
    alphas : int or array-like of shape (n_alphas,), default=100
        How many, from the smallest at which all weights are zero; or which.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    precompute : "auto", bool or array-like, default="auto"
        Accepted for compatibility: the choice follows the shape of the data.
    max_iter : int, default=1000
        Most sweeps over the features in one fit; a sweep over a few of them counts for as much as these are of all.
    tol : float, default=1e-4
        A fit stops when the duality gap is at most `tol` times the mean square of the centred targets.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    cv : int, cross-validation generator or an iterable, default=None
        Number of folds, a splitter, or pairs of training and test indices; None is five folds.
    verbose : bool or int, default=False
        Accepted for compatibility: use scikit-learn's callbacks.
    n_jobs : int, default=None
        Accepted for compatibility: folds are solved on the threads that there are.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.

    Attributes
    ----------
    alpha_ : float
        The alpha with the smallest mean squared error.
    alphas_ : ndarray of shape (n_alphas,)
        The alphas tried, in decreasing order.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error of each alpha on the test samples of each fold.
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (1, n_features)
        `coef_` as a sparse matrix in CSR format.
    dual_gap_ : float
        The duality gap, computed by the judge at the weights as stored.
    n_iter_ : int
        Sweeps taken by the fit with `alpha_`.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    cv_method_ : str
        How the training sets were read.
    certificate_ : Certificate
        Kind gap, of the fit with the chosen penalty to all samples: no other weights have an objective that is smaller
        by more. The choice is the best of the stored errors; these are not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data, and memory p x p for each fold; with more features than samples, passes over the training
    samples of each split. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rosasco, sections 3.3 and 11.3; Cookbook, ch. 18.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> round(model.alpha_, 4), round(model.score(X, y), 3)
    (0.0038, 0.517)
    """

    _registration: ClassVar = Registration(
        method="Lasso, alpha by k-fold cross-validation",
        texts=("R3.3", "R11.3", "B18"),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("gap",),
        judge="lasso.single",
        outputs="linear_outputs.regression",
        choice="lasso.check_choice",
        report_only={**REPORT_ONLY, **PATH_REPORT_ONLY},
        board=Entry("lasso", "regression", {"cv": 4}, expands=True),
        tuning=Tuning(single="Lasso", selected={"alpha": "alpha_"}, candidates={"alpha": "alphas_"}),
    )
    _constraints: ClassVar[Constraints] = {**PATH, **SINGLE}

    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection


class ElasticNetCV(SparseModelCV):
    """The elastic net with alpha, and the fraction of the L1 penalty, chosen by cross-validation.

    Minimises ``(1 / 2W) sum_i s_i (y_i - x_i.w - b)^2 + alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio) / 2 ||w||^2``, W
    the sum of the weights s_i of the samples, with the alpha and the value in `l1_ratio` of the smallest mean squared
    error over the folds (the mean of the folds' weighted means). The second moments of all folds come from one pass
    over the data; every path is solved on those of the other folds, merged, and never touches the samples again.

    Parameters
    ----------
    l1_ratio : float or array-like of shape (n_l1_ratio,), default=0.5
        Fractions of the L1 penalty to choose from; every fraction has a grid of alphas of its own.
    eps : float, default=1e-3
        The smallest alpha of the grid over its largest.
    alphas : int or array-like of shape (n_alphas,), default=100
        How many alphas, from the smallest at which all weights are zero; or which.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    precompute : "auto", bool or array-like, default="auto"
        Accepted for compatibility: the choice follows the shape of the data.
    max_iter : int, default=1000
        Most sweeps over the features in one fit; a sweep over a few of them counts for as much as these are of all.
    tol : float, default=1e-4
        A fit stops when the duality gap is at most `tol` times the mean square of the centred targets.
    cv : int, cross-validation generator or an iterable, default=None
        Number of folds, a splitter, or pairs of training and test indices; None is five folds.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    verbose : bool or int, default=0
        Accepted for compatibility: use scikit-learn's callbacks.
    n_jobs : int, default=None
        Accepted for compatibility: folds are solved on the threads that there are.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.

    Attributes
    ----------
    alpha_ : float
        The alpha with the smallest mean squared error.
    l1_ratio_ : float
        The fraction of the L1 penalty with the smallest mean squared error.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The alphas tried, in decreasing order; every fraction has a grid of its own.
    mse_path_ : ndarray of shape (n_alphas, n_folds) or (n_l1_ratio, n_alphas, n_folds)
        Mean squared error of each candidate on the test samples of each fold.
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (1, n_features)
        `coef_` as a sparse matrix in CSR format.
    dual_gap_ : float
        The duality gap, computed by the judge at the weights as stored.
    n_iter_ : int
        Sweeps taken by the fit with `alpha_`.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    cv_method_ : str
        How the training sets were read.
    certificate_ : Certificate
        Kind gap, of the fit with the chosen penalty to all samples: no other weights have an objective that is smaller
        by more. The choice is the best of the stored errors; these are not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data, and memory p x p for each fold; with more features than samples, passes over the training
    samples of each split. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rosasco, sections 3.3 and 11.3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9, 1.0], cv=5).fit(X, y)
    >>> model.l1_ratio_, model.certificate_.ok
    (1.0, True)
    """

    _registration: ClassVar = Registration(
        method="Elastic net, alpha and l1_ratio by k-fold cross-validation",
        texts=("R3.3", "R11.3"),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("gap",),
        judge="lasso.single",
        outputs="linear_outputs.regression",
        choice="lasso.check_choice",
        report_only={**REPORT_ONLY, **PATH_REPORT_ONLY},
        board=Entry(
            "elastic-net",
            "regression",
            {"cv": 4, "l1_ratio": (0.1, 0.5, 0.9)},
        ),
        tuning=Tuning(
            single="ElasticNet",
            selected={"alpha": "alpha_", "l1_ratio": "l1_ratio_"},
            candidates={"alpha": "alphas_", "l1_ratio": "l1_ratio"},
        ),
    )
    _constraints: ClassVar[Constraints] = {**PATH, **SINGLE, "l1_ratio": (real(0, 1, "both"), array_like())}

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
