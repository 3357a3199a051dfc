"""Any loss of classes with any penalty."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from tenfold.arrays import Array
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import (
    argmax_scores,
    class_targets,
    combine_weights,
    encode_classes,
    log_probabilities,
    probabilities,
    take_classes,
)
from tenfold.estimators.glm.generalized_linear import PARAMETERS, REPORT_ONLY, Generalised
from tenfold.estimators.inference_mixin import InferenceMixin, compute_inference
from tenfold.estimators.parameters import array_like, check_parameters, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import as_weighted_rows, restore_on_error, rowwise, validate, validate_weights
from tenfold.losses.likelihoods import likelihood_of
from tenfold.plans.loss_penalty_table import of_two_classes


def _has_probabilities(model: Any) -> bool:
    """Raises where the loss is no likelihood, so that `hasattr` and scorers know."""
    if likelihood_of(model._the_loss()) is None:
        raise AttributeError(
            f"The loss {model.loss!r} is no likelihood: it has no probabilities. Use loss='logistic' or 'softmax', or "
            "calibrate the scores by sklearn.calibration.CalibratedClassifierCV."
        )
    return True


class GeneralizedLinearClassifier(ScoreMixin, InferenceMixin, Generalised, ClassifierMixin, BaseEstimator):
    """A linear model of classes with any loss and any penalty.

    Two classes: minimises ``1/sum_i s_i sum_i s_i loss(y_i, x_i.w + b) + penalty(w)``, y_i = +1 for the second of the
    two classes and -1 for the first, with weights s_i. "softmax", for any number of classes: minimises
    ``1/sum_i s_i sum_i s_i (log sum_k exp(z_ik) - z_i,y_i) + sum_k penalty(w_k)``, z_ik = x_i.w_k + b_k. Intercepts are
    never penalised.

    Parameters
    ----------
    loss : str or a loss of tenfold.losses, default="logistic"
        "logistic", "softmax", "hinge", "squared_hinge", "modified_huber" or "tanh".
        "perceptron" is refused: its loss is least at no weights at all.
    penalty : {"l2", "l1", "elasticnet", "group", None} or a penalty of tenfold.penalties, default="l2"
        alpha/2 ||w||^2; alpha ||w||_1; their mixture by `l1_ratio`; alpha sum_g sqrt(size of g) ||w_g||; none.
    alpha : float, or for "softmax" with "l2" also an array-like of shape (n_classes,), default=1.0
        One alpha per class is a Gaussian prior of its own for the weights of each: sum_k alpha_k/2 ||w_k||^2.
    l1_ratio : float, default=0.5
        Fraction of the L1 penalty in "elasticnet".
    groups : array-like of shape (n_features,), default=None
        The group of each feature, for "group".
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the objective exceeds `tol` and the certificate is ok: the second
        is mostly the stronger. FISTA and the interior point method end when the certificate is ok, whatever `tol`.
    max_iter : int, default=1000
        Most steps.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts of a loss that is not convex; None means 0.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate. None for no
        limit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, of two classes w_1 - w_0, for "softmax" too; of more one vector for each.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    n_iter_ : int
        Steps taken.
    certificate_ : Certificate
        Kind gap where the loss is convex: no other weights have an objective that is smaller by more. Kind stationarity
        for "tanh", the best of several starts: the gradient vanishes there.
    inference_ : LikelihoodInference
        Where there is no penalty and the loss is a likelihood, standard errors, p values, confidence intervals and
        log-likelihood; else an AttributeError with the reason. `summary` prints them, `tenfold.infer` has robust ones.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "stalled" (rounding) or "no maximum".
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Smooth losses run on dense and sparse arrays, files, Dask collections and devices, one pass over the data a step and
    one to judge, by Newton's method or L-BFGS with an L2 penalty, by proximal Newton steps with an L1 penalty or
    groups, by accelerated proximal gradients with others; memory p x p up to 1024 features, vectors beyond. Losses with
    kinks go by an interior point method, in the memory of one machine. The page on generalised linear models has the
    table.
    Likelihoods, "logistic" and "softmax", have `predict_proba` and `predict_log_proba`.
    Seeger, section 8.3; Rosasco, chapter 8; Welling, section 7.2 (the tanh cost).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GeneralizedLinearClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 4)
    >>> y = X[:, 0] + 0.5 * rng.randn(100) > 0
    >>> model = GeneralizedLinearClassifier("hinge", "l1", alpha=0.1).fit(X, y)
    >>> model.certificate_.ok, np.flatnonzero(model.coef_)
    (True, array([0]))
    """

    _of_classes: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Generalised linear classification, any loss and penalty",
        texts=("S8.3", "R8", "W7.2"),
        reads=("a pass a step",),
        certificate=("gap", "stationarity"),
        judge="glm.any_loss",
        outputs="linear_outputs.classification",
        offset=True,
        report_only=REPORT_ONLY,
    )

    def __init__(
        self,
        loss: Any = "logistic",
        penalty: Any = "l2",
        *,
        alpha: Any = 1.0,
        l1_ratio: float = 0.5,
        groups: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GeneralizedLinearClassifier":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, {**PARAMETERS, "alpha": (real(0), array_like())})
        self._the_loss()
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, number = encode_classes(y, X)
        count = int(self.classes_.shape[0])
        if count > 2 and not self._the_loss().multi_output:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: {count} classes. Use "
                "loss='softmax', or wrap the estimator in sklearn.multiclass.OneVsRestClassifier."
            )
        weight = combine_weights(None, self.classes_, number, validate_weights(sample_weight, X))
        target = class_targets(number, count)
        params = self._fit_penalised(X, y, as_weighted_rows(X, target, weight), 1.0, flat=False, classes=count).params
        loss = self._problem(X.shape[1])[0]
        self._inference = self._refusal(X.shape[1]) or compute_inference(self, loss, params, X, target, weight)
        return self

    def _problem(self, p: int) -> tuple[Any, Any]:
        loss, penalty = self._the_loss(), self._the_penalty(p)
        count = int(self.classes_.shape[0])
        strengths = np.asarray(penalty.strength, dtype=np.float64)
        if strengths.ndim and (not loss.multi_output or strengths.shape != (count,) or not np.all(strengths > 0.0)):
            raise ValueError(
                f"Strengths of an L2 penalty, one for each of {count} classes and all positive, go with "
                f"loss='softmax' alone; got {strengths.tolist()} with {self.loss!r}."
            )
        return of_two_classes(loss, penalty) if count == 2 else (loss, penalty)

    def decision_function(self, X: Any) -> Array:
        """Scores of the samples X. Two classes: ``x.w + b``, positive for the second, (n,). More: scores of all, (n,
        n_classes).
        """
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> Array:
        """The class of each sample of X, (n,)."""
        z = self.decision_function(X)
        return take_classes(self.classes_, z > 0 if z.ndim == 1 else rowwise(argmax_scores, z))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of all classes for the samples X, (n, n_classes); of a loss that is a likelihood."""
        return rowwise(probabilities, self.decision_function(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of all classes for the samples X, (n, n_classes)."""
        return rowwise(log_probabilities, self.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.loss == "softmax" or getattr(self.loss, "multi_output", False)
        return tags
