"""Recommendation of methods: the table and the questions of the cookbook (section 6.3).

Is there a target, and of which kind? Is the dependence linear? Are probabilities wanted? What may prediction cost? The
figures with the decision trees are missing from the text; this follows its words and its table 6.1, whose two sizes of
dots are "small" and "large". A recommendation is no proof: `selection` compares the methods.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from tenfold.estimators.least_squares.cv import RidgeClassifierCV, RidgeCV
from tenfold.estimators.neighbours.cv import KNeighborsClassifierCV, KNeighborsCV
from tenfold.evaluation.inputs import task_of
from tenfold.selection import compare

# of table 6.1: ease with several classes, how well output and model can be interpreted, times, memory, complexity
COLUMNS = ("multiclass", "output", "model", "training", "retraining", "prediction", "memory", "complexity")

# Table 6.1 of the cookbook. (Chapter 19 praises logistic regression as easily interpretable; the table does not.)
TABLE: Mapping[str, Mapping[str, str]] = {
    name: dict(zip(COLUMNS, ({"L": "large", "s": "small", "-": "none"}[dot] for dot in dots), strict=True))
    for name, dots in {
        "nearest centroid": "LLLsssss",
        "naive Bayes": "LLLsssss",
        "linear discriminant": "LLLLLssL",
        "logistic regression": "LLsssssL",
        "linear SVM": "LssssssL",
        "non-linear SVM": "sssLLLLL",
        "k nearest neighbours": "Lss--LLL",
        "neural networks": "LssLLsLL",
    }.items()
}


@dataclass(frozen=True)
class Method:
    """A method that can be recommended.

    Attributes
    ----------
    classes : names of classes of tenfold.
    task : "classification", "regression", "clusters" or "components".
    linear, probabilities, small, sparse : whether it is linear, gives probabilities or intervals, is small and quick to
        predict with, and takes very many columns.
    row : its row of `TABLE`, or None.
    why : a reason for it.
    """

    classes: tuple[str, ...]
    task: str
    linear: bool
    probabilities: bool
    small: bool
    sparse: bool
    row: str | None
    why: str


def _method(classes: str, task: str, marks: str, row: str | None, why: str) -> Method:
    """Marks: linear, probabilities, small, many columns."""
    linear, probabilities, small, many = (mark in marks for mark in "lpsm")
    return Method(tuple(classes.split()), task, linear, probabilities, small, many, row, why)


_C, _R = "classification", "regression"
# all methods, the simplest of each task first
METHODS = (
    _method("NearestCentroid", _C, "lsm", "nearest centroid", "the simplest that can work; round clouds of rows"),
    _method("GaussianNB", _C, "lpsm", "naive Bayes", "one pass, few rows are enough; no columns that repeat others"),
    _method("LinearDiscriminantAnalysis", _C, "lps", "linear discriminant", "classes that differ in their means alone"),
    _method("LogisticRegressionCV", _C, "lpsm", "logistic regression", "fewer parameters than densities of classes"),
    _method("LinearSVC", _C, "lsm", "linear SVM", "many columns, text"),
    _method("QuadraticDiscriminantAnalysis", _C, "ps", None, "classes of different shapes, few columns"),
    _method("KNeighborsClassifierCV", _C, "p", "k nearest neighbours", "classes of any shape, few columns, many rows"),
    _method("RidgeCV", _R, "lpsm", None, "the whole grid of penalties by one decomposition, with intervals"),
    _method("LassoCV ElasticNetCV", _R, "lsm", None, "few of many columns matter"),
    _method("HuberRegressor", _R, "ls", None, "gross errors among the targets"),
    _method("KNeighborsCV", _R, "p", None, "any smooth function of few columns, with intervals"),
    _method("KMeans", "clusters", "lsm", None, "round groups, of a number that is known or tried"),
    _method("GaussianMixture", "clusters", "ps", None, "groups of any elliptic shape, with probabilities"),
    _method("PCA TruncatedSVD", "components", "lsm", None, "directions of the largest variance"),
)


@dataclass(frozen=True)
class Advice:
    """Methods in the order in which to try them, and why.

    Attributes
    ----------
    methods : tuple of Method
    reasons : questions about the data, answered.
    cautions : warnings.
    """

    methods: tuple[Method, ...]
    reasons: tuple[str, ...]
    cautions: tuple[str, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes to try, in order."""
        return tuple(name for method in self.methods for name in method.classes)

    def __str__(self) -> str:
        lines = ["because " + "; ".join(self.reasons)] if self.reasons else []
        lines += [f"{place}. {', '.join(m.classes)}: {m.why}" for place, m in enumerate(self.methods, 1)]
        return "\n".join(lines + [f"note: {caution}" for caution in self.cautions])

    __repr__ = __str__


