"""Tikhonov regularisation: any loss of numbers in the space of a kernel."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from tenfold.arrays import Array, Floats
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.parameters import Constraints, check_parameters, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tikhonov.model import COMMON, INSTEAD, REPORT_ONLY, RULES, STORED, WHERE, RiskModel
from tenfold.estimators.validation import restore_on_error, rowwise, validate, validate_weights
from tenfold.losses.loss import Loss
from tenfold.plans.loss_penalty_table import LOSSES


def find_loss(model: Any, *, of_classes: bool) -> Loss:
    """The loss that the parameter names, of numbers or of classes."""
    given = model.loss
    if not hasattr(given, "signs") and (not isinstance(given, str) or given not in LOSSES):
        names = ", ".join(name for name, make in LOSSES.items() if _is_of_classes(make()) is of_classes)
        raise ValueError(f"loss must be one of {names}, or an object of tenfold.losses; got {given!r}.")
    loss: Loss = LOSSES[given]() if isinstance(given, str) else given
    if _is_of_classes(loss) is not of_classes:
        other = "Tikhonov" if of_classes else "TikhonovClassifier"
        raise ValueError(f"{given!r} is not a loss of {type(model).__name__}: use {other}.")
    return loss


def _is_of_classes(loss: Any) -> bool:
    return bool(loss.signs or loss.multi_output)


class Tikhonov(ScoreMixin, RegressorMixin, RiskModel):
    """Regression in the space of a kernel with any loss (Tikhonov regularisation).

    Minimises over functions f of the space of the kernel k and the intercept b

    ``1/W sum_i weight_i loss(y_i, f(x_i) + b) + alpha/2 ||f||^2``,  W the sum of the weights. By the representer
    theorem the best function is ``f(x) = sum_i c_i k(x, x_i)``. Losses of counts and of positive numbers are of the
    logarithm of the mean.

    Parameters
    ----------
    loss : str or a loss of tenfold.losses, default="square"
        "square", "huber", "laplace", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "poisson",
        "gamma", "tweedie" or "student", with usual settings; an object has others, for instance ``Quantile(0.9)``.
    alpha : float, default=1e-3
        Strength of the penalty, above zero, in units of the mean loss.
    kernel : str, kernel object or callable, default="rbf"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix. It must be positive semidefinite.
    gamma : float, {"auto", "scale"}, default=None
        Width parameter of the names that have one. None and "auto": 1 / n_features (1 for "chi2"); "scale":
        1 / (n_features * X.var()).
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    centres : int, (str, int), array-like of shape (n_centres, n_features) or None, default=None
        None: f is an expansion in all samples. Otherwise it is one in centres z_j, ``f(x) = sum_j c_j k(x, z_j)``, and
        the same objective is minimised over those functions alone, for many samples. A number m, or ("uniform", m): m
        samples drawn at random; ("kmeans", m): the means of m clusters; ("leverage", m): m samples drawn by their ridge
        leverage scores; an array: these points. Centres that others represent to working precision are left out.
        Not for "laplace", "quantile" and "epsilon_insensitive".
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``, which is not penalised.
    tol : float, default=1e-6
        The fit ends when the certificate is ok: when the objective is at most `tol` times that of the best constant
        above its minimum.
    max_iter : int, default=1000
        Most Newton steps, which take some tens of products with the kernel matrix each.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate. None for no
        limit.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients ``c``; zero for samples of weight zero. In the dtype of X where the certificate holds in it, in
        float64 otherwise.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples of the fit, which predictions need; the kernel matrix with ``kernel="precomputed"``; the centres, where
        these are asked for.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    n_iter_ : int
        Newton steps taken.
    method_ : str
        How the problem was solved, in words.
    certificate_ : Certificate
        Kind gap where the loss is convex: no other function and intercept have an objective that is smaller by more.
        ``intervals(X)`` encloses the raw predictions of the exact optimum; with centres all of that is about the best
        function of these centres. Kind stationarity for "student": the gradient in the space of functions vanishes.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Newton's method in the space of functions: each step solves its system by conjugate gradients, whose preconditioner
    is a low rank and a diagonal in place of the kernel matrix K. K is in memory, 8 n^2 bytes, and from 1500 samples in
    float32, 4 n^2; the judge evaluates it in float64 by tiles, twice. With m centres memory is 24 n m bytes. Runs on
    dense and sparse arrays, with sample weights. Losses with kinks go by the dual problem: decomposition with an
    intercept, interior points without. "student" goes by parabolas above the loss, from one start.
    Seeger, section 9.2.3 (what has Tikhonov's form has a kernel); Rosasco, sections 6.3 and 8.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Tikhonov
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-3, 3, (100, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_t(1.5, 100)
    >>> model = Tikhonov("laplace", alpha=1e-2).fit(X, y)
    >>> model.predict([[0.0], [1.5]]).round(1), model.certificate_.ok
    (array([0.1, 0.9]), True)
    """

    _registration: ClassVar = Registration(
        method="Tikhonov regularisation with a kernel, any loss of numbers",
        texts=("S9.2.3", "R6.3", "R8.2"),
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap", "stationarity"),
        judge="tikhonov.regression",
        outputs="tikhonov.mean",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules=RULES,
    )
    _constraints: ClassVar[Constraints] = {"alpha": (real(0, np.inf, "neither"),), **COMMON}

    def __init__(
        self,
        loss: Any = "square",
        *,
        alpha: float = 1e-3,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        centres: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.centres = centres
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Tikhonov":
        """Fit to samples X (n, p), targets y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        loss = find_loss(self, of_classes=False)
        X, y = validate(self, X, y, multi_output=False)
        target = np.asarray(y, dtype=np.float64)
        check_targets(loss, target)
        self._fit_risk(X, y, target, validate_weights(sample_weight, X), loss, float(self.alpha))
        return self

    def _store_intercept(self, b: Floats) -> None:
        self.intercept_ = float(b[0])

    def predict(self, X: Any) -> Array:
        """The prediction for each sample of X, (m,): ``f(x) + b``, or its exponential where that is the mean."""
        raw = self._predict_raw(X)[:, 0]
        return rowwise(np.exp, raw) if find_loss(self, of_classes=False).link == "log" else raw

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss in ("poisson", "gamma", "tweedie")
        return tags


def check_targets(loss: Loss, target: Floats) -> None:
    """Raise where targets are out of the range of a loss of counts or positive numbers."""
    low = float(np.min(target))
    if loss.link == "log" and (low < 0.0 or (low == 0.0 and loss.name == "gamma")):
        least = "above zero" if loss.name == "gamma" else "at least zero"
        raise ValueError(
            f"Some value(s) of y are out of the valid range of the loss {loss.name!r}: all must be {least}."
        )
