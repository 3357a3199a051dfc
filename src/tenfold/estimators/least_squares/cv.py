"""Ridge regression and classification with the penalty chosen by exact cross-validation."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, is_sparse
from tenfold.cross_validation.ridge_kfold import Fold, subset
from tenfold.data import Rows, Table
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.least_squares.ridge import RidgeClassifier
from tenfold.estimators.least_squares.ridge_selection import REPORT_ONLY, ChoosingRidge
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, instance, nothing
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.square_loss import RidgeClassification
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import restore_on_error, validate, validate_weights


class RidgeCV(ScoreMixin, MultiOutputMixin, RegressorMixin, ChoosingRidge):
    """Ridge regression with the penalty chosen by exact leave-one-out or exact k-fold cross-validation.

    Minimises ``sum_i weight_i (y_i - x_i.w - b)^2 + alpha ||w||^2`` with the alpha of the best score. One
    eigendecomposition serves all alphas: leaving out each sample costs one more pass, folds cost the merging of their
    second moments; nothing is refitted.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Candidates; positive when ``cv=None``.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    scoring : str, callable, default=None
        None is minus the mean squared error when ``cv=None`` and the coefficient of determination otherwise.
    cv : int, cross-validation generator or an iterable, default=None
        None is leave-one-out; else as in scikit-learn. Any splitter is exact: disjoint folds are merged, overlapping
        ones go by cells.
    gcv_mode : {"auto", "svd", "eigen"}, default=None
        Accepted for compatibility: the cheaper of the two systems is taken.
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_`` (leave-one-out only).
    alpha_per_target : bool, default=False
        Whether to choose alpha for each target (leave-one-out only).

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        The alpha with the best score, for each target with ``alpha_per_target=True``.
    best_score_ : float or ndarray of shape (n_targets,)
        Score of `alpha_`.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared leave-one-out errors, or predictions where there is a `scoring`.
    alphas_ : ndarray of shape (n_alphas,)
        The candidates.
    cv_errors_ : ndarray of shape (n_alphas,)
        Mean squared leave-one-out error of each alpha; with folds minus the mean score.
    cv_method_ : str
        How the errors were computed, as a sentence.
    certificate_ : Certificate
        Kind residual: the largest cosine between the penalised residual of the fit with `alpha_` and a feature, 0 at
        the exact solution. The choice of alpha is the best of the stored scores; these are not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Three passes over the data for any number of alphas (leave-one-out); memory p x p, or n x n when n < p. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Seeger, section 10.2.2; Cookbook, C.3; Rosasco, section 3.3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4)
    (0.01, 0.5166)
    >>> model.predict_interval(X[:1], coverage=0.9).round()
    array([[112., 297.]])
    """

    _registration: ClassVar = Registration(
        method="Ridge regression, alpha by exact leave-one-out or k-fold",
        texts=("S10.2.2", "B C.3", "R3.3"),
        peer="sklearn.linear_model",
        reads=("three passes",),
        certificate=("residual",),
        judge="least_squares.regression",
        outputs="linear_outputs.regression",
        choice="least_squares.check_regression_choice",
        report_only=REPORT_ONLY,
        board=Entry(
            "ridge",
            "regression",
            {"alphas": np.logspace(-4, 6, 101)},
            expands=True,
        ),
        tuning=Tuning(
            single="Ridge", selected={"alpha": "alpha_"}, candidates={"alpha": "alphas_"}, leave_one_out=True
        ),
    )
    _constraints: ClassVar[Constraints] = {
        **ChoosingRidge._constraints,
        "gcv_mode": (choice("auto", "svd", "eigen"), nothing()),
        "alpha_per_target": (boolean(),),
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "RidgeCV":
        """Choose alpha and fit to X (n, p), y (n,) or (n, t) and optional `sample_weight`, a number or (n,); further
        `params`, such as `groups`, go to the splitter and the scorer.
        """
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        if self.gcv_mode == "svd" and is_sparse(X):
            warnings.warn("The 'svd' mode is not supported for sparse X, 'eigen' is used.", FutureWarning, stacklevel=2)
        self._flat = y.ndim == 1
        self._choose(X, y, y, validate_weights(sample_weight, X), params)
        return self

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Jackknife+ intervals for new observations at X (m, p), from the exact leave-one-out residuals.

        For exchangeable data of any distribution and an alpha that is given they cover with probability at least ``2
        coverage - 1``, typically `coverage`; an alpha chosen on the same samples makes them slightly optimistic.
        (Barber, Candes, Ramdas and Tibshirani 2021.)

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Samples to predict.
        coverage : float, default=0.9
            Probability with which an interval is to cover.

        Returns
        -------
        ndarray of shape (m, 2) or (m, n_targets, 2)
            Lower and upper ends.
        """
        check_is_fitted(self)
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        if isinstance(self._jackknife, str):
            raise ValueError(self._jackknife)
        fits = np.asarray(self._predict_raw(X), dtype=np.float64)
        fits = fits[:, None] if fits.ndim == 1 else fits
        X = X.load() if isinstance(X, Table) else X
        X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        intervals = [part.interval(X, fits[:, k], coverage) for k, part in enumerate(self._jackknife)]
        return intervals[0] if len(intervals) == 1 else np.stack(intervals, axis=1)


