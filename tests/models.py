"""The table of the models that are read off statistics of the rows, and the data that they are tried on.

A new one is tested by adding a row: its contract with scikit-learn, its certificate, and that weights, order, storage
and source of the rows do not matter. Estimators that solve a problem for weights of columns are in `estimators.py`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

import tenfold
from namespaces import host


class Data(NamedTuple):
    """Rows, targets (or None) and weights."""

    X: Any
    y: Any
    weight: Any = None


def clusters(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Classes of correlated numbers around means of their own, named by words."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, count, n)
    which[:count] = np.arange(count)
    means = 2.0 * rng.standard_normal((count, p)) + 0.5
    mix = rng.standard_normal((p, p)) * 0.4 + np.eye(p)
    X = rng.standard_normal((n, p)) @ mix * (1.0 + 0.3 * which[:, None]) + means[which]
    return Data(X, np.array(["ant", "bee", "cat", "dog"])[which])


def counts(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Classes of counts, named by words."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, count, n)
    which[:count] = np.arange(count)
    rates = rng.gamma(1.0, 2.0, (count, p)) + 0.2
    return Data(rng.poisson(rates[which]).astype(np.float64), np.array(["ant", "bee", "cat", "dog"])[which])


def categories(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Classes of categories, all of which come in the first rows, named by words."""
    X, y, _ = counts(n, p, seed, count)
    X = np.minimum(X, 3.0)
    X[:4] = np.arange(4.0)[: min(4, n), None]
    return Data(X, y)


def mixed(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Numbers, marks, categories and numbers, of which some are missing."""
    X, y, _ = categories(n, 4, seed, count)
    X[:, [0, 3]] = clusters(n, 2, seed, count).X
    X[:, 1] = X[:, 1] > 1
    X[np.random.default_rng(seed + 9).uniform(size=X.shape) < 0.1] = np.nan
    X[:4, 2] = np.arange(4.0)
    return Data(X, y)


def weights(n: int, seed: int = 7) -> Any:
    """Whole numbers from 0 to 3: rows that are left out, and rows that come several times."""
    found = np.random.default_rng(seed).integers(0, 4, n).astype(np.float64)
    found[:4] = 1.0
    return found


@dataclass(frozen=True)
class Model:
    """One estimator with settings.

    Attributes
    ----------
    name : the public name of the class.
    module : scikit-learn's module of the class of the same name; empty where it has none.
    data : what makes data that it can be tried on.
    learned : the fitted attributes that are compared.
    methods : what is asked of rows after a fit.
    settings : parameters of its constructor.
    kind : the kind of its certificate.
    mean : the largest offset of the columns at which it is tried; zero where values must be counts.
    judged : the attributes that the judge looks at.
    checked : whether scikit-learn's checks can hold with these settings.
    checks : settings with which its checks, which have one target, are made instead.
    alike : whether scikit-learn's class learns the same numbers.
    widths : whether any number of columns will do.
    missing : whether values may be missing.
    parts : whether rows may come in parts.
    here : whether these settings need NumPy and SciPy arrays, or files.
    step : how far a judged number is moved, relative to one and itself, for the judge to see it.
    """

    name: str
    module: str
    data: Callable[..., Data]
    learned: tuple[str, ...]
    methods: tuple[str, ...] = ("predict",)
    settings: dict[str, Any] = field(default_factory=dict)
    kind: str = "exact"
    mean: float = 1e6
    judged: tuple[str, ...] = ()
    checked: bool = True
    checks: dict[str, Any] = field(default_factory=dict)
    alike: bool = True
    widths: bool = True
    missing: bool = False
    parts: bool = True
    here: bool = False
    step: float = 1e-6

    @property
    def id(self) -> str:
        plain = (str, int, float, list)  # other objects print where they are in memory
        words = [f"{key}={value}" if isinstance(value, plain) else key for key, value in self.settings.items()]
        return f"{self.name}({','.join(words)})"

    @property
    def where(self) -> tuple[str, ...]:
        where = getattr(tenfold, self.name)._registration.where
        return tuple(source for source in where if not self.here or source not in ("Dask", "devices"))

    @property
    def peer(self) -> Any:
        """scikit-learn's class of this name, or None."""
        return getattr(importlib.import_module(f"sklearn.{self.module}"), self.name) if self.module else None

    def make(self, **extra: Any) -> Any:
        return getattr(tenfold, self.name)(**{**self.settings, **extra})

    def his(self) -> Any:
        """scikit-learn's with those settings that it has."""
        known = self.peer().get_params()
        return self.peer(**{key: value for key, value in self.settings.items() if key in known})

    def numbers(self, model: Any) -> list[Any]:
        """What was learned, in float64."""
        return [_flat(getattr(model, name)) for name in self.learned]

    def answers(self, model: Any, X: Any) -> list[Any]:
        return [getattr(model, name)(X) for name in self.methods]


def _flat(found: Any) -> Any:
    """One array in float64, of a list of arrays too."""
    if isinstance(found, list):
        found = np.concatenate([np.zeros(0), *(host(part).ravel() for part in found)])
    return np.asarray(host(found), dtype=np.float64)


PROBABLE = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "log_odds")
TABLE_OF_COUNTS = ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_")


