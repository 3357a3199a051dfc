"""Ridge regression, and classification by it."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, is_classifier
from sklearn.utils.multiclass import check_classification_targets

from tenfold.arrays import Array, is_array_api, is_sparse
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.class_labels import as_vector, check_label_indices
from tenfold.estimators.least_squares.incremental import FromMoments, PartialRegression
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.square_loss import RidgeClassification, penalties, signs
from tenfold.estimators.tuning import PathScores, read_cv_errors
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_more,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans import Fitted
from tenfold.plans.least_squares import fit as fit_least_squares
from tenfold.plans.least_squares import without_rows
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments

# scikit-learn's names. Iterative ones take conjugate gradients where a square matrix is not formed; the result is the
# same optimum.
SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


REPORT_ONLY = {
    "n_iter_": "how many iterations the solver took",
    "solver_": "the name of the solver",
    "method_": "the name of the method",
    "moments_": "sums of the samples, to which partial_fit adds more",
}


class _Ridge(CallbackSupportMixin, FromMoments, LinearPredictor, BaseEstimator):
    """Base of Ridge and RidgeClassifier: parameters and the fit of targets (n, t)."""

    _constraints: ClassVar[Constraints] = {
        "alpha": (real(0), array_like()),
        "fit_intercept": (boolean(),),
        "copy_X": (boolean(),),
        "max_iter": (integer(1), nothing()),
        "tol": (real(0),),
        "solver": (choice(*SOLVERS),),
        "positive": (boolean(),),
        "random_state": (random_state(),),
    }

    alpha: Any
    fit_intercept: bool
    max_iter: int | None
    tol: float
    solver: str
    positive: bool

    def _fit_targets(self, X: Array, Y: Array, weight: Array | None, *, intercept_flat: bool) -> None:
        """Fit and store; Y is (n,) or (n, t)."""
        check_solver(self.solver, self.positive)
        rows = as_rows(X, Y, weight)
        alpha = penalties(self.alpha, rows.targets)

        def attributes(params: Params) -> dict[str, Any]:
            coef = params.coef[0] if rows.targets == 1 else params.coef
            return {"coef_": convert_like(coef, X), "intercept_": convert_like(params.intercept, X)}

        fitted = require_finite(
            self,
            X,
            lambda: fit_least_squares(
                rows,
                alpha,
                self.fit_intercept,
                positive=self.positive,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=make_callback(
                    self, X, Y, 10 * min(X.shape) if self.max_iter is None else self.max_iter, attributes
                ),
                dtype=rows.dtype,
            ),
        )
        self._store(fitted, X, intercept_flat)

    def _fit_moments(self, moments: Moments) -> None:
        check_solver(self.solver, self.positive)
        alpha = penalties(self.alpha, moments.yy.size)
        fitted = without_rows(moments, alpha, self.fit_intercept, positive=self.positive, max_iter=self.max_iter)
        self._store(fitted, moments.XX, not is_classifier(self) and alpha.size == 1)

    def _store(self, fitted: Fitted, X: Array, intercept_flat: bool) -> None:
        targets = len(fitted.params.coef)
        flat = targets == 1
        store(self, fitted, X, coef_flat=flat, intercept_flat=intercept_flat, intercept=self.fit_intercept)
        self._keep(fitted.moments)
        self.method_ = fitted.method
        usual = "lbfgs" if self.positive else "sparse_cg" if is_sparse(X) else "cholesky"
        self.solver_ = usual if self.solver == "auto" else self.solver
        # as in scikit-learn None after a direct solve, unless a solver that counts its steps was asked for by name
        direct = fitted.iterations is None and self.solver not in ("lsqr", "sag", "saga")
        self.n_iter_ = None if direct else np.full(targets, max(1, fitted.iterations or 1), dtype=np.int32)
        self.trace_ = fitted.trace
        warn_unless_certified(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_solver(solver: str, positive: bool) -> None:
    """scikit-learn's two rules about solver names and positive weights."""
    if positive and solver not in ("auto", "lbfgs"):
        raise ValueError(
            f"solver='{solver}' does not support positive fitting: when positive=True, only 'lbfgs' solver can be "
            "used. "
            "Please set the solver to 'auto' or 'lbfgs', or set `positive=False`"
        )
    if solver == "lbfgs" and not positive:
        raise ValueError("'lbfgs' solver can be used only when positive=True. Please use another solver.")