class RidgeClassifierCV(RidgeClassification, ChoosingRidge):
    """Ridge classification with the penalty chosen by exact leave-one-out or exact k-fold cross-validation.

    Minimises ``sum_i weight_i (t_ik - x_i.w_k - b_k)^2 + alpha ||w_k||^2`` for every class k, with targets t_ik of +1
    for samples of the class and -1 for all others (one such problem for two classes), and the alpha of the best score.
    One eigendecomposition serves all alphas and classes: leaving out each sample costs one more pass, folds cost the
    merging of their second moments; nothing is refitted.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Candidates; positive when ``cv=None``.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    scoring : str or callable, default=None
        None is minus the mean squared error of the targets -1 and +1 when ``cv=None`` and the accuracy otherwise.
    cv : int, cross-validation generator or an iterable, default=None
        None is leave-one-out; an int is a number of stratified folds, else a splitter or pairs of training and test
        indices. Any splitter is exact: disjoint folds are merged, overlapping ones go by cells.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes the total weights of the classes
        equal, by the numbers of their samples. None: all ones.
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_`` (leave-one-out only).

    Attributes
    ----------
    alpha_ : float
        The alpha with the best score.
    best_score_ : float
        Score of `alpha_`.
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Weights of the features, one vector for two classes, else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    cv_results_ : ndarray of shape (n_samples, n_outputs, n_alphas)
        Squared leave-one-out errors of the targets, or predictions where there is a `scoring`; only with
        ``store_cv_results=True``.
    alphas_ : ndarray of shape (n_alphas,)
        The candidates.
    cv_errors_ : ndarray of shape (n_alphas,)
        Mean squared leave-one-out error of each alpha; with folds minus the mean score.
    cv_method_ : str
        How the errors were computed, as a sentence.
    certificate_ : Certificate
        Kind residual: the largest cosine, over classes and features, between the penalised residual of the fit with
        `alpha_` and a feature, 0 at the exact solution. The choice of alpha is the best of the stored scores; these are
        not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Three passes over the data for any number of alphas (leave-one-out); memory p x p, or n x n when n < p. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rosasco, sections 3.3 and 5.3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import RidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y).score(X, y), 3)
    0.963
    """

    _registration: ClassVar = Registration(
        method="Ridge classification, alpha by exact leave-one-out or k-fold",
        texts=("R3.3", "R5.3"),
        peer="sklearn.linear_model",
        reads=("three passes",),
        certificate=("residual",),
        judge="least_squares.classification",
        outputs="linear_outputs.classification",
        choice="least_squares.check_classification_choice",
        report_only=REPORT_ONLY,
        board=Entry(
            "ridge-classifier",
            "classification",
            {"alphas": np.logspace(-4, 6, 41)},
            expands=True,
        ),
        tuning=Tuning(
            single="RidgeClassifier", selected={"alpha": "alpha_"}, candidates={"alpha": "alphas_"}, leave_one_out=True
        ),
    )
    _constraints: ClassVar[Constraints] = {
        **ChoosingRidge._constraints,
        "class_weight": (instance(dict), choice("balanced"), nothing()),
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        class_weight: Any = None,
        store_cv_results: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "RidgeClassifierCV":
        """Choose alpha and fit to X (n, p), classes y (n,) or an indicator matrix of labels, and optional
        `sample_weight`, a number or (n,); further `params` go to the splitter and the scorer.
        """
        check_parameters(self, self._constraints)
        X, y, Y, weight = self._prepare(X, y, sample_weight)
        self._choose(X, y, Y, weight, params)
        return self

    def _model(self, fold: Fold, index: int, alpha: float, y: Array, train: Array, rows: Rows) -> Any:
        model = RidgeClassifier(alpha, fit_intercept=self.fit_intercept)
        if y.ndim == 1 and len(np.unique(y[train])) < self.classes_.shape[0]:
            # a class is missing from the training samples, and so its target column: this split is
            # fitted by itself
            part = subset(rows, train)
            return model.fit(part.X, y[train], sample_weight=part.weight)
        coef = fold.coef[index].astype(rows.dtype)
        model.coef_ = coef[0] if len(coef) == 1 else coef
        model.intercept_ = fold.intercept[index]
        model.n_features_in_ = coef.shape[1]
        model.classes_, model._several = self.classes_, self._several
        return model
