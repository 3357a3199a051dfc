"""Linear support vector regression."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from tenfold.arrays import Array, contiguous
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, check_parameters, choice, real
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.svm.parameters import COMMON, Fits, Task, ascends, check_memory_source, machine_of, rows_of
from tenfold.estimators.validation import (
    convert_like,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.result import Fitted
from tenfold.stats.derivatives import Params


class LinearSVR(ScoreMixin, CallbackSupportMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Linear support vector regression.

    Minimises over w and b

        ||w||^2 / 2 + (b / intercept_scaling)^2 / 2 + C sum_i s_i loss(|y_i - x_i.w - b|),

    s_i the weight of a sample, with the loss max(0, r - epsilon) or its square: errors inside the tube cost nothing.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half of the width of the tube, in the units of y; at least zero.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the weighted mean objective exceeds `tol`, where there is one, and
        the certificate is ok: the second is mostly the stronger. Where the dual is ascended the gap has to be
        smaller by `tol` / 1e-4.
    C : float, default=1.0
        Inverse strength of the penalty.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The part of an error beyond the tube, max(0, r - epsilon), or its square.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is penalised as the formula says, unless ``penalize_intercept=False``.
    intercept_scaling : float, default=1.0
        The penalty on the intercept is that on the weight of a column of this value.
    dual : "auto" or bool, default="auto"
        Whether the dual of the squared loss is solved by coordinate ascent, which pays with many features; "auto"
        decides by the shape of the data. The other loss takes True alone, as in scikit-learn: the method is chosen
        by the shape of the data.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    random_state : int, RandomState or None, default=None
        Seed of the order of samples in dual coordinate ascent.
    max_iter : int, default=1000
        Limit of the steps; a step of an ascent of the dual is an epoch, or several where data are few.
    penalize_intercept : bool, default=True
        False leaves the intercept free, as in the texts.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Intercept ``b``; zero with ``fit_intercept=False``.
    n_iter_ : int
        Steps taken.
    certificate_ : Certificate
        Kind gap: no other weights have a weighted mean objective (that above over C times the sum of the weights) that
        is smaller by more.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step, of the longest problem where there are several.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Few features: Newton's method (squared loss) or interior points, about 5 to 20 passes over the samples and p x p
    memory. Many features, samples in memory: coordinate descent on the dual, whose point goes to the judge. Runs on
    dense and sparse arrays and files; the squared loss, which is a sum over the samples, on Dask collections and
    devices, too. Welling, ch. 9. Ho and Lin, *Large-scale linear support vector regression* (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearSVR
    >>> X = np.arange(6.0)[:, None]
    >>> model = LinearSVR(epsilon=0.5, C=100.0, penalize_intercept=False).fit(X, 2.0 * X[:, 0] + 1.0)
    >>> model.coef_.round(6), model.intercept_.round(6)  # the flattest line within the tube
    (array([1.8]), array([1.5]))
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Linear support vector regression: epsilon-insensitive loss and its square",
        texts=("W9",),
        peer="sklearn.svm",
        reads=("a pass a step",),
        certificate=("gap",),
        judge="svm.regression",
        outputs="linear_outputs.regression",
        report_only={"n_iter_": "how many steps the solver took"},
        board=Entry(
            "linear-svr",
            "regression",
            {"loss": "squared_epsilon_insensitive", "penalize_intercept": False},
            {"C": (0.01, 1.0, 100.0)},
            fast=False,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "epsilon": (real(0.0),),
        "loss": (choice("epsilon_insensitive", "squared_epsilon_insensitive"),),
        **COMMON,
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Any = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        penalize_intercept: bool = True,
        time_limit: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearSVR":
        """Fit to X (n, p), targets y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        check_memory_source(self, X)
        X, y = validate(self, X, y, multi_output=False)
        dual = ascends(self, X.shape)
        task = Task(y, validate_weights(sample_weight, X))
        # many passes: an array in another order is copied to C order once
        rows, total = rows_of(contiguous(X) if isinstance(X, np.ndarray) else X, task)
        callback = make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X))
        fit, machine = Fits(self, dual, callback), machine_of(self, total)
        self._store(require_finite(self, X, lambda: fit(rows, machine)), X)
        return self

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        b = convert_like(params.intercept, X) if self.fit_intercept else 0.0
        return {"coef_": convert_like(params.coef[0], X), "intercept_": b}

    def _store(self, fitted: Fitted, X: Array) -> None:
        store(self, fitted, X, coef_flat=True, intercept_flat=False, intercept=bool(self.fit_intercept))
        self.n_iter_ = int(fitted.iterations or 0)
        self.status_ = fitted.certificate.status
        self.trace_ = fitted.trace
        warn_unless_certified(self)

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