class Ridge(ScoreMixin, PartialRegression, MultiOutputMixin, RegressorMixin, _Ridge):
    """Ridge regression: least squares with an L2 penalty.

    Minimises ``sum_i weight_i (y_i - x_i.w - b)^2 + alpha ||w||^2``; ``b`` is not penalised.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the L2 penalty, for all targets or for each; 0 for none.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    max_iter : int, default=None
        Limit of the steps of the iterative solver, which is used for sparse data with very many samples and features
        and with ``positive=True``. None: the default limit of the solver.
    tol : float, default=1e-4
        Precision of the iterative solver; the direct solvers are as precise as the arithmetic.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        scikit-learn's names are accepted; the same optimum is reached and certified, by the method that suits the
        shape of the data. "lbfgs" asks for ``positive=True``.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing here is random.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : None or ndarray of shape (n_targets,)
        Steps of the iterative solver; None after a direct solve, unless "lsqr", "sag" or "saga" was asked for.
    solver_ : str
        scikit-learn's name of the solver: the one requested, or the choice of "auto" there.
    method_ : str
        What solved it: "gram", "svd", "dual", "conjugate" or "active set".
    certificate_ : Certificate
        Kind residual: the largest cosine between the penalised residual and a column, 0 at the exact solution.
    trace_ : tuple of Record
        Objective and measure of each step of an iterative solver.
    moments_ : Moments
        Count, means and second moments of all samples so far, to which `partial_fit` adds more; only where the fit
        formed them for the whole of X.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Two passes over the data; memory p x p (n x n when n < p, vectors when both are large and X is sparse). Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Seeger, sections 7.2 and 9.2.2; Rosasco, ch. 4; Welling, ch. 10; Cookbook, ch. 17.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Ridge
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.randn(10, 5), rng.randn(10)
    >>> Ridge(alpha=1.0).fit(X, y).certificate_.kind
    'residual'
    """

    _registration: ClassVar = Registration(
        method="Ridge regression",
        texts=("S7.2", "R4", "B17", "W10"),
        peer="sklearn.linear_model",
        reads=("two passes",),
        certificate=("residual",),
        judge="least_squares.regression",
        outputs="linear_outputs.regression",
        report_only=REPORT_ONLY,
        path=PathScores(cv_class="RidgeCV", parameter="alpha", values="alphas", scores=read_cv_errors),
    )

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Ridge":
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        if isinstance(X, Moments):
            return self._take_moments(X, y, sample_weight)
        X, y = validate(self, X, y)
        self._fit_targets(X, y, validate_weights(sample_weight, X), intercept_flat=y.ndim == 1)
        return self

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def summary(self) -> str:
        """Raises: penalised weights are biased, so classical standard errors do not hold."""
        raise ValueError(
            "Ridge has no summary: the penalty biases the weights, so standard errors and p values would be wrong. "
            "Use LinearRegression for inference, or RidgeCV.predict_interval for predictions."
        )


class RidgeClassifier(RidgeClassification, _Ridge):
    """Classification by ridge regression on targets -1 and +1 (one against the rest).

    Minimises ``sum_i weight_i (t_ik - x_i.w_k - b_k)^2 + alpha ||w_k||^2`` for every class k; predicts the largest
    score. All classes share one factorisation.

    Parameters
    ----------
    alpha : float or array-like of shape (n_outputs,), default=1.0
        Strength of the L2 penalty, for all classes or for each; 0 for none. Two classes have one output.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    max_iter : int, default=None
        Limit of the steps of the iterative solver, which is used for sparse data with very many samples and features
        and with ``positive=True``. None: the default limit of the solver.
    tol : float, default=1e-4
        Precision of the iterative solver; the direct solvers are as precise as the arithmetic.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes the total weights of the classes
        equal, by the numbers of their samples. None: all ones.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        scikit-learn's names are accepted; the same optimum is reached and certified, by the method that suits the
        shape of the data. "lbfgs" asks for ``positive=True``.
    positive : bool, default=False
        Whether to constrain the weights to be at least zero.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing here is random.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Weights of the features, one vector for two classes, else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_iter_ : None or ndarray of shape (n_outputs,)
        Steps of the iterative solver; None after a direct solve, unless "lsqr", "sag" or "saga" was asked for.
    solver_ : str
        scikit-learn's name of the solver: the one requested, or the choice of "auto" there.
    method_ : str
        What solved it: "gram", "svd", "dual", "conjugate" or "active set".
    certificate_ : Certificate
        Kind residual: the largest cosine, over classes and features, between the penalised residual and a feature, 0 at
        the exact solution.
    trace_ : tuple of Record
        Objective and measure of each step of an iterative solver.
    moments_ : Moments
        Count, means and second moments of all samples so far, to which `partial_fit` adds more; only where the fit
        formed them for the whole of X.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Two passes over the data for all classes; memory p x p (n x n when n < p). Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights.
    Rosasco, sections 5.2 and 5.3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RidgeClassifier().fit(X, y).score(X, y), 3)
    0.96
    """

    _registration: ClassVar = Registration(
        method="Ridge classification, one-vs-rest",
        texts=("R5.2-3",),
        peer="sklearn.linear_model",
        reads=("two passes",),
        certificate=("residual",),
        judge="least_squares.classification",
        outputs="linear_outputs.classification",
        report_only=REPORT_ONLY,
        path=PathScores(cv_class="RidgeClassifierCV", parameter="alpha", values="alphas", scores=read_cv_errors),
    )
    _constraints: ClassVar[Constraints] = {
        **_Ridge._constraints,
        "class_weight": (instance(dict), choice("balanced"), nothing()),
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        class_weight: Any = None,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "RidgeClassifier":
        """Fit to X (n, p), classes y (n,), or an indicator matrix of labels (n, k), and optional `sample_weight`, a
        number or (n,).
        """
        check_parameters(self, self._constraints)
        X, y, Y, weight = self._prepare(X, y, sample_weight)
        self._fit_targets(X, Y, weight, intercept_flat=False)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "RidgeClassifier":
        """Fit to X (n, p), classes y (n,) with optional `sample_weight`, and all samples that came before, whose
        moments are kept; `classes` names all classes in the first call.
        """
        check_parameters(self, self._constraints)
        if self.class_weight is not None:
            raise ValueError("class_weight needs all rows: weigh them by sample_weight in partial_fit.")
        X, y = validate_more(self, X, y, first=not hasattr(self, "moments_"), numeric=False)
        if not is_array_api(y):
            check_classification_targets(y)
            y = as_vector(y)
        if not hasattr(self, "moments_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_, self._several = np.unique(classes), False
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit: {self.classes_!r}")
        number = check_label_indices(self.classes_, y, X)
        weight = validate_weights(sample_weight, X)
        self._merge(X, signs(number, self.classes_.shape[0]), weight)
        return self
