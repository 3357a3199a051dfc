"""The Bayes classifier of known class densities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tenfold.arrays import Array, Floats
from tenfold.data import Rows
from tenfold.estimators.class_labels import log_odds
from tenfold.estimators.class_statistics import ClassStatisticsClassifier, check_priors
from tenfold.estimators.parameters import Constraints, array_like, nothing
from tenfold.estimators.registration import Registration
from tenfold.plans import naive_bayes
from tenfold.stats.class_totals import ClassSums


class BayesClassifier(ClassStatisticsClassifier):
    """Bayes' rule with known class densities: the classifier with the smallest error rate.

    Predicts the class c with the largest ``log p_c(x) + log q_c``. Only the priors are learned.

    Parameters
    ----------
    densities : sequence of distributions, one for each class in sorted order, default=()
        Each with a method `logpdf` (such as a frozen distribution of scipy.stats), or a function of samples (n, p) that
        gives logarithms of the density. Features are taken together; with one feature a distribution of numbers will
        do.
    priors : array-like of shape (n_classes,), default=None
        None: the weighted class frequencies.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    priors_ : ndarray of shape (n_classes,)
        Priors of the classes, given or learned.
    certificate_ : Certificate
        Kind exact: the class frequencies, recomputed.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the classes; predictions cost one evaluation of each density. Runs on dense arrays, files and Dask
    collections, with sample weights. `tenfold.bounds.bayes_error` says how often it errs.
    Seeger, section 5.2.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from tenfold import BayesClassifier
    >>> model = BayesClassifier([norm(0, 1), norm(2, 1)]).fit([[0.1], [1.9], [2.2]], ["a", "b", "b"])
    >>> model.predict([[0.5], [0.9]])  # b is twice as frequent: the boundary is at 1 - log(2) / 2
    array(['a', 'b'], dtype='<U1')
    """

    _registration: ClassVar = Registration(
        method="Bayes classifier from known densities",
        texts=("S5.2",),
        reads=("one pass",),
        where=("arrays", "files", "Dask"),
        instead="Densities are functions of NumPy arrays.",
        certificate=("exact",),
        judge="naive_bayes.bayes_classifier",
        outputs="class_scores.bayes_classifier",
    )
    _constraints: ClassVar[Constraints] = {"densities": (array_like(),), "priors": (nothing(), array_like())}

    priors_: Floats

    def __init__(self, densities: Any = (), *, priors: Any = None) -> None:
        self.densities = densities
        self.priors = priors

    def _fold(self, rows: Rows, classes: int) -> ClassSums:
        if len(self.densities) != classes:
            raise ValueError(
                f"densities must have one entry for each of {classes} classes, in sorted order; got "
                f"{len(self.densities)}."
            )
        return naive_bayes.fold_sums(rows, classes)

    def _estimate(self, sums: ClassSums, rows: Rows | None, X: Array) -> None:
        given = check_priors(self.priors, len(sums.weight))
        self.priors_, self.certificate_ = naive_bayes.fit_priors(sums, rows, given)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        with np.errstate(divide="ignore"):
            return _Scores(tuple(self.densities), np.log(self.priors_))

    def decision_function(self, X: Any) -> Array:
        """Scores of all classes for the samples X, (n, n_classes); of two the difference, second minus first, (n,)."""
        return self._predict_in_precision(X, log_odds)


@dataclass(frozen=True)
class _Scores:
    densities: tuple[Any, ...]
    log_prior: Floats

    def __call__(self, X: Array) -> Array:
        columns = []
        for density, prior in zip(self.densities, self.log_prior, strict=True):
            logs = np.asarray(getattr(density, "logpdf", density)(X), dtype=np.float64)
            columns.append((logs[:, 0] if logs.ndim == 2 and logs.shape[1] == 1 else logs) + prior)
            if columns[-1].shape != (X.shape[0],):
                raise ValueError(
                    f"A density gave an array of shape {logs.shape} for {X.shape[0]} rows: it must give one logarithm "
                    "a row. A distribution of one number goes with one column."
                )
        return np.stack(columns, axis=1)
