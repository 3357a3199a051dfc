"""Rosenblatt's perceptron."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from tenfold.arrays import Floats, Integers
from tenfold.data import Rows
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, integer, nothing, real
from tenfold.estimators.perceptron.mistake_driven import (
    COMMON,
    INSTEAD,
    REPORT_ONLY,
    WHERE,
    Linear,
    Mistaken,
    problem_of,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import require_finite, restore_on_error
from tenfold.plans.perceptron import Limits, Penalty, PerceptronFit, fit_last, fit_penalised, make_validation_score
from tenfold.plans.sgd import Held
from tenfold.stats.derivatives import Params


class Perceptron(Mistaken, Linear):
    """Rosenblatt's perceptron: every misclassified sample is added to the weights, times its class sign.

    Reads the samples one by one, in random order, pass after pass. A sample is a mistake where
    ``y (x.w + b) <= 0``, y = +1 for the second of two classes and -1 for the first; then ``w += eta0 s y x`` and
    ``b += eta0 s y``, s being the weight of the sample (sample weight times class weight). If the classes can be
    separated this ends after at most ``(R / gamma)^2`` mistakes (`tenfold.bounds.mistake_bound`); otherwise it never
    does, and `tol` ends it. Without a penalty `eta0` has no effect but on the length of the weights.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, default=None
        With a penalty the weights are learned by the delta rule with the perceptron's loss, and shrink at every sample;
        the intercept of sparse samples then takes steps of a hundredth, as in scikit-learn.
    alpha : float, default=0.0001
        Strength of the penalty.
    l1_ratio : float, default=0.15
        Fraction of the L1 penalty in the elastic net.
    fit_intercept : bool, default=True
        Whether to learn an intercept ``b``.
    max_iter : int, default=1000
        Passes at most, of `fit`.
    tol : float or None, default=1e-3
        A fit stops when the mean loss of a pass, ``max(0, -y z)``, was not smaller by `tol` than the best for
        `n_iter_no_change` passes. It ends in any case after a pass without mistakes, and when weights recur.
    shuffle : bool, default=True
        Whether each pass has a random order of its own, as in scikit-learn for the same `random_state`; from files,
        within the blocks that are in memory.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    eta0 : float, default=1.0
        Factor of all updates.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders.
    early_stopping : bool, default=False
        Hold out samples, and stop when the accuracy on them does not increase by `tol`.
    validation_fraction : float, default=0.1
        The held-out fraction of the samples, stratified by class.
    n_iter_no_change : int, default=5
        Passes without a better loss, or score, after which a fit ends; see `tol`.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights: of more than two classes too, where scikit-learn's
        weighs a class against a rest of weight one.
    warm_start : bool, default=False
        Whether a fit goes on from the weights of the one before.
    mode : {"online", "batch"}, default="online"
        Whether each mistake is corrected at once, or all of a pass together at its end.
    tie : {"mistake", "positive"}, default="mistake"
        What a score of zero is: a mistake, whatever the class, or a prediction of the second class (of the last of
        those with the best score). The texts have both.
    normalize : bool, default=False
        Whether samples are normalised to unit length first (with the constant 1 of the intercept): the bound on the
        mistakes is then never larger. The weights remain those for samples as they are.
    multi_class : {"ovr", "joint"}, default="ovr"
        More than two classes: each against the rest, as in scikit-learn, or together: a mistake moves the weights of
        its class and of the class that was predicted.
    record : bool, default=False
        Whether to keep which samples were mistakes, in order (`mistakes_`).
    time_limit : float, default=None
        Seconds after which no further pass is begun.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    n_iter_ : int
        Passes. scikit-learn goes on for some after one without mistakes, which change nothing.
    t_ : float
        One more than the number of samples seen.
    n_mistakes_ : int
        Mistakes in all passes; None with a penalty.
    mistakes_ : ndarray of shape (n_mistakes,)
        With `record`: the samples that were corrected, in order; `tenfold.bounds.mistake_trace` checks on them the
        inequalities by which the bound is proved.
    certificate_ : Certificate
        Kind count: mistakes of the returned weights, counted again; ok if there are none, so that the weights separate
        the data. Its note has the smallest margin. After `partial_fit` it is not judged.
    status_ : str
        "converged" (a pass without mistakes), "no improvement", "cycling" (without `shuffle`: weights came back; the
        note says where that proves that no weights separate the classes), "iteration limit", "time limit", ...
    trace_ : list
        Mistakes, mean loss and length of the weights of each pass.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A pass costs a product with X and an update a mistake; memory is the weights. Runs on dense and sparse arrays and,
    block by block, on files. Without a penalty the intercept of sparse samples is learned as that of dense ones, where
    scikit-learn shortens its steps to a hundredth.
    CMU lecture 11; Seeger, section 2.3; Rosasco, section 9.1; Cookbook, ch. 2. Rosenblatt 1958; Novikoff 1962.

    Examples
    --------
    >>> from tenfold import Perceptron
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = [-1, 1, 1, -1, -1, 1]
    >>> model = Perceptron(fit_intercept=False, shuffle=False).fit(X, y)
    >>> model.coef_, model.n_mistakes_
    (array([[3., 1.]]), 3)
    >>> model.certificate_
    <Certificate ok: count 0 (allowed 6e-12)>
    >>> print(model.certificate_.note)
    The smallest margin is 0.316 (signed distance from the boundary).
    """

    _registration: ClassVar = Registration(
        method="Perceptron",
        texts=("C12-30", "S2.3", "R9.1", "W7.1", "B2"),
        peer="sklearn.linear_model",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("count",),
        judge="perceptron.linear",
        outputs="linear_outputs.classification",
        report_only=REPORT_ONLY,
    )
    _constraints: ClassVar[Constraints] = {
        **COMMON,
        "penalty": (choice("l2", "l1", "elasticnet"), nothing()),
        "alpha": (real(0),),
        "l1_ratio": (real(0, 1, "both"),),
        "n_jobs": (nothing(), integer(-(2**31))),
        "early_stopping": (boolean(),),
        "validation_fraction": (real(0, 1, "neither"),),
        "mode": (choice("online", "batch"),),
        "multi_class": (choice("ovr", "joint"),),
        "record": (boolean(),),
    }

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        mode: str = "online",
        tie: str = "mistake",
        normalize: bool = False,
        multi_class: str = "ovr",
        record: bool = False,
        time_limit: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.mode = mode
        self.tie = tie
        self.normalize = normalize
        self.multi_class = multi_class
        self.record = record
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> "Perceptron":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,), from zero or the first
        weights `coef_init` and `intercept_init`.
        """
        self._check()
        self._forget()
        X, y, label, weight = self._all_rows(X, y, sample_weight)
        rows, group = self._rows(X, label, weight), self._validation_group(label, weight)
        start = self._first(self._start(X.shape[1]), coef_init, intercept_init)
        limits = self._limits(X, y)
        fitted = require_finite(self, X, lambda: self._learn(rows, group, start, limits, parts=False))
        self._store(fitted, X)
        if self.record and fitted.updates is not None:
            self.mistakes_ = fitted.updates.rows
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "Perceptron":
        """One pass over more samples X (n, p) of classes y (n,) with optional `sample_weight`; `classes` names all
        classes in the first call.
        """
        self._check()
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        X, label, weight = self._part(X, y, classes, sample_weight)
        rows, start = self._rows(X, label, weight), self._start(X.shape[1])
        fitted = require_finite(self, X, lambda: self._learn(rows, None, start, self._one_pass(), parts=True))
        self._store_part(fitted, X)
        return self

    def _learn(self, rows: Rows, group: Integers | None, start: Params, limits: Limits, parts: bool) -> PerceptronFit:
        """Fit by the perceptron scan, or by stochastic gradient descent where there is a penalty."""
        problem, course = problem_of(self), self._course(parts=parts, rows=rows.shape[0])
        if self.penalty is None:
            if group is not None:
                rows = rows.regroup(group)
                course = replace(course, score=make_validation_score(problem, rows))
            return fit_last(problem, rows, start, course, limits, rows.dtype, judge=not parts)
        ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": float(self.l1_ratio)}[self.penalty]
        penalty = Penalty(float(self.alpha), ratio)
        if group is None:
            return fit_penalised(problem, rows, start, course, limits, rows.dtype, penalty)
        whole, inside = rows.whole(), group == 1
        held = Held(whole.X[inside], whole.y[inside, 0], None if whole.weight is None else whole.weight[inside])
        skip = group.astype(np.uint8)
        return fit_penalised(problem, rows, start, course, limits, rows.dtype, penalty, held, skip)

    def _check(self) -> None:
        check_parameters(self, self._constraints)
        plain = {"mode": "online", "tie": "mistake", "normalize": False, "multi_class": "ovr", "record": False}
        other = [name for name, value in plain.items() if getattr(self, name) != value]
        if self.penalty is not None and other:
            name = other[0]
            raise ValueError(
                f"A penalty goes with {name}={plain[name]!r}, not with {name}={getattr(self, name)!r}: penalised "
                "weights are learned by the delta rule, each class against the rest."
            )

    def _validation_group(self, label: Integers, weight: Floats | None) -> Integers | None:
        """Groups of early stopping: 1 for validation samples; None without early stopping."""
        if not self.early_stopping:
            return None
        splitter = StratifiedShuffleSplit(test_size=self.validation_fraction, random_state=self.random_state)
        _, chosen = next(splitter.split(np.zeros((len(label), 1)), label))
        if weight is not None and not np.any(weight[chosen] > 0.0):
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different random state."
            )
        group = np.zeros(len(label), dtype=np.int32)
        group[chosen] = 1
        return group

    def _first(self, start: Params, coef: Any, intercept: Any) -> Params:
        """The initial weights: given ones, or those of the previous fit."""
        b = start.intercept
        if coef is not None:
            coef = np.ascontiguousarray(np.atleast_2d(np.asarray(coef, dtype=np.float64)))
            if coef.shape != start.coef.shape:
                raise ValueError(f"coef_init has shape {coef.shape}, but this problem needs {start.coef.shape}.")
        if intercept is not None:
            b = np.ascontiguousarray(np.asarray(intercept, dtype=np.float64).reshape(-1))
            if b.shape != start.intercept.shape:
                raise ValueError(f"intercept_init has shape {b.shape}, but this problem needs {start.intercept.shape}.")
        return Params(start.coef if coef is None else coef, b)
