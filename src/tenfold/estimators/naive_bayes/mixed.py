"""Naive Bayes for heterogeneous features, with missing values."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats, Integers
from tenfold.data import Rows
from tenfold.estimators.naive_bayes.learned import NaiveBayes, resolve_priors
from tenfold.estimators.parameters import Constraints, array_like, boolean, choice, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import names_of
from tenfold.plans import naive_bayes
from tenfold.stats.combined import Several

KINDS = ("gaussian", "bernoulli", "categorical")


class MixedNB(NaiveBayes):
    """Naive Bayes for numeric, binary and categorical features in one model; values may be missing.

    ``p(x | c) = prod_j p_cj(x_j)`` over the columns j whose values are known: a Gaussian with the mean and the variance
    of the column in the class (plus `var_smoothing` times the largest variance), a Bernoulli with ``(N_on + alpha) /
    (N + 2 alpha)``, or a table with ``(N_v + alpha) / (N + alpha V)``, where N counts the samples of the class in which
    the column is known.

    Parameters
    ----------
    kinds : {"gaussian", "bernoulli", "categorical"} or a sequence of these, one a column, default="gaussian"
        A binary feature is on above zero; categories are numbered from zero.
    alpha : float, default=1.0
        The pseudo-count that is added to each count.
    var_smoothing : float, default=1e-9
        Fraction of the largest variance of a feature that is added to all variances, so that none is zero.
    fit_prior : bool, default=True
        Whether priors are the class frequencies; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Priors that are not learned.
    threshold : float, default=0.0
        Of two classes the second is predicted where its log odds exceed this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the samples of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the priors of the classes.
    theta_, var_ : ndarray of shape (n_classes, real-valued features)
        Of a column that is never known in a class those of all samples.
    mark_log_prob_ : ndarray of shape (n_classes, binary features)
        Logarithms of the probabilities that they are on.
    category_log_prob_ : list of ndarrays of shape (n_classes, n_categories), one for each feature of categories
        Logarithms of the smoothed probabilities of the categories.
    certificate_ : Certificate
        Kind exact: all sums formed again, class by class.
    epsilon_ : float
        What was added to the variances.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Missing values (NaN) are left out of the sums and of the product. One pass over the samples and one to
    judge. Runs on dense arrays, files and Dask collections.
    Seeger, section 6.5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MixedNB
    >>> X = np.array([[1.7, 0, 2], [1.8, 1, np.nan], [1.2, 1, 0], [1.3, 0, 1], [np.nan, 0, 1]])
    >>> model = MixedNB(kinds=["gaussian", "bernoulli", "categorical"])
    >>> model = model.fit(X, ["tall", "tall", "small", "small", "small"])
    >>> model.predict([[np.nan, np.nan, 2.0], [1.25, 0.0, np.nan]])
    array(['tall', 'small'], dtype='<U5')
    """

    _registration: ClassVar = Registration(
        method="Naive Bayes for mixed feature types and missing values",
        texts=("S6.5.2",),
        reads=("one pass",),
        where=("arrays", "files", "Dask"),
        instead="Columns are summed on the CPU, from dense rows.",
        certificate=("exact",),
        judge="naive_bayes.heterogeneous",
        outputs="class_scores.heterogeneous",
    )
    _constraints: ClassVar[Constraints] = {
        "kinds": (choice(*KINDS), array_like()),
        "alpha": (real(0),),
        "var_smoothing": (real(0),),
        "fit_prior": (boolean(),),
        "class_prior": (nothing(), array_like()),
        "threshold": (real(-np.inf, np.inf, "both"),),
    }
    _allow_nan = True

    theta_: Floats
    var_: Floats

    def __init__(
        self,
        *,
        kinds: Any = "gaussian",
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        fit_prior: bool = True,
        class_prior: Any = None,
        threshold: float = 0.0,
    ) -> None:
        self.kinds = kinds
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.threshold = threshold

    def _fold(self, rows: Rows, classes: int) -> Several:
        return naive_bayes.fold_mixed(rows, classes, self._columns())

    def _estimate(self, sums: Several, rows: Rows | None, X: Array) -> None:
        self.class_count_ = sums.parts[2].weight
        priors = resolve_priors(self.class_prior, self.fit_prior, len(self.class_count_))
        estimates, self.certificate_ = naive_bayes.fit_mixed(
            sums, rows, float(self.alpha), float(self.var_smoothing), priors, self._columns()
        )
        self.theta_, self.var_, self.epsilon_ = estimates.mean, estimates.variance, estimates.added
        self.mark_log_prob_, self.category_log_prob_ = estimates.marks, estimates.tables
        self.class_log_prior_ = estimates.log_prior

    def _columns(self) -> tuple[Integers, Integers, Integers]:
        return columns_of_kinds(self.kinds, self.n_features_in_)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        numbers, marks, tables = self._columns()
        names = names_of(self)
        named = tuple(names[int(j)] for j in tables)
        scores = naive_bayes.TableScores("MixedNB", tuple(self.category_log_prob_), self.class_log_prior_, named)
        return naive_bayes.MixedScores(
            (numbers, self.theta_, self.var_),
            (marks, self.mark_log_prob_, naive_bayes.log_absent(self.mark_log_prob_)),
            (tables, scores),
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draw samples without missing values, (n_samples, n_features), and their classes from the model;
        `random_state` is the seed.
        """
        random = check_random_state(random_state)
        which = self._draw_classes(n_samples, random, self.class_log_prior_)
        numbers, marks, tables = self._columns()
        X = np.empty((n_samples, self.n_features_in_))
        normal = random.standard_normal((n_samples, len(numbers)))
        X[:, numbers] = self.theta_[which] + np.sqrt(self.var_[which]) * normal
        X[:, marks] = random.uniform(size=(n_samples, len(marks))) < np.exp(self.mark_log_prob_[which])
        for j, log_p in zip(tables, self.category_log_prob_, strict=True):
            X[:, j] = naive_bayes.draw_categories(log_p, which, random)
        return X, self.classes_[which]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def columns_of_kinds(kinds: Any, features: int) -> tuple[Integers, Integers, Integers]:
    """The indices of the columns of each of `KINDS`."""
    each = [kinds] * features if isinstance(kinds, str) else list(kinds)
    if len(each) != features or not set(each) <= set(KINDS):
        raise ValueError(f"kinds must be one of {KINDS}, or one of them for each of {features} columns; got {kinds!r}.")
    numbers, marks, tables = (
        np.array([j for j, kind in enumerate(each) if kind == wanted], dtype=np.intp) for wanted in KINDS
    )
    return numbers, marks, tables
