"""The one table of all estimators with small settings: what is common to a family is written once above it.

A new estimator is tested by adding a row. Contract, certificates, laws, equivalence and bad-input tests run over
`TABLE` or over the rows of a kind; what a row says of itself (`rows.py`) is what a test may ask of it.
"""

from functools import cache
from typing import Any

import numpy as np
import scipy.stats

from tenfold import kernels

from .data import (
    Data,
    apart,
    blobs,
    categories,
    classes,
    cloud,
    clusters,
    counts,
    frame,
    make_mixed,
    pairs,
    parts,
    regression,
    sequences,
    tasks,
)
from .rows import HERE, NEAR, Estimator, Linear, Neighbours, Other, Statistical

REPEATED = tuple(f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
"""Integer weights are repeated samples: not to a method that looks at one after the other, where a weight is a factor
of a step; nor to neighbours, of which two at one place are two; nor where samples are drawn.
"""

# -- models of weights


def _regressor(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return Linear(name, settings or {}, **meta)


def _classifier(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return Linear(name, settings or {}, **{"classifier": True, "classes": np.inf, "multi_output": False, **meta})


def _logistic(settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return _classifier("LogisticRegression", settings, kind="gap", iterative=True, **meta)


def _perceptron(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return _classifier(name, settings, kind="count", sequential=True, unique=False, exempt=REPEATED, **meta)


def _evidence(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return Linear(
        name, settings or {}, kind="stationarity", multi_output=False, unique=False, units=True, repeats=True, **meta
    )


def _deviance(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return Linear(
        name, settings or {}, **{"kind": "gap", "multi_output": False, "iterative": True, "counts": True, **meta}
    )


def _lasso(name: str, settings: dict[str, Any], **meta: Any) -> Linear:
    # the gap that ends a fit is small here, so that fits can be compared by their weights
    meta = {"kind": "gap", "lasso": True, "once": True, "units": True, "iterative": True, **meta}
    return _regressor(name, {"tol": 1e-10, **settings}, **meta)


def _pursuit(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    warns = "Orthogonal matching pursuit ended prematurely"
    return Linear(name, settings or {}, unique=False, selects=True, warns=warns, **meta)


def _angles(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return Linear(name, settings or {}, kind="gap", lasso=True, unique=False, units=True, **meta)


def _machine(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    return Linear(
        name,
        settings or {},
        **{"kind": "gap", "multi_output": False, "iterative": True, "tied": True, "random": True, **meta},
    )


HINGED = {"robust": True, "units": True, "kinks": True}
NONSMOOTH = {"counts": False, "robust": True, "unique": False, "units": True, "kinks": True}

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


def _learner(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Linear:
    known = {"kind": "gap", "multi_output": False, "judged": False, "random": True, "exempt": REPEATED}
    return Linear(name, settings or {}, **{**known, **meta})


# -- models that are read off statistics

FOR_THESE = "the settings are made for the columns and classes of the data of the row"
AT_ONCE = "these settings need all rows at once, and the checks give them in parts"
DEPENDENT = "columns of the checks depend on each other, and their covariance has no inverse"


def _statistical(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    return Statistical(name, settings or {}, **meta)


PROBABLE = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "log_odds")
TABLE_OF_COUNTS = ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_")


def _counting(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    known = {"source": counts, "methods": PROBABLE, "mean": 0.0, "seen": ("class_log_prior_", "feature_log_prob_")}
    return _statistical(name, settings, **{"learned": TABLE_OF_COUNTS, **known, **meta})


SCORED = ("predict", "predict_proba", "predict_log_proba", "decision_function")
DIRECTIONS = ("priors_", "means_", "coef_", "intercept_", "explained_variance_ratio_")
QUADRATIC = {"learned": ("priors_", "means_", "scalings_"), "seen": ("means_", "scalings_"), "widths": False}


def _discriminant(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    known = {
        "source": clusters,
        "learned": ("priors_", "means_", "coef_", "intercept_"),
        "seen": ("means_", "coef_", "intercept_"),
        "methods": SCORED,
        "parts": (settings or {}).get("shrinkage") != "auto",
    }
    return _statistical(name, settings, **{**known, **meta})


def _plug_in(covariance: str, **settings: Any) -> Statistical:
    known = {"learned": ("priors_", "means_", "covariance_"), "methods": SCORED, "seen": ("means_", "covariance_")}
    return _statistical("GaussianPlugIn", {"covariance": covariance, **settings}, source=clusters, **known)


def _centroids(settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    learned = ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_")
    known = {"source": clusters, "learned": learned, "methods": SCORED, "seen": learned[:3]}
    return _statistical("NearestCentroid", settings, **{**known, **meta})


def _covariance(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    learned = ("location_", "covariance_")
    known = {"source": cloud, "learned": learned, "seen": learned, "methods": ("mahalanobis",), "parts": False}
    return _statistical(name, settings, **{**known, **meta})


GRAPH = {"seen": ("covariance_", "precision_"), "alike": False, "widths": False, "step": 1e-2, "mean": 1e3}
FOLDED_GRAPH: dict[str, Any] = {
    "kind": "gap",
    "source": cloud,
    "methods": ("mahalanobis",),
    "weighted": False,
    "checked": {"alphas": 2},
    "why": "the penalty is chosen in folds: tests/certificates/test_graphical_lasso.py has its laws",
}

AXES = ("components_", "singular_values_", "explained_variance_", "explained_variance_ratio_")


def _components(name: str, settings: dict[str, Any], **meta: Any) -> Statistical:
    known = {
        "source": cloud,
        "learned": (*AXES, "mean_"),
        "seen": ("components_", "singular_values_", "mean_"),
        "methods": ("transform",),
        "kind": "spectral",
        "parts": False,
        "widths": settings["n_components"] == 1,
    }
    return _statistical(name, settings, **{**known, **meta})


def _factor_analysis(settings: dict[str, Any], **meta: Any) -> Statistical:
    known = {
        "source": cloud,
        "learned": ("noise_variance_", "mean_"),
        "seen": ("components_", "noise_variance_", "mean_"),
        "methods": ("transform", "score_samples"),
        "kind": "stationarity",
        "parts": False,
        "widths": False,
        "alike": False,
        "mean": 0.0,
        "step": 1e-2,
    }
    return _statistical("FactorAnalysis", settings, **{**known, **meta})


def _probabilistic(settings: dict[str, Any], **meta: Any) -> Statistical:
    known = {
        "source": cloud,
        "learned": ("components_", "explained_variance_", "mean_"),
        "seen": ("components_", "explained_variance_", "mean_"),
        "methods": ("transform", "score_samples"),
        "kind": "spectral",
        "parts": False,
        "missing": True,
        "widths": settings["n_components"] == 1,
    }
    return _statistical("ProbabilisticPCA", settings, **{**known, **meta})


SOURCES: dict[str, Any] = {
    "kind": "stationarity",
    "source": cloud,
    "methods": ("transform",),
    "random": True,
    "checked": {"max_iter": 5000, "tol": 1e-3, "n_components": 1},
    "why": "the start is random, and sources have no order: tests/certificates/test_fast_ica.py has its laws",
}


def _blocks(name: str, settings: dict[str, Any], **meta: Any) -> Statistical:
    learned = tuple(f"{side}_{part}_" for part in ("weights", "loadings", "rotations") for side in ("x", "y"))
    known = {
        "source": pairs,
        "learned": (*learned, "coef_", "intercept_"),
        "seen": (*learned, "intercept_", "coef_"),
        "methods": ("transform", "predict"),
        "kind": "spectral",
        "parts": False,
        "widths": False,
        "checked": {"n_components": 1},  # there is one target
    }
    return _statistical(name, settings, **{**known, **meta})


EXACT = {"tol": 1e-24, "max_iter": 100_000}
"""How scikit-learn's iterations come as near as the closed form."""


def _mixing(settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    learned = ("class_count_", "class_log_prior_", "theta_", "var_", "mark_log_prob_", "category_log_prob_")
    seen = ("class_log_prior_", "theta_", "var_")
    known = {"source": clusters, "learned": learned, "methods": PROBABLE, "mean": 0.0, "seen": seen, "missing": True}
    return _statistical("MixedNB", settings, **{**known, **meta})


class Apart:
    """Up to three rows that neither order nor repetitions change: the ends along the first column, and the middle."""

    def __call__(self, X: Any, k: int, random_state: Any) -> Any:
        X = X.toarray() if hasattr(X, "toarray") else X
        first = X[:, 0]
        middle = np.abs(first - 0.5 * (first.min() + first.max()))
        return X[[np.argmin(first), np.argmax(first), np.argmin(middle)][:k]]

    def __repr__(self) -> str:
        return "Apart()"


def _clusters(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    known = {
        "source": blobs,
        "learned": ("cluster_centers_", "inertia_"),
        "methods": ("predict", "transform"),
        "kind": "fixed point",
        "seen": ("cluster_centers_",),
        "parts": False,
        "step": 1e-2,
    }
    return _statistical(name, {"n_clusters": 3, "random_state": 0, **(settings or {})}, **{**known, **meta})


def _mixture(settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    known = {
        "source": blobs,
        "learned": ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"),
        "methods": ("predict", "predict_proba", "score_samples"),
        "kind": "fixed point",
        "seen": ("weights_", "means_", "covariances_"),
        "parts": False,
        "missing": True,
        "step": 1e-2,
    }
    return _statistical("GaussianMixture", {"tol": 1e-8, "max_iter": 500, **(settings or {})}, **{**known, **meta})


def _sentences(n: int = 40, p: int = 4, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    y = np.array(["ant", "bee"])[rng.integers(0, 2, n)]
    X = [[None if rng.uniform() < 0.1 else "abc"[(i * (1 + (c == "bee"))) % 3] for i in range(2 + p)] for c in y]
    return Data(X, y)


def _words(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    known = {"source": _sentences, "kind": "fixed point", "matrices": False, "why": "takes sequences of words"}
    return Other(name, settings or {}, outside="the checks have matrices", **{**known, **meta})


def _variational(settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    known = {"source": blobs, "methods": ("predict", "predict_proba", "score_samples"), "kind": "fixed point"}
    why = "the bound stops steps far from the posterior's own digits: tests/unit/test_bayesian_mixture.py has its laws"
    chosen = {"n_components": 3, "tol": 1e-6, "max_iter": 500, **(settings or {})}
    return Other("BayesianGaussianMixture", chosen, random=True, exempt=REPEATED, why=why, **{**known, **meta})


def _counted(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Statistical:
    known = {
        "learned": ("weights_", "feature_log_prob_"),
        "methods": ("predict", "predict_proba", "score_samples"),
        "kind": "fixed point",
        "seen": ("weights_", "feature_log_prob_"),
        "parts": False,
        "step": 1e-2,
        "outside": FOR_THESE,
        "widths": False,
    }
    first = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    start = {"n_components": 2, "weights_init": [0.5, 0.5], "probabilities_init": first, "tol": 1e-8, "max_iter": 2000}
    return _statistical(name, {**start, **(settings or {})}, **{**known, **meta})


def _three(kind: str, precisions: Any) -> Statistical:
    """Three components that start near the clouds of `blobs`."""
    means = 8.0 * np.eye(3, 4) + 3.0 * np.arange(3.0)[:, None]
    start = {"weights_init": [0.3, 0.3, 0.4], "means_init": means, "precisions_init": precisions}
    settings = {"n_components": 3, "covariance_type": kind, **start}
    return _mixture(settings, outside=FOR_THESE, widths=False, mean=0.0)


# -- models that keep their samples

VOTED = ("predict", "predict_proba")
LOGS = ("score_samples", "score")
SEARCHES = ("kneighbors", "radius_neighbors")

ITSELF = "where one of two equal samples is left out, the other is its nearest neighbour: weights are not repeated rows"
BOXES = "three bins of each of thirty columns are more boxes than memory holds"


def _voting(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Neighbours:
    known = {"methods": VOTED, "target": "classes", "weighted": True, "exempt": REPEATED}
    return Neighbours(name, settings or {}, **{**known, **meta})


def _averaging(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Neighbours:
    known = {"methods": ("predict",), "target": "numbers", "weighted": True, "exempt": REPEATED}
    return Neighbours(name, settings or {}, **{**known, **meta})


def _density(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Neighbours:
    return Neighbours(name, settings or {}, methods=LOGS, weighted=True, **meta)


# -- classes that have their laws to themselves


def _targets(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    X, y, _ = regression(n, p, seed)
    return Data(X, y)


def _classes(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    return classes(n, p, seed, 3)


def _sinks(name: str, settings: dict[str, Any], **meta: Any) -> Other:
    why = "weights are those of random features, not of the columns"
    known = {"kind": "residual", "random": True, "exempt": REPEATED, "checked": {"n_components": 300}}
    return Other(name, {"n_components": 30, **settings}, **{**known, "why": why, **meta})


def _filter(settings: dict[str, Any], **meta: Any) -> Other:
    known = {"source": _targets, "exempt": REPEATED, "why": "an early-stopped solve is at no optimum"}
    return Other("SpectralFilter", settings, **{**known, **meta})


FEWER = "n_components > n_samples"


def _features(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    why = "the features of a sample are a formula of it, with what was drawn: nothing of the samples is learned"
    known = {"source": cloud, "methods": ("transform",), "judged": False, "weighted": False, "random": True}
    return Other(name, settings or {}, **{**known, "why": why, **meta})


def _sampling(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    settings = {"n_clusters": 3, "random_state": 0, **(settings or {})}
    why = "the result depends on the order of the samples, or on batches that are drawn"
    known = {"source": blobs, "methods": ("predict", "transform"), "kind": "fixed point", "exempt": REPEATED}
    return Other(name, settings, **{**known, "why": why, **meta})


NOISY = 1.0 * kernels.Gaussian() + kernels.White()
SMOOTH = 1.0 * kernels.Gaussian()


def _process(name: str, settings: dict[str, Any], **meta: Any) -> Other:
    why = "matrices of all pairs of samples are kept; its laws are in tests/certificates/test_gaussian_process.py"
    # hyper-parameters of their data are at bounds, of which scikit-learn's class warns, too
    return Other(name, settings, weighted=False, why=why, checked={"optimizer": None}, **meta)


def _dual(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    classifier = "Classifier" in name
    known = {"kind": "dual residual", "source": classes if classifier else regression}
    known |= {"exempt": ("check_class_weight_classifiers",)} if classifier else {}  # they move an offset: there is none
    why = "predicts by dual coefficients of its samples: tests/unit/test_kernel_ridge.py has its laws"
    return Other(name, settings or {}, **{**known, "why": why, **meta})


def _risk(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    classifier = "Regression" in name or "Classifier" in name
    methods = ("predict", "decision_function") if classifier else ("predict",)
    known = {"kind": "gap", "source": classes if classifier else regression, "methods": methods}
    why = "predicts by coefficients of its samples: tests/unit/test_kernel_risk.py has its laws"
    return Other(name, settings or {}, **{**known, "checked": {"tol": 1e-18}, "why": why, **meta})


def _online(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    why = "looks at one sample after the other: tests/unit/test_kernel_online.py has its laws"
    known = {"kind": "count", "source": apart, "methods": ("predict", "decision_function"), "random": True}
    return Other(
        name, settings or {}, **{**known, "exempt": (*REPEATED, "check_class_weight_classifiers"), "why": why, **meta}
    )


def _centred(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    why = "coefficients are those of centres, which are drawn"
    return Other(name, settings or {}, kind="gap", random=True, exempt=REPEATED, why=why, **meta)


def _graph(name: str, settings: dict[str, Any], **meta: Any) -> Other:
    why = "the graph of all samples is kept; its laws are in tests/certificates/test_spectral_graph.py"
    return Other(
        name, settings, kind="spectral", source=cloud, methods=(), weighted=False, random=True, why=why, **meta
    )


def _tree(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    why = "the tree of all samples is kept; its laws are in tests/certificates/test_hierarchy.py"
    known = {"kind": "exact", "source": blobs, "methods": (), "weighted": False, "why": why}
    return Other(name, settings or {}, **{**known, **meta})


STRESS = "keeps the dissimilarities of its samples alone: tests/unit/test_manifold.py has its laws"
IN_PARTS = "The number of connected components of the neighbors graph"


def _spectral(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    known = {"kind": "spectral", "source": cloud, "methods": ("transform",), "weighted": False}
    why = "keeps its samples, and eigenvectors of their kernel matrix: tests/unit/test_kernel_pca.py has its laws"
    return Other(name, settings or {}, **{**known, "why": why, **meta})


FEW_PASSES = {"tol": 0.0, "max_iter": 5}


def _factors(name: str, settings: dict[str, Any], **meta: Any) -> Other:
    why = "every sample has codes of its own, and starts are drawn; its laws are in tests/unit/test_nmf.py"
    known = {"kind": "stationarity", "source": parts, "methods": ("transform",), "weighted": False, "random": True}
    return Other(name, {"n_components": 2, **settings}, **{**known, "why": why, **meta})


ATOMS = np.random.default_rng(0).standard_normal((6, 4)) / 2.0


def _dictionary(name: str, settings: dict[str, Any], **meta: Any) -> Other:
    why = "samples, or features, have codes of their own; its laws are in tests/unit/test_dictionary.py"
    known = {"kind": "stationarity", "source": blobs, "methods": ("transform",), "weighted": False}
    return Other(name, settings, **{**known, "why": why, **meta})


def _coder(settings: dict[str, Any], **meta: Any) -> Other:
    why = "nothing is learned; its laws are in tests/unit/test_dictionary.py"
    outside = "samples of the checks have other numbers of features than the dictionary"
    known = {"source": blobs, "methods": ("transform",), "weighted": False, "judged": False, "outside": outside}
    return Other("SparseCoder", {"dictionary": ATOMS, **settings}, why=why, **{**known, **meta})


def _tasks(name: str, why: str) -> Other:
    return Other(name, source=tasks, kind="gap", checked={"tol": 1e-13}, why=why)


def _monotone(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """One feature, with ties, and a target that rises with it."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.uniform(0.0, 9.0, n), 1)
    return Data(x, np.sqrt(x) + rng.standard_normal(n))


ONE_FEATURE = "takes one feature, not a matrix: tests/certificates/test_isotonic.py has its laws"


def _isotonic(settings: dict[str, Any] | None = None) -> Other:
    known = {"kind": "gap", "source": _monotone, "matrices": False, "why": ONE_FEATURE, "outside": ONE_FEATURE}
    return Other("IsotonicRegression", settings or {}, **known)


PAIRS = "machines of all pairs of classes on support vectors, with tests of their own"
KERNELS = "coefficients of support vectors, with tests of their own"
REPEATS = {"checked": {"gamma": "auto", "tol": 1e-10}}  # the default gamma is by the variance without weights
IGNORED = (
    "check_class_weight_classifiers",
)  # no effect, as in scikit-learn's; nu does not suit all weights of the checks
IN_FOLDS = {"in_sklearn": False, "checked": {"Cs": 2, "gammas": "auto", "cv": 2}, "exempt": REPEATED}
CALIBRATED = {**IN_FOLDS["checked"], "calibrate": False}  # the likeliest class need not have the most votes
COUPLED = ("predict", "decision_function", "predict_proba")
OVO = "the checks expect a value for each class"


def _separated(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    known = {"source": clusters, "kind": "gap", "methods": ("predict", "decision_function"), "why": PAIRS, **REPEATS}
    return Other(name, settings or {}, **{**known, **meta})


def _supported(name: str, settings: dict[str, Any] | None = None, **meta: Any) -> Other:
    return Other(name, settings or {}, **{"source": regression, "kind": "gap", "why": KERNELS, **REPEATS, **meta})


CONVERGED = {"activation": "tanh", "solver": "lbfgs", "alpha": 1.0, "tol": 1e-6, "max_iter": 20_000}


QUICK = {"learning_rate_init": 0.01, "tol": 1e-3, "max_iter": 1000}


def _network(name: str, settings: dict[str, Any], **meta: Any) -> Other:
    classifier = name == "MLPClassifier"
    known = {"kind": "stationarity", "source": _classes if classifier else regression, "random": True}
    known |= {"methods": ("predict", "predict_proba") if classifier else ("predict",)}
    known |= {"checked": {"tol": 1e-2}} if settings.get("solver") == "lbfgs" else {"exempt": REPEATED}
    why = "the loss is not convex, and what is learned depends on the start: tests/unit/test_mlp.py has its laws"
    return Other(name, {"hidden_layer_sizes": (8,), **settings}, **{**known, "why": why, **meta})


TABLE: list[Estimator] = [
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
    _dual("KernelRidge"),
    _dual("KernelRidge", {"kernel": "rbf", "gamma": 0.1, "alpha": 0.1}),
    _dual("KernelRidgeClassifier"),
    _dual("KernelRidgeClassifier", {"kernel": "laplacian", "class_weight": "balanced"}, outside=COUNTS),
    _risk("KernelLogisticRegression"),
    _risk("KernelLogisticRegression", {"C": 10.0, "kernel": "laplacian", "fit_intercept": False}, outside=CENTRED),
    _risk("KernelLogisticRegression", {"centres": 20}, random=True, checked={"centres": None, "tol": 1e-18}),
    _risk("Tikhonov", {"alpha": 1e-2}),
    # medians are not unique, so that weights are asked of another loss
    _risk("Tikhonov", {"loss": "laplace", "alpha": 0.1, "gamma": 0.1}, checked={"loss": "square", "tol": 1e-18}),
    _risk("TikhonovClassifier", {"loss": "squared_hinge", "class_weight": "balanced"}),
    _risk("KernelSGD", judged=False, checked={}, exempt=REPEATED),
    _risk("KernelSGDClassifier", {"loss": "softmax"}, judged=False, checked={}, exempt=REPEATED),
    _online("KernelPerceptron"),
    _online("KernelPerceptron", {"kernel": "laplacian", "prediction": "averaged"}),
    _online("KernelPerceptron", {"prediction": "voted", "shuffle": False}),
    _dual("KernelRidgeCV", {"alphas": ALPHAS}),
    _dual(
        "KernelRidgeCV",
        {"alphas": ALPHAS, "kernel": "poly", "gammas": [0.1, 1.0], "cv": 3},
        checked={"kernel": "laplacian"},  # cubes of their features, some hundreds, leave no digit to the residual
    ),
    _dual("KernelRidgeClassifierCV", {"alphas": ALPHAS, "gammas": [0.1, 1.0]}),
    _dual("KernelRidgeClassifierCV", {"alphas": ALPHAS, "gammas": [0.1, 1.0], "cv": 3}),
    _evidence("BayesianRidge", {"compute_score": True}),
    _evidence("BayesianRidge", {"fit_intercept": False, "lambda_init": 0.1}),
    _evidence("ARDRegression"),
    _evidence("ARDRegression", {"fit_intercept": False, "threshold_lambda": 100.0}),
    _pursuit("OrthogonalMatchingPursuit", units=True),
    _pursuit("ForwardSelection"),
    Linear("MatchingPursuit", kind="exact", unique=False, selects=True),
    Linear("BestSubset", kind="exact", unique=False, selects=True, repeats=True, most_columns=40),
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
    _deviance("QuantileRegressor", {"quantile": 0.4, "alpha": 0.05}, **NONSMOOTH),
    _machine("LinearSVC", classifier=True, classes=np.inf),
    _machine("LinearSVC", {"loss": "hinge", "C": 0.5}, classifier=True, classes=np.inf, not_from=("Dask",), **HINGED),
    _machine("LinearSVR", not_from=("Dask",), **HINGED),
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
    _learner("SGDClassifier", classifier=True, classes=np.inf),
    _learner("SGDRegressor"),
    _learner("SGDRegressor", {"threshold": 0.05}, in_sklearn=False),
    _learner("SGDOneClassSVM", outliers=True),
    _learner("PassiveAggressiveClassifier", classifier=True, classes=np.inf),
    _learner("PassiveAggressiveRegressor"),
    _counting(
        "GaussianNB",
        source=clusters,
        learned=("class_count_", "class_prior_", "theta_", "var_"),
        seen=("class_count_", "theta_", "var_"),
        mean=1e6,
    ),
    _counting("MultinomialNB"),
    _counting("MultinomialNB", {"alpha": 0.1, "fit_prior": False}),
    _counting("ComplementNB"),
    _counting("ComplementNB", {"norm": True, "class_prior": [0.2, 0.3, 0.5]}, outside=FOR_THESE),
    _counting("BernoulliNB", {"binarize": 1.0}),
    _counting("BernoulliNB", {"presence_only": True, "alpha": 0.5}, alike=False, in_sklearn=False),
    _counting(
        "CategoricalNB",
        source=categories,
        learned=("class_count_", "class_log_prior_", "category_count_", "feature_log_prob_", "n_categories_"),
    ),
    _mixing(),
    _mixing(
        {"kinds": ["gaussian", "bernoulli", "categorical", "gaussian"]},
        source=make_mixed,
        outside=FOR_THESE,
        widths=False,
    ),
    _discriminant("LinearDiscriminantAnalysis", learned=DIRECTIONS, methods=("transform", *SCORED)),
    # whose scores, and directions, are about zero, as in scikit-learn
    _discriminant(
        "LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.1}, methods=("transform", *SCORED), mean=0.0
    ),
    _discriminant("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}, mean=0.0, outside=AT_ONCE),
    _discriminant("QuadraticDiscriminantAnalysis", {"reg_param": 0.1}, **QUADRATIC),
    _discriminant(
        "QuadraticDiscriminantAnalysis", {"solver": "eigen", "shrinkage": "auto"}, outside=AT_ONCE, **QUADRATIC
    ),
    _plug_in("shared", wishart=40.0),
    _plug_in("class", wishart=40.0),
    _plug_in("spherical"),
    _plug_in("unit"),
    _centroids(),
    _centroids({"shrink_threshold": 0.5, "priors": "empirical"}),
    _centroids(
        {"metric": "mahalanobis"},
        in_sklearn=False,
        mean=1e4,
        widths=False,
        seen=("centroids_", "whitener_"),
        outside=DEPENDENT,
    ),
    _centroids(
        {"metric": "manhattan"},
        methods=("predict",),
        parts=False,
        not_from=NEAR,
        seen=("centroids_",),
        outside=AT_ONCE,
    ),
    _statistical(
        "BayesClassifier",
        {"densities": tuple(scipy.stats.multivariate_normal(np.full(4, k), 2.0) for k in (0.0, 1.0, 2.0))},
        source=clusters,
        learned=("priors_",),
        methods=SCORED,
        seen=("priors_",),
        mean=0.0,
        outside=FOR_THESE,
        widths=False,
    ),
    _components("PCA", {"n_components": 2}),
    _components("PCA", {"n_components": 0.9, "whiten": True, "svd_solver": "full"}, widths=False),
    _components("IncrementalPCA", {"n_components": 2}, parts=True, alike=False),
    _components("TruncatedSVD", {"n_components": 2}, learned=AXES, seen=AXES[:2], mean=0.0),
    _sinks("RandomKitchenSinks", {"alphas": ALPHAS}, source=_targets),
    _sinks("RandomKitchenSinks", {"alpha": 0.1, "kernel": "matern", "orthogonal": True}, source=_targets, exempt=()),
    _sinks("RandomKitchenSinksClassifier", {"alphas": ALPHAS}, source=_classes),
    _filter({}),
    _filter({"method": "pcr", "n_steps": 10}, checked={"stop": "loo"}),
    _filter({"method": "nu", "kernel": "rbf", "gamma": 0.1, "n_steps": 30}, not_from=("files", "Dask")),
    _network("MLPClassifier", CONVERGED),
    _network("MLPClassifier", {**QUICK, "hidden_layer_sizes": (6, 4)}, judged=False),
    _network("MLPRegressor", CONVERGED),
    _network("MLPRegressor", {**QUICK, "solver": "sgd"}, judged=False, checked={"solver": "lbfgs", "tol": 1e-2}),
    Other("LookupTable", source=_classes, why="generalises to no sample that it has not seen"),
    Other("PiecewiseLinear", source=_targets, why="reads one feature"),
    _features("RBFSampler", {"n_components": 30}),
    _features("RBFSampler", {"kernel": "matern", "gamma": "scale", "orthogonal": True}, in_sklearn=False),
    _features("RBFSampler", {"kernel": "laplacian", "gamma": 0.3}, in_sklearn=False),
    _features("SkewedChi2Sampler", {"n_components": 30}, source=counts),
    _features("PolynomialCountSketch", {"degree": 3, "coef0": 1.0, "gamma": 0.5}),
    _features("AdditiveChi2Sampler", source=counts, random=False),
    _features("Nystroem", {"n_components": 20}, judged=True, warns=FEWER),
    _features(
        "Nystroem",
        {"n_components": 8, "kernel": "poly", "centres": "leverage"},
        judged=True,
        in_sklearn=False,
        warns=FEWER,
    ),
    _features(
        "Nystroem", {"n_components": 8, "centres": "kmeans", "gamma": 0.1}, judged=True, in_sklearn=False, warns=FEWER
    ),
    _spectral("KernelPCA", {"n_components": 2}),
    _spectral(
        "KernelPCA",
        {"n_components": 3, "kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True},
        checked={"fit_inverse_transform": False},  # which refuses sparse samples, as scikit-learn's does
    ),
    _spectral("ClassicalMDS", methods=()),
    Other("MDS", {"init": "classical_mds"}, kind="fixed point", source=cloud, methods=(), weighted=False, why=STRESS),
    Other(
        "MDS",
        {"init": "random", "n_components": 3, "metric_mds": False},
        kind="fixed point",
        source=cloud,
        methods=(),
        weighted=False,
        random=True,
        why=STRESS,
    ),
    _spectral(
        "KernelFisherDiscriminant",
        {"kernel": "rbf", "gamma": 0.1, "beta": 0.1},
        source=classes,
        methods=("predict", "decision_function", "transform"),
    ),
    _spectral("Isomap", warns=IN_PARTS),
    _spectral("Isomap", {"n_neighbors": 8, "n_components": 3, "path_method": "D"}, warns=IN_PARTS),
    _spectral("KernelCCA", {"ridge": 1.0, "kernel": "rbf", "gamma": 0.1}, source=pairs),
    _spectral(
        "KernelCCA",
        {"n_components": 2, "kernel": "linear", "random_state": 0},
        source=pairs,
        checked={"n_components": 1},  # their second view has one feature
    ),
    _covariance("EmpiricalCovariance", mean=1e3),
    _covariance("EmpiricalCovariance", {"assume_centered": True, "store_precision": False}, mean=0.0),
    _covariance("ShrunkCovariance", {"shrinkage": 0.3}),
    _covariance("LedoitWolf"),
    _covariance("OAS", {"store_precision": False}),
    _covariance("GraphicalLasso", {"alpha": 0.1, "tol": 1e-8}, kind="gap", in_sklearn=False, **GRAPH),
    _covariance(
        "GraphicalLasso",
        {"alpha": 0.5, "assume_centered": True, "enet_tol": 1e-10},
        kind="gap",
        **{**GRAPH, "mean": 0.0, "alike": True},
    ),
    Other("GraphicalLassoCV", {"alphas": [0.1, 0.3], "cv": 3}, **FOLDED_GRAPH),
    _factor_analysis({"n_components": 1}),
    _probabilistic({"n_components": 1}),
    _probabilistic({"n_components": 2, "solver": "em"}),
    Other("FastICA", {"n_components": 2, "max_iter": 5000}, **SOURCES),
    _isotonic(),
    _isotonic({"increasing": False, "y_min": 1.5, "y_max": 2.5, "out_of_bounds": "clip"}),
    _isotonic({"increasing": "auto", "out_of_bounds": "raise"}),
    _blocks("CCA", {"n_components": 2, **EXACT}),
    _blocks("CCA", {"n_components": 1, "ridge": 0.1, "scale": False}, in_sklearn=False),
    _blocks("PLSRegression", {"n_components": 2, **EXACT}),
    _blocks("PLSCanonical", {"n_components": 2, **EXACT}),
    _blocks(
        "PLSSVD",
        {"n_components": 2},
        learned=("x_weights_", "y_weights_"),
        seen=("x_weights_", "y_weights_"),
        methods=("transform",),
    ),
    _statistical(
        "MultiviewCCA",
        {"n_components": 1},
        source=cloud,
        learned=("weights_", "values_", "correlations_", "mean_", "scale_"),
        seen=("weights_", "values_", "mean_", "scale_"),
        methods=("transform",),
        kind="spectral",
        checked={"ridge": 0.1},  # their data have hardly more rows than columns
        widths=False,
        parts=False,
    ),
    _clusters("KMeans", {"init": Apart(), "n_init": 1}),
    _mixture(),
    _three("full", np.tile(np.eye(4), (3, 1, 1))),
    _three("tied", np.eye(4)),
    _three("diag", np.ones((3, 4))),
    _variational(),
    # scikit-learn's lower_bound_ of tied covariances is an array of one number
    _variational(
        {"covariance_type": "tied", "weight_concentration_prior_type": "dirichlet_distribution"}, in_sklearn=False
    ),
    _variational({"covariance_type": "diag"}),
    _counted("MultinomialMixture", source=counts, mean=0.0),
    _counted("BernoulliMixture", {"binarize": 1.0}, source=counts, mean=0.0),
    Neighbours("NearestNeighbors", methods=SEARCHES),
    Neighbours("NearestNeighbors", {"metric": "cosine", "radius": 0.2}, methods=SEARCHES),
    _voting("KNeighborsClassifier"),
    _voting("KNeighborsClassifier", {"weights": "distance", "metric": "manhattan", "n_neighbors": 3}),
    _voting(
        "KNeighborsClassifier",
        {"tie_break": "random", "random_state": 0, "n_neighbors": 4},
        in_sklearn=False,
        checked={"tie_break": "first"},
    ),
    _averaging("KNeighborsRegressor"),
    _averaging("KNeighborsRegressor", {"weights": "distance", "algorithm": "brute"}),
    _voting("RadiusNeighborsClassifier", {"outlier_label": "most_frequent"}),
    _voting("RadiusNeighborsClassifier", {"weights": "distance", "radius": 5.0, "p": 1}),
    _averaging("RadiusNeighborsRegressor", {"radius": 3.0}),
    _averaging("RadiusNeighborsRegressor", {"radius": 3.0, "weights": "distance"}),
    _voting("KNeighborsClassifierCV", {"n_neighbors": 7}, fewest=2),
    _averaging("KNeighborsCV", {"n_neighbors": [1, 3, 9], "weights": "distance"}, fewest=2),
    Neighbours("KNeighborsTransformer", methods=("kneighbors", "transform")),
    Neighbours("RadiusNeighborsTransformer", methods=("radius_neighbors", "transform")),
    _density("KernelDensity"),
    _density("KernelDensity", {"kernel": "linear", "bandwidth": 3.0}),
    _averaging("ParzenRegressor", exempt=()),
    _averaging(
        "ParzenRegressor", {"bandwidth": "loo", "window": "box"}, exempt=(), fewest=2, not_from=HERE, outside=ITSELF
    ),
    _averaging("ParzenRegressor", {"bandwidth": 0.4, "window": "box"}, exempt=()),
    _density("Histogram", coarse=True),
    _density("Histogram", {"bins": 3}, coarse=True, outside=BOXES),
    # seeds are drawn
    _voting("PrototypeClassifier", {"n_prototypes": 3, "random_state": 0}, methods=("predict",), exempt=REPEATED[:1]),
    _sampling("BisectingKMeans"),
    _sampling("MiniBatchKMeans", checked={"batch_size": 40}, judged=False),
    _sampling("OnlineKMeans", judged=False),
    _centred("Falkon", source=regression),
    _centred("FalkonClassifier", {"gamma": 0.5}, source=classes, methods=("predict", "decision_function")),
    _separated("SVC"),
    _separated("SVC", {"kernel": "linear", "C": 10.0, "class_weight": "balanced"}, outside=COUNTS),
    _separated("SVC", {"loss": "squared_hinge", "decision_function_shape": "ovo"}, in_sklearn=False, outside=OVO),
    _separated("NuSVC", {"nu": 0.3}, checked={**REPEATS["checked"], "nu": 0.5}, exempt=(*IGNORED, *REPEATED)),
    _supported("SVR"),
    _supported(
        "SVR",
        {"kernel": "poly", "coef0": 1.0, "C": 10.0, "loss": "squared_epsilon_insensitive"},
        checked={"kernel": "rbf", **REPEATS["checked"]},  # cubes of their features leave no digit to the gap
        in_sklearn=False,
    ),
    _supported("NuSVR", {"C": 10.0}),
    _separated("SVCPath", {"Cs": [0.1, 1.0, 10.0]}, in_sklearn=False),
    _separated("SVCPath", {"Cs": 3, "C": 1.0, "class_weight": "balanced"}, in_sklearn=False, outside=COUNTS),
    _separated(
        "SVCCV",
        {"Cs": [0.1, 1.0, 10.0], "gammas": [0.02, 0.1], "cv": 3},
        **{**IN_FOLDS, "checked": CALIBRATED},
        methods=COUPLED,
    ),
    _separated("SVCCV", {"Cs": 3, "cv": "span", "calibrate": False}, **IN_FOLDS),
    _supported("SVRCV", {"Cs": [0.1, 1.0, 10.0], "gammas": [0.02, 0.1], "cv": 3}, **IN_FOLDS),
    _supported("SVRCV", {"Cs": 3, "cv": "span"}, **IN_FOLDS),
    _supported(
        "OneClassSVM",
        {"nu": 0.2},
        methods=("predict", "decision_function", "score_samples"),
        exempt=REPEATED,  # support vectors are on the boundary, where rounding decides
    ),
    _tasks("MultiTaskLassoCV", "LassoCV and MultiTaskLasso have the laws"),
    _tasks("MultiTaskElasticNetCV", "ElasticNetCV and MultiTaskElasticNet have the laws"),
    _process("GaussianProcessRegressor", {"kernel": NOISY}, kind="stationarity", source=regression),
    _process("GaussianProcessRegressor", {"optimizer": None, "alpha": 0.1}, kind="residual", source=regression),
    _process("GaussianProcessClassifier", {"kernel": SMOOTH}, kind="gap", source=classes),
    _graph("SpectralEmbedding", {"n_neighbors": 15}, checked={"n_neighbors": 5}),
    _graph("SpectralEmbedding", {"affinity": "rbf", "n_components": 3}),
    _graph("SpectralClustering", {"n_clusters": 3, "gamma": 0.1}),
    _graph("SpectralClustering", {"n_clusters": 3, "affinity": "nearest_neighbors", "assign_labels": "cluster_qr"}),
    Other(
        "KernelKMeans",
        {"n_clusters": 3, "gamma": 0.05},
        kind="fixed point",
        source=blobs,
        random=True,
        exempt=REPEATED,
        why="the kernel matrix is kept; its laws are in tests/certificates/test_kernel_kmeans.py",
    ),
    _factors("NMF", {"tol": 1e-6, "max_iter": 2000}),
    _factors("NMF", {"alpha_W": 0.01, "l1_ratio": 0.5, "tol": 1e-6, "max_iter": 2000}),
    _factors("NMF", {"solver": "mu", "beta_loss": "kullback-leibler", "init": "random", "tol": 1e-3, "max_iter": 5000}),
    _factors("MiniBatchNMF", {"batch_size": 20, "tol": 0.0}, judged=False),
    _factors("MiniBatchNMF", {"beta_loss": "kullback-leibler", "init": "random", **FEW_PASSES}, judged=False),
    _dictionary("DictionaryLearning", {"n_components": 3, "transform_algorithm": "lasso_lars"}),
    _dictionary(
        "DictionaryLearning",
        {"n_components": 3, "alpha": 0.3, "positive_dict": True, "split_sign": True},
        checked={"split_sign": False, "transform_algorithm": "lasso_lars"},  # codes of fit_transform are not split
    ),
    _dictionary("MiniBatchDictionaryLearning", {"n_components": 3, "max_iter": 20}, judged=False, random=True),
    _dictionary("SparsePCA", {"n_components": 2}),
    _dictionary("MiniBatchSparsePCA", {"n_components": 2, "max_iter": 20}, judged=False, random=True),
    _coder({"transform_algorithm": "lasso_cd", "transform_alpha": 0.2}, kind="gap"),
    _coder({"transform_n_nonzero_coefs": 2}),
    _tree("AgglomerativeClustering", {"n_clusters": 3}),
    _tree(
        "AgglomerativeClustering",
        {"n_clusters": None, "distance_threshold": 2.0, "linkage": "average"},
        checked={"n_clusters": 2, "distance_threshold": None},
    ),
    _tree("AgglomerativeClustering", {"linkage": "centroid", "compute_distances": True}, in_sklearn=False),
    _tree("FeatureAgglomeration", {"linkage": "complete"}, methods=("transform",)),
    _tree("DivisiveClustering", {"n_clusters": 3}),
    _tree("DivisiveClustering", {"rule": "farthest", "metric": "manhattan"}),
    _words("BigramModel", {"alpha": 0.5}, methods=("score_samples",)),
    _words("BigramClassifier", methods=("predict", "predict_proba")),
    Other(
        "StructuredPerceptron",
        {"max_iter": 20},
        kind="count",
        source=sequences,
        weighted=False,
        matrices=False,
        outside="the checks have matrices",
        why="takes sequences",
    ),
    Other(
        "TableEncoder",
        source=frame,
        methods=("transform",),
        judged=False,
        weighted=False,
        matrices=False,
        missing=True,
        why="takes tables of mixed types",
    ),
]

LINEAR = [row for row in TABLE if isinstance(row, Linear)]
SOLVED = [row for row in LINEAR if row.judged]
"""Models of weights at the optimum of a problem, or at what else their certificate asks for."""
LEARNERS = [row for row in LINEAR if not row.judged]
"""Those that learn from one sample after the other, and end somewhere near an optimum: the contract is asked of them,
not what holds at the optimum alone.
"""
STATISTICAL = [row for row in TABLE if isinstance(row, Statistical)]
NEIGHBOURS = [row for row in TABLE if isinstance(row, Neighbours)]


def one_a_class(rows: list[Any]) -> list[Any]:
    """The first row of each class."""
    first = {row.name: row for row in reversed(rows)}
    return [row for row in rows if first[row.name] is row]


@cache
def row_of(name: str) -> Any:
    """The first row of a class, or None."""
    return next((row for row in TABLE if row.name == name), None)


@cache
def fitted(row: Any) -> Any:
    """The estimator of a row, fitted to its data once: not to be changed."""
    X, y, _ = row.data()
    return row.make().fit(X, y)


@cache
def fitted_sklearn(row: Any) -> Any:
    """scikit-learn's of a row, fitted to its data once: not to be changed."""
    X, y, _ = row.data()
    return row.make_sklearn().fit(X, y)
