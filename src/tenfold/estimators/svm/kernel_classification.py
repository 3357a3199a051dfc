"""Support vector classification with kernels."""

import itertools
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import as_vector, encode_labels
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    instance,
    nothing,
    random_state,
    real,
    unset,
)
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.svm.kernel_model import COMMON, KernelMachine
from tenfold.estimators.svm.platt import couple, fit_sigmoid, pair_probabilities
from tenfold.estimators.svm.registrations import MACHINES
from tenfold.estimators.svm.votes import classify_pairs, one_against_rest, pairs_of
from tenfold.estimators.validation import restore_on_error
from tenfold.plans.kernel_svm import ClassOptions, FittedMachine, cross_values, fit_classes

DEPRECATED = (
    "The `probability` parameter is deprecated. Use `CalibratedClassifierCV({0}(), ensemble=False)` instead of "
    "`{0}(probability=True)`"
)
NO_VOTE = -1.0  # below the votes of every class that has a machine
CLASSES: Constraints = {
    **COMMON,
    "class_weight": (instance(dict), choice("balanced"), nothing()),
    "decision_function_shape": (choice("ovr", "ovo"),),
    "break_ties": (boolean(),),
    "random_state": (random_state(),),
}


@dataclass(frozen=True)
class Classes:
    """What is fitted: weight (n,) of the samples, `index` those of positive weight, number (n,) of their classes within
    the `count` that have machines, -1 for others.
    """

    X: Any
    y: Array
    weight: Floats
    index: Integers
    number: Integers
    count: int


