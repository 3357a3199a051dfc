"""Support vector classification for all values of C."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from tenfold.arrays import Array, Floats, Integers
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.parameters import Constraints, array_like, check_parameters, choice, integer, nothing, real
from tenfold.estimators.svm.kernel_classification import CLASSES, Classes, KernelClassifier
from tenfold.estimators.svm.kernel_selection import check_penalties
from tenfold.estimators.svm.registrations import MACHINES
from tenfold.estimators.validation import restore_on_error
from tenfold.plans.kernel_svm import FittedMachine, fit_path


class SVCPath(KernelClassifier):
    """Support vector classification with kernels for all values of C, on one set of kernel rows.

    Minimises ``||w||^2 / 2 + sum_i C_i max(0, 1 - y_i (f_i + b))`` over w in the space of the kernel, and b, for each
    pair of classes and each C of a grid in ascending order, each from the last; C_i is C times the weights of the
    sample and of its class. Methods with X predict
    with `C_`, those with "path" in their names with every C.

    Parameters
    ----------
    Cs : int or array-like of shape (n_cs,), default=10
        The values of C, or how many are taken from 0.01 to 1000, evenly in their logarithms.
    C : float, default=None
        The C that `predict` and `decision_function` use, which is added to `Cs`; None is the largest of these.
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
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the formula, or its square: C sum s_i xi_i^2, for which no coefficient has an upper bound.
    class_weight : dict or "balanced", default=None
        Factors of C of the classes; "balanced" by the inverse of their numbers of samples.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, libsvm's: how much the value that may rise most exceeds the
        value that may fall most. The last fit goes on until the certificate is ok, too.
    shrinking : bool, default=True
        Accepted for compatibility.
    cache_size : float, default=200
        Megabytes of kernel values that are kept.
    verbose : bool, default=False
        Accepted for compatibility.
    max_iter : int, default=-1
        Limit of the pairs of variables that are moved, in each machine of a C; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Values of `decision_function` with more than two classes: the votes of each class with a tie-breaking part, or
        the values of all pairs. Two classes have one value.
    break_ties : bool, default=False
        Whether ties of votes are broken by `decision_function` ("ovr"), and not by the order of the classes.
    time_limit : float, default=None
        Seconds after which no further step is begun, of all values of C together.

    Attributes
    ----------
    Cs_ : ndarray of shape (n_cs,)
        The values of C, ascending.
    C_ : float
        The C of `dual_coef_` and `intercept_`.
    dual_coef_path_ : ndarray of shape (n_cs, n_classes - 1, n_support)
        The coefficients for each C, in the order of `dual_coef_`.
    intercept_path_ : ndarray of shape (n_cs, n_classes * (n_classes - 1) / 2)
        The intercepts for each C.
    support_counts_path_ : ndarray of shape (n_cs, 3)
        Support vectors between their bounds, at the bound, and at the bound and beyond the margin by more than one, for
        each C.
    gap_path_ : ndarray of shape (n_cs,)
        The value of the certificate of each C by its scale.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        The factors of the bounds of the classes.
    support_ : ndarray of shape (n_support,)
        Numbers of the samples that are support vectors for some C, within those of positive weight, sorted by class.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        These samples; empty where the kernel is a matrix or a function.
    n_support_ : ndarray of shape (n_classes,)
        Their number of each class.
    dual_coef_ : ndarray or CSR of shape (n_classes - 1, n_support)
        Coefficients for `C_`: of the pair i < j of classes, those of class i are in row j - 1 and those of class j in
        row i, positive for class i; of two classes the second is positive. Zero for samples that are support vectors
        for another C alone.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features for `C_`; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts for `C_`.
    support_counts_ : ndarray of shape (3,)
        Those of `support_counts_path_` for `C_`.
    fit_status_ : int
        1 where `max_iter` ended the fit for `C_`, otherwise 0.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Pairs of variables that were moved for all values of C, of each machine.
    shape_fit_ : tuple of int
        The shape of X.
    certificate_ : Certificate
        Kind gap: no other weights and intercept have an objective that is smaller by more; where the kernel is not
        positive semidefinite kind stationarity. That of `C_` where those of all values of C are ok, otherwise one that
        is not.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step for `C_`, of the longest machine.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Decomposition with the kernel rows and the coefficients of the last C, and a certificate for each C: mostly two
    thirds to nine tenths of the time of separate fits, most of it for the largest C. Runs on arrays and sparse
    matrices. Seeger, 9.2; Rosasco, 9.4.
    Hastie, Rosset, Tibshirani and Zhu, *The entire regularization path for the support vector machine* (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SVCPath
    >>> X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    >>> model = SVCPath([0.1, 1.0, 10.0], gamma=0.5).fit(X, [0, 1, 1, 0])
    >>> model.dual_coef_path_[:, 0, 3].round(4).tolist()
    [0.1, 1.0, 1.3375]
    >>> model.predict_path([[-0.8, -0.9]]).ravel().tolist(), model.certificate_.ok
    ([0, 0, 0], True)
    """

    _registration: ClassVar = MACHINES["SVCPath"]
    _constraints: ClassVar[Constraints] = {
        **{name: checks for name, checks in CLASSES.items() if name != "random_state"},
        "Cs": (integer(1), array_like()),
        "C": (nothing(), real(0.0, closed="neither")),
        "loss": (choice("hinge", "squared_hinge"),),
    }

    Cs: Any
    Cs_: Floats
    C: float | None  # type: ignore[assignment]
    C_: float
    dual_coef_path_: Floats
    intercept_path_: Floats
    support_counts_path_: Integers
    gap_path_: Floats

    def __init__(
        self,
        Cs: Any = 10,
        *,
        C: float | None = None,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        loss: str = "hinge",
        class_weight: Any = None,
        tol: float = 1e-3,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        time_limit: float | None = None,
    ) -> None:
        self.Cs = Cs
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), or their kernel matrix (n, n), classes y (n,) and optional `sample_weight` (n,)."""
        check_parameters(self, self._constraints)
        data = self._read_classes(X, y, sample_weight)
        Cs = check_penalties(self.Cs)
        self.C_ = float(Cs[-1] if self.C is None else self.C)
        self.Cs_ = np.union1d(Cs, [self.C_])
        factor = self._factors(data)[data.index]
        fits = fit_path(
            self._samples(data.X, data.index),
            data.number[data.index],
            [C * factor for C in self.Cs_],
            data.count,
            self._settings(data.X, data.y),
            self._options(data.count),
        )
        self._store_path(fits, data)
        return self

    def _store_path(self, fits: list[FittedMachine], data: Classes) -> None:
        union = np.unique(np.concatenate([one.support for one in fits]))
        union = union[np.argsort(data.number[data.index][union], kind="stable")]
        place = np.empty(len(data.index), dtype=np.intp)
        place[union] = np.arange(len(union))
        path = np.zeros((len(fits), data.count - 1, len(union)))
        for one, coef in zip(fits, path, strict=True):
            coef[:, place[one.support]] = one.coef
        self.dual_coef_path_, self.intercept_path_ = path, np.array([one.intercept for one in fits])
        self.support_counts_path_ = np.array([one.counts for one in fits], dtype=np.int64)
        self.gap_path_ = np.array([one.certificate.value / one.certificate.scale for one in fits])
        chosen = int(np.searchsorted(self.Cs_, self.C_))
        bad = [one.certificate for one in fits if not one.certificate.ok]
        certificate = bad[0] if bad else fits[chosen].certificate
        fitted = replace(fits[chosen], support=union, coef=path[chosen].copy(), certificate=certificate)
        self._store_classes(fitted, data)
        self.n_iter_ = np.sum([one.steps for one in fits], axis=0).astype(np.int32)

    def decision_path(self, X: Any) -> Floats:
        """The values of `decision_function` for samples X and each C, (n_cs, n) or (n_cs, n, columns)."""
        return np.stack([self._decide(values) for values in self._values_of_path(X)])

    def predict_path(self, X: Any) -> Array:
        """The classes of samples X for each C, (n_cs, n)."""
        return np.stack([self._label(values) for values in self._values_of_path(X)])

    def _values_of_path(self, X: Any) -> list[Floats]:
        X = self._validate_for_predict(X)
        return [self._values_by(X, coef, b) for coef, b in zip(self.dual_coef_path_, self.intercept_path_, strict=True)]

    @property
    def _penalty(self) -> float:
        return self.C_

    @property
    def _has_probabilities(self) -> bool:
        return False
