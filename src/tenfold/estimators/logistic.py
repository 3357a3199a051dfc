"""Logistic regression of two classes."""

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from tenfold import _core
from tenfold.arrays import Array, contiguous, is_dask, is_foreign, is_numpy, is_sparse, like, namespace, on_host
from tenfold.estimators.contract import (
    CallbackSupportMixin,
    Claims,
    LinearPredictor,
    Scored,
    all_or_nothing,
    as_rows,
    chosen_classes,
    class_factors,
    counted,
    encoded,
    follow,
    is_plain,
    refuse_not_finite,
    rowwise,
    validate,
    validate_weights,
    watcher,
    with_callbacks,
    without_names,
)
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.losses import Logistic
from tenfold.plans.logistic import LogisticFit
from tenfold.plans.logistic import fit as fit_logistic
from tenfold.solvers.loop import Status
from tenfold.stats import Params

SOLVERS = {
    "lbfgs": "lbfgs",
    "liblinear": "lbfgs",
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "sag": "lbfgs",
    "saga": "lbfgs",
}
"""scikit-learn's names, and the method that each stands for here."""

ADVICE = {status.value: status.message for status in Status if status is not Status.NO_MAXIMUM}
"""What to do after a fit that is not certified; where there is no maximum the certificate says it."""

ONE_CLASS = "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "


class NotBinaryError(NotImplementedError, ValueError):
    """More than two classes: a ValueError for scikit-learn's contract, and not there yet."""