def recommend(
    X: Any = None,
    y: Any = None,
    *,
    task: Literal["classification", "regression", "clusters", "components"] | None = None,
    linear: bool | None = None,
    probabilities: bool = False,
    small: bool = False,
    n_samples: int | None = None,
    n_features: int | None = None,
) -> Advice:
    """Recommend methods to try first, by the questions of the cookbook (section 6.3).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), default=None
        The samples, for their sizes; None: say `n_samples`, `n_features` and `task`.
    y : array-like of shape (n_samples,), default=None
        The targets, for their kind; None where there are none.
    task : {"classification", "regression", "clusters", "components"} or None, default=None
        What is wanted. None decides by y, and is "components" without it.
    linear : bool or None, default=None
        Whether the dependence is linear; None: not known, both kinds are proposed, the linear first. `linear_or_not`
        tries it.
    probabilities : bool, default=False
        Whether probabilities or intervals are wanted.
    small : bool, default=False
        Whether prediction must be quick and the model small.
    n_samples : int, default=None
        Number of samples, where X is not given.
    n_features : int, default=None
        Number of features, where X is not given.

    Returns
    -------
    Advice
        Models in the order in which to try them, each with a reason.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import recommend
    >>> print(recommend(*load_iris(return_X_y=True), probabilities=True, linear=True))
    because 150 rows, 4 columns; labels are classes; probabilities are wanted; the dependence is linear
    1. GaussianNB: one pass, few rows are enough; no columns that repeat others
    2. LinearDiscriminantAnalysis: classes that differ in their means alone
    3. LogisticRegressionCV: fewer parameters than densities of classes
    """
    kinds = {method.task for method in METHODS}
    if task is not None and task not in kinds:
        raise ValueError(f"task must be one of {', '.join(map(repr, sorted(kinds)))}. Got {task!r}.")
    rows = n_samples if X is None else _num_samples(X)
    columns = n_features if X is None or not hasattr(X, "shape") else X.shape[1] if len(X.shape) > 1 else 1
    reasons = [f"{rows} rows, {columns} columns"] if rows is not None and columns is not None else []
    resolved_task, task_words = _task_of(task, y)
    reasons.append(task_words)
    methods = [method for method in METHODS if method.task == resolved_task]
    if probabilities:
        reasons.append("probabilities are wanted" if resolved_task != "regression" else "intervals are wanted")
        methods = [method for method in methods if method.probabilities] or methods
    if linear is not None:
        reasons.append("the dependence is linear" if linear else "the dependence is not linear")
        methods = [method for method in methods if method.linear == linear] or methods
    if small:
        reasons.append("prediction must be quick and the model small")
        methods = [method for method in methods if method.small] or methods
    cautions = []
    if columns is not None and columns > 1000:
        reasons.append("there are many columns")
        methods = [method for method in methods if method.sparse] or methods
    if rows is not None and columns is not None and columns >= rows:
        cautions.append("more columns than rows: only what is penalised, and chosen inside the folds, can be believed.")
    if linear is None and resolved_task in ("classification", "regression"):
        cautions.append("whether a line is enough is not known: tenfold.linear_or_not(X, y) tries it.")
    return Advice(tuple(methods), tuple(reasons), tuple(cautions))


def _task_of(task: str | None, y: Any) -> tuple[str, str]:
    words = {"classification": "labels are classes", "regression": "labels are numbers"}
    if task is not None:
        return task, words.get(task, f"{task} are wanted")
    if y is None:
        return "components", "there are no labels"
    kind = task_of(np.asarray(y))
    return kind, words[kind]


@dataclass(frozen=True)
class Linearity:
    """Whether a nonlinear model predicts better.

    Attributes
    ----------
    linear_is_enough : True where the non-linear model is not shown to be better.
    comparison : of the two, the linear one first; see `tenfold.selection.compare`.
    rows : that were used.
    """

    linear_is_enough: bool
    comparison: Any
    rows: int

    def __str__(self) -> str:
        words = "no" if self.linear_is_enough else "some"
        return f"{words} sign of a dependence that is not linear, from {self.rows} rows: {self.comparison.words}"


