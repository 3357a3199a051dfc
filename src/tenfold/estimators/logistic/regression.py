"""Logistic regression."""

import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, is_sparse, like, on_host
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.class_labels import (
    argmax_scores,
    class_frequencies,
    class_targets,
    combine_weights,
    encode_classes,
    log_probabilities,
    probabilities,
    take_classes,
)
from tenfold.estimators.inference_mixin import InferenceMixin, compute_inference, inference_obstacle
from tenfold.estimators.logistic.parameters import SOLVERS, PenaltyChoice, check_liblinear, read_penalty
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
    unset,
)
from tenfold.estimators.predictors import ScoreMixin, SparsifyMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import COMMON_PARAMETERS, PathScores, read_scores
from tenfold.estimators.validation import (
    as_weighted_rows,
    convert_like,
    require_finite,
    restore_on_error,
    rowwise,
    total_weight,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import NOT_JUDGED
from tenfold.losses.classification import loss_of_classes
from tenfold.plans.glm import GlmFit
from tenfold.plans.glm import fit as fit_glm
from tenfold.stats.derivatives import Params

CLASS_WEIGHTS = (
    "Weights of classes change what is maximised, so that it is no likelihood of the rows: standard errors are not "
    "known. Fit without class_weight; with_priors changes the shares of the classes afterwards."
)


REPORT_ONLY = {
    "n_iter_": "how many steps the solver took",
    "separating_direction_": "only without a maximum, which no certificate calls ok",
}


class LogisticRegression(
    ScoreMixin, InferenceMixin, CallbackSupportMixin, ClassifierMixin, SparsifyMixin, BaseEstimator
):
    """Logistic regression of two classes or more, without a penalty, with L2, L1 or a mixture of them.

    Two classes: minimises ``C sum_i s_i log(1 + exp(-y_i (x_i.w + b))) + r(w)``, y_i = +1 for the second class and -1
    for the first, s_i the weight of a sample (sample weight times class weight), ``r(w) = (1 - l1_ratio)/2 ||w||^2 +
    l1_ratio ||w||_1``. More classes: minimises ``C sum_i s_i (log sum_k exp(z_ik) - z_i,y_i) + sum_k r(w_k)``, z_ik =
    x_i.w_k + b_k, the softmax of all classes. Intercepts are never penalised, whatever the solver: scikit-learn's
    liblinear does penalise its own. ``C = inf`` is maximum likelihood.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, default="deprecated"
        Deprecated as in scikit-learn: use `l1_ratio`, and ``C=np.inf`` for none.
    C : float, default=1.0
        Inverse strength of the penalty; ``np.inf`` for no penalty.
    l1_ratio : float, default=0.0
        Fraction of the L1 penalty: 0 is L2, 1 is L1 (solver "liblinear" or "saga"), between them an elastic net (solver
        "saga").
    dual : bool, default=False
        Accepted with solver "liblinear" for compatibility, without effect.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the weighted mean objective exceeds `tol` and the certificate is
        ok: the second is mostly the stronger.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    intercept_scaling : float, default=1
        Accepted for compatibility: the intercept is not penalised, so its scale has no effect.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" by the weighted counts.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing here is random.
    solver : {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        scikit-learn's names are accepted; the same optimum is reached and certified. "newton-cg" and
        "newton-cholesky" stand for Newton's method on all samples; the others for the method that suits the shape of
        the data: Newton's method for few samples, L-BFGS preconditioned by the inverse Hessian of a subsample for many.
        With more than 1024 features L-BFGS with a diagonal preconditioner, whatever the name. With an L1 penalty
        proximal Newton steps, on working sets with many features, or by coordinate on sparse matrices.
    max_iter : int, default=100
        Most steps, each of which reads the data.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    warm_start : bool, default=False
        Whether to start from the previous `coef_` and `intercept_`.
    n_jobs : int, default=None
        Deprecated as in scikit-learn: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies in training; `with_priors` makes a copy for others.
    n_iter_ : ndarray of shape (1,)
        Iterations on all samples.
    certificate_ : Certificate
        Kind gap: no other weights have a weighted mean objective (that above over C times the sum of the weights) that
        is smaller by more.
    inference_ : LikelihoodInference
        Without a penalty, standard errors, p values, confidence intervals and log-likelihood, of several classes for
        their coefficients minus those of the first; refused with the reason where they do not exist. `summary` prints
        them, `tenfold.infer` has robust ones.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "stalled" (rounding) or "no maximum".
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    separating_direction_ : ndarray of shape (n_features + 1,) or (n_classes, n_features + 1)
        Only with status "no maximum" (no penalty, and classes that can be separated): weights and, last, the intercept,
        along which the likelihood grows for ever.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples per step and one to judge; memory p x p up to 1024 features, vectors beyond. Runs on
    dense and sparse arrays, files, devices, and Dask collections. Ctrl-C ends a fit with the last complete step,
    which predicts and carries its certificate. Several classes: Newton's method on all coefficients together where
    they are few, else L-BFGS preconditioned by one block of the Hessian per class.
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

    _registration: ClassVar = Registration(
        method="Logistic regression, binary and multinomial",
        texts=("S8", "R8", "B19", "W7.2"),
        peer="sklearn.linear_model",
        reads=("a pass a step",),
        certificate=("gap",),
        judge="logistic.logistic",
        outputs="linear_outputs.probabilities",
        report_only=REPORT_ONLY,
        path=PathScores(
            cv_class="LogisticRegressionCV",
            parameter="C",
            values="Cs",
            scores=read_scores,
            settings={"use_legacy_attributes": False, "refit": False},
            common=COMMON_PARAMETERS | {"solver"},
            listed={"l1_ratio": "l1_ratios"},
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "penalty": (choice("l1", "l2", "elasticnet"), nothing(), unset("deprecated")),
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

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LogisticRegression":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        chosen = read_penalty(self)
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, number = encode_classes(y, X)
        count = int(self.classes_.shape[0])
        check_liblinear(self.solver, count)
        given = validate_weights(sample_weight, X)
        weight = combine_weights(self.class_weight, self.classes_, number, given)
        self.class_prior_ = class_frequencies(number, count, weight)
        target = class_targets(number, count)
        rows = as_weighted_rows(X, target, weight)
        fitted = require_finite(
            self,
            X,
            lambda: fit_glm(
                rows,
                loss_of_classes(count),
                chosen.penalty(total_weight(target, weight)),
                self.fit_intercept,
                outputs=1 if count == 2 else count,
                solver=SOLVERS[self.solver],
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                start=self._start(X.shape[1], 1 if count == 2 else count),
                time_limit=self.time_limit,
                callback=make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X)),
                dtype=rows.dtype,
            ),
        )
        self._store(fitted, X)
        self._inference = self._refusal(chosen) or compute_inference(
            self, loss_of_classes(count), fitted.params, X, target, given
        )
        return self

    def _refusal(self, chosen: PenaltyChoice) -> str | None:
        """Why there is no inference, or None."""
        if self.class_weight is not None:
            return CLASS_WEIGHTS
        return inference_obstacle(self.certificate_, penalised=np.isfinite(chosen.C))

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        b = params.intercept if self.fit_intercept else np.zeros_like(params.intercept)
        return {"coef_": convert_like(params.coef, X), "intercept_": convert_like(b, X)}

    def _store(self, fitted: GlmFit, X: Array) -> None:
        for name, value in self._attributes(fitted.params, X).items():
            setattr(self, name, value)
        self.n_iter_ = np.array([fitted.iterations or 0], dtype=np.int32)
        self.certificate_ = fitted.certificate
        self.status_ = fitted.certificate.status
        self.trace_ = fitted.trace
        self.__dict__.pop("separating_direction_", None)
        if fitted.direction is not None:
            direction = np.column_stack([fitted.direction.coef, fitted.direction.intercept])
            self.separating_direction_ = direction if len(direction) > 1 else direction[0]
        warn_unless_certified(self)

    def _start(self, p: int, outputs: int) -> Params | None:
        """The previous parameters, where they are to be continued."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        coef = self.coef_.toarray() if is_sparse(self.coef_) else on_host(self.coef_)
        if coef.shape != (outputs, p):
            expected = f"({p},) or (1, {p})" if outputs == 1 else f"({outputs}, {p})"
            raise ValueError(f"Initialization coef is of shape {coef.shape}, expected shape {expected}")
        b = np.array(on_host(self.intercept_), dtype=np.float64).ravel() if self.fit_intercept else np.zeros(outputs)
        return Params(np.ascontiguousarray(coef, dtype=np.float64), b)

    def decision_function(self, X: Any) -> Array:
        """Two classes: log odds of the second, ``X w + b``, of shape (n,). More: raw scores of all, (n, n_classes)."""
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> Array:
        """The most probable class of each sample of X, (n,)."""
        z = self.decision_function(X)
        return take_classes(self.classes_, z > 0 if z.ndim == 1 else rowwise(argmax_scores, z))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of all classes for the samples X, (n, n_classes); small ones to full relative accuracy."""
        return rowwise(probabilities, self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of all classes for the samples X, (n, n_classes); accurate where these are 0
        or 1.
        """
        return rowwise(log_probabilities, self.decision_function(X))

    def with_priors(self, priors: Any) -> "LogisticRegression":
        """A copy for data with other class frequencies, `priors` in the order of `classes_`.

        Assumes prior shift: class frequencies change, the distribution within classes does not. By Bayes' rule the
        scores of class k then change by log(new prior / prior in training), weighted. The weights are those of
        this model; the copy minimises nothing, and its certificate says so.
        """
        check_is_fitted(self)
        new = np.asarray(priors, dtype=np.float64)
        if new.shape != self.class_prior_.shape or not np.all(new > 0.0) or not abs(float(new.sum()) - 1.0) <= 1e-9:
            raise ValueError(
                f"priors must be {len(self.class_prior_)} positive shares that sum to one, one a class of "
                f"{list(on_host(self.classes_))}; got {priors!r}."
            )
        move = np.log(new) - np.log(self.class_prior_)
        move = move[1:] - move[:1] if len(move) == 2 else move
        model = copy.deepcopy(self)
        model.intercept_ = self.intercept_ + like(move, self.intercept_)
        model.class_prior_ = new
        note = "The intercepts were moved for other class shares: the certificate was that of the fit."
        model.certificate_ = replace(self.certificate_, status=NOT_JUDGED, note=note)
        model._inference = "The intercepts were moved for other class shares: inference is that of the fit, before."
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.solver != "liblinear"
        return tags
