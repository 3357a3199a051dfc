"""Gaussian process classification."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Array, Floats
from tenfold.estimators.class_labels import encode_labels
from tenfold.estimators.gaussian_process.binary import BinaryLaplace, BinaryProblems, list_pairs
from tenfold.estimators.gaussian_process.inputs import (
    HERE,
    INSTEAD,
    check_matrix_options,
    kernel_object,
    validate_queries,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    function,
    integer,
    nothing,
    random_state,
)
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import Check, labels, number, whole
from tenfold.estimators.validation import read_strings, restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Constant, Gaussian, Product
from tenfold.machine import run_concurrently
from tenfold.plans.gaussian_process import MATRICES, require_matrices
from tenfold.plans.gaussian_process_classes import combine

_fitted = Check("a fitted process", lambda value, _: isinstance(value, (BinaryLaplace, BinaryProblems)))


class GaussianProcessClassifier(ScoreMixin, ClassifierMixin, BaseEstimator):
    """Gaussian process classification by the Laplace approximation.

    For two classes ``f ~ GP(0, k)`` and ``P(second class | x) = 1 / (1 + exp(-f(x)))``; the posterior of f is
    approximated by a normal distribution about its mode, which minimises
    ``sum_i log(1 + exp(-y_i f_i)) + 1/2 f'K^-1 f``. The hyper-parameters that have bounds maximise the evidence of this
    approximation. Of more classes each is separated from the rest, or each pair, by a process of its own.

    Parameters
    ----------
    kernel : kernel object, default=None
        The covariance function, of `tenfold.kernels` or of ``sklearn.gaussian_process.kernels`` (whose kernels are
        evaluated by ours). None is ``1.0 * RBF(1.0)`` with fixed hyper-parameters.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How the evidence is maximised: the string, scikit-learn's name, stands for Newton's method within the bounds;
        a function ``optimizer(obj_func, initial_theta, bounds)`` minimises ``obj_func(theta, eval_gradient=True)``, the
        negative evidence and its gradient, and returns theta and the value; None keeps the hyper-parameters.
    n_restarts_optimizer : int, default=0
        Number of further searches, from hyper-parameters drawn uniformly in the logarithms within the bounds.
    max_iter_predict : int, default=100
        Limit of the steps of Newton's method for a mode; some ten are usual.
    warm_start : bool, default=False
        Accepted for compatibility: the modes of one search begin at the last one in any case, and the mode does not
        depend on where it is begun.
    copy_X_train : bool, default=True
        Whether X is copied into the model.
    random_state : int, RandomState instance or None, default=None
        Seed of the restarts.
    multi_class : {"one_vs_rest", "one_vs_one"}, default="one_vs_rest"
        The problems of more than two classes; "one_vs_one" has no probabilities.
    n_jobs : int, default=None
        Accepted for compatibility: problems are solved concurrently, threads follow `threadpoolctl` and
        OMP_NUM_THREADS.

    Attributes
    ----------
    base_estimator_ : object
        The process of two classes, with ``X_train_``, ``y_train_``, ``kernel_``, ``pi_``, ``W_sr_``, ``L_`` and
        ``log_marginal_likelihood_value_``; of more classes an object whose ``estimators_`` are these.
    kernel_ : kernel object
        The kernel with the hyper-parameters of the fit; of more classes a CompoundKernel of those of the problems.
    log_marginal_likelihood_value_ : float
        The evidence, of more classes the mean of the problems.
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    n_classes_ : int
        Number of classes.
    certificate_ : Certificate
        Kind gap: no other mode is better by more, in nats; of several problems the worst, in ``parts`` all.
        Probabilities, factor and evidence are computed again. The hyper-parameters are not judged.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Cost: for each of some ten evaluations of the evidence a few Cholesky factors and one inverse, n^3 multiplications;
    from 800 samples on, most evaluations are among few of them. Memory 6 n^2 numbers, and n^2 for each problem.
    Probabilities n^2 operations a query, in blocks. Runs on dense and sparse arrays. Rasmussen and Williams, Gaussian
    processes for machine learning (2006), chapter 3 and section 5.5.1; Seeger, section 9.4.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianProcessClassifier
    >>> from tenfold.kernels import Gaussian
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(80, 2)
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = GaussianProcessClassifier(1.0 * Gaussian()).fit(X, y)
    >>> print(model.predict([[1.0, 1.0], [-1.0, 1.0]]), model.certificate_.ok)
    ['same' 'other'] True
    """

    _registration: ClassVar = Registration(
        method="Gaussian process classification by the Laplace approximation",
        texts=("B23", "S9.4"),
        peer="sklearn.gaussian_process",
        reads=("in memory",),
        where=HERE,
        instead=INSTEAD,
        certificate=("gap",),
        judge="gaussian_process.classification",
        outputs="gaussian_process.probabilities",
        stored={
            "base_estimator_": _fitted,
            "classes_": labels("k"),
            "n_classes_": whole(2, size="k"),
            "log_marginal_likelihood_value_": number(),
        },
        board=Entry(
            "gaussian-process-classes",
            "classification",
            settings={"kernel": Product(Constant(), Gaussian())},
            fast=False,
            most_rows=2000,
            dense=True,
        ),
    )

    _constraints: ClassVar[Constraints] = {
        "kernel": (kernel_object(), nothing()),
        "optimizer": (choice("fmin_l_bfgs_b"), function(), nothing()),
        "n_restarts_optimizer": (integer(0),),
        "max_iter_predict": (integer(1),),
        "warm_start": (boolean(),),
        "copy_X_train": (boolean(),),
        "random_state": (random_state(),),
        "multi_class": (choice("one_vs_rest", "one_vs_one"),),
        "n_jobs": (integer(-(2**31)), nothing()),
    }

    base_estimator_: Any
    classes_: Array
    certificate_: Certificate

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_predict: int = 100,
        warm_start: bool = False,
        copy_X_train: bool = True,
        random_state: Any = None,
        multi_class: str = "one_vs_rest",
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_predict = max_iter_predict
        self.warm_start = warm_start
        self.copy_X_train = copy_X_train
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to samples X (n, p), or a list of objects that the kernel takes, and classes y (n,)."""
        check_parameters(self, self._constraints)
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel")
        X = read_strings(self, X)
        self._registration.check_source(type(self).__name__, X)
        X, y = validate_data(self, X, y, multi_output=False, **check_matrix_options(self.kernel))
        check_classification_targets(y)
        self.classes_, index = encode_labels(y, X)
        self.n_classes_ = len(self.classes_)
        if self.n_classes_ == 1:
            raise ValueError(
                "GaussianProcessClassifier requires 2 or more distinct classes; got 1 class (only class "
                f"{self.classes_[0]} is present)"
            )
        require_matrices(len(index), MATRICES + (0 if self.n_classes_ == 2 else self.n_classes_))
        self._solve(X, np.asarray(index))
        return self

    def _solve(self, X: Any, index: Array) -> None:
        if self.n_classes_ == 2:
            self.base_estimator_ = self._binary().fit(X, index, self.classes_)
            parts = [self.base_estimator_]
        else:
            self.base_estimator_ = BinaryProblems(self._binary(), multi_class=self.multi_class)
            problems = list_problems(index, self.n_classes_, self.multi_class)
            parts = run_concurrently(
                lambda problem: self._binary().fit(select(X, problem[0]), problem[1]),
                problems,
                entries=len(index) ** 2,
                memory=MATRICES * 8 * len(index) ** 2,
            )
            self.base_estimator_.estimators_, self.base_estimator_.classes_ = parts, self.classes_
        self.log_marginal_likelihood_value_ = float(np.mean([part.log_marginal_likelihood() for part in parts]))
        self.certificate_ = combine([part.certificate_ for part in parts])
        warn_unless_certified(self)

    def _binary(self) -> BinaryLaplace:
        return BinaryLaplace(
            self.kernel,
            optimizer=self.optimizer,
            n_restarts_optimizer=self.n_restarts_optimizer,
            max_iter_predict=self.max_iter_predict,
            warm_start=self.warm_start,
            copy_X_train=self.copy_X_train,
            random_state=self.random_state,
        )

    @property
    def kernel_(self) -> Any:
        """The kernel with the hyper-parameters of the fit."""
        if self.n_classes_ == 2:
            return self.base_estimator_.kernel_
        return CompoundKernel([model.kernel_ for model in self.base_estimator_.estimators_])

    def predict(self, X: Any) -> Array:
        """The class of each of the samples X, (m,)."""
        check_is_fitted(self)
        return np.asarray(self.base_estimator_.predict(validate_queries(self, X)))

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classes for each of the samples X, (m, n_classes)."""
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. Use one_vs_rest mode "
                "instead."
            )
        return np.asarray(self.base_estimator_.predict_proba(validate_queries(self, X)))

    def latent_mean_and_variance(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the variance of f at X, (m,) both; for two classes only."""
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for binary classification, "
                f"received {self.n_classes_} classes."
            )
        result: tuple[Floats, Floats] = self.base_estimator_.latent_mean_and_variance(validate_queries(self, X))
        return result

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """The evidence of hyper-parameters; of more than two classes the mean of the problems.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Logarithms of the hyper-parameters, of more than two classes those of one kernel for all problems or those
            of all, one after the other; None gives the evidence of the fit.
        eval_gradient : bool, default=False
            Whether also to return the gradient, for two classes; needs theta.
        clone_kernel : bool, default=True
            Whether `kernel_` is left as it is; otherwise it is set to theta.

        Returns
        -------
        float, or a tuple of float and ndarray of shape (n_kernel_params,)
            The evidence, and its gradient.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return np.float64(self.log_marginal_likelihood_value_)
        theta = np.asarray(theta, dtype=np.float64)
        if self.n_classes_ == 2:
            return self.base_estimator_.log_marginal_likelihood(theta, eval_gradient, clone_kernel)
        if eval_gradient:
            raise NotImplementedError("Gradient of log-marginal-likelihood not implemented for multi-class GPC.")
        models = self.base_estimator_.estimators_
        size, count = models[0].kernel_.n_dims, len(models)
        if theta.shape[0] not in (size, size * count):
            raise ValueError(
                f"Shape of theta must be either {size} or {size * count}. Obtained theta with shape {theta.shape[0]}."
            )
        parts = np.broadcast_to(theta.reshape(-1, size), (count, size))
        values = [
            model.log_marginal_likelihood(part, clone_kernel=clone_kernel)
            for model, part in zip(models, parts, strict=True)
        ]
        return float(np.mean(values))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def list_problems(index: Array, classes: int, multi_class: str) -> list[tuple[Any, Array]]:
    """The problems of more than two classes: the samples of each, None for all, and their targets, 0 or 1."""
    if multi_class == "one_vs_rest":
        return [(None, (index == k).astype(np.int64)) for k in range(classes)]
    result: list[tuple[Any, Array]] = []
    for i, j in list_pairs(classes):
        inside = np.flatnonzero((index == i) | (index == j))
        result.append((inside, (index[inside] == j).astype(np.int64)))
    return result


def select(X: Any, inside: Any) -> Any:
    """The samples of a problem."""
    if inside is None:
        return X
    return X[inside] if hasattr(X, "shape") else [X[i] for i in inside]
