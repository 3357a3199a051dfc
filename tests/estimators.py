"""The table of all estimators with small settings, and the data that they are tried on.

A new estimator is tested by adding a row. Laws, certificates, equivalence, contract and bad-input tests run over
`TABLE`; the metadata of a row says what a test may ask of it.
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import sklearn.linear_model
import sklearn.svm
from scipy import sparse

import tenfold


def peer_of(name: str) -> Any:
    """What has this name in scikit-learn, or None."""
    homes = (sklearn.linear_model, sklearn.svm)
    return next((getattr(home, name) for home in homes if hasattr(home, name)), None)


@dataclass(frozen=True)
class Row:
    """One estimator with settings.

    Attributes
    ----------
    name : the public name of the class.
    settings : parameters of its constructor.
    kind : the kind of its certificate.
    classifier : whether y are classes.
    classes : the most classes that it takes; 0 for regressors, inf for any number.
    multi_output : whether y may have several columns.
    matrix : whether y must be a matrix: a column is used by all targets or by none.
    unique : whether there is one minimiser on any data, so that results can be compared by their weights.
    positive : whether weights are constrained to be at least zero.
    once : whether a fit reads the rows only once, where that says enough.
    lasso : whether the loss is the square and the penalty L1, a group's, or an elastic net.
    iterative : whether the setting max_iter cuts a fit short on any data.
    sequential : whether rows are looked at one after the other, so that results depend on their order and a weight is
        the length of a step, not a number of repetitions.
    linear : whether predictions are those of `coef_` and `intercept_`.
    selects : whether all but a few weights are zero by choice, so that least squares holds for their columns alone.
    chooses : whether a penalty or a number of columns is chosen from the data by cross-validation.
    folds : whether rows are split into folds even if the setting cv does not say so.
    units : whether the unit of a column matters although nothing is penalised.
    tall : whether rows must outnumber columns.
    most_columns : the most columns that are taken.
    repeats : whether weights count as repeated rows, so that their unit matters.
    angles : whether products of the residual with columns are to be equal, not zero.
    counts : whether targets must be positive.
    near : whether numbers of each row are kept, so that the rows are in this machine's memory or files.
    tied : whether the intercept is penalised, so that it depends on where rows are measured from.
    robust : whether errors are not squared, or not those within epsilon, so that a constant is not the mean and the
        penalty knows the targets' unit.
    warns : how a warning begins that is right where there is nothing to learn; else empty.
    checked : settings without which scikit-learn's own checks cannot hold, for its own class as for ours.
    outside : why scikit-learn's own checks cannot hold with these settings, for its own class as for ours; else empty.
    judged : whether fit is judged, and solves a problem.
    random : whether fit draws random numbers, which tests fix.
    outliers : whether it finds outliers, and needs no y.
    exempt : scikit-learn's checks that its own class fails, too.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    kind: str = "residual"
    classifier: bool = False
    classes: float = 0
    multi_output: bool = True
    matrix: bool = False
    unique: bool = True
    positive: bool = False
    once: bool = False
    lasso: bool = False
    iterative: bool = False
    selects: bool = False
    chooses: bool = False
    sequential: bool = False
    linear: bool = True
    folds: bool = False
    units: bool = False
    tall: bool = False
    repeats: bool = False
    most_columns: float = np.inf
    angles: bool = False
    counts: bool = False
    near: bool = False
    tied: bool = False
    robust: bool = False
    warns: str = ""
    checked: dict[str, Any] = field(default_factory=dict)
    outside: str = ""
    judged: bool = True
    random: bool = False
    outliers: bool = False
    exempt: tuple[str, ...] = ()

    @property
    def where(self) -> tuple[str, ...]:
        """Where the rows may be."""
        where = getattr(tenfold, self.name)._registration.where
        return tuple(place for place in where if not (self.near and place in ("Dask", "devices")))

    @property
    def separates(self) -> bool:
        """Whether the certificate asks for classes that can be separated."""
        return self.kind == "count"

    @property
    def intercept(self) -> bool:
        return bool(self.settings.get("fit_intercept", True))

    @property
    def splits(self) -> bool:
        """Whether rows are split into folds."""
        return self.folds or bool(self.settings.get("cv"))

    @property
    def id(self) -> str:
        inside = ",".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.name}({inside})"

    @property
    def peer(self) -> Any:
        """scikit-learn's class of this name, or None."""
        return peer_of(self.name)

    def make(self, **extra: Any) -> Any:
        """A new estimator with these settings and `extra` ones."""
        return getattr(tenfold, self.name)(**{**self.seeded, **extra})

    def his(self) -> Any:
        """scikit-learn's with those of these settings that it has; some are deprecated there."""
        known = inspect.signature(self.peer).parameters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return self.peer(**{key: value for key, value in self.seeded.items() if key in known})

    @property
    def seeded(self) -> dict[str, Any]:
        return {**self.settings, **({"random_state": 0} if self.random else {})}

    def in_order(self) -> "Row":
        """The same that looks at the rows in their order: a shuffle in memory is not that of blocks."""
        return replace(self, settings={**self.settings, "shuffle": False}) if self.sequential else self


