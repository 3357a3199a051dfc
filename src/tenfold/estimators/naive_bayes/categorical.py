"""Naive Bayes for categories."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats, Integers
from tenfold.data import NotFinite, Rows
from tenfold.estimators.naive_bayes.discrete import DiscreteNB
from tenfold.estimators.naive_bayes.learned import resolve_priors
from tenfold.estimators.parameters import Constraints, array_like, integer, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import names_of
from tenfold.plans import naive_bayes
from tenfold.stats.contingency import ClassTables, NegativeCategory, NotACategory, category_counts


class CategoricalNB(DiscreteNB):
    """Naive Bayes for categories, numbered from zero on in each column.

    ``p(x | c) = prod_j p_cj[x_j]`` with ``p_cj[v] = (N_cjv + alpha) / (N_c + alpha V_j)``, where N_cjv is the weight of
    the samples of class c with category v in feature j, and V_j the number of categories of feature j.

    Parameters
    ----------
    alpha : float, default=1.0
        The pseudo-count that is added to each count.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; otherwise it is raised to 1e-10.
    fit_prior : bool, default=True
        Whether priors are the class frequencies; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Fixed priors; None estimates them.
    min_categories : int or array-like of shape (n_features,), default=None
        The smallest number of categories of each feature, for categories that are absent in the fit.
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
    category_count_ : list of n_features ndarrays of shape (n_classes, n_categories of the feature)
        Weight of the samples of each class with each category.
    feature_log_prob_ : list of n_features ndarrays of shape (n_classes, n_categories of the feature)
        Logarithms of the smoothed probabilities p_cj[v].
    n_categories_ : ndarray of shape (n_features,)
        Number of categories of each feature.
    certificate_ : Certificate
        Kind exact: the tables, recounted.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples and one to judge. Runs on dense arrays, files and Dask collections; `partial_fit` gives
    what `fit` on all samples gives. A category that was not seen in the fit raises, naming the feature.
    Seeger, section 6.5; Welling, ch. 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import CategoricalNB
    >>> X = np.array([[0, 2], [0, 1], [1, 0]])
    >>> model = CategoricalNB().fit(X, ["tea", "tea", "coffee"])
    >>> model.predict([[1, 0], [0, 1]])
    array(['coffee', 'tea'], dtype='<U6')
    >>> model.n_categories_
    array([2, 3])
    """

    _registration: ClassVar = Registration(
        method="Categorical naive Bayes",
        texts=("S6.5", "W6"),
        peer="sklearn.naive_bayes",
        reads=("one pass",),
        where=("arrays", "files", "Dask"),
        instead="Categories are counted on the CPU, from dense rows.",
        certificate=("exact",),
        judge="naive_bayes.categorical",
        outputs="class_scores.categorical",
    )
    _constraints: ClassVar[Constraints] = {
        **DiscreteNB._constraints,
        "alpha": (real(0),),
        "min_categories": (nothing(), integer(1), array_like()),
    }

    category_count_: list[Floats]

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        threshold: float = 0.0,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.threshold = threshold

    def _fold(self, rows: Rows, classes: int) -> ClassTables:  # type: ignore[override]
        least = check_min_categories(self.min_categories, self.n_features_in_)
        try:
            counts = rows.fold(category_counts(classes))
        except NegativeCategory as reason:
            raise ValueError(f"Negative values in data passed to CategoricalNB (input X): {reason}") from None
        except NotACategory as reason:
            raise ValueError(f"In the data passed to CategoricalNB (input X) {reason}") from None
        if any(abs(table.sum() - counts.weight.sum()) > 1e-9 * counts.weight.sum() for table in counts.tables):
            raise NotFinite  # a value is missing
        return ClassTables(counts.weight, naive_bayes.pad_tables(counts.tables, least))

    def _estimate(self, sums: ClassTables, rows: Rows | None, X: Array) -> None:  # type: ignore[override]
        alpha = float(self._smoothing()[0])
        priors = resolve_priors(self.class_prior, self.fit_prior, len(sums.weight))
        least = check_min_categories(self.min_categories, self.n_features_in_)
        estimates, self.certificate_ = naive_bayes.fit_categorical(sums, rows, alpha, priors, least)
        self.class_count_, self.category_count_ = sums.weight, list(sums.tables)
        self.n_categories_ = np.array([table.shape[1] for table in sums.tables])
        self.feature_log_prob_, self.class_log_prior_ = estimates  # type: ignore[assignment]

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return naive_bayes.TableScores(
            "CategoricalNB", tuple(self.feature_log_prob_), self.class_log_prior_, names_of(self)
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draw samples of categories, (n_samples, n_features), and their classes from the model; `random_state` is the
        seed.
        """
        random = check_random_state(random_state)
        which = self._draw_classes(n_samples, random, self.class_log_prior_)
        columns = [naive_bayes.draw_categories(log_p, which, random) for log_p in self.feature_log_prob_]
        return np.stack(columns, axis=1), self.classes_[which]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags


def check_min_categories(min_categories: Any, features: int) -> Integers:
    """The validated `min_categories` as an array (p,)."""
    if min_categories is None:
        return np.ones(features, dtype=np.int64)
    least = np.asarray(min_categories)
    if not np.issubdtype(least.dtype, np.signedinteger):
        raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
    if least.shape not in ((), (features,)):
        raise ValueError(
            f"'min_categories' should have shape ({features},) when an array-like is provided. Got {least.shape} "
            "instead."
        )
    return np.broadcast_to(least, features).astype(np.int64)
