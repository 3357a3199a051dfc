"""Every class on ordinary shapes beside scikit-learn at its defaults: where users would feel the worst case.

The rows of the benchmark are tuned for; these shapes are not. Each case draws its data from its own seed, fits both
libraries in turn in one process, and takes the median of the calls after the first. Our time contains the certificate;
scikit-learn's fit is certified afterwards, so that the page can say which of the two reached an optimum.
"""

from __future__ import annotations

import importlib
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

Maker = Callable[[np.random.Generator], tuple[Any, Any]]

DENSE = ((100, 5), (1500, 40), (20_000, 25), (180_000, 10), (3000, 500), (250, 2000), (60_000, 100))
SPARSE = ((2500, 1800, 0.015), (30_000, 1000, 0.01), (10_000, 30_000, 0.002), (120_000, 1500, 0.004))
CLUSTERED = ((300, 5), (5000, 10), (50_000, 20), (10_000, 200), (1000, 1500))
BLOCKS = ((250, 8, 4), (6000, 30, 10), (300, 600, 12))
FACTORED = ((50, 5), (200, 5), (1000, 30), (5000, 100), (300, 2000))
LONGEST_FIT_S = 20.0  # a class whose scikit-learn fit takes longer has its larger cases left out


@dataclass(frozen=True)
class Data:
    """How the samples and targets of a case are drawn."""

    label: str
    make: Maker


@dataclass(frozen=True)
class Family:
    """A class, where scikit-learn has it, its parameters, its cases, and what is timed after the fit."""

    name: str
    module: str
    data: tuple[Data, ...]
    params: dict[str, Any]
    then: str = ""  # a method of the fitted model, called with up to 2 000 samples


@dataclass
class Case:
    """Seconds of both libraries, and whether each fit is certified."""

    name: str
    label: str
    ours: float
    sklearn: float
    first: float
    ours_ok: bool
    sklearn_ok: bool | None

    @property
    def ratio(self) -> float:
        return self.sklearn / self.ours


def regression(n: int, p: int, *, density: float = 0.0, dtype: Any = np.float64, common: float = 0.0) -> Maker:
    """A linear model of a tenth of the features with as much noise as signal; `common` correlates the features."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        if density:
            X = sparse.random_array((n, p), density=density, format="csr", rng=rng, data_sampler=rng.standard_normal)
        else:
            X = rng.standard_normal((n, p)) + common * rng.standard_normal((n, 1))
        w = np.where(rng.random(p) < 0.1, rng.standard_normal(p), 0.0)
        w[rng.integers(p)] = 1.0
        y = np.asarray(X @ w)
        return X.astype(dtype), (y + np.std(y) * rng.standard_normal(n)).astype(dtype)

    return make


def classes(n: int, p: int, k: int = 2, **options: Any) -> Maker:
    """Classes of equal size, cut out of the target of a regression."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        X, y = regression(n, p, **options)(rng)
        return X, np.digitize(y, np.quantile(y, np.linspace(0.0, 1.0, k + 1)[1:-1]))

    return make


def clusters(n: int, p: int, k: int = 8) -> Maker:
    """Gaussian clusters three standard deviations apart; no target."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        return 3.0 * rng.standard_normal((k, p))[rng.integers(0, k, n)] + rng.standard_normal((n, p)), None

    return make


def parts(n: int, p: int, k: int = 4) -> Maker:
    """Sums of non-negative parts that overlap, and noise; no target."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        W, H = (rng.random(shape) * (rng.random(shape) < 0.5) for shape in ((n, k), (k, p)))
        return W @ H + 0.1 * rng.random((n, p)), None

    return make


def blocks(n: int, p: int, t: int) -> Maker:
    """Two blocks of variables, one a noisy linear map of the other."""

    def make(rng: np.random.Generator) -> tuple[Any, Any]:
        X = rng.standard_normal((n, p))
        return X, X @ rng.standard_normal((p, t)) + rng.standard_normal((n, t))

    return make


def positive(make: Maker) -> Maker:
    """Counts-like features with the same classes."""

    def change_data(rng: np.random.Generator) -> tuple[Any, Any]:
        X, y = make(rng)
        return abs(X), y

    return change_data


