"""Support vector machines with C and the width of the kernel chosen by cross-validation."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Bunch

from tenfold.arrays import Array, Floats
from tenfold.cross_validation.kernel_svm import ClassSearch, Penalties, TargetSearch
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import as_vector
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, nothing, real, splitter
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.svm.kernel_classification import CLASSES, Classes, KernelClassifier
from tenfold.estimators.svm.kernel_selection import CHOICE, ChoosingMachine, calibration_folds
from tenfold.estimators.svm.platt import fit_sigmoid
from tenfold.estimators.svm.registrations import MACHINES
from tenfold.estimators.svm.votes import pairs_of
from tenfold.estimators.validation import restore_on_error
from tenfold.plans.kernel_svm import Samples, Settings, fit_classes, fit_targets

UNEQUAL = (
    "The bound of cv='xi-alpha' holds for samples of equal weight: leave sample_weight and class_weight out, or give "
    "cv a number of folds."
)
REMOVED = (
    "No sample of the class {!r} has a positive weight: leave these samples out, because machines without a class "
    "cannot be scored on its samples."
)


class SVCCV(ChoosingMachine, KernelClassifier):
    """Support vector classification with C and the width of the kernel chosen by folds or by leave-one-out.

    Minimises ``||w||^2 / 2 + sum_i C_i max(0, 1 - y_i (f_i + b))`` over w in the space of the kernel, and b, for each
    pair of classes, for the C and gamma of the best score; C_i is C times the weights of the sample and of its class.
    All machines of a gamma - of every fold, pair of classes and C - read one set of kernel rows, and those of a C start
    from the last. The chosen machine is then fitted to all samples as `SVC` does, and its probabilities to the values
    of samples that were left out.

    Parameters
    ----------
    Cs : int or array-like of shape (n_cs,), default=10
        Candidates of C, or how many are taken from 0.01 to 1000, evenly in their logarithms.
    gammas : {"scale", "auto"}, float or array-like, default="scale"
        Candidates of gamma for the kernels "rbf", "poly" and "sigmoid": numbers, "scale", 1 / (n_features X.var()), or
        "auto", 1 / n_features, of all samples; where a search refits, these are of the training samples alone.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        exp(-gamma ||x - z||^2) for "rbf", (gamma x.z + coef0)^degree for "poly", tanh(gamma x.z + coef0) for "sigmoid",
        x.z for "linear"; "precomputed": X is the kernel matrix; a function of two sets of samples that returns their
        kernel matrix, or a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, of any samples. Of a
        matrix folds take rows and columns.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    cv : int, cross-validation generator, iterable, "span" or "xi-alpha", default=None
        None is five stratified folds, an int a number of them, else a splitter or pairs of training and test indices.
        Without folds, each sample is left out by itself: "span" estimates its value without it (Vapnik and Chapelle
        2000), exact where no other support vector changes its kind; "xi-alpha" scores by one minus the bound of
        Joachims (2000) on the share of errors, for samples of equal weight.
    scoring : str or callable, default=None
        None is the accuracy.
    calibrate : bool, default=True
        Whether `predict_proba` is fitted: for each pair of classes a sigmoid function of the values of samples that
        were left out, those of the choice where its folds leave out each sample once, else of five folds more.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the formula, or its square: C sum s_i xi_i^2, for which no coefficient has an upper bound.
    class_weight : dict or "balanced", default=None
        Factors of C of the classes; "balanced" by the inverse of their numbers of samples, all of them.
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
        Limit of the pairs of variables that are moved, in each machine; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Values of `decision_function` with more than two classes: the votes of each class with a tie-breaking part, or
        the values of all pairs. Two classes have one value.
    break_ties : bool, default=False
        Whether ties of votes are broken by `decision_function` ("ovr"), and not by the order of the classes.
    time_limit : float, default=None
        Seconds after which no further step is begun; candidates that were not finished are not chosen.

    Attributes
    ----------
    C_ : float
        The C of the best score; of equal scores the smallest.
    gamma_ : float
        The gamma of the best score; zero for kernels without one.
    best_score_ : float
        The score of `C_` and `gamma_`: the mean over the splits.
    Cs_ : ndarray of shape (n_cs,)
        The candidates of C, ascending.
    gammas_ : ndarray of shape (n_gammas,)
        The candidates of gamma, as numbers.
    cv_results_ : dict of ndarrays
        A row for each candidate: "param_C", "param_gamma", "mean_test_score", "std_test_score", "rank_test_score", for
        folds "split0_test_score" and so on.
    cv_method_ : str
        How the choice was made, as a sentence.
    cost_ : float
        The operations of the choice and the fit, by those of the fit to all samples alone: as many fits.
    sigmoids_ : ndarray of shape (n_classes * (n_classes - 1) / 2, 2)
        Slope A and offset B of P(class i) = 1 / (1 + exp(A u + B)) for values u of each pair i < j, positive for class
        i; only with ``calibrate=True``.
    left_out_values_ : ndarray of shape (n_samples, n_classes * (n_classes - 1) / 2)
        The values of the samples that they were fitted to.
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
        Coefficients of the support vectors: of the pair i < j of classes, those of class i are in row j - 1 and those
        of class j in row i, positive for class i; of two classes the second is positive.
    coef_ : ndarray of shape (n_classes * (n_classes - 1) / 2, n_features)
        Weights of the features; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Intercepts of the machines.
    support_counts_ : ndarray of shape (3,)
        Support vectors between their bounds, at the bound, and at the bound and beyond the margin by more than one, of
        all machines.
    fit_status_ : int
        1 where `max_iter` ended the last fit, otherwise 0.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Pairs of variables that were moved, of each machine of the last fit.
    shape_fit_ : tuple of int
        The shape of X.
    certificate_ : Certificate
        Kind gap: no other weights and intercept have an objective at `C_` and `gamma_` that is smaller by more. Where
        the kernel is not positive semidefinite: kind stationarity. The choice is the best of the stored scores, which
        are not certified.
    status_ : str
        How the last fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step of the last fit, of the longest machine.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Machines of folds stop at `tol` in single precision. For ten values of C in five folds, which are 51 fits, `cost_`
    is mostly between 10 and 30, most of it for the largest C; without folds it has m^3 for m free support vectors. Runs
    on arrays and sparse matrices, with sample weights. Seeger, 9.1-9.4 and 10.2; Rosasco, 9.6. Wu, Lin and Weng,
    *Probability estimates for multi-class classification by pairwise coupling* (2004).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SVCCV
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(120, 2)
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> model = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0]).fit(X, y)
    >>> model.C_, model.gamma_, model.certificate_.ok
    (10.0, 1.0, True)
    >>> model.predict_proba([[0.0, 0.0], [2.0, 2.0]]).argmax(axis=1).tolist()
    [0, 1]
    """

    _registration: ClassVar = MACHINES["SVCCV"]
    _constraints: ClassVar[Constraints] = {
        **{name: checks for name, checks in CLASSES.items() if name not in ("gamma", "random_state")},
        **CHOICE,
        "cv": (choice("span", "xi-alpha"), nothing(), splitter()),
        "calibrate": (boolean(),),
        "loss": (choice("hinge", "squared_hinge"),),
    }

    sigmoids_: Floats
    left_out_values_: Floats

    def __init__(
        self,
        Cs: Any = 10,
        *,
        gammas: Any = "scale",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        cv: Any = None,
        scoring: Any = None,
        calibrate: bool = True,
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
        self.gammas = gammas
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.cv = cv
        self.scoring = scoring
        self.calibrate = calibrate
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Choose and fit to samples X (n, p), or their kernel matrix (n, n), classes y (n,) and optional
        `sample_weight` (n,); further `params`, such as `groups`, go to the splitter and the scorer.
        """
        check_parameters(self, self._constraints)
        data = self._read_classes(X, y, sample_weight)
        routed = self._route_parameters(None if sample_weight is None else data.weight, params)
        if hasattr(self, "_present"):
            missing = np.setdiff1d(np.arange(len(self.classes_)), self._present)[0]
            raise ValueError(REMOVED.format(self.classes_[missing]))
        factor, options = self._factors(data), self._options(data.count)
        if self.cv == "xi-alpha" and isinstance(self.cv, str) and np.ptp(factor) > 0.0:
            raise ValueError(UNEQUAL)

        def make(samples: Samples, penalties: Penalties, settings: Settings) -> ClassSearch:
            return ClassSearch(samples, data.number, data.count, penalties, settings, options)

        y = np.asarray(self.classes_)[data.number]
        left_out, spent = self._choose(data.X, y, factor, routed, make)
        samples, settings = self._samples(data.X, data.index), self._settings(data.X, data.y)
        if self.calibrate:
            if left_out is None or not np.isfinite(left_out).all():
                whole = self._samples(data.X, np.arange(len(y)))
                search = make(whole, Penalties(np.array([self.C_]), factor), settings)
                left_out = np.empty((len(y), data.count * (data.count - 1) // 2))
                for train, test in calibration_folds(y):
                    left_out[test] = search.values(train, test)[..., 0]
                spent += search.operations
            self._calibrate(left_out, data)
        fitted = fit_classes(
            samples, data.number[data.index], self._bounds(data)[data.index], data.count, settings, options
        )
        self.cost_ = (spent + fitted.operations) / (fitted.operations or 1.0)
        self._store_classes(fitted, data)
        return self

    def _score_left_out(self, search: Any, y: Array, routed: Bunch) -> Floats:
        values, reached = search.leave_one_out()
        if self.cv == "xi-alpha":
            return np.where(np.isfinite(values).all(axis=(0, 1)), 1.0 - np.mean(reached, axis=0), np.nan)
        return self._score_values(values, y, np.arange(len(y)), routed)

    def _as_public(self, values: Floats) -> Floats:
        return -values if len(self.classes_) == 2 else values

    def _calibrate(self, values: Floats, data: Classes) -> None:
        self.left_out_values_ = np.nan_to_num(values)
        curves = []
        for t, (i, j) in enumerate(zip(*pairs_of(data.count), strict=True)):
            rows = np.flatnonzero(((data.number == i) | (data.number == j)) & (data.weight > 0.0))
            curves.append(fit_sigmoid(self.left_out_values_[rows, t], data.number[rows] == i, data.weight[rows]))
        self.sigmoids_ = np.array(curves)

    @property
    def _penalty(self) -> float:
        return self.C_

    @property
    def _has_probabilities(self) -> bool:
        return bool(self.calibrate)

    def _sigmoids(self) -> tuple[Floats, Floats]:
        return self.sigmoids_[:, 0], self.sigmoids_[:, 1]


class SVRCV(ScoreMixin, RegressorMixin, ChoosingMachine):
    """Support vector regression with C and the width of the kernel chosen by folds or by leave-one-out.

    Minimises ``||w||^2 / 2 + sum_i C_i max(0, |y_i - f_i - b| - epsilon)`` over w in the space of the kernel, and b,
    for the C and gamma of the best score; C_i is C times the weight of the sample. All machines of a gamma - of every
    fold and C - read one set of kernel rows, and those of a C start from the last. The chosen machine is then fitted to
    all samples as `SVR` does.

    Parameters
    ----------
    Cs : int or array-like of shape (n_cs,), default=10
        Candidates of C, or how many are taken from 0.01 to 1000, evenly in their logarithms.
    gammas : {"scale", "auto"}, float or array-like, default="scale"
        Candidates of gamma for the kernels "rbf", "poly" and "sigmoid": numbers, "scale", 1 / (n_features X.var()), or
        "auto", 1 / n_features, of all samples; where a search refits, these are of the training samples alone.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        exp(-gamma ||x - z||^2) for "rbf", (gamma x.z + coef0)^degree for "poly", tanh(gamma x.z + coef0) for "sigmoid",
        x.z for "linear"; "precomputed": X is the kernel matrix; a function of two sets of samples that returns their
        kernel matrix, or a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, of any samples. Of a
        matrix folds take rows and columns.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant in "poly" and "sigmoid".
    cv : int, cross-validation generator, iterable or "span", default=None
        None is five folds, an int a number of them, else a splitter or pairs of training and test indices. "span"
        leaves out each sample by itself: its value without it is exact where no other support vector changes its kind
        (Chang and Lin 2005).
    scoring : str or callable, default=None
        None is the coefficient of determination.
    epsilon : float, default=0.1
        Half width of the tube.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss of the formula, or its square: C sum s_i xi_i^2, for which no coefficient has an upper bound.
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
        Limit of the pairs of variables that are moved, in each machine; -1 for none.
    time_limit : float, default=None
        Seconds after which no further step is begun; candidates that were not finished are not chosen.

    Attributes
    ----------
    C_ : float
        The C of the best score; of equal scores the smallest.
    gamma_ : float
        The gamma of the best score; zero for kernels without one.
    best_score_ : float
        The score of `C_` and `gamma_`: the mean over the splits.
    Cs_ : ndarray of shape (n_cs,)
        The candidates of C, ascending.
    gammas_ : ndarray of shape (n_gammas,)
        The candidates of gamma, as numbers.
    cv_results_ : dict of ndarrays
        A row for each candidate: "param_C", "param_gamma", "mean_test_score", "std_test_score", "rank_test_score", for
        folds "split0_test_score" and so on.
    cv_method_ : str
        How the choice was made, as a sentence.
    cost_ : float
        The operations of the choice and the fit, by those of the fit to all samples alone: as many fits.
    support_ : ndarray of shape (n_support,)
        Numbers of the support vectors, within the samples of positive weight.
    support_vectors_ : ndarray or CSR of shape (n_support, n_features)
        The support vectors; empty where the kernel is a matrix or a function.
    n_support_ : ndarray of shape (1,)
        The number of support vectors.
    dual_coef_ : ndarray or CSR of shape (1, n_support)
        Coefficients of the support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; only with ``kernel="linear"``.
    intercept_ : ndarray of shape (1,)
        The intercept.
    support_counts_ : ndarray of shape (3,)
        Support vectors between their bounds, at the bound, and at the bound and beyond the tube by more than one.
    fit_status_ : int
        1 where `max_iter` ended the last fit, otherwise 0.
    n_iter_ : int
        Pairs of variables that were moved in the last fit.
    shape_fit_ : tuple of int
        The shape of X.
    certificate_ : Certificate
        Kind gap: no other weights and intercept have an objective at `C_` and `gamma_` that is smaller by more. Where
        the kernel is not positive semidefinite: kind stationarity. The choice is the best of the stored scores, which
        are not certified.
    status_ : str
        How the last fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step of the last fit.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    For ten values of C in five folds, which are 51 fits, `cost_` is mostly between 10 and 30, most of it for the
    largest C; with "span" it has m^3 for m free support vectors. Runs on arrays and sparse matrices, with sample
    weights. Welling, chapter 9; Seeger, 10.2. Chang and Lin, *Leave-one-out bounds for support vector regression model
    selection* (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SVRCV
    >>> rng = np.random.RandomState(0)
    >>> X = np.sort(6.0 * rng.rand(80, 1), axis=0)
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.randn(80)
    >>> model = SVRCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0], cv="span").fit(X, y)
    >>> model.C_, model.gamma_, model.certificate_.ok
    (10.0, 0.1, True)
    """

    _registration: ClassVar = MACHINES["SVRCV"]
    _constraints: ClassVar[Constraints] = {
        **CHOICE,
        "cv": (choice("span"), nothing(), splitter()),
        "epsilon": (real(0.0),),
        "loss": (choice("epsilon_insensitive", "squared_epsilon_insensitive"),),
    }

    def __init__(
        self,
        Cs: Any = 10,
        *,
        gammas: Any = "scale",
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        cv: Any = None,
        scoring: Any = None,
        epsilon: float = 0.1,
        loss: str = "epsilon_insensitive",
        tol: float = 1e-3,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.cv = cv
        self.scoring = scoring
        self.epsilon = epsilon
        self.loss = loss
        self.tol = tol
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Choose and fit to samples X (n, p), or their kernel matrix (n, n), targets y (n,) and optional
        `sample_weight` (n,); further `params`, such as `groups`, go to the splitter and the scorer.
        """
        check_parameters(self, self._constraints)
        X, y = self._read(X, y, numeric=True)
        y = np.ascontiguousarray(as_vector(y), dtype=np.float64)
        positive, index = self._weights(sample_weight, len(y))
        weight = np.zeros(len(y))
        weight[index] = positive
        routed = self._route_parameters(None if sample_weight is None else weight, params)
        squared = self.loss == "squared_epsilon_insensitive"

        def make(samples: Samples, penalties: Penalties, settings: Settings) -> TargetSearch:
            return TargetSearch(samples, y, float(self.epsilon), penalties, settings, squared)

        _, spent = self._choose(X, y, weight, routed, make)
        samples, settings = self._samples(X, index), self._settings(X, y)
        fitted = fit_targets(
            samples, y[index], self.C_ * positive, settings, epsilon=float(self.epsilon), squared=squared
        )
        self.n_iter_ = int(fitted.steps[0])
        self.cost_ = (spent + fitted.operations) / (fitted.operations or 1.0)
        self._store(fitted, X, index)
        return self

    def _score_left_out(self, search: Any, y: Array, routed: Bunch) -> Floats:
        return self._score_values(search.leave_one_out(), y, np.arange(len(y)), routed)

    def predict(self, X: Any) -> Floats:
        """The values at samples X, (n,)."""
        return self._value(X)
