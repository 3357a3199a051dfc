"""What a row of the table of estimators says: one class for what all rows have, one for each kind of model."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

import tenfold
from namespaces import host
from tenfold.estimators.registration import registration_of

from .data import Data, apart, classes, regression

NEAR = ("Dask", "devices")
HERE = ("files", *NEAR)


@dataclass(frozen=True, eq=False)
class Estimator:
    """One estimator with settings.

    Attributes
    ----------
    name : the public name of the class.
    settings : parameters of its constructor.
    kind : the kind of its certificate.
    source : what makes data that it can be tried on, where its kind of model has no such data in common.
    methods : what is asked of samples after a fit.
    judged : whether fit is judged, and solves a problem.
    weighted : whether samples may have weights.
    missing : whether values may be missing.
    matrices : whether samples are the rows of a matrix of numbers, and not sequences or tables.
    random : whether fit draws random numbers, which tests fix.
    in_sklearn : whether scikit-learn's class of the same name, if there is one, knows these settings.
    not_from : where samples cannot be with these settings, though they can with others.
    warns : how a warning begins that is right where there is nothing to learn; else empty.
    checked : settings without which scikit-learn's own checks cannot hold, for its own class as for ours.
    outside : why scikit-learn's own checks cannot hold with these settings, for its own class as for ours; else empty.
    exempt : scikit-learn's checks that its own class fails, too, or that it is not asked, as it takes no weights.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    kind: str = "exact"
    source: Callable[..., Data] | None = None
    methods: tuple[str, ...] = ("predict",)
    judged: bool = True
    weighted: bool = True
    missing: bool = False
    matrices: bool = True
    random: bool = False
    in_sklearn: bool = True
    not_from: tuple[str, ...] = ()
    warns: str = ""
    checked: dict[str, Any] = field(default_factory=dict)
    outside: str = ""
    exempt: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        plain = (str, int, float, list)  # other objects print where they are in memory
        words = [f"{key}={value}" if isinstance(value, plain) else key for key, value in self.settings.items()]
        return f"{self.name}({','.join(words)})"

    @property
    def cls(self) -> Any:
        return getattr(tenfold, self.name)

    @property
    def peer(self) -> Any:
        """scikit-learn's class of this name, or None."""
        said = registration_of(self.cls)
        return said.peer_class(self.name) if said and self.in_sklearn else None

    @property
    def where(self) -> tuple[str, ...]:
        """Where the samples may be."""
        said = registration_of(self.cls)
        return tuple(place for place in said.where if place not in self.not_from) if said else ()

    @property
    def seeded(self) -> dict[str, Any]:
        return {**self.settings, **({"random_state": 0} if self.random else {})}

    def make(self, **extra: Any) -> Any:
        """A new estimator with these settings and `extra` ones."""
        return self.cls(**{**self.seeded, **extra})

    def make_sklearn(self) -> Any:
        """scikit-learn's with those of these settings that it has; some are deprecated there."""
        known = inspect.signature(self.peer).parameters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return self.peer(**{key: value for key, value in self.seeded.items() if key in known})

    def data(self, n: int = 90, p: int = 4, seed: int = 0) -> Data:
        """Data that it can be certified on."""
        assert self.source is not None
        return self.source(n, p, seed)

    def answers(self, model: Any, X: Any) -> list[Any]:
        """What a fitted model says of samples, method by method."""
        return [getattr(model, name)(X) for name in self.methods]


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear(Estimator):
    """A model of weights of the features.

    Attributes
    ----------
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
    tied : whether the intercept is penalised, so that it depends on where rows are measured from.
    robust : whether errors are not squared, or not those within epsilon, so that a constant is not the mean and the
        penalty knows the targets' unit.
    outliers : whether it finds outliers, and needs no y.
    kinks : whether the loss has kinks, so that the solver keeps numbers for each sample on the host.
    """

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
    tied: bool = False
    robust: bool = False
    outliers: bool = False
    kinks: bool = False

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

    def in_order(self) -> "Linear":
        """The same that looks at the rows in their order: a shuffle in memory is not that of blocks."""
        return replace(self, settings={**self.settings, "shuffle": False}) if self.sequential else self

    def data(self, n: int = 60, p: int = 4, seed: int = 0, count: int = 2) -> Data:
        if self.classifier:
            return (apart if self.separates else classes)(n, p, seed, count)
        X, y, _ = regression(n, p, seed)
        if self.matrix:
            y = np.column_stack([y, X[:, 0] + np.random.default_rng(seed + 1).standard_normal(n)])
        return Data(X, np.abs(y) + 0.1 if self.counts else y)