def log_link(make: Maker) -> Maker:
    """A positive target whose logarithm is linear."""

    def change_data(rng: np.random.Generator) -> tuple[Any, Any]:
        X, y = make(rng)
        return X, np.exp(np.clip(y / np.std(y), -3.0, 3.0))

    return change_data


def _dense(of: Callable[..., Maker], **options: Any) -> tuple[Data, ...]:
    plain = [Data(f"{n} x {p}", of(n, p, **options)) for n, p in DENSE]
    correlated = [Data(f"{n} x {p} correlated", of(n, p, common=4.0, **options)) for n, p in DENSE[1:5]]
    single = [Data(f"{n} x {p} float32", of(n, p, dtype=np.float32, **options)) for n, p in DENSE[2:5]]
    return (*plain, *correlated, *single)


def _sparse(of: Callable[..., Maker], **options: Any) -> tuple[Data, ...]:
    return tuple(Data(f"sparse {n} x {p}, {d:g}", of(n, p, density=d, **options)) for n, p, d in SPARSE)


def _change(change: Callable[[Maker], Maker], data: tuple[Data, ...]) -> tuple[Data, ...]:
    return tuple(Data(item.label, change(item.make)) for item in data)


def families() -> Iterator[Family]:
    """What is timed: every class that scikit-learn has, on the shapes that it is used for."""
    R, S = _dense(regression), _sparse(regression)
    C, CS, K, KS = _dense(classes), _sparse(classes), _dense(classes, k=5), _sparse(classes, k=5)
    U = tuple(Data(f"{n} x {p}", clusters(n, p)) for n, p in CLUSTERED)
    B = tuple(Data(f"{n} x {p} / {t}", blocks(n, p, t)) for n, p, t in BLOCKS)
    small, linear = (*R[:3], *R[4:6]), "linear_model"
    yield Family("LinearRegression", linear, R + S, {})
    yield Family("Ridge", linear, R + S, {})
    yield Family("RidgeCV", linear, small, {"alphas": np.logspace(-3, 3, 30)})
    yield Family("RidgeClassifier", linear, K + KS, {})
    yield Family("LogisticRegression", linear, C + CS, {"max_iter": 1000})
    yield Family("LogisticRegression", linear, K[:7] + KS, {"max_iter": 1000})
    yield Family("LogisticRegression", linear, C[:5], {"C": np.inf, "max_iter": 3000})
    l1 = {"l1_ratio": 1.0, "solver": "saga", "C": 0.1, "max_iter": 1000}
    yield Family("LogisticRegression", linear, (*C[:3], C[4], CS[0]), l1)
    grid = {"cv": 5, "max_iter": 300, "use_legacy_attributes": False, "l1_ratios": (0.0,)}
    yield Family("LogisticRegressionCV", linear, C[:3], grid)
    yield Family("Lasso", linear, R + S, {"alpha": 0.05})
    yield Family("ElasticNet", linear, R[:6] + S[:2], {"alpha": 0.05})
    yield Family("LassoCV", linear, small, {})
    yield Family("LassoLars", linear, small, {"alpha": 0.05})
    yield Family("Lars", linear, R[:3], {})
    yield Family("OrthogonalMatchingPursuit", linear, R[:6], {})
    kernels, thin = (*R[:2], R[4], R[5]), S[:1]
    yield Family("KernelRidge", "kernel_ridge", kernels + thin, {"kernel": "rbf"}, "predict")
    yield Family("KernelRidge", "kernel_ridge", kernels + thin, {"alpha": 0.1})
    yield Family("BayesianRidge", linear, R[:7], {})
    yield Family("ARDRegression", linear, R[:4], {})
    yield Family("HuberRegressor", linear, R[:5], {"max_iter": 1000})
    yield Family("QuantileRegressor", linear, R[:2], {"alpha": 0.01})
    yield Family("PoissonRegressor", linear, _change(log_link, R[:7]), {"max_iter": 1000})
    yield Family("Perceptron", linear, K[:6] + KS[:2], {})
    yield Family("SGDClassifier", linear, K[:6] + KS[:2], {"max_iter": 20, "tol": None})
    yield Family("SGDRegressor", linear, R[:6], {"max_iter": 20, "tol": None})
    epochs = {"max_iter": 20, "tol": 0.0, "random_state": 0}
    yield Family("MLPClassifier", "neural_network", (*K[:2], CS[0]), epochs)
    yield Family("MLPRegressor", "neural_network", R[:2], epochs)
    yield Family("MLPRegressor", "neural_network", R[:2], {"solver": "lbfgs", "max_iter": 100, "random_state": 0})
    yield Family("LinearSVC", "svm", C + CS, {})
    yield Family("LinearSVC", "svm", K[:5], {})
    yield Family("LinearSVR", "svm", R[:5] + S[:2], {"max_iter": 5000})
    yield Family("SVC", "svm", (*C[:2], C[4], C[5], *CS[:1]), {}, "predict")
    yield Family("SVC", "svm", K[:2], {}, "predict")
    yield Family("SVC", "svm", C[:2], {"C": 100.0})
    yield Family("SVC", "svm", C[:2], {"kernel": "linear"})
    yield Family("NuSVC", "svm", C[:2], {"nu": 0.3})
    yield Family("SVR", "svm", (*R[:2], R[4], R[5], *S[:1]), {}, "predict")
    yield Family("NuSVR", "svm", R[:2], {})
    yield Family("OneClassSVM", "svm", U[:2], {"nu": 0.1}, "score_samples")
    yield Family("GaussianNB", "naive_bayes", K[:7], {})
    yield Family("MultinomialNB", "naive_bayes", _change(positive, K[:6] + KS), {})
    yield Family("BernoulliNB", "naive_bayes", _change(positive, K[:6] + KS), {})
    yield Family("LinearDiscriminantAnalysis", "discriminant_analysis", K, {})
    yield Family("QuadraticDiscriminantAnalysis", "discriminant_analysis", (*K[:4], K[6]), {"reg_param": 0.1})
    yield Family("NearestCentroid", "neighbors", K[:7] + KS[:2], {})
    yield Family("NearestNeighbors", "neighbors", U, {"n_neighbors": 10}, "kneighbors")
    yield Family("KNeighborsClassifier", "neighbors", K[:5] + KS[:2], {}, "predict")
    yield Family("KernelDensity", "neighbors", U[:2], {}, "score_samples")
    for n in (60, 200, 700):
        noisy = {"kernel": ConstantKernel() * RBF() + WhiteKernel(0.1)}
        process = (Data(f"{n} x 3", regression(n, 3)),)
        yield Family("GaussianProcessRegressor", "gaussian_process", process, noisy, "predict")
        sides = (Data(f"{n} x 3", classes(n, 3)),)
        yield Family("GaussianProcessClassifier", "gaussian_process", sides, {"kernel": 1.0 * RBF()}, "predict")
    yield Family("KMeans", "cluster", U, {"n_clusters": 8, "n_init": 3, "random_state": 0})
    yield Family("KMeans", "cluster", U[1:3], {"n_clusters": 100, "n_init": 1, "random_state": 0})
    yield Family("MiniBatchKMeans", "cluster", U[1:3], {"n_clusters": 20, "n_init": 1, "random_state": 0})
    yield Family("BisectingKMeans", "cluster", U[1:3], {"n_clusters": 20, "random_state": 0})
    graphs = tuple(Data(f"{n} x 5", clusters(n, 5)) for n in (200, 1_000, 2_000))
    grouped = {"n_clusters": 8, "random_state": 0}
    yield Family("SpectralClustering", "cluster", graphs, {**grouped, "gamma": 0.1})
    yield Family("SpectralClustering", "cluster", graphs, {**grouped, "affinity": "nearest_neighbors"})
    yield Family("SpectralEmbedding", "manifold", graphs, {"n_neighbors": 20, "random_state": 0})
    for linkage in ("ward", "average", "single"):
        yield Family("AgglomerativeClustering", "cluster", graphs, {"n_clusters": 8, "linkage": linkage})
    for kind in ("full", "tied", "diag", "spherical"):
        settings = {"n_components": 8, "covariance_type": kind, "random_state": 0, "max_iter": 50, "tol": 0.0}
        yield Family("GaussianMixture", "mixture", U[:3], settings)
    for name in ("EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS"):
        yield Family(name, "covariance", U[:4], {})
    yield Family("GraphicalLasso", "covariance", U[:3], {"alpha": 0.5})
    yield Family("GraphicalLassoCV", "covariance", U[:1], {})
    yield Family("FactorAnalysis", "decomposition", U[:3], {"n_components": 2})
    yield Family("FastICA", "decomposition", U[:3], {"random_state": 0})
    rising = tuple(Data(f"{n} x 1", regression(n, 1)) for n in (1_000, 50_000))
    yield Family("IsotonicRegression", "isotonic", rising, {"out_of_bounds": "clip"}, "predict")
    many = {"n_components": 8, "random_state": 0, "max_iter": 50, "tol": 0.0}
    yield Family("BayesianGaussianMixture", "mixture", U[:3], many)
    yield Family("PCA", "decomposition", U, {"n_components": 5})
    yield Family("PCA", "decomposition", U, {})
    few = (*U[:2], *U[4:5])
    yield Family("KernelPCA", "decomposition", few, {"n_components": 5, "kernel": "rbf"})
    yield Family("KernelPCA", "decomposition", few[:1], {"kernel": "rbf"})
    yield Family("ClassicalMDS", "manifold", (U[0], U[4]), {})
    yield Family("Isomap", "manifold", (U[0], U[4]), {"n_neighbors": 10})
    yield Family("MDS", "manifold", U[:1], {"init": "classical_mds"})
    yield Family("IncrementalPCA", "decomposition", U[:4], {"n_components": 5})
    N = tuple(Data(f"{n} x {p}, not negative", parts(n, p)) for n, p in FACTORED)
    yield Family("NMF", "decomposition", N, {"n_components": 4, "random_state": 0, "max_iter": 1000})
    yield Family("NMF", "decomposition", N[1:], {"n_components": 4, "random_state": 0, "solver": "mu", "tol": 0.0})
    yield Family("MiniBatchNMF", "decomposition", N[1:], {"n_components": 4, "random_state": 0})
    short = {"n_components": 4, "max_iter": 20}
    yield Family("DictionaryLearning", "decomposition", U[:1], short)
    yield Family("MiniBatchDictionaryLearning", "decomposition", U[:2], {**short, "max_iter": 2, "random_state": 0})
    yield Family("SparsePCA", "decomposition", U[:2], {"n_components": 4, "alpha": 10.0})
    yield Family("TruncatedSVD", "decomposition", S, {"n_components": 10})
    narrow = (U[0], U[1], U[2])
    yield Family("RBFSampler", "kernel_approximation", narrow, {"n_components": 300, "random_state": 0}, "transform")
    yield Family("Nystroem", "kernel_approximation", narrow, {"n_components": 200, "random_state": 0}, "transform")
    sketch = {"n_components": 256, "random_state": 0}
    yield Family("PolynomialCountSketch", "kernel_approximation", narrow, sketch, "transform")
    yield Family(
        "SkewedChi2Sampler", "kernel_approximation", _change(positive, K[:3]), {"random_state": 0}, "transform"
    )
    yield Family("AdditiveChi2Sampler", "kernel_approximation", _change(positive, K[:3]), {}, "transform")
    for name in ("CCA", "PLSRegression", "PLSCanonical", "PLSSVD"):
        yield Family(name, "cross_decomposition", B, {"n_components": 3})


