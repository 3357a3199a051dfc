"""Linear support vector classification."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from tenfold.arrays import Array, contiguous, entries, is_sparse
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.class_labels import argmax_scores, encode_classes, take_classes
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, check_parameters, choice, instance, nothing
from tenfold.estimators.predictors import ScoreMixin, SparsifyMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.svm.parameters import (
    COMMON,
    Fits,
    Task,
    ascends,
    check_memory_source,
    machine_of,
    rows_of,
    tasks,
)
from tenfold.estimators.validation import (
    convert_like,
    require_finite,
    restore_on_error,
    rowwise,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.result import Fitted
from tenfold.plans.svm import worst
from tenfold.stats.derivatives import Params


class LinearSVC(ScoreMixin, CallbackSupportMixin, ClassifierMixin, SparsifyMixin, BaseEstimator):
    """Linear support vector classification.

    Two classes, y in {-1, +1}: minimises over w and b

        ||w||^2 / 2 + (b / intercept_scaling)^2 / 2 + C sum_i s_i loss(y_i (x_i.w + b)),

    s_i the weight of a sample (sample weight times class weight), with the loss max(0, 1 - m) or its square;
    penalty="l1" has ||w||_1 + |b| / intercept_scaling in place of the halves of squares. More classes: one such
    problem for each, against all others; multi_class="crammer_singer" has one for all together, with the loss max_k
    (z_ik + [k != y_i]) - z_i,y_i, z_ik = x_i.w_k + b_k, and the squares of all.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        "l1" goes with the squared hinge loss.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        The hinge loss max(0, 1 - m) of a margin m, or its square.
    dual : "auto" or bool, default="auto"
        Whether the dual of the squared hinge loss is solved by coordinate ascent, which pays with many features;
        "auto" decides by the shape of the data. The hinge loss takes True alone, and "l1" False alone, as in
        scikit-learn: the method is chosen by the shape of the data.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the weighted mean objective exceeds `tol`, where there is one, and
        the certificate is ok: the second is mostly the stronger. Where the dual is ascended the gap has to be
        smaller by `tol` / 1e-4.
    C : float, default=1.0
        Inverse strength of the penalty.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        With "crammer_singer" loss, penalty and dual are not asked, as in scikit-learn.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is penalised as the formula says, unless ``penalize_intercept=False``.
    intercept_scaling : float, default=1
        The penalty on the intercept is that on the weight of a column of this value.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" by the weighted counts. In the problem of
        one class against the others only its own samples are so weighted, as in scikit-learn.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    random_state : int, RandomState or None, default=None
        Seed of the order of samples in dual coordinate ascent.
    max_iter : int, default=1000
        Limit of the steps of each problem; a step of an ascent of the dual is an epoch, or several where data are few.
    penalize_intercept : bool, default=True
        False leaves the intercept free, as in the texts.
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
    n_iter_ : int
        The largest number of steps of a problem.
    certificate_ : Certificate
        Kind gap: no other weights have a weighted mean objective (that above over C times the sum of the weights) that
        is smaller by more. With several problems the worst; `parts` has all.
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
    Few features: Newton's method, from the solution on a subsample where samples are many (squared hinge), or interior
    points (hinge, and all classes together), about 5 to 50 passes over the samples and p x p memory. Many features,
    samples in memory: coordinate descent on the dual, whose point goes to the judge. With an L1 penalty: proximal
    Newton steps. Runs on dense and sparse arrays and files; the squared hinge loss of one class against the others,
    whose steps are sums over the samples, on Dask collections and devices, too.
    Seeger, ch. 9; Rosasco, ch. 9; Cookbook, ch. 20; Welling, ch. 8. Hsieh et al., *A dual coordinate descent method for
    large-scale linear SVM* (2008). Crammer and Singer, *On the algorithmic implementation of multiclass kernel-based
    vector machines* (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearSVC
    >>> X = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
    >>> model = LinearSVC(C=10.0, loss="hinge", penalize_intercept=False).fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(6)
    array([[0.666667, 0.333333]])
    >>> model.predict([[-3.0, 0.0], [3.0, 0.0]])
    array([0, 1])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Linear support vector classification: hinge and squared hinge",
        texts=("S9", "R9", "B20", "W8"),
        peer="sklearn.svm",
        reads=("a pass a step",),
        certificate=("gap",),
        judge="svm.classification",
        outputs="linear_outputs.classification",
        report_only={"n_iter_": "how many steps the solver took"},
        board=Entry(
            "linear-svm",
            "classification",
            {"penalize_intercept": False},
            {"C": (1e-3, 1e-2, 0.1, 1.0)},
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "penalty": (choice("l1", "l2"),),
        "loss": (choice("hinge", "squared_hinge"),),
        "multi_class": (choice("ovr", "crammer_singer"),),
        "class_weight": (instance(dict), choice("balanced"), nothing()),
        **COMMON,
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        penalize_intercept: bool = True,
        time_limit: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearSVC":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        check_memory_source(self, X)
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, number = encode_classes(y, X)
        dual = ascends(self, X.shape)
        todo = tasks(self, number, validate_weights(sample_weight, X))
        # many passes: an array in another order is copied to C order once
        kept = contiguous(X) if isinstance(X, np.ndarray) else X
        count, multiclass = int(self.classes_.shape[0]), self.multi_class == "crammer_singer"
        done: list[Fitted] = []
        callback = make_callback(
            self, X, y, self.max_iter * len(todo), lambda params: self._attributes(done, params, X)
        )
        fit = Fits(self, dual, callback)

        def one(task: Task) -> Fitted:
            rows, total = rows_of(kept, task)
            machine = machine_of(self, total)
            return fit.joint(rows, machine, count) if multiclass else fit(rows, machine)

        def work() -> None:
            if callback is None and len(todo) > 1 and (is_sparse(kept) or isinstance(kept, np.ndarray)):
                done.extend(fit.run_concurrently(one, todo, entries(kept)))
                return
            for task in todo:
                done.append(one(task))

        require_finite(self, X, work)
        self._store(done, X)
        return self

    def _attributes(self, done: list[Fitted], last: Params, X: Array) -> dict[str, Any]:
        """Those of the problems that are solved, of one that is not, and zeros for the others; two classes that were
        fitted together have the difference of theirs.
        """
        parts = [*(fitted.params for fitted in done), last]
        if self.multi_class == "crammer_singer" and self.classes_.shape[0] == 2:
            parts = [Params(np.diff(last.coef, axis=0), np.diff(last.intercept))]
        outputs = 1 if self.classes_.shape[0] == 2 else int(self.classes_.shape[0])
        certificates = Params(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        coef, b = np.zeros((outputs, last.coef.shape[1])), np.zeros(outputs)
        coef[: len(certificates.coef)], b[: len(certificates.coef)] = certificates
        return {"coef_": convert_like(coef, X), "intercept_": convert_like(b, X) if self.fit_intercept else 0.0}

    def _store(self, done: list[Fitted], X: Array) -> None:
        for name, value in self._attributes(done[:-1], done[-1].params, X).items():
            setattr(self, name, value)
        self.n_iter_ = max(int(fitted.iterations or 0) for fitted in done)
        self.certificate_ = worst([fitted.certificate for fitted in done])
        self.status_ = self.certificate_.status
        self.trace_ = max((fitted.trace for fitted in done), key=len)
        warn_unless_certified(self)

    def decision_function(self, X: Any) -> Array:
        """``X w + b``: of shape (n,) for two classes, else (n, n_classes)."""
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> Array:
        """The class of each sample of X, (n,): the side of two, or the largest score."""
        z = self.decision_function(X)
        return take_classes(self.classes_, z > 0 if z.ndim == 1 else rowwise(argmax_scores, z))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
