"""Least angle regression and the Lasso by least angles, with alpha chosen by cross-validation."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np

from tenfold.arrays import EPS, Array
from tenfold.cross_validation.lars_cv import Errors, errors_along
from tenfold.cross_validation.ridge_kfold import Split
from tenfold.data import Rows
from tenfold.estimators.greedy.cv_mixin import ByFolds
from tenfold.estimators.greedy.lars import PATH, LeastAngles
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, nothing, splitter
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    require_finite,
    restore_on_error,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.lars import LarsFit, fit
from tenfold.stats.gram import WholeGram

_CV: Constraints = {
    **PATH,
    "max_iter": (integer(0),),
    "cv": (splitter(),),
    "max_n_alphas": (integer(1),),
    "n_jobs": (integer(-(2**31)), nothing()),
}


REPORT_ONLY = {
    "cv_alphas_": "knots of the paths of all training sets, which are not followed again",
    "mse_path_": (
        "errors of cross-validation are not computed again; a path fitted to the training samples of one fold down "
        "to one alpha recomputes that of one cell"
    ),
}


class _AnglesCV(ByFolds, LeastAngles):
    """Base of LarsCV and LassoLarsCV."""

    _constraints: ClassVar[Constraints]

    max_iter: int
    max_n_alphas: int

    @restore_on_error
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, **params: Any) -> Self:
        """Choose alpha and fit to X (n, p), y (n,) and optional `sample_weight` (n,); further `params` go to the
        splitter.
        """
        check_parameters(self, self._constraints)
        if isinstance(self.precompute, np.ndarray):
            warnings.warn(
                f'Parameter "precompute" cannot be an array in {type(self).__name__}. Automatically switch to "auto" '
                "instead.",
                UserWarning,
                stacklevel=3,
            )
        X, y = validate(self, X, y, multi_output=False)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        splits = self._splits(rows, y, params)
        self._keep_chosen(*require_finite(self, X, lambda: self._choose(rows, splits)), X)
        return self

    def _choose(self, rows: Rows, splits: list[Split]) -> tuple[Errors, LarsFit]:
        errors = errors_along(rows, splits, self._walk(0.0, self.max_iter), self.fit_intercept, self.max_n_alphas)
        gram = (
            self._gram(rows, self.max_iter) if errors.total is None else WholeGram.of(errors.total, self.fit_intercept)
        )
        walk = self._walk(errors.best, self.max_iter)
        return errors, fit(rows, gram, walk, self.fit_intercept, dtype=rows.dtype)

    def _keep_chosen(self, errors: Errors, walked: LarsFit, X: Array) -> None:
        self._keep(walked, X, flat=True, path=True)
        self.alpha_ = errors.best
        self.cv_alphas_ = convert_like(errors.alphas, X)
        self.mse_path_ = errors.errors
        self.cv_method_ = errors.how
        warn_unless_certified(self)


class LarsCV(_AnglesCV):
    """Least angle regression with the end of the path chosen by cross-validation.

    The path of every training set is followed to its end, from Gram matrices that are merged from those of the folds,
    which are read once; errors on the test samples are those at the alphas of all knots, where weights are straight
    lines between a path's own. The path of all samples then ends at the alpha of the smallest mean squared error.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit ``b``.
    verbose : bool or int, default=False
        Accepted for compatibility.
    max_iter : int, default=500
        After how many steps to stop.
    precompute : bool or "auto", default="auto"
        Accepted for compatibility where folds are merged; else whether to form the whole Gram matrix of each training
        set, "auto" where that is cheaper than reading the products of active features.
    cv : int, cross-validation generator or an iterable, default=None
        Number of folds, a splitter, or pairs of training and test indices; None is five folds.
    max_n_alphas : int, default=1000
        About how many alphas are tried.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    eps : float, default=np.finfo(float).eps
        A feature whose squared norm orthogonal to the active features is at most this fraction of the whole (and
        never more than 1e-12) is skipped as linearly dependent.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.

    Attributes
    ----------
    active_ : list of int
        Active features at the end of the path of all samples.
    coef_ : ndarray of shape (n_features,)
        Weights of the features at `alpha_`.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    coef_path_ : ndarray of shape (n_features, n_alphas + 1)
        Weights at every knot of the path of all samples.
    alphas_ : ndarray of shape (n_alphas + 1,)
        The largest ``|x_j.r|`` over the sum of the sample weights, at every knot of the path of all samples.
    n_iter_ : int
        Steps of the path of all samples.
    alpha_ : float
        The alpha that was chosen.
    cv_alphas_ : ndarray of shape (n_cv_alphas,)
        The alphas tried.
    mse_path_ : ndarray of shape (n_cv_alphas, n_folds)
        Mean squared errors on test samples.
    cv_method_ : str
        How the errors came about.
    certificate_ : Certificate
        Kind residual: by how much, as a cosine, products of the residual with active features differ from `alpha_`, or
        those with others exceed it. The choice of alpha is not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass for all folds, then a path for each and one for all samples, and one pass of the judge; memory p x p for
    each fold. With more features than samples the training samples of each split are read. Runs on dense and sparse
    arrays, files, Dask collections and devices, with sample weights.
    Cookbook, ch. 18.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 10))
    >>> model = LarsCV().fit(X, 3.0 * X[:, 5] - 2.0 * X[:, 1] + 0.1 * rng.standard_normal(100))
    >>> model.active_[:2]
    [5, 1]
    """

    _registration: ClassVar = Registration(
        method="Least angle regression, early stopping by cross-validation",
        texts=("B18",),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("residual",),
        judge="greedy.angles",
        outputs="linear_outputs.regression",
        choice="greedy.check_knots",
        report_only=REPORT_ONLY,
        tuning=Tuning(selected={"alpha": "alpha_"}),
    )
    _constraints: ClassVar[Constraints] = _CV

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        verbose: bool | int = False,
        max_iter: int = 500,
        precompute: Any = "auto",
        cv: Any = None,
        max_n_alphas: int = 1000,
        n_jobs: int | None = None,
        eps: float = EPS,
        copy_X: bool = True,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.max_iter = max_iter
        self.precompute = precompute
        self.cv = cv
        self.max_n_alphas = max_n_alphas
        self.n_jobs = n_jobs
        self.eps = eps
        self.copy_X = copy_X


class LassoLarsCV(_AnglesCV):
    """The Lasso by least angles, with alpha chosen by cross-validation among the knots of all paths.

    Minimises ``(1 / (2 W)) sum_i weight_i (y_i - x_i.w - b)^2 + alpha ||w||_1``, W the number of samples, or the sum of
    their weights, with the alpha of the smallest mean squared error on test samples. Paths are exact, and the Gram
    matrices of the training sets are merged from those of the folds, which are read once.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    verbose : bool or int, default=False
        Accepted for compatibility: use scikit-learn's callbacks.
    max_iter : int, default=500
        After how many steps to stop.
    precompute : bool or "auto", default="auto"
        Accepted for compatibility where folds are merged; else whether to form the whole Gram matrix of each training
        set, "auto" where that is cheaper than reading the products of active features.
    cv : int, cross-validation generator or an iterable, default=None
        Number of folds, a splitter, or pairs of training and test indices; None is five folds.
    max_n_alphas : int, default=1000
        About how many alphas are tried.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    eps : float, default=np.finfo(float).eps
        A feature whose squared norm orthogonal to the active features is at most this fraction of the whole (and
        never more than 1e-12) is skipped as linearly dependent.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    positive : bool, default=False
        Whether weights must not be negative.

    Attributes
    ----------
    active_ : list of int
        Active features at the end of the path of all samples.
    coef_ : ndarray of shape (n_features,)
        Weights of the features at `alpha_`.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    coef_path_ : ndarray of shape (n_features, n_alphas + 1)
        Weights at every knot of the path of all samples.
    alphas_ : ndarray of shape (n_alphas + 1,)
        The largest ``|x_j.r|`` over the sum of the sample weights, at every knot of the path of all samples.
    n_iter_ : int
        Steps of the path of all samples.
    alpha_ : float
        The alpha with the smallest mean squared error.
    cv_alphas_ : ndarray of shape (n_cv_alphas,)
        The alphas tried.
    mse_path_ : ndarray of shape (n_cv_alphas, n_folds)
        Mean squared error of each alpha on the test samples of each fold.
    cv_method_ : str
        How the training sets were read, as a sentence.
    certificate_ : Certificate
        Kind gap, at `alpha_`: no other weights have an objective that is lower by more; the choice is not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass for all folds, then a path for each and one for all samples, and one pass of the judge; memory p x p for
    each fold. With more features than samples the training samples of each split are read. Runs on dense and sparse
    arrays, files, Dask collections and devices, with sample weights.
    Cookbook, ch. 18; Rosasco, sections 3.3 and 11.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LassoLarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 10))
    >>> model = LassoLarsCV().fit(X, 3.0 * X[:, 5] - 2.0 * X[:, 1] + 0.1 * rng.standard_normal(100))
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Lasso by LARS, alpha by cross-validation",
        texts=("B18", "R11.3"),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("gap",),
        judge="greedy.angles",
        outputs="linear_outputs.regression",
        choice="greedy.check_knots",
        report_only=REPORT_ONLY,
        tuning=Tuning(selected={"alpha": "alpha_"}),
    )
    _lasso: ClassVar[bool] = True
    _constraints: ClassVar[Constraints] = {**_CV, "positive": (boolean(),)}

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        verbose: bool | int = False,
        max_iter: int = 500,
        precompute: Any = "auto",
        cv: Any = None,
        max_n_alphas: int = 1000,
        n_jobs: int | None = None,
        eps: float = EPS,
        copy_X: bool = True,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.max_iter = max_iter
        self.precompute = precompute
        self.cv = cv
        self.max_n_alphas = max_n_alphas
        self.n_jobs = n_jobs
        self.eps = eps
        self.copy_X = copy_X
        self.positive = positive