def run(only: str = "", seconds: float = 1800.0, say: Callable[[str], None] = print) -> list[dict[str, Any]]:
    """Measure all cases of the classes in `only` (names with commas between them; all where empty)."""
    warnings.simplefilter("ignore")
    begin, measured = time.perf_counter(), []
    for family in families():
        if only and family.name not in only.split(","):
            continue
        for data in family.data:
            if time.perf_counter() - begin > seconds:
                say(f"stopped after {seconds:g} s")
                return measured
            case = measure(family, data)
            say(f"{case.ratio:8.2f}  {case.name} {case.label}: {case.ours:.4g} s, scikit-learn {case.sklearn:.4g} s")
            measured.append(asdict(case) | {"ratio": case.ratio})
            if case.sklearn > LONGEST_FIT_S:
                break
    return measured


def measure(family: Family, data: Data) -> Case:
    """Fit both libraries in turn on the same samples; the certificate of ours is made inside its fit."""
    tenfold = importlib.import_module("tenfold")
    ours = getattr(tenfold, family.name)
    sklearn = getattr(importlib.import_module(f"sklearn.{family.module}"), family.name)
    params = ", ".join(f"{name}={value}" for name, value in family.params.items() if np.ndim(value) == 0)
    X, y = data.make(np.random.default_rng(zlib.crc32(f"{family.name} {data.label}".encode())))
    times: dict[Any, list[float]] = {ours: [], sklearn: []}
    models: dict[Any, Any] = {}
    for cls in times:
        models[cls], seconds = _fit(cls(**family.params), X, y, family.then)
        times[cls].append(seconds)
    slowest = max(parts[0] for parts in times.values())
    for _ in range(1 if slowest > 1.0 else 3 if slowest > 0.02 else 7):
        for cls, parts in times.items():
            if slowest <= 5.0:
                parts.append(_fit(cls(**family.params), X, y, family.then)[1])
    try:
        judged = tenfold.certify(models[sklearn], X, y) if y is not None else tenfold.certify(models[sklearn], X)
        sklearn_ok = judged.ok
    except (TypeError, ValueError):
        sklearn_ok = None
    later = {cls: median(parts[1:] or parts) for cls, parts in times.items()}
    ok = bool(models[ours].certificate_.ok)
    label = f"{data.label} ({params})" if params else data.label
    return Case(family.name, label, later[ours], later[sklearn], times[ours][0], ok, sklearn_ok)