class KernelClassifier(ScoreMixin, ClassifierMixin, KernelMachine):
    """Machines for all pairs of classes, and their votes."""

    C: float
    classes_: Array
    class_weight_: Floats

    def _read_classes(self, X: Any, y: Any, sample_weight: Any) -> Classes:
        """Checks the samples, their classes and weights, and stores what they are."""
        X, y = self._read(X, y, numeric=False)
        self.classes_, known = encode_labels(as_vector(y), np.empty((0, 0)))
        self.class_weight_ = np.asarray(
            compute_class_weight(self.class_weight, classes=self.classes_, y=y),
            dtype=np.float64,
        )
        if np.any(self.class_weight_ < 0.0):
            raise ValueError(f"class_weight must not be negative; it is {self.class_weight_.tolist()}.")
        count = len(self.classes_)
        if count < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {count} class")
        known = np.asarray(known)
        positive, index = self._weights(sample_weight, len(y))
        weight = np.zeros(len(y))
        weight[index] = positive
        number = self._number_present(known, index)
        data = Classes(X, y, weight, index, number, int(np.max(number)) + 1)
        self._check_classes(data)
        return data

    def _options(self, count: int) -> ClassOptions:
        return ClassOptions(
            getattr(self, "nu", None),
            getattr(self, "loss", "hinge") == "squared_hinge",
            len(self.classes_) - count,
            bool(self.break_ties),
        )

    def _factors(self, data: Classes) -> Floats:
        """The weights (n,) of the samples times those of their classes."""
        return self.class_weight_[self._classes_present][np.maximum(data.number, 0)] * data.weight

    def _bounds(self, data: Classes) -> Floats:
        """C times the weights (n,) of the samples and of their classes; none is infinite times zero."""
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(self._penalty * self._factors(data), nan=0.0, posinf=np.inf)

    @property
    def _penalty(self) -> float:
        return float(self.C)

    def _store_classes(self, fitted: FittedMachine, data: Classes) -> None:
        self._n_support = np.bincount(data.number[data.index][fitted.support], minlength=data.count).astype(np.int32)
        self.n_iter_ = fitted.steps
        self._store(fitted, data.X, data.index)

    def _check_classes(self, data: Classes) -> None:
        """Raise where one class alone has samples of positive weight."""
        if not np.any(data.number[data.index]):
            raise ValueError("Invalid input - all samples with positive weights belong to the same class.")

    def _number_present(self, known: Integers, index: Integers) -> Integers:
        """Numbers (n,) of classes within those that have samples of positive weight, which alone have machines; -1 for
        samples of others.
        """
        present = np.unique(known[index])
        self.__dict__.pop("_present", None)
        if len(present) == len(self.classes_):
            return known
        self._present = present
        place = np.full(len(self.classes_), -1)
        place[present] = np.arange(len(present))
        return place[known]

    @property
    def _classes_present(self) -> Integers:
        """The numbers of the classes that have machines."""
        everything: Integers = np.arange(len(self.classes_))
        return getattr(self, "_present", everything)

    def _among_all(self, values: Floats, other: float) -> Floats:
        """Values (n, classes with machines) as (n, n_classes), `other` for classes without a machine."""
        present = self._classes_present
        if len(present) == len(self.classes_):
            return values
        wide = np.full((len(values), len(self.classes_)), other)
        wide[:, present] = values
        return wide

    @property
    def n_support_(self) -> Any:
        """The number of support vectors of each class."""
        if not hasattr(self, "_n_support"):
            raise AttributeError("n_support_ is known after fit")
        return self._n_support

    def _pair_values(self, X: Any) -> Floats:
        """The values of all pairs of classes, (n, pairs), positive for the first; of two classes for the second."""
        X = self._validate_for_predict(X)
        coef, count = self._coefficients(), len(self._classes_present)
        if len(self.classes_) == 2:
            return self._products(X, slice(None), coef.T) + self.intercept_
        first, second = pairs_of(count)
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        values = np.tile(self.intercept_, (X.shape[0] if hasattr(X, "shape") else len(X), 1))
        for k in range(count):
            part = slice(int(ends[k]), int(ends[k + 1]))
            products = self._products(X, part, coef[:, part].T)
            values[:, first == k] += products[:, second[first == k] - 1]
            values[:, second == k] += products[:, first[second == k]]
        return values

    def decision_function(self, X: Any) -> Floats:
        """Values for samples X: (n,) of two classes, positive for the second; otherwise as `decision_function_shape`
        says, (n, n_classes), or (n, n_classes * (n_classes - 1) / 2) of the pairs i < j, positive for class i.
        Classes whose samples have weight zero have -1 in the one, and no pairs in the other.
        """
        return self._decide(self._pair_values(X))

    def _decide(self, values: Floats) -> Floats:
        if len(self.classes_) == 2:
            return values[:, 0]
        return self._against_rest(values) if self.decision_function_shape == "ovr" else values

    def _against_rest(self, values: Floats) -> Floats:
        return self._among_all(one_against_rest(values, len(self._classes_present)), NO_VOTE)

    def predict(self, X: Any) -> Array:
        """The classes of samples X, (n,): those with the most votes of the pairs, and of equal ones the first, or with
        `break_ties` that with the largest value.
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._label(self._pair_values(X))

    def _label(self, values: Floats) -> Array:
        present = self._classes_present
        if len(self.classes_) == 2:
            number = (values[:, 0] >= 0.0).astype(np.intp)
        elif self.break_ties:
            number = np.argmax(self._against_rest(values), axis=1)
        else:
            number = present[classify_pairs(values, len(present))]
        return self.classes_[number]

    @property
    def _has_probabilities(self) -> bool:
        raise NotImplementedError

    def _check_probability(self) -> bool:
        if not self._has_probabilities:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_check_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes for samples X, (n, n_classes), fitted to the values of five folds; only with
        ``probability=True``. Their largest need not be the predicted class.
        """
        values = self._pair_values(X)
        values = -values if len(self.classes_) == 2 else values
        pairs = pair_probabilities(values, *self._sigmoids())
        return self._among_all(couple(pairs, len(self._classes_present)), 0.0)

    def _sigmoids(self) -> tuple[Floats, Floats]:
        """The slopes and offsets (pairs,) of the sigmoid functions."""
        raise NotImplementedError

    @available_if(_check_probability)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba` for samples X."""
        with np.errstate(divide="ignore"):  # classes without a machine
            return np.log(self.predict_proba(X))

    def _primal(self) -> Array:
        coef, vectors, count = self.dual_coef_, self.support_vectors_, len(self._classes_present)
        if count == 2:
            return coef @ vectors
        first, second = pairs_of(count)
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        part = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        rows = [
            coef[[j - 1], part[i]] @ vectors[part[i]] + coef[[i], part[j]] @ vectors[part[j]]
            for i, j in zip(first, second, strict=True)
        ]
        return type(rows[0])(np.vstack([row.toarray() for row in rows])) if is_sparse(rows[0]) else np.vstack(rows)


class FoldedClassifier(KernelClassifier):
    """The deprecated parameter `probability`, which fits probabilities by folds of each pair."""

    probability: Any
    random_state: Any
    _probA: Floats
    _probB: Floats

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        check_parameters(self, self._constraints)
        data = self._read_classes(X, y, sample_weight)
        if self.probability != "deprecated":
            warnings.warn(DEPRECATED.format(type(self).__name__), FutureWarning, stacklevel=5)
        samples, settings = self._samples(data.X, data.index), self._settings(data.X, data.y)
        number, bounds, count = data.number[data.index], self._bounds(data)[data.index], data.count
        options = self._options(count)
        fitted = fit_classes(samples, number, bounds, count, settings, options)
        for name in ("_probA", "_probB"):
            self.__dict__.pop(name, None)
        if self._has_probabilities:
            random = check_random_state(self.random_state)
            cross = cross_values(samples, number, bounds, count, settings, random, options)
            self._probA, self._probB = np.array([fit_sigmoid(values, first) for values, first in cross]).T
        self._store_classes(fitted, data)
        return self

    @property
    def _has_probabilities(self) -> bool:
        return self.probability != "deprecated" and bool(self.probability)

    def _sigmoids(self) -> tuple[Floats, Floats]:
        """The slopes and offsets (pairs,) of the sigmoid functions."""
        if not hasattr(self, "_probA"):
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return self._probA, self._probB

    def _read_sigmoid(self, name: str) -> Floats:
        if not hasattr(self, "_probA"):
            raise AttributeError(f"{name} is known after fit with probability=True")
        warnings.warn(f"{name} is deprecated, as is `probability=True`.", FutureWarning, stacklevel=3)
        return self._probA if name == "probA_" else self._probB

    @property
    def probA_(self) -> Floats:
        """Slopes of the sigmoid functions of all pairs of classes; deprecated."""
        return self._read_sigmoid("probA_")

    @property
    def probB_(self) -> Floats:
        """Offsets of the sigmoid functions of all pairs of classes; deprecated."""
        return self._read_sigmoid("probB_")


class SVC(FoldedClassifier):
    """Support vector classification with kernels.

    Two classes, y in {-1, +1}: minimises over w in the space of the kernel, and b,

        ||w||^2 / 2 + sum_i C_i max(0, 1 - y_i (f_i + b)),    f_i = w.phi(x_i) = sum_j beta_j k(x_j, x_i),

    C_i = C times the weights of the sample and of its class. More classes: one machine for each pair, which votes. C
    infinite is the hard margin: the widest that separates the classes, or the proof that none does.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, inverse to the strength of the penalty; in the units of the texts 1 / (2 lambda n).
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        exp(-gamma ||x - z||^2) for "rbf", (gamma x.z + coef0)^degree for "poly", tanh(gamma x.z + coef0) for "sigmoid",
        x.z for "linear"; "precomputed": X is the kernel matrix; a function of two sets of samples that returns their
        kernel matrix, or a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, of any samples.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features X.var()), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    shrinking : bool, default=True
        Accepted for compatibility: the working sets do without.
    probability : bool, default="deprecated"
        Whether `predict_proba` is fitted by five folds; deprecated, as in scikit-learn: use CalibratedClassifierCV.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in libsvm: how much the value that may rise most exceeds the
        value that may fall most. The fit goes on until the certificate is ok, too, which mostly asks for more.
    cache_size : float, default=200
        Megabytes of kernel values that are kept.
    class_weight : dict or "balanced", default=None
        Factors of C of the classes; "balanced" by the inverse of their numbers of samples.
    verbose : bool, default=False
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    max_iter : int, default=-1
        Limit of the pairs of variables that are moved, in each machine; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Values of `decision_function` with more than two classes: the votes of each class with a tie-breaking part, or
        the values of all pairs. Two classes have one value.
    break_ties : bool, default=False
        Whether ties of votes are broken by `decision_function` ("ovr"), and not by the order of the classes.
    random_state : int, RandomState or None, default=None
        Seed of the folds of ``probability=True``; the fit itself draws nothing.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the formula, or its square: C sum s_i xi_i^2, for which no coefficient has an upper bound.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        The factors of the bounds of the classes.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, within the samples of positive weight, sorted by class.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The support vectors; empty where the kernel is a matrix or a function.
    n_support_ : ndarray of shape (n_classes,)
        The number of support vectors of each class.
    dual_coef_ : ndarray or CSR of shape (n_classes - 1, n_support)
        Coefficients of the support vectors: of the pair i < j of classes, those of class i
        are in row j - 1 and those of class j in row i, positive for class i;
        of two classes the second is positive.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts of the machines, the mean over the support vectors that are between their bounds.
    support_counts_ : ndarray of shape (3,)
        Support vectors between their bounds (on the margin), at the bound, and at the bound and beyond the margin by
        more than one (outliers), of all machines.
    fit_status_ : int
        1 where `max_iter` ended the fit, otherwise 0.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Pairs of variables that were moved, of each machine.
    shape_fit_ : tuple of int
        The shape of X.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Slopes and offsets of the sigmoid functions of `predict_proba`; only with ``probability=True``, and deprecated.
    certificate_ : Certificate
        Kind gap: no other weights and intercept have an objective that is smaller by more; of several
        classes the worst machine, `parts` has all. Its `decided` says
        for which samples no exact optimum predicts otherwise. Where the kernel is not positive semidefinite there is no
        gap: kind stationarity, how far the optimality conditions are violated.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step, of the longest machine.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Decomposition: working sets of 512 variables, half of them kept from the last, whose kernel rows are evaluated by
    matrix products in single precision and cached within `cache_size`; sequential minimal optimisation with
    second-order selection inside; gradients checked in double precision before the end. Cost: about n_samples x
    n_support kernel values, in memory of `cache_size` and twice the samples. Runs on arrays and sparse matrices.
    Seeger, 9.1-9.3; Rosasco, 9.2-9.6; Welling, 8 and 9; Cookbook, 21. Fan, Chen and Lin, *Working set selection using
    second order information for training support vector machines* (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SVC
    >>> X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    >>> model = SVC(C=10.0, gamma=0.5).fit(X, [0, 1, 1, 0])
    >>> model.predict([[-0.8, -0.9], [-0.8, 0.9]])
    array([0, 1])
    >>> model.dual_coef_.round(4).tolist()
    [[-1.3375, -1.3375, 1.3375, 1.3375]]
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = MACHINES["SVC"]
    _constraints: ClassVar[Constraints] = {
        **CLASSES,
        "C": (real(0.0, closed="right"),),
        "probability": (boolean(), unset("deprecated")),
        "loss": (choice("hinge", "squared_hinge"),),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        loss: str = "hinge",
        time_limit: float | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.loss = loss
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), or their kernel matrix (n, n), classes y (n,) and optional `sample_weight` (n,)."""
        return self._fit(X, y, sample_weight)


class NuSVC(FoldedClassifier):
    """Support vector classification with kernels, where nu bounds the share of errors.

    Two classes, y in {-1, +1}: minimises over w in the space of the kernel, b and rho >= 0

        ||w||^2 / 2 - nu rho sum_i s_i + sum_i s_i max(0, rho - y_i (f_i + b)),    f_i = w.phi(x_i),

    s_i the weights of the samples, and divides w and b by rho. At most a share nu of the samples is on the wrong side
    of the margin, and at least that share are support vectors. More classes: one machine for each pair, which votes.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of margin errors, lower bound on that of support vectors, in (0, 1].
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        exp(-gamma ||x - z||^2) for "rbf", (gamma x.z + coef0)^degree for "poly", tanh(gamma x.z + coef0) for "sigmoid",
        x.z for "linear"; "precomputed": X is the kernel matrix; a function of two sets of samples that returns their
        kernel matrix, or a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, of any samples.
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (n_features X.var()), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    shrinking : bool, default=True
        Accepted for compatibility: the working sets do without.
    probability : bool, default="deprecated"
        Whether `predict_proba` is fitted by five folds; deprecated, as in scikit-learn: use CalibratedClassifierCV.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in libsvm: how much the value that may rise most exceeds the
        value that may fall most. The fit goes on until the certificate is ok, too, which mostly asks for more.
    cache_size : float, default=200
        Megabytes of kernel values that are kept.
    class_weight : dict or "balanced", default=None
        Not used by the machines, as in scikit-learn.
    verbose : bool, default=False
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    max_iter : int, default=-1
        Limit of the pairs of variables that are moved, in each machine; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Values of `decision_function` with more than two classes: the votes of each class with a tie-breaking part, or
        the values of all pairs. Two classes have one value.
    break_ties : bool, default=False
        Whether ties of votes are broken by `decision_function` ("ovr"), and not by the order of the classes.
    random_state : int, RandomState or None, default=None
        Seed of the folds of ``probability=True``; the fit itself draws nothing.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        The factors of the bounds of the classes.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, within the samples of positive weight, sorted by class.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The support vectors; empty where the kernel is a matrix or a function.
    n_support_ : ndarray of shape (n_classes,)
        The number of support vectors of each class.
    dual_coef_ : ndarray or CSR of shape (n_classes - 1, n_support)
        Coefficients of the support vectors: of the pair i < j of classes, those of class i
        are in row j - 1 and those of class j in row i, positive for class i;
        of two classes the second is positive.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts of the machines, the mean over the support vectors that are between their bounds.
    support_counts_ : ndarray of shape (3,)
        Support vectors between their bounds (on the margin), at the bound, and at the bound and beyond the margin by
        more than one (outliers), of all machines.
    fit_status_ : int
        1 where `max_iter` ended the fit, otherwise 0.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Pairs of variables that were moved, of each machine.
    shape_fit_ : tuple of int
        The shape of X.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Slopes and offsets of the sigmoid functions of `predict_proba`; only with ``probability=True``, and deprecated.
    certificate_ : Certificate
        Kind gap: no other weights and intercept have an objective that is smaller by more; of several
        classes the worst machine, `parts` has all. Its `decided` says
        for which samples no exact optimum predicts otherwise. Where the kernel is not positive semidefinite there is no
        gap: kind stationarity, how far the optimality conditions are violated.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step, of the longest machine.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Decomposition: working sets of 512 variables, half of them kept from the last, whose kernel rows are evaluated by
    matrix products in single precision and cached within `cache_size`; sequential minimal optimisation with
    second-order selection inside; gradients checked in double precision before the end. Cost: about n_samples x
    n_support kernel values, in memory of `cache_size` and twice the samples. Runs on arrays and sparse matrices.
    Seeger, ch. 9; Welling, ch. 8. Schoelkopf et al., *New support vector algorithms* (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NuSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = NuSVC().fit(X, [1, 1, 2, 2])
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = MACHINES["NuSVC"]
    _constraints: ClassVar[Constraints] = {
        **CLASSES,
        "nu": (real(0.0, 1.0, closed="right"),),
        "probability": (boolean(), unset("deprecated")),
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), or their kernel matrix (n, n), classes y (n,) and optional `sample_weight` (n,)."""
        return self._fit(X, y, sample_weight)

    def _bounds(self, data: Classes) -> Floats:
        return data.weight

    def _check_classes(self, data: Classes) -> None:
        if not np.any(data.number[data.index]):
            raise ValueError("specified nu is infeasible: all samples with positive weights belong to the same class.")
        sums = np.sort(np.bincount(data.number[data.index], weights=data.weight[data.index]))
        # of the pairs the smallest and the largest class bound nu most
        if float(self.nu) * (sums[0] + sums[-1]) / 2.0 > sums[0]:
            most = 2.0 * sums[0] / (sums[0] + sums[-1])
            raise ValueError(f"specified nu is infeasible: nu={self.nu}, and these classes allow at most {most:.6g}")
