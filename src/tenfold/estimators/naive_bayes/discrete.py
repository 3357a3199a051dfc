"""Naive Bayes for counts and binary features: multinomial, complement, Bernoulli."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats
from tenfold.data import Rows
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.naive_bayes.learned import NaiveBayes, resolve_priors
from tenfold.estimators.parameters import Constraints, array_like, boolean, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.judge.certificate import Certificate
from tenfold.plans import naive_bayes
from tenfold.stats.class_totals import ClassSums

MIN_ALPHA = 1e-10  # scikit-learn's: smaller ones become this unless force_alpha


class DiscreteNB(NaiveBayes):
    """Base of multinomial, complement and Bernoulli naive Bayes: smoothing and priors."""

    _constraints: ClassVar[Constraints] = {
        "alpha": (real(0), array_like()),
        "force_alpha": (boolean(),),
        "fit_prior": (boolean(),),
        "class_prior": (nothing(), array_like()),
        "threshold": (real(-np.inf, np.inf, "both"),),
    }

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any
    feature_count_: Floats
    feature_log_prob_: Floats
    class_count_: Floats
    class_log_prior_: Floats

    def _threshold(self) -> float | None:
        """The threshold above which a feature is on; None where the values are used."""
        return None

    def _fold(self, rows: Rows, classes: int) -> ClassSums:
        sums = naive_bayes.fold_sums(rows, classes, self._threshold())
        if sums.low < 0.0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__} (input X).")
        return sums

    def _estimate(self, sums: ClassSums, rows: Rows | None, X: Array) -> None:
        alpha = self._smoothing()
        priors = resolve_priors(self.class_prior, self.fit_prior, len(sums.weight))
        estimates, self.certificate_ = self._fit(sums, rows, alpha, priors)
        self.class_count_, self.class_log_prior_, self.feature_count_, self.feature_log_prob_ = estimates

    def _fit(
        self, sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None
    ) -> tuple[Sequence[Floats], Certificate]:
        """Class weights, log priors, feature sums and feature log probabilities, and the certificate."""
        raise NotImplementedError

    def _smoothing(self) -> Floats:
        """alpha as an array that broadcasts over the features."""
        alpha = check_alpha(self.alpha, self.force_alpha, self.n_features_in_)
        if not self.force_alpha and np.min(self.alpha) < MIN_ALPHA:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {MIN_ALPHA:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged.",
                stacklevel=5,
            )
        return alpha

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


def check_alpha(alpha: Any, force: bool, features: int) -> Floats:
    """alpha as an array that broadcasts over the features, at least `MIN_ALPHA` unless forced."""
    if isinstance(alpha, Real):
        values = np.array([float(alpha)])
    else:
        values = np.asarray(alpha, dtype=np.float64)
        if values.shape != (features,):
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {values.shape[0] if values.ndim else 1} elements instead of {features}."
            )
        if np.min(values) < 0:
            raise ValueError("All values in alpha must be greater than 0.")
    return values if force or np.min(values) >= MIN_ALPHA else np.maximum(values, MIN_ALPHA)


class MultinomialNB(DiscreteNB):
    """Naive Bayes for counts, such as word counts.

    ``p(x | c)`` is proportional to ``prod_j p_cj^x_j`` with ``p_cj = (N_cj + alpha_j) / sum_l (N_cl + alpha_l)``, where
    N_cj is the weighted sum of feature j over the samples of class c: the mode of a Dirichlet posterior with parameters
    alpha + 1 (alpha = 1 is Laplace's rule, alpha = 0 maximum likelihood).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        The pseudo-count that is added to each count.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; otherwise it is raised to 1e-10.
    fit_prior : bool, default=True
        Whether priors are the class frequencies; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Fixed priors; None estimates them.
    threshold : float, default=0.0
        With two classes, the second is predicted where its log odds exceed this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the samples of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the priors of the classes.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Weighted sums of the features in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Logarithms of the smoothed probabilities p_cj.
    certificate_ : Certificate
        Kind exact: the counts by another formula, as products with the class indicators.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples and one to judge; memory n_classes x n_features. Runs on dense and sparse arrays, files,
    devices, and Dask collections; `partial_fit` gives what `fit` on all samples gives. Where a probability is zero
    (alpha = 0), samples where the feature is zero are not affected.
    Seeger, sections 6.5 and 7.3; Welling, ch. 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultinomialNB
    >>> X = np.array([[2, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> model = MultinomialNB().fit(X, ["sport", "sport", "film"])
    >>> model.predict([[0, 0, 1]])
    array(['film'], dtype='<U5')
    >>> np.exp(model.feature_log_prob_).round(3)
    array([[0.143, 0.286, 0.571],
           [0.571, 0.286, 0.143]])
    """

    _propagates_nonfinite: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Multinomial naive Bayes",
        texts=("S6.5", "W6"),
        peer="sklearn.naive_bayes",
        reads=("one pass",),
        certificate=("exact",),
        judge="naive_bayes.multinomial",
        outputs="class_scores.multinomial",
    )

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        threshold: float = 0.0,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.threshold = threshold

    def _fit(
        self, sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None
    ) -> tuple[Sequence[Floats], Certificate]:
        return naive_bayes.fit_multinomial(sums, rows, alpha, priors)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return naive_bayes.LinearScores.of_present(self.feature_log_prob_, self.class_log_prior_)

    def sample(self, n_samples: int = 1, length: int = 100, random_state: Any = None) -> tuple[Array, Array]:
        """Draw samples of `length` words each, (n_samples, n_features), and their classes from the model;
        `random_state` is the seed.
        """
        random = check_random_state(random_state)
        which = self._draw_classes(n_samples, random, self.class_log_prior_)
        p = np.exp(self.feature_log_prob_)
        p /= p.sum(axis=1, keepdims=True)
        X = np.array([random.multinomial(length, p[k]) for k in which], dtype=np.float64)
        return X.reshape(n_samples, -1), self.classes_[which]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class ComplementNB(DiscreteNB):
    """Complement naive Bayes: scores by the fit to all other classes; suits imbalanced classes.

    The score of class c is ``- sum_j x_j log p_j``, ``p_j = (N_j + alpha_j) / sum_l (N_l + alpha_l)`` the smoothed
    frequencies of the features in the samples that are *not* of class c; with `norm` these weights are divided by their
    sum (Rennie et al. 2003).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        The pseudo-count that is added to each count, one for all features or one for each.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; otherwise it is raised to 1e-10.
    fit_prior : bool, default=True
        Whether priors are the class frequencies; otherwise they are equal. Priors are used only where there is a
        single class.
    class_prior : array-like of shape (n_classes,), default=None
        Fixed priors, used only where there is a single class; None estimates them.
    norm : bool, default=False
        Whether weights are normalised.
    threshold : float, default=0.0
        With two classes, the second is predicted where its log odds exceed this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the samples of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the priors of the classes.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Weighted sums of the features in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        The weights ``-log p_j`` of the scores, normalised with `norm`.
    feature_all_ : ndarray of shape (n_features,)
        Weighted sums of the features over all classes.
    certificate_ : Certificate
        Kind exact: the counts by another formula, as products with the class indicators; the value is the largest
        relative difference.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and one to judge; memory n_classes x n_features. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights; `partial_fit` gives what `fit` on all samples gives.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ComplementNB
    >>> X = np.array([[2, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> ComplementNB().fit(X, [0, 0, 1]).predict([[0, 0, 1]])
    array([1])
    """

    _propagates_nonfinite: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Complement naive Bayes",
        texts=("S6.5",),
        peer="sklearn.naive_bayes",
        reads=("one pass",),
        certificate=("exact",),
        judge="naive_bayes.complement",
        outputs="class_scores.complement",
    )
    _constraints: ClassVar[Constraints] = {**DiscreteNB._constraints, "norm": (boolean(),)}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        threshold: float = 0.0,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.threshold = threshold

    def _fit(
        self, sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None
    ) -> tuple[Sequence[Floats], Certificate]:
        estimates, self.feature_all_, certificate = naive_bayes.fit_complement(sums, rows, alpha, priors, self.norm)
        return estimates, certificate

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        alone = len(self.class_count_) == 1
        return naive_bayes.LinearScores(
            self.feature_log_prob_, self.class_log_prior_ if alone else 0.0 * self.class_count_
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class BernoulliNB(DiscreteNB):
    """Naive Bayes for binary features.

    ``p(x | c) = prod_j p_cj^x_j (1 - p_cj)^(1 - x_j)`` with ``p_cj = (N_cj + alpha_j) / (N_c + 2 alpha_j)``, where N_cj
    is the weight of the samples of class c with feature j on, and N_c that of all its samples: the mode of a Beta
    posterior with parameters alpha + 1.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        The pseudo-count that is added to each count, one for all features or one for each.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; otherwise it is raised to 1e-10.
    binarize : float or None, default=0.0
        A feature is on above this; None where X is binary.
    fit_prior : bool, default=True
        Whether priors are the class frequencies; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Fixed priors; None estimates them.
    threshold : float, default=0.0
        With two classes, the second is predicted where its log odds exceed this.
    presence_only : bool, default=False
        Whether only features that are on contribute to scores, as in some texts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the samples of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the priors of the classes.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Weight of the samples of each class in which a feature is on.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Logarithms of the smoothed probabilities p_cj that a feature is on.
    certificate_ : Certificate
        Kind exact: the counts by another formula, as products with the class indicators.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and one to judge; memory n_classes x n_features. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights; `partial_fit` gives what `fit` on all samples gives.
    Cookbook, ch. 14; Seeger, section 6.5.2; Welling, ch. 6.

    Examples
    --------
    The mails of the Cookbook: which are spam, by the words Dinner, Cinema, Buy, Viagra.

    >>> import numpy as np
    >>> from tenfold import BernoulliNB
    >>> X = np.array([[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]])
    >>> model = BernoulliNB().fit(X, ["spam", "spam", "spam", "ham", "ham"])
    >>> np.exp(model.feature_log_prob_)
    array([[0.5 , 0.5 , 0.5 , 0.25],
           [0.2 , 0.2 , 0.6 , 0.6 ]])
    >>> model.predict([[1, 0, 0, 0]])
    array(['ham'], dtype='<U4')
    """

    _registration: ClassVar = Registration(
        method="Bernoulli naive Bayes",
        texts=("S6.5", "W6", "B14"),
        peer="sklearn.naive_bayes",
        reads=("one pass",),
        certificate=("exact",),
        judge="naive_bayes.bernoulli",
        outputs="class_scores.bernoulli",
        board=Entry("naive-bayes-marks", "classification", {}, {"alpha": (0.1, 1.0)}, fast=False),
    )
    _constraints: ClassVar[Constraints] = {
        **DiscreteNB._constraints,
        "binarize": (nothing(), real(-np.inf, np.inf, "neither")),
        "presence_only": (boolean(),),
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        threshold: float = 0.0,
        presence_only: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.threshold = threshold
        self.presence_only = presence_only

    def _threshold(self) -> float | None:
        return None if self.binarize is None else float(self.binarize)

    def _fold(self, rows: Rows, classes: int) -> ClassSums:
        if rows.sparse and self.binarize is not None and self.binarize < 0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
        return naive_bayes.fold_sums(rows, classes, self._threshold())

    def _fit(
        self, sums: ClassSums, rows: Rows | None, alpha: Floats, priors: Floats | None
    ) -> tuple[Sequence[Floats], Certificate]:
        return naive_bayes.fit_bernoulli(sums, rows, alpha, priors, self._threshold())

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        scores = naive_bayes.LinearScores.of_present if self.presence_only else naive_bayes.LinearScores.of_all
        return scores(self.feature_log_prob_, self.class_log_prior_, self._threshold())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draw samples of zeros and ones, (n_samples, n_features), and their classes from the model; `random_state` is
        the seed.
        """
        random = check_random_state(random_state)
        which = self._draw_classes(n_samples, random, self.class_log_prior_)
        p = np.exp(self.feature_log_prob_)[which]
        return (random.uniform(size=p.shape) < p).astype(np.float64), self.classes_[which]