def _fit(model: Any, X: Any, y: Any, then: str) -> tuple[Any, float]:
    begin = time.perf_counter()
    model.fit(X) if y is None else model.fit(X, y)
    if then:
        getattr(model, then)(X[:2000])
    return model, time.perf_counter() - begin


def render(cases: list[dict[str, Any]], machine: str) -> str:
    """The page: ratios by class, and the twenty worst cases."""
    ratios = [case["ratio"] for case in cases]
    certified = [case for case in cases if case["ours_ok"] and case["sklearn_ok"]]
    slower = [case for case in certified if case["ratio"] < 1.0]
    lines = [
        "# Ordinary shapes",
        "",
        f"Measured on {machine}; written by `python -m benchmarks --sweep`. {len(cases)} cases that nobody tuned for, "
        "scikit-learn at its defaults, one process, median of the calls after the first; our time contains the "
        "certificate.",
        "",
        f"Geometric mean of scikit-learn / ours: **{_mean(ratios):.1f}**. Of {len(certified)} cases where both fits "
        f"are certified, {len(slower)} are slower than scikit-learn. Ours is certified in "
        f"{sum(case['ours_ok'] for case in cases)} cases, scikit-learn's in "
        f"{sum(bool(case['sklearn_ok']) for case in cases)}.",
        "",
        "| class | cases | geometric mean | worst | best |",
        "|---|---|---|---|---|",
    ]
    by_class: dict[str, list[float]] = {}
    for case in cases:
        by_class.setdefault(case["name"], []).append(case["ratio"])
    for name, parts in sorted(by_class.items(), key=lambda item: _mean(item[1])):
        lines.append(f"| {name} | {len(parts)} | {_mean(parts):.1f} | {min(parts):.2f} | {max(parts):.1f} |")
    lines += ["", "## The twenty worst", "", "| ratio | class | case | ours | scikit-learn | certified |"]
    lines.append("|---|---|---|---|---|---|")
    for case in sorted(cases, key=lambda case: case["ratio"])[:20]:
        both = {True: "yes", False: "no", None: "not judged"}
        lines.append(
            f"| {case['ratio']:.2f} | {case['name']} | {case['label']} | {1e3 * case['ours']:.2f} ms | "
            f"{1e3 * case['sklearn']:.2f} ms | ours {both[case['ours_ok']]}, scikit-learn {both[case['sklearn_ok']]} |"
        )
    return "\n".join(lines) + "\n"


def _mean(ratios: list[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else float("nan")
