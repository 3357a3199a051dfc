"""The table of the models that keep their rows, and the data that they are tried on.

A new one is tested by adding a row: its contract with scikit-learn, its certificate, and its answers.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sklearn.neighbors

import tenfold


@dataclass(frozen=True)
class Kept:
    """One estimator with settings.

    Attributes
    ----------
    name : the public name of the class.
    methods : what is asked of queries after a fit.
    target : "classes", "numbers" or "", where there is none.
    settings : parameters of its constructor.
    weighted : whether rows may have weights.
    sparse : whether rows may be sparse.
    fewest : the least number of rows.
    coarse : whether rows are only counted, so that one that moves a little is not missed.
    where : whether rows may be elsewhere with these settings.
    exempt : scikit-learn's checks that cannot hold: a weight is not a number of repetitions, or seeds are drawn.
    """

    name: str
    methods: tuple[str, ...]
    target: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    weighted: bool = False
    sparse: bool = True
    exempt: tuple[str, ...] = ()
    fewest: int = 1
    coarse: bool = False
    where: bool = True

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

    @property
    def id(self) -> str:
        return f"{self.name}({','.join(f'{key}={value}' for key, value in self.settings.items())})"

    @property
    def peer(self) -> Any:
        return getattr(sklearn.neighbors, self.name, None)

    def make(self, **extra: Any) -> Any:
        return getattr(tenfold, self.name)(**{**self.settings, **extra})

    def his(self, **extra: Any) -> Any:
        return self.peer(**{**self.settings, **extra})

    def data(self, n: int = 120, p: int = 4, seed: int = 0) -> tuple[Any, Any]:
        """Rows, two of which are the same, and targets."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, p)) * np.linspace(0.5, 1.5, p)
        X[7] = X[3]
        if self.target == "classes":
            return X, np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), [-0.3, 0.3])]
        return X, X[:, 0] + 0.1 * rng.standard_normal(n) if self.target else None

    def fit(self, model: Any, X: Any, y: Any, **extra: Any) -> Any:
        return model.fit(X, y, **extra) if self.target else model.fit(X, **extra)


REPEATED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
VOTED = ("predict", "predict_proba")
LOGS = ("score_samples", "score")
SEARCHES = ("kneighbors", "radius_neighbors")


def _voted(name: str, **settings: Any) -> Kept:
    return Kept(name, VOTED, "classes", settings, True, True, REPEATED)


def _averaged(name: str, **settings: Any) -> Kept:
    return Kept(name, ("predict",), "numbers", settings, True, True, REPEATED)


NEIGHBOURS = [
    Kept("NearestNeighbors", SEARCHES),
    Kept("NearestNeighbors", SEARCHES, settings={"metric": "cosine", "radius": 0.2}),
    _voted("KNeighborsClassifier"),
    _voted("KNeighborsClassifier", weights="distance", metric="manhattan", n_neighbors=3),
    _averaged("KNeighborsRegressor"),
    _averaged("KNeighborsRegressor", weights="distance", algorithm="brute"),
    _voted("RadiusNeighborsClassifier", outlier_label="most_frequent"),
    _voted("RadiusNeighborsClassifier", weights="distance", radius=5.0, p=1),
    _averaged("RadiusNeighborsRegressor", radius=3.0),
    _averaged("RadiusNeighborsRegressor", radius=3.0, weights="distance"),
    replace(_voted("KNeighborsClassifierCV", n_neighbors=7), fewest=2),
    replace(_averaged("KNeighborsCV", n_neighbors=[1, 3, 9], weights="distance"), fewest=2),
    Kept("KNeighborsTransformer", ("kneighbors", "transform")),
    Kept("RadiusNeighborsTransformer", ("radius_neighbors", "transform")),
    Kept("KernelDensity", LOGS, weighted=True, sparse=False),
    Kept("KernelDensity", LOGS, settings={"kernel": "linear", "bandwidth": 3.0}, weighted=True, sparse=False),
    Kept("ParzenRegressor", ("predict",), "numbers", weighted=True, sparse=False),
    Kept(
        "ParzenRegressor",
        ("predict",),
        "numbers",
        {"bandwidth": "loo", "window": "box"},
        True,
        False,
        fewest=2,
        where=False,
    ),
    Kept("ParzenRegressor", ("predict",), "numbers", {"bandwidth": 0.4, "window": "box"}, True, False),
    Kept("Histogram", LOGS, weighted=True, sparse=False, coarse=True),
    Kept("Histogram", LOGS, settings={"bins": 3}, weighted=True, sparse=False, coarse=True),
    Kept(
        "PrototypeClassifier",
        ("predict",),
        "classes",
        {"n_prototypes": 3, "random_state": 0},
        True,
        False,
        ("check_sample_weight_equivalence_on_dense_data",),
    ),
]