@dataclass(frozen=True, eq=False, kw_only=True)
class Statistical(Estimator):
    """A model that is read off statistics of the samples: their order, storage and place do not matter.

    Attributes
    ----------
    learned : the fitted attributes that are compared.
    seen : the attributes that the judge looks at.
    mean : the largest offset of the columns at which it is tried; zero where values must be counts.
    alike : whether scikit-learn's class learns the same numbers.
    widths : whether any number of columns will do.
    parts : whether rows may come in parts.
    step : how far a judged number is moved, relative to one and itself, for the judge to see it.
    """

    learned: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    mean: float = 1e6
    alike: bool = True
    widths: bool = True
    parts: bool = True
    step: float = 1e-6
    searches: ClassVar[bool] = False
    ordered: ClassVar[bool] = True  # the bits of answers are those of memory wherever the samples are read from
    itself: ClassVar[str] = ""
    ties: ClassVar[Any] = slice(0, 0)
    many: ClassVar[int] = 700  # samples, enough for several blocks

    def queries(self, X: Any) -> Any:
        """Samples that are asked for answers."""
        return X

    def numbers(self, model: Any) -> list[Any]:
        """What was learned, in float64."""
        return [_flat(getattr(model, name)) for name in self.learned]


def _flat(result: Any) -> Any:
    """One array in float64, of a list of arrays too."""
    if isinstance(result, list):
        result = np.concatenate([np.zeros(0), *(host(part).ravel() for part in result)])
    return np.asarray(host(result), dtype=np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbours(Estimator):
    """A model that keeps its samples.

    Attributes
    ----------
    target : "classes", "numbers" or "", where there is none.
    fewest : the least number of rows.
    coarse : whether rows are only counted, so that one that moves a little is not missed.
    """

    target: str = ""
    weighted: bool = False
    fewest: int = 1
    coarse: bool = False
    learned: ClassVar[tuple[str, ...]] = ()
    many: ClassVar[int] = 300

    def queries(self, X: Any) -> Any:
        """Samples that are asked for answers, beside those of the fit."""
        return X[:40] + 0.125

    def numbers(self, model: Any) -> list[Any]:
        """What was learned: nothing, the samples are kept."""
        return []

    @property
    def ordered(self) -> bool:
        """Whether answers do not depend on the order of sums."""
        return self.searches

    @property
    def searches(self) -> bool:
        """Whether answers are made of neighbours, and not of sums over all rows."""
        return self.name not in ("KernelDensity", "ParzenRegressor", "Histogram", "PrototypeClassifier")

    @property
    def itself(self) -> str:
        """What is asked of the rows of the fit."""
        return self.methods[0] if self.searches else ""

    @property
    def ties(self) -> Any:
        """Rows that are moved to whole numbers, so that many are at the same distance."""
        return slice(100, 300) if self.searches else slice(0, 0)

    def data(self, n: int = 120, p: int = 4, seed: int = 0) -> Data:
        """Rows, two of which are the same, and targets."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, p)) * np.linspace(0.5, 1.5, p)
        X[7] = X[3]
        if self.target == "classes":
            cuts = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), [-0.3, 0.3])
            return Data(X, np.array(["ant", "bee", "cat"])[cuts])
        return Data(X, X[:, 0] + 0.1 * rng.standard_normal(n) if self.target else None)


@dataclass(frozen=True, eq=False, kw_only=True)
class Other(Estimator):
    """A class that has its laws to itself, in tests of its own: the contract is asked of it, and no more.

    Attributes
    ----------
    why : why the laws of the other kinds do not hold for it.
    """

    why: str