def _counting(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Model:
    judged = ("class_log_prior_", "feature_log_prob_")
    module = meta.pop("module", "naive_bayes")
    return Model(name, module, counts, TABLE_OF_COUNTS, PROBABLE, settings or {}, mean=0.0, judged=judged, **meta)


SCORED = ("predict", "predict_proba", "predict_log_proba", "decision_function")
DIRECTIONS = ("priors_", "means_", "coef_", "intercept_", "explained_variance_ratio_")
QUADRATIC = {"learned": ("priors_", "means_", "scalings_"), "judged": ("means_", "scalings_"), "widths": False}


def _discriminant(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Model:
    known = {
        "learned": ("priors_", "means_", "coef_", "intercept_"),
        "judged": ("means_", "coef_", "intercept_"),
        "methods": SCORED,
        "parts": (settings or {}).get("shrinkage") != "auto",
        **meta,
    }
    return Model(name, "discriminant_analysis", clusters, settings=settings or {}, **known)


def _plug_in(covariance: str, **settings: Any) -> Model:
    learned = ("priors_", "means_", "covariance_")
    settings = {"covariance": covariance, **settings}
    return Model("GaussianPlugIn", "", clusters, learned, SCORED, settings, judged=("means_", "covariance_"))


def _centroids(settings: dict[str, Any] | None = None, **meta: Any) -> Model:
    learned = ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_")
    known = {"module": "neighbors", "methods": SCORED, "judged": learned[:3], "checked": not settings, **meta}
    return Model("NearestCentroid", data=clusters, learned=learned, settings=settings or {}, **known)


AXES = ("components_", "singular_values_", "explained_variance_", "explained_variance_ratio_")


def cloud(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """Numbers that vary most along some directions, without a target."""
    X = clusters(n, p, seed).X
    return Data(X * np.linspace(1.0, 3.0, p), None)


def _components(name: str, settings: dict[str, Any], **meta: Any) -> Model:
    known = {
        "learned": (*AXES, "mean_"),
        "judged": ("components_", "singular_values_", "mean_"),
        "methods": ("transform",),
        "kind": "spectral",
        "parts": False,
        "widths": settings["n_components"] == 1,
        **meta,
    }
    return Model(name, "decomposition", cloud, settings=settings, **known)


def pairs(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """Two blocks of numbers that have something in common: rows of the second are the targets."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 3))
    X = hidden @ rng.standard_normal((3, p)) + rng.standard_normal((n, p)) + 0.5
    return Data(X, hidden @ rng.standard_normal((3, 3)) * [1.0, 2.0, 3.0] + rng.standard_normal((n, 3)) - 1.0)


def _blocks(name: str, settings: dict[str, Any], **meta: Any) -> Model:
    learned = tuple(f"{side}_{part}_" for part in ("weights", "loadings", "rotations") for side in ("x", "y"))
    known = {
        "module": "cross_decomposition",
        "learned": (*learned, "coef_", "intercept_"),
        "judged": (*learned, "intercept_", "coef_"),
        "methods": ("transform", "predict"),
        "kind": "spectral",
        "parts": False,
        "widths": False,
        "checks": {"n_components": 1},
        **meta,
    }
    return Model(name, data=pairs, settings=settings, **known)


EXACT = {"tol": 1e-24, "max_iter": 100_000}
"""How scikit-learn's iterations come as near as the closed form."""


def _mixing(settings: dict[str, Any] | None = None, **meta: Any) -> Model:
    learned = ("class_count_", "class_log_prior_", "theta_", "var_", "mark_log_prob_", "category_log_prob_")
    known = {"data": clusters, "mean": 0.0, "judged": ("class_log_prior_", "theta_", "var_"), "missing": True, **meta}
    return Model("MixedNB", "", learned=learned, methods=PROBABLE, settings=settings or {}, **known)


def blobs(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """Three clouds that are well apart, without a target; the first row of each comes first."""
    rng = np.random.default_rng(seed)
    which = np.arange(n) % 3
    return Data(rng.standard_normal((n, p)) + 9.0 * np.eye(3, max(p, 3))[:, :p][which] + 3.0 * which[:, None], None)


class Apart:
    """Up to three rows that neither order nor repetitions change: the ends along the first column, and the middle."""

    def __call__(self, X: Any, k: int, random_state: Any) -> Any:
        X = X.toarray() if hasattr(X, "toarray") else X
        first = X[:, 0]
        middle = np.abs(first - 0.5 * (first.min() + first.max()))
        return X[[np.argmin(first), np.argmax(first), np.argmin(middle)][:k]]

    def __repr__(self) -> str:
        return "Apart()"


def _clusters(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Model:
    known = {
        "learned": ("cluster_centers_", "inertia_"),
        "methods": ("predict", "transform"),
        "kind": "fixed point",
        "judged": ("cluster_centers_",),
        "parts": False,
        "step": 1e-2,
        **meta,
    }
    return Model(name, "cluster", blobs, settings={"n_clusters": 3, "random_state": 0, **(settings or {})}, **known)


def _mixture(settings: dict[str, Any] | None = None, **meta: Any) -> Model:
    known = {
        "learned": ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"),
        "methods": ("predict", "predict_proba", "score_samples"),
        "kind": "fixed point",
        "judged": ("weights_", "means_", "covariances_"),
        "parts": False,
        "missing": True,
        "step": 1e-2,
        **meta,
    }
    settings = {"tol": 1e-8, "max_iter": 500, **(settings or {})}
    return Model("GaussianMixture", "mixture", blobs, settings=settings, **known)


def _three(kind: str, precisions: Any) -> dict[str, Any]:
    """Three components that start near the clouds of `blobs`."""
    means = 8.0 * np.eye(3, 4) + 3.0 * np.arange(3.0)[:, None]
    start = {"weights_init": [0.3, 0.3, 0.4], "means_init": means, "precisions_init": precisions}
    return {"n_components": 3, "covariance_type": kind, **start}


MODELS = [
    Model(
        "GaussianNB",
        "naive_bayes",
        clusters,
        ("class_count_", "class_prior_", "theta_", "var_"),
        PROBABLE,
        judged=("class_count_", "theta_", "var_"),
    ),
    _counting("MultinomialNB"),
    _counting("MultinomialNB", {"alpha": 0.1, "fit_prior": False}, checked=False),
    _counting("ComplementNB"),
    _counting("ComplementNB", {"norm": True, "class_prior": [0.2, 0.3, 0.5]}, checked=False),
    _counting("BernoulliNB", {"binarize": 1.0}),
    _counting("BernoulliNB", {"presence_only": True, "alpha": 0.5}, checked=False, alike=False, module=""),
    Model(
        "CategoricalNB",
        "naive_bayes",
        categories,
        ("class_count_", "class_log_prior_", "category_count_", "feature_log_prob_", "n_categories_"),
        PROBABLE,
        mean=0.0,
        judged=("class_log_prior_", "feature_log_prob_"),
    ),
    _mixing(),
    _mixing({"kinds": ["gaussian", "bernoulli", "categorical", "gaussian"]}, data=mixed, checked=False, widths=False),
    _discriminant("LinearDiscriminantAnalysis", learned=DIRECTIONS, methods=("transform", *SCORED)),
    # whose scores, and directions, are about zero, as in scikit-learn
    _discriminant(
        "LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.1}, methods=("transform", *SCORED), mean=0.0
    ),
    _discriminant("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}, checked=False, mean=0.0),
    _discriminant("QuadraticDiscriminantAnalysis", {"reg_param": 0.1}, **QUADRATIC),
    _discriminant(
        "QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"}, checked=False, **QUADRATIC
    ),
    _plug_in("shared", wishart=40.0),
    _plug_in("class", wishart=40.0),
    _plug_in("spherical"),
    _centroids(),
    _centroids({"shrink_threshold": 0.5, "priors": "empirical"}),
    _centroids({"metric": "mahalanobis"}, module="", mean=1e4, widths=False, judged=("centroids_", "whitener_")),
    _centroids({"metric": "manhattan"}, methods=("predict",), parts=False, here=True, judged=("centroids_",)),
    Model(
        "BayesClassifier",
        "",
        clusters,
        ("priors_",),
        SCORED,
        settings={"densities": tuple(scipy.stats.multivariate_normal(np.full(4, k), 2.0) for k in (0.0, 1.0, 2.0))},
        judged=("priors_",),
        mean=0.0,
        checked=False,
        widths=False,
    ),
    _components("PCA", {"n_components": 2}),
    _components("PCA", {"n_components": 0.9, "whiten": True, "svd_solver": "full"}, widths=False),
    _components("IncrementalPCA", {"n_components": 2}, parts=True, alike=False),
    _components("TruncatedSVD", {"n_components": 2}, learned=AXES, judged=AXES[:2], mean=0.0),
    _blocks("CCA", {"n_components": 2, **EXACT}),
    _blocks("CCA", {"n_components": 1, "ridge": 0.1, "scale": False}, module="", checked=False),
    _blocks("PLSRegression", {"n_components": 2, **EXACT}),
    _blocks("PLSCanonical", {"n_components": 2, **EXACT}),
    _blocks(
        "PLSSVD",
        {"n_components": 2},
        learned=("x_weights_", "y_weights_"),
        judged=("x_weights_", "y_weights_"),
        methods=("transform",),
    ),
    Model(
        "MultiviewCCA",
        "",
        cloud,
        ("weights_", "values_", "correlations_", "mean_", "scale_"),
        ("transform",),
        {"n_components": 1},
        kind="spectral",
        checks={"ridge": 0.1},  # their data have hardly more rows than columns
        judged=("weights_", "values_", "mean_", "scale_"),
        widths=False,
        parts=False,
    ),
    _clusters("KMeans", {"init": Apart(), "n_init": 1}),
    _mixture(),
    _mixture(_three("full", np.tile(np.eye(4), (3, 1, 1))), checked=False, widths=False, mean=0.0),
    _mixture(_three("tied", np.eye(4)), checked=False, widths=False, mean=0.0),
    _mixture(_three("diag", np.ones((3, 4))), checked=False, widths=False, mean=0.0),
]

DRAWN = ("BisectingKMeans", "MiniBatchKMeans", "OnlineKMeans")
"""Classes whose result depends on the order of the rows, or on batches that are drawn, so that the laws of the table do
not hold for them: tests/unit/test_clusters.py has theirs, and scikit-learn's checks.
"""