def _regressor(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    return Row(name, settings or {}, **meta)


def _classifier(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    return Row(name, settings or {}, **{"classifier": True, "classes": np.inf, "multi_output": False, **meta})


def _logistic(settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    return _classifier("LogisticRegression", settings, kind="gap", iterative=True, **meta)


def _perceptron(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    return _classifier(name, settings, kind="count", sequential=True, unique=False, **meta)


def _deviance(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    return Row(
        name, settings or {}, **{"kind": "gap", "multi_output": False, "iterative": True, "counts": True, **meta}
    )


def _lasso(name: str, settings: dict[str, Any], **meta: Any) -> Row:
    # the gap that ends a fit is small here, so that fits can be compared by their weights
    meta = {"kind": "gap", "lasso": True, "once": True, "units": True, "iterative": True, **meta}
    return _regressor(name, {"tol": 1e-10, **settings}, **meta)


def _pursuit(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    warns = "Orthogonal matching pursuit ended prematurely"
    return Row(name, settings or {}, unique=False, selects=True, warns=warns, **meta)


def _angles(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    return Row(name, settings or {}, kind="gap", lasso=True, unique=False, units=True, **meta)


def _machine(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    return Row(
        name,
        settings or {},
        **{"kind": "gap", "multi_output": False, "iterative": True, "tied": True, "random": True, **meta},
    )


HINGED = {"robust": True, "units": True}
KINKED = {"counts": False, "robust": True, "unique": False, "units": True}

ALPHAS = [1e-3, 0.1, 10.0]

COUNTS = "balanced classes are balanced by their counts, not by their weights, so weights are not repeated rows"
SIGNED = "weights of one sign cannot separate the classes of the checks"
CENTRED = "class weights move the offset, and there is none"
UNCENTRED = "the targets of the checks are far from one, and without an intercept their score is not reached"
SEPARATED = "classes of the checks are separable: without a penalty there is no maximum, and the warning says so"

FOLDED = {
    "Cs": [0.01, 1.0, 10.0],
    "cv": 3,
    "l1_ratios": (0,),
    "scoring": "neg_log_loss",
    "use_legacy_attributes": False,
}

TABLE = [
    _regressor("LinearRegression", unique=False),
    _regressor("LinearRegression", {"fit_intercept": False}, unique=False),
    _regressor("LinearRegression", {"positive": True}, unique=False, positive=True),
    _regressor("Ridge"),
    _regressor("Ridge", {"alpha": 0.0}, unique=False),
    _regressor("Ridge", {"alpha": 1e-3, "fit_intercept": False}),
    _regressor("Ridge", {"alpha": 0.1, "positive": True}, positive=True, iterative=True),
    _regressor("Ridge", {"alpha": 10.0, "solver": "lsqr"}),
    _classifier("RidgeClassifier"),
    _classifier("RidgeClassifier", {"alpha": 0.1, "class_weight": "balanced"}, outside=COUNTS),
    _classifier("RidgeClassifier", {"alpha": 0.1, "fit_intercept": False}, outside=CENTRED),
    _classifier("RidgeClassifier", {"alpha": 0.1, "positive": True}, positive=True, iterative=True, outside=SIGNED),
    _regressor("RidgeCV", chooses=True),
    _regressor("RidgeCV", {"alphas": ALPHAS, "fit_intercept": False}, chooses=True),
    _regressor("RidgeCV", {"alphas": ALPHAS, "cv": 3}, chooses=True),
    _regressor(
        "RidgeCV",
        {"alphas": ALPHAS, "alpha_per_target": True},
        chooses=True,
        outside="the checks set cv, which does not go with one alpha for each target",
    ),
    _classifier("RidgeClassifierCV", chooses=True),
    _classifier("RidgeClassifierCV", {"alphas": ALPHAS, "cv": 3}, chooses=True),
    _classifier("RidgeClassifierCV", {"alphas": ALPHAS, "class_weight": "balanced"}, chooses=True, outside=COUNTS),
    _pursuit("OrthogonalMatchingPursuit", units=True),
    _pursuit("ForwardSelection"),
    Row("MatchingPursuit", kind="exact", unique=False, selects=True),
    Row("BestSubset", kind="exact", unique=False, selects=True, repeats=True, most_columns=40),
    _regressor("Lars", unique=False, units=True, angles=True),
    _angles("LassoLars"),
    _angles("LassoLars", {"alpha": 0.1, "positive": True}, positive=True),
    _angles("LassoLarsIC", multi_output=False, chooses=True, tall=True, repeats=True, checked={"noise_variance": 1.0}),
    _regressor("LarsCV", unique=False, units=True, angles=True, multi_output=False, chooses=True, folds=True),
    _angles("LassoLarsCV", multi_output=False, chooses=True, folds=True),
    _pursuit("OrthogonalMatchingPursuitCV", multi_output=False, chooses=True, folds=True, units=True),
    _logistic(),
    _logistic({"C": 0.1, "fit_intercept": False}, outside=CENTRED),
    _logistic({"C": 100.0, "class_weight": "balanced", "solver": "newton-cholesky"}),
    _logistic({"C": np.inf}, unique=False, outside=SEPARATED),
    _logistic({"C": 2.0, "l1_ratio": 1.0, "solver": "saga"}, unique=False),
    _classifier("LogisticRegressionCV", FOLDED, kind="gap", chooses=True),
    _perceptron("Perceptron", iterative=True),
    _perceptron("AveragedPerceptron"),
    _perceptron("VotedPerceptron", linear=False),
    _deviance("PoissonRegressor"),
    _deviance("GammaRegressor", {"alpha": 0.1, "fit_intercept": False, "solver": "newton-cholesky"}, outside=UNCENTRED),
    _deviance("TweedieRegressor", counts=False, iterative=False),
    _deviance("HuberRegressor", counts=False, robust=True),
    _deviance("GeneralizedLinear", counts=False, iterative=False),
    _classifier("GeneralizedLinearClassifier", kind="gap", classes=2, iterative=True),
    _classifier("GeneralizedLinearClassifier", {"loss": "softmax", "alpha": 0.01}, kind="gap", iterative=True),
    _deviance("QuantileRegressor", {"quantile": 0.4, "alpha": 0.05}, **KINKED),
    _machine("LinearSVC", classifier=True, classes=np.inf),
    _machine("LinearSVC", {"loss": "hinge", "C": 0.5}, classifier=True, classes=np.inf, near=True, **HINGED),
    _machine("LinearSVR", near=True, **HINGED),
    _machine("LinearSVR", {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}, robust=True),
    _lasso("Lasso", {"alpha": 0.05}, unique=False),
    _lasso("ElasticNet", {"alpha": 0.1}),
    _lasso("LassoCV", {"alphas": 4, "cv": 3}, multi_output=False, unique=False, iterative=False, chooses=True),
    _lasso(
        "ElasticNetCV",
        {"l1_ratio": 0.7, "alphas": 3, "eps": 1e-2, "cv": 3},
        multi_output=False,
        iterative=False,
        chooses=True,
    ),
    _lasso("MultiTaskLasso", {"alpha": 0.05}, unique=False, matrix=True),
    _lasso("MultiTaskElasticNet", {"alpha": 0.1}, matrix=True),
]

IDS = [row.id for row in TABLE]

STEPS = tuple(f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
"""A weight is a factor of a row's step: the same row twice is two steps."""


def _learner(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Row:
    known = {"kind": "gap", "multi_output": False, "judged": False, "random": True, "exempt": STEPS}
    return Row(name, settings or {}, **{**known, **meta})


LEARNERS = [
    _learner("SGDClassifier", classifier=True, classes=np.inf),
    _learner("SGDRegressor"),
    _learner("SGDOneClassSVM", outliers=True),
    _learner("PassiveAggressiveClassifier", classifier=True, classes=np.inf),
    _learner("PassiveAggressiveRegressor"),
]
"""Estimators that learn from one row after the other, and end somewhere near an optimum: the contract is asked of them,
not what holds at the optimum alone.
"""

EVERY = [*TABLE, *LEARNERS]

APART = {
    "MultiTaskElasticNetCV": "ElasticNetCV and MultiTaskElasticNet have rows",
    "MultiTaskLassoCV": "LassoCV and MultiTaskLasso have rows",
    "StructuredPerceptron": "takes sequences, not matrices",
    "TableEncoder": "takes tables of mixed types",
}
"""Classes that have no row, and why: tests of their own, and scikit-learn's checks."""

PLAIN = {row.name for row in EVERY if not row.settings}
CLOSER = {"tol": 1e-13}
CHECKED = {
    "ElasticNetCV": CLOSER,
    "LassoCV": CLOSER,
    "LogisticRegressionCV": {
        "cv": 3,
        "scoring": "accuracy",
        "tol": 1e-8,
        "l1_ratios": (0.0,),
        "use_legacy_attributes": False,
    },
    "MultiTaskElasticNetCV": CLOSER,
    "MultiTaskLassoCV": CLOSER,
}
SEQUENCES = {"StructuredPerceptron"}
DEFAULTS = {name: CHECKED.get(name, {}) for name in sorted({*APART, *(row.name for row in EVERY)} - PLAIN - SEQUENCES)}
"""Classes without a row of default settings, and those without which scikit-learn's checks cannot hold; its checks have
matrices, which some classes do not take.
"""


class Data(NamedTuple):
    """Rows, targets and weights."""

    X: Any
    y: Any
    weight: Any = None


def regression(n: int = 60, p: int = 4, seed: int = 0) -> Data:
    """A noisy linear relation with an offset, columns of different scale."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 2.0, p) + 0.3
    return Data(X, X @ rng.standard_normal(p) + 1.5 + 0.5 * rng.standard_normal(n))


def classes(n: int = 60, p: int = 4, seed: int = 0, count: int = 2) -> Data:
    """Two (or `count`) classes that overlap, named by words."""
    X, z, _ = regression(n, p, seed)
    z = z - z.mean()
    noise = np.random.default_rng(seed + 1).logistic(size=n) * max(z.std(), 0.1)
    cuts = np.quantile(z + noise, np.arange(1, count) / count)
    return Data(X, np.array(["ant", "bee", "cat", "dog"])[np.searchsorted(cuts, z + noise)])


def apart(n: int = 60, p: int = 4, seed: int = 0, count: int = 2) -> Data:
    """Two (or `count`) classes with room between them: two on the sides of a plane, more in a corner each."""
    X, _, _ = regression(n, p, seed)
    if count > 2:
        which = np.arange(n) % count
        X[np.arange(n), which] += 15.0
    else:
        w = np.random.default_rng(seed + 2).standard_normal(p)
        w /= np.linalg.norm(w)
        z = (X - X.mean(axis=0)) @ w
        which = (z > np.median(z)).astype(int)
        X += np.outer(2.0 * which - 1.0, w)
    return Data(X, np.array(["ant", "bee", "cat", "dog"])[which])


def plain(row: Row, n: int, p: int, seed: int = 0, count: int = 2) -> Data:
    """Data of n rows and p columns that a row of the table can be certified on."""
    if row.classifier:
        return (apart if row.separates else classes)(n, p, seed, count)
    X, y, _ = regression(n, p, seed)
    if row.matrix:
        y = np.column_stack([y, X[:, 0] + np.random.default_rng(seed + 1).standard_normal(n)])
    return Data(X, np.abs(y) + 0.1 if row.counts else y)


def _collinear(row: Row) -> Data:
    X, y, _ = plain(row, 60, 4)
    return Data(np.column_stack([X, X[:, 0] - X[:, 1], 2.0 * X[:, 2]]), y)


def _constant(row: Row) -> Data:
    X, y, _ = plain(row, 60, 4)
    X[:, 2] = 3.0
    return Data(X, y)


def _single(row: Row) -> Data:
    X, y, _ = plain(row, 60, 4)
    return Data(X.astype(np.float32), y if row.classifier else y.astype(np.float32))


def _sparse(row: Row) -> Data:
    X, y, _ = plain(row, 80, 6)
    X[np.abs(X) < 0.6] = 0.0
    return Data(sparse.csr_array(X), y)


def _sparse_constant(row: Row) -> Data:
    X, y, _ = plain(row, 60, 4)
    X[:, 2] = 0.1
    X[np.abs(X) < 0.09] = 0.0
    return Data(sparse.csr_array(X), y)


def zero_weights(n: int, seed: int = 5) -> Any:
    """Weights between 0.1 and 3, every seventh zero."""
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, n)
    weight[::7] = 0.0
    return weight


def _weights(row: Row) -> Data:
    X, y, _ = plain(row, 60, 4)
    weight = zero_weights(60)
    if row.separates:
        y = np.where((weight == 0.0) & (np.arange(60) % 2 == 0), np.where(y == "ant", "bee", "ant"), y)
    return Data(X, y, weight)


def _offset(row: Row) -> Data:
    X, y, _ = plain(row, 60, 4)
    return Data(X + 1e6, y)


SHAPES: dict[str, Callable[[Row], Data]] = {
    "tall": lambda row: plain(row, 60, 4),
    "wide": lambda row: plain(row, 20, 50),
    "square": lambda row: plain(row, 30, 30),
    "one column": lambda row: plain(row, 40, 1),
    "collinear": _collinear,
    "constant column": _constant,
    "float32": _single,
    "sparse": _sparse,
    "sparse constant column": _sparse_constant,
    "zero weights": _weights,
    "offset 1e6": _offset,
}


def fits(row: Row, shape: str) -> bool:
    """Whether data of this shape can be fitted at all."""
    return not ((row.tall and shape in ("wide", "square")) or (row.most_columns < 50 and shape == "wide"))


def has_maximum(row: Row, shape: str) -> bool:
    """Whether data of this shape can be fitted, and are not separable classes without a penalty."""
    return fits(row, shape) and not (row.settings.get("C") == np.inf and shape in ("wide", "square"))


def is_comparable(row: Row, shape: str) -> bool:
    """Whether two ways to fit must agree: nearly equal features, far from zero, differ below their rounding."""
    return has_maximum(row, shape) and (row.intercept or shape != "offset 1e6")


def targets_for(row: Row, y: Any) -> Any:
    """Targets (n,) as a row of the table takes them: as they are, or side by side with themselves backwards."""
    return np.column_stack([y, y[::-1]]) if row.matrix else y


def columns_of(row: Row, count: int, n: int = 60, p: int = 4) -> Any:
    """Targets (n, count) for a row that takes several."""
    assert row.multi_output
    return np.column_stack([regression(n, p, seed).y for seed in range(count)])


def kind_of(row: Row, model: Any) -> str:
    """The kind of the certificate: a path without a penalty at its end is least squares."""
    free = row.lasso and not row.iterative and getattr(model, "alpha_", getattr(model, "alpha", 1.0)) == 0.0
    return "residual" if free else row.kind


def chosen(model: Any) -> Any:
    """What a model chose from the data: a penalty, or a number of columns."""
    names = ("alpha_", "C_", "n_nonzero_coefs_")
    return next(getattr(model, name) for name in names if hasattr(model, name))


def parameters(model: Any) -> Any:
    """Weights and intercepts of a fitted linear model, as (t, p + 1) in float64."""
    coef = np.atleast_2d(model.coef_).astype(np.float64)
    return np.column_stack([coef, np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), coef.shape[:1])])