class LogisticRegression(Scored, CallbackSupportMixin, ClassifierMixin, LinearPredictor, BaseEstimator):
    """Logistic regression of two classes, without a penalty or with an L2 penalty.

    Minimises ``C sum_i s_i log(1 + exp(-y_i (x_i.w + b))) + 1/2 ||w||^2``, y_i = +1 for the second of the two classes
    and -1 for the first, s_i the weight of a row (sample weight times class weight). The intercept ``b`` is never
    penalised, whatever the solver: scikit-learn's liblinear does penalise it. ``C = inf`` is maximum likelihood.

    Parameters
    ----------
    penalty : {"l2", None}, default="deprecated"
        Deprecated as in scikit-learn: use `C`, and ``C=np.inf`` for none. "l1" and "elasticnet" are not there yet.
    C : float, default=1.0
        Inverse strength of the penalty; ``np.inf`` for no penalty.
    l1_ratio : float, default=0.0
        Share of an L1 penalty; only 0 (pure L2) is there yet.
    dual : bool, default=False
        Accepted with solver "liblinear" for compatibility, without effect.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the weighted mean objective exceeds `tol` and the certificate is
        ok: the second is mostly the stronger.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        Accepted for compatibility: the intercept is not penalised, so its scale has no effect.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" by the weighted counts.
    random_state : accepted for compatibility: nothing here is random.
    solver : {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        scikit-learn's names are accepted; the same optimum is found, certified. "newton-cg" and "newton-cholesky" stand
        for Newton's method on all rows; the others for what suits the shape of the data: Newton's method on few rows,
        L-BFGS on top of the inverse Hessian of a sample on many rows. With more than 1024 columns, whatever the name,
        L-BFGS on top of a diagonal.
    max_iter : int, default=100
        Limit of the passes' steps.
    verbose : accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    warm_start : bool, default=False
        Whether to start from the previous `coef_` and `intercept_`.
    n_jobs : deprecated as in scikit-learn: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    n_iter_ : ndarray of shape (1,)
        Steps taken on all rows.
    certificate_ : Certificate
        Kind gap: no other weights have a weighted mean objective (that above over C times the sum of the weights) that
        is smaller by more.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "stalled" (rounding) or "no maximum".
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    separating_direction_ : ndarray of shape (n_features + 1,)
        Only with status "no maximum" (no penalty, and classes that can be separated): weights and, last, the intercept,
        along which the likelihood grows for ever.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    One pass over the rows a step and one to judge; memory p x p up to 1024 columns, vectors beyond. Runs on dense and
    sparse arrays, and on Dask collections. Ctrl-C ends a fit with the last complete step, which predicts and carries
    its certificate.
    Seeger, ch. 8; Rosasco, ch. 8; Cookbook, ch. 19; Welling, section 7.2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.958
    >>> model.certificate_.ok, model.status_
    (True, 'converged')
    """

    _claims: ClassVar = Claims(
        "Logistic regression of two classes", "fold an iteration", "gap", "S8, R8, B19, W7.2", "LogisticRegression"
    )
    _constraints: ClassVar[Constraints] = {
        "penalty": (choice("l1", "l2", "elasticnet", "deprecated"), nothing()),
        "C": (real(0, np.inf, "right"),),
        "l1_ratio": (real(0, 1, "both"), nothing()),
        "dual": (boolean(),),
        "tol": (real(0),),
        "fit_intercept": (boolean(),),
        "intercept_scaling": (real(0, np.inf, "neither"),),
        "class_weight": (instance(dict), choice("balanced"), nothing()),
        "random_state": (random_state(),),
        "solver": (choice(*SOLVERS),),
        "max_iter": (integer(0),),
        "verbose": (integer(0), boolean()),
        "warm_start": (boolean(),),
        "n_jobs": (nothing(), integer(-(2**31))),
        "time_limit": (nothing(), real(0, np.inf, "right")),
    }

    def __init__(
        self,
        penalty: Any = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LogisticRegression":
        """Fit to X (n, p), classes y (n,) and optional weights, a number or (n,)."""
        check_parameters(self, self._constraints)
        C = inverse_strength(self)
        X, y = _validate(self, X, y)
        self.classes_, second = two_classes(y, X)
        weight = class_weights(self.class_weight, self.classes_, second, validate_weights(sample_weight, X))
        kept, signs, weight = counted(X, signs_of(second), weight)
        # passes are many: an array in another order is put in C order once
        rows = as_rows(contiguous(kept) if isinstance(kept, np.ndarray) else kept, signs, weight)
        fitted = refuse_not_finite(
            self,
            X,
            lambda: fit_logistic(
                rows,
                strength(C, signs.shape[0] if weight is None else float(namespace(weight).sum(weight))),
                self.fit_intercept,
                solver=SOLVERS[self.solver],
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                start=self._start(X.shape[1]),
                time_limit=self.time_limit,
                watch=watcher(self, X, y, self.max_iter, lambda params: self._attributes(params, X)),
                dtype=rows.dtype,
            ),
        )
        self._store(fitted, X)
        return self

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        return {"coef_": follow(params.coef, X), "intercept_": follow(params.intercept, X)}

    def _store(self, fitted: LogisticFit, X: Array) -> None:
        for name, value in self._attributes(fitted.params, X).items():
            setattr(self, name, value)
        self.n_iter_ = np.array([fitted.iterations or 0], dtype=np.int32)
        self.certificate_ = fitted.certificate
        self.status_ = fitted.certificate.status
        self.trace_ = fitted.trace
        self.__dict__.pop("separating_direction_", None)
        if fitted.direction is not None:
            self.separating_direction_ = np.append(fitted.direction.coef[0], fitted.direction.intercept)
        if not fitted.certificate.ok:
            message = (
                f"{type(self).__name__} ({self.status_}): {fitted.certificate.explain()} {ADVICE.get(self.status_, '')}"
            )
            warnings.warn(message.rstrip(), ConvergenceWarning, stacklevel=4)

    def _start(self, p: int) -> Params | None:
        """The previous parameters, where they are to be continued."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        coef = self.coef_.toarray() if is_sparse(self.coef_) else on_host(self.coef_)
        if coef.shape != (1, p):
            raise ValueError(f"Initialization coef is of shape {coef.shape}, expected shape ({p},) or (1, {p})")
        b = np.asarray(on_host(self.intercept_), dtype=np.float64).reshape(1) if self.fit_intercept else np.zeros(1)
        return Params(np.ascontiguousarray(coef, dtype=np.float64), b)

    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class, ``X w + b``, of shape (n,)."""
        return self._raw(X)[:, 0]

    def predict(self, X: Any) -> Array:
        """The more probable class of each row."""
        second = self.decision_function(X) > 0
        return chosen_classes(self.classes_, second)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of both classes, (n, 2); small ones to full relative accuracy."""
        return rowwise(probabilities, self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of both classes, (n, 2); accurate where the probabilities are 0 or 1."""
        return rowwise(log_probabilities, self.decision_function(X))

    def densify(self) -> "LogisticRegression":
        """Make `coef_` an ordinary array, as it is after `fit`."""
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before densifying.")
        if is_sparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def sparsify(self) -> "LogisticRegression":
        """Make `coef_` a sparse matrix in CSR format."""
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before sparsifying.")
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


def probabilities(z: Array) -> Array:
    """Of both classes, (n, 2), from the log odds of the second."""
    if is_foreign(z):
        return namespace(z).stack([Logistic().wrong(z), Logistic().wrong(-z)], axis=1)
    z = contiguous(z)
    return np.column_stack([_core.sigmoid(-z), _core.sigmoid(z)])


def log_probabilities(z: Array) -> Array:
    """Logarithms of the `probabilities`."""
    if is_foreign(z):
        return namespace(z).stack([-Logistic().value(-1.0, z), -Logistic().value(1.0, z)], axis=1)
    z = contiguous(z)
    return np.column_stack([-_core.softplus(z), -_core.softplus(-z)])


def inverse_strength(model: Any) -> float:
    """C of a binary model, infinite where there is no penalty; scikit-learn's rules about parameters that do not go
    together, then what is not there yet.
    """
    penalty = _penalty(model)
    check_solver(model.solver, penalty, model.dual)
    ratio = model.l1_ratio
    if penalty != "elasticnet" and ratio is not None and 0 < ratio < 1:
        _warn(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
    if (model.penalty == "l2" and ratio != 0) or (model.penalty == "l1" and ratio != 1):
        _warn(
            f"Inconsistent values: penalty={model.penalty} with l1_ratio={ratio}. penalty is deprecated. Please use "
            "l1_ratio only."
        )
    if penalty == "elasticnet" and ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    if model.penalty is None and model.C != 1.0:
        _warn("Setting penalty=None will ignore the C and l1_ratio parameters")
    if model.n_jobs is not None:
        _warn(
            "'n_jobs' has no effect since 1.8 and will be removed in 1.10. "
            f"You provided 'n_jobs={model.n_jobs}', please leave it unspecified.",
            FutureWarning,
        )
    if penalty in ("l1", "elasticnet"):
        name = "L1" if penalty == "l1" else "Elastic net"
        raise NotImplementedError(
            f"{name} logistic regression is not there yet: only l1_ratio=0 (an L2 penalty) and C=np.inf (none) are. "
            "Use an L2 penalty, or scikit-learn's LogisticRegression with solver='saga'."
        )
    return np.inf if penalty is None else float(model.C)


def _penalty(model: Any) -> str | None:
    """The kind of penalty that the parameters stand for, with scikit-learn's warnings about deprecated ones."""
    if model.penalty != "deprecated":
        _warn(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave"
            " 'penalty' set to its default value and use 'l1_ratio' or 'C' instead. Use l1_ratio=0 instead of"
            " penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between 0 and 1 instead of"
            " penalty='elasticnet', and C=np.inf instead of penalty=None.",
            FutureWarning,
        )
        return None if model.penalty is None else str(model.penalty)
    if model.l1_ratio is None:
        _warn(
            "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use 0<=l1_ratio<=1 "
            "instead.",
            FutureWarning,
        )
    if np.inf == model.C:
        return None
    return {0.0: "l2", 1.0: "l1"}.get(float(model.l1_ratio or 0.0), "elasticnet")


def _warn(message: str, kind: type[Warning] = UserWarning) -> None:
    warnings.warn(message, kind, stacklevel=5)


def check_solver(solver: str, penalty: str | None, dual: bool) -> None:
    """scikit-learn's rules about solver names, penalties and the dual."""
    if solver not in ("liblinear", "saga") and penalty not in ("l2", None):
        raise ValueError(f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty.")
    if solver != "liblinear" and dual:
        raise ValueError(f"Solver {solver} supports only dual=False, got dual={dual}")
    if penalty == "elasticnet" and solver != "saga":
        raise ValueError(f"Only 'saga' solver supports elasticnet penalty, got solver={solver}.")
    if solver == "liblinear" and penalty is None:
        raise ValueError("C=np.inf as well as penalty=None is not supported for the liblinear solver")


def strength(C: float, weight: float) -> float:
    """The strength of the penalty beside the weighted mean loss; kept where numbers are."""
    with np.errstate(over="ignore", divide="ignore"):
        return float(min(np.float64(1.0) / C / weight, 1e200))


def _validate(estimator: Any, X: Any, y: Any) -> tuple[Array, Array]:
    """X and y as scikit-learn checks them; plain arrays are not searched, the first pass over the rows does that."""
    if is_plain(X) and type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuUS":
        check_consistent_length(X, y)
        return without_names(estimator, X), y
    return validate(estimator, X, y, numeric=False, multi_output=False)


def two_classes(y: Array, X: Array) -> tuple[Array, Array]:
    """The two classes, and which rows belong to the second, where X lives; refuses one class, several classes and what
    is not a class.
    """
    if is_numpy(y) and y.dtype.kind in "biu":
        # two numbers are found without sorting
        low, high = y.min(), y.max()
        second = y == high
        if low != high and np.all(second | (y == low)):
            return np.array([low, high], dtype=y.dtype), like(second, X)
    if not is_foreign(y):
        check_classification_targets(y)
    elif not is_dask(y) and (xp := namespace(y)).isdtype(y.dtype, ("integral", "real floating")):
        # the same on a device, where sorting is as dear as a few passes
        low, high = xp.min(y), xp.max(y)
        second = y == high
        if bool(xp.all(second | (y == low)) & (low != high)):
            return xp.stack([low, high]), second
    classes, number = encoded(y, X)
    if classes.shape[0] == 1:
        raise ValueError(f"{ONE_CLASS}{on_host(classes)[0]!r}")
    if classes.shape[0] > 2:
        kind = "multiclass" if is_foreign(y) else type_of_target(y)
        raise NotBinaryError(
            f"Only binary classification is supported. The type of the target is {kind}. Multinomial logistic "
            f"regression, which {classes.shape[0]} classes need, is not there yet. Wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    return classes, number == 1


def class_weights(class_weight: Any, classes: Array, second: Array, weight: Array | None) -> Array | None:
    """Sample weights times class weights; refuses weights that leave one class only."""
    _refuse_one_class(classes, second, weight)
    if class_weight is not None:
        xp, ones = namespace(second), like(np.ones(1), second)
        low, high = class_factors(class_weight, classes, xp.astype(second, xp.int64), weight)
        factor = xp.where(second, float(high) * ones, float(low) * ones)
        weight = factor if weight is None else weight * factor
        _refuse_one_class(classes, second, weight)
    return weight


def signs_of(second: Array) -> Array:
    """+1 for the second class, -1 for the first, in float64."""
    ones = like(np.ones(1), second)
    return namespace(second).where(second, ones, -ones)


def _refuse_one_class(classes: Array, second: Array, weight: Array | None) -> None:
    if weight is None:
        return
    xp = namespace(second)
    present = [bool(xp.any((weight > 0) & part)) for part in (~second, second)]
    if not all(present):
        only = on_host(classes)[int(present[1])]
        raise ValueError(f"{ONE_CLASS}{only!r} (all rows of the other have weight zero)")
