"""The Laplace approximation for two classes, of which classifiers of several are made."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from tenfold.arrays import Floats
from tenfold.estimators.gaussian_process.inputs import default_kernel, list_starts
from tenfold.judge.certificate import Certificate
from tenfold.kernels.covariance import Covariance
from tenfold.kernels.evaluation import multiply_matrices
from tenfold.plans.gaussian_process_classes import fit_two_classes
from tenfold.plans.gaussian_process_laplace import LaplaceEvidence
from tenfold.plans.gaussian_process_predictions import average_logistic, predict_variances


class BinaryLaplace(BaseEstimator):
    """Gaussian process classification of two classes, for validated samples: what `GaussianProcessClassifier` keeps for
    each of its problems, with the attributes of scikit-learn's.

    Attributes
    ----------
    X_train_, y_train_, classes_ : the samples, their targets (0 or 1) and the classes.
    kernel_ : the kernel with the hyper-parameters of the fit.
    pi_ : probabilities of the second class, (n,).
    W_sr_ : sqrt(pi (1 - pi)), (n,).
    L_ : the factor with L L' = I + W^1/2 K W^1/2.
    f_cached : the mode, (n,).
    log_marginal_likelihood_value_ : the evidence.
    certificate_ : of kind gap.
    """

    certificate_: Certificate
    pi_: Floats
    L_: Floats
    W_sr_: Floats
    y_train_: Any

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
    ) -> None:
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_predict = max_iter_predict
        self.warm_start = warm_start
        self.copy_X_train = copy_X_train
        self.random_state = random_state

    def fit(self, X: Any, y: Any, classes: Any = (0, 1)) -> Self:
        """Fit to samples X and targets y, 0 or 1 for the two classes."""
        self.kernel_ = default_kernel(fixed=True) if self.kernel is None else clone(self.kernel)
        self.X_train_ = X.copy() if self.copy_X_train and hasattr(X, "copy") else X
        self.y_train_ = np.array(y, dtype=np.int64)
        self.classes_ = np.asarray(classes)
        evidence = self._evidence()
        covariance, starts = evidence.covariance, None
        if self.optimizer is not None and len(covariance.theta):
            starts = list_starts(covariance.theta, covariance.bounds, self.n_restarts_optimizer, self.random_state)
        fitted = fit_two_classes(evidence, starts, self.optimizer if callable(self.optimizer) else None)
        if starts is not None:
            self.kernel_.theta = fitted.theta
            self.kernel_._check_bounds_params()
        mode = fitted.mode
        self.pi_, self.W_sr_, self.L_, self.f_cached = mode.probabilities, mode.root, mode.L, mode.f
        self.log_marginal_likelihood_value_ = mode.evidence
        self.certificate_ = fitted.certificate
        return self

    def _evidence(self) -> LaplaceEvidence:
        """The evidence of the samples; with warm_start from the last mode."""
        t = self.y_train_.astype(np.float64)
        pi = getattr(self, "pi_", None) if self.warm_start else None
        start = t - pi if pi is not None and pi.shape == t.shape else None
        return LaplaceEvidence(
            Covariance.of(self.kernel_, self.X_train_), self.X_train_, t, int(self.max_iter_predict), start
        )

    def decide(self, X: Any) -> Floats:
        """The mode of the function at queries, (m,)."""
        covariance = Covariance.of(self.kernel_, self.X_train_)
        return np.asarray(covariance.multiply(X, self.X_train_, self.y_train_ - self.pi_))

    def latent_mean_and_variance(self, X: Any) -> tuple[Floats, Floats]:
        """The mean and the variance of the function at queries, (m,) both."""
        covariance, dual = Covariance.of(self.kernel_, self.X_train_), (self.y_train_ - self.pi_)[:, None]
        mean, variance = predict_variances(covariance, self.X_train_, dual, self.L_, X, self.W_sr_)
        return mean[:, 0], variance

    def predict(self, X: Any) -> Any:
        """The more probable class of each query, (m,)."""
        return np.where(self.decide(X) > 0.0, self.classes_[1], self.classes_[0])

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of both classes, (m, 2)."""
        second = average_logistic(*self.latent_mean_and_variance(X))
        return np.column_stack([1.0 - second, second])

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """The evidence of hyper-parameters, None: of those of the fit; and its gradient."""
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return np.float64(self.log_marginal_likelihood_value_)
        theta, evidence = np.asarray(theta, dtype=np.float64), self._evidence()
        value, gradient = evidence.gradient(theta) if eval_gradient else (-evidence.value(theta), None)
        if not clone_kernel:
            self.kernel_.theta = theta
        return np.float64(value) if gradient is None else (np.float64(value), gradient)


class BinaryProblems(BaseEstimator):
    """The two-class problems of a classifier of K classes: one for each class against the rest, or one for each pair.

    Attributes
    ----------
    estimators_ : a `BinaryLaplace` for each problem; of pairs in the order (0, 1), (0, 2), ..., (1, 2), ...
    classes_ : the classes, (K,).
    """

    def __init__(self, estimator: Any = None, *, multi_class: str = "one_vs_rest") -> None:
        self.estimator = estimator
        self.multi_class = multi_class

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    def predict(self, X: Any) -> Any:
        """The class of the largest score of each query, (m,)."""
        scores = self.vote(X) if self.multi_class == "one_vs_one" else self._probabilities(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classes, (m, K): those of each class against the rest, divided by their sum."""
        scores = self._probabilities(X)
        total = np.sum(scores, axis=1, keepdims=True)
        return np.asarray(np.where(total > 0.0, scores / np.where(total > 0.0, total, 1.0), 1.0 / len(self.classes_)))

    def _probabilities(self, X: Any) -> Floats:
        return np.column_stack([model.predict_proba(X)[:, 1] for model in self.estimators_])

    def vote(self, X: Any) -> Floats:
        """The votes of all pairs, (m, K)."""
        votes = np.column_stack([model.decide(X) > 0.0 for model in self.estimators_])
        return count_votes(votes, self._probabilities(X), list_pairs(len(self.classes_)), len(self.classes_))


def count_votes(is_second: Any, second: Floats, pairs: list[tuple[int, int]], classes: int) -> Floats:
    """The votes of all pairs, (m, K), and within (-1/3, 1/3) the sums of their confidences; whether the second of a
    pair is chosen, and its probability, (m, pairs).
    """
    to_first, to_second = np.zeros((2, len(pairs), classes))
    for row, (i, j) in enumerate(pairs):
        to_first[row, i] = to_second[row, j] = 1.0
    won = np.asarray(is_second, dtype=np.float64)
    votes = multiply_matrices(won, to_second) + multiply_matrices(1.0 - won, to_first)
    confidence = multiply_matrices(second, to_second - to_first)
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


def list_pairs(classes: int) -> list[tuple[int, int]]:
    """All pairs of classes, in the order of their problems."""
    return [(i, j) for i in range(classes) for j in range(i + 1, classes)]