LINEAR_ROWS, FOLDS = 2000, 10  # samples and folds of the comparison with a nonlinear model: about a second


def linear_or_not(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    scoring: Any = None,
    max_rows: int = LINEAR_ROWS,
    random_state: Any = 0,
) -> Linearity:
    """Compare ridge regression with nearest neighbours on the same folds: if the linear one is as good, useful
    nonlinear structure is unlikely (Cookbook 6.3). Both select hyper-parameters inside the folds, by exact
    leave-one-out.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numeric features.
    y : array-like of shape (n_samples,)
        Classes or numbers.
    task : {"classification", "regression"}, default=None
        None decides by y.
    scoring : str or callable, default=None
        The score that is compared, by a name of scikit-learn's or as its scorers; None: accuracy or R2. The area under
        the ROC curve sees more than accuracy does where one of two classes is rare.
    max_rows : int, default=2000
        Of more samples a random part is taken.
    random_state : int, RandomState instance or None, default=0
        Seed of that part, and of the folds.

    Returns
    -------
    Linearity
        `linear_is_enough`, and the comparison.

    Examples
    --------
    >>> from tenfold import linear_or_not
    >>> from tenfold.datasets import make_gaussian_classes, make_xor
    >>> linear_or_not(*make_gaussian_classes(300, random_state=0)).linear_is_enough
    True
    >>> linear_or_not(*make_xor(300, random_state=0)).linear_is_enough
    False
    """
    resolved_task, _ = _task_of(task, y)
    if resolved_task not in ("classification", "regression"):
        raise ValueError(f"task must be 'classification' or 'regression'. Got {task!r}.")
    count = _num_samples(X)
    target = np.asarray(y)
    if count > max_rows:
        subsample = check_random_state(random_state).choice(count, max_rows, replace=False)
        X, target = _safe_indexing(X, subsample), target[subsample]
    grid = np.logspace(-3, 3, 13)
    pair: tuple[BaseEstimator, BaseEstimator] = (
        (RidgeClassifierCV(alphas=grid), KNeighborsClassifierCV())
        if resolved_task == "classification"
        else (RidgeCV(alphas=grid), KNeighborsCV())
    )
    linear, other = (make_pipeline(StandardScaler(), model) for model in pair)
    seed = int(check_random_state(random_state).randint(2**31))
    folds = min(FOLDS, len(target))  # ten see more than the usual five, at twice the cost
    comparison = compare(linear, other, X, target, scoring=scoring, cv=folds, random_state=seed)
    better = comparison.scores.interval.low > 0.0  # the score of the second less that of the first, larger is better
    return Linearity(not better, comparison, min(count, max_rows))


def n_parameters(method: str, n_features: int, n_classes: int = 2) -> int:
    """Number of parameters of a method: at least as many samples are needed (Cookbook, chapters 2, 14 and 19).

    The count for linear discriminants in chapter 19 is that of covariances for each class, which are quadratic ones.

    Parameters
    ----------
    method : name of a class of tenfold.
    n_features, n_classes : sizes.

    Examples
    --------
    >>> from tenfold.advice import n_parameters
    >>> {name: n_parameters(name, 400, 10) for name in ("LogisticRegression", "QuadraticDiscriminantAnalysis")}
    {'LogisticRegression': 3609, 'QuadraticDiscriminantAnalysis': 806009}
    """
    p, k = int(n_features), int(n_classes)
    shape = p * (p + 1) // 2
    counts = {
        "LinearRegression": p + 1,
        "Ridge": p + 1,
        "NearestCentroid": k * p,
        "BernoulliNB": k * p + k - 1,
        "GaussianNB": 2 * k * p + k - 1,
        "LinearDiscriminantAnalysis": k * p + shape + k - 1,
        "QuadraticDiscriminantAnalysis": k * (p + shape) + k - 1,
        "LogisticRegression": (k - 1) * (p + 1),
        "LinearSVC": (1 if k == 2 else k) * (p + 1),
    }
    if method not in counts:
        raise ValueError(f"method must be one of {', '.join(counts)}. Got {method!r}.")
    return counts[method]
