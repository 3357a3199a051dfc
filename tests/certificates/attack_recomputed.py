"""The part of the attack on results that are no minimum of a convex problem: what their certificates claim, again.

Clusters and mixtures: one step of Lloyd or EM in long double. Components: variances by LAPACK. Naive Bayes and
discriminants: the moments of the classes in long double. A certificate that is ok against these is a violation.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.cluster
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.mixture
import sklearn.naive_bayes
from references import LONG, long

import tenfold

Change = tuple[str, Any]


@dataclass
class Recomputed:
    """A model to fit, what it is fitted on, the names to tamper with, and what is wrong with a certified model, or an
    empty string.
    """

    name: str
    ours: Any
    twin: Any
    X: Any
    y: Any
    weight: Any
    names: tuple[str, ...]
    wrong: Callable[[Any, Any], str]
    hard: bool
    after: Callable[[Any], None] = lambda model: None

    def fit(self, model: Any) -> Any:
        arguments = {} if self.weight is None else {"sample_weight": self.weight}
        return model.fit(self.X, self.y, **arguments)

    def certify(self, model: Any) -> Any:
        return tenfold.certify(model, self.X, self.y, self.weight)


def _samples(rng: np.random.Generator, most: int = 150, widest: int = 6) -> tuple[Any, Any, bool]:
    """Samples about a few places, their places, and whether they are hard."""
    n, p = int(rng.integers(20, most)), int(rng.integers(2, widest + 1))
    places = rng.integers(0, 3, n)
    places[:3] = [0, 1, 2]
    X = rng.standard_normal((n, p)) + 2.0 * rng.standard_normal((3, p))[places]
    hard = bool(rng.random() < 0.5)
    if hard:
        X = X * 10.0 ** rng.uniform(-4, 4, p) if rng.random() < 0.4 else X
        X = X + np.abs(X).max() * 10.0 ** rng.uniform(0, 4) if rng.random() < 0.3 else X
        if rng.random() < 0.2:
            X[:, -1] = X[:, 0]
        if rng.random() < 0.2:
            X[:, -1] = 1.0
        X = X.astype(np.float32) if rng.random() < 0.2 else X
    return X, places, hard


def _energy(X: Any, weight: Any, centres: Any) -> tuple[Any, Any]:
    """The energy of centres, and that after one step of Lloyd."""
    X, weight, c = long(X), long(weight), long(centres)

    def assign(c: Any) -> tuple[Any, Any]:
        away = np.sum((X[:, None] - c[None]) ** 2, axis=2)
        return np.argmin(away, axis=1), weight @ np.min(away, axis=1)

    number, before = assign(c)
    means = c.copy()
    for k in range(len(c)):
        own = (number == k) & (weight > 0)
        if np.any(own):
            means[k] = weight[own] @ X[own] / weight[own].sum()
    return before, assign(means)[1]


def kmeans(rng: np.random.Generator) -> Recomputed:
    X, _, hard = _samples(rng)
    weight = rng.uniform(0.1, 3.0, len(X)) if rng.random() < 0.3 else None
    settings = {"n_clusters": int(rng.integers(1, 6)), "random_state": 0, "n_init": 1, "tol": 0.0, "max_iter": 1000}
    shares = np.ones(len(X)) if weight is None else weight

    def wrong(model: Any, certificate: Any) -> str:
        before, after = _energy(X, shares, model.cluster_centers_)
        decrease = float(before - after)
        if decrease > certificate.value + certificate.floor:
            return f"decreases by {decrease:.4g}, stated {certificate.value:.4g}"
        if abs(float(before) - certificate.objective) > 1e-9 * float(before) + certificate.floor:
            return f"energy {certificate.objective!r} stated, {float(before)!r} is right"
        lower = certificate.lower_bound
        if lower is not None and lower > float(after) + certificate.floor:
            return f"lower bound {lower!r}, but {float(after)!r} is reached"
        return ""

    def after(model: Any) -> None:
        """Labels and inertia that fit the centres."""
        away = np.sum((X[:, None].astype(float) - model.cluster_centers_[None].astype(float)) ** 2, axis=2)
        model.labels_ = np.argmin(away, axis=1).astype(model.labels_.dtype)
        model.inertia_ = float(shares @ np.min(away, axis=1))

    ours, twin = tenfold.KMeans(**settings), sklearn.cluster.KMeans(**settings)
    return Recomputed("KMeans", ours, twin, X, None, weight, ("cluster_centers_",), wrong, hard, after)


def components(rng: np.random.Generator) -> Recomputed:
    X, _, hard = _samples(rng, widest=8)
    about_mean = bool(rng.random() < 0.6)
    k = int(rng.integers(1, X.shape[1]))
    A = X.astype(np.float64) - (X.astype(np.float64).mean(axis=0) if about_mean else 0.0)
    values = np.linalg.svd(A, compute_uv=False) ** 2
    finest = float(np.finfo(X.dtype).eps)

    def wrong(model: Any, certificate: Any) -> str:
        C = np.asarray(model.components_, dtype=np.float64)
        slack = 8.0 * (certificate.value + certificate.floor) + 64.0 * finest
        slack += 64.0 * float(np.finfo(float).eps) * float(np.sum(X.astype(float) ** 2)) / values[0]
        slant = float(np.max(np.abs(C @ C.T - np.eye(k))))
        captured = np.sum((A @ C.T) ** 2, axis=0)
        lost = float(np.max(np.abs(captured - values[:k]))) / values[0]
        stored = float(np.max(np.abs(np.asarray(model.singular_values_, dtype=float) ** 2 - values[:k]))) / values[0]
        worst = max(slant, lost, stored)
        return f"off by {worst:.3g} of the largest variance, allowed {slack:.3g}" if worst > slack else ""

    if about_mean:
        ours, twin = tenfold.PCA(k), sklearn.decomposition.PCA(k, svd_solver="full")
    else:
        ours, twin = tenfold.TruncatedSVD(k), sklearn.decomposition.TruncatedSVD(k, algorithm="arpack")
    names = ("components_", "singular_values_", "order") + (("mean_",) if about_mean else ())
    return Recomputed(type(ours).__name__, ours, twin, X, None, None, names, wrong, hard)


def _moments(X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Shares, means and variances of the classes."""
    X, weight = long(X), long(weight)
    K = int(y.max()) + 1
    share = np.array([weight[y == k].sum() for k in range(K)])
    mean = np.array([weight[y == k] @ X[y == k] / share[k] for k in range(K)])
    var = np.array([weight[y == k] @ (X[y == k] - mean[k]) ** 2 / share[k] for k in range(K)])
    return share / weight.sum(), mean, var


def _off(stored: Any, right: Any, size: Any) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(long(stored) - right) / np.where(size > 0, size, 1)
    return float(np.max(off))


def gaussian_bayes(rng: np.random.Generator) -> Recomputed:
    X, y, hard = _samples(rng)
    weight = rng.uniform(0.1, 3.0, len(X)) if rng.random() < 0.3 else None
    shares = np.ones(len(X)) if weight is None else weight
    prior, mean, var = _moments(X, y, shares)
    limit = 1e-6 if X.dtype == np.float64 else 1e-2
    rounding = np.finfo(X.dtype).eps * 64 * (1 + np.max(mean**2 / np.maximum(var, LONG(1e-300))))

    def wrong(model: Any, certificate: Any) -> str:
        # scikit-learn smooths by the variances of the samples without their weights
        counted = shares if isinstance(model, tenfold.GaussianNB) else np.ones(len(X))
        average = np.average(X.astype(np.float64), axis=0, weights=counted)
        epsilon = 1e-9 * np.average((X - average) ** 2, axis=0, weights=counted).max()
        size = np.sqrt(var + epsilon)
        worst = max(
            _off(model.class_prior_, prior, prior),
            _off(model.theta_, mean, size + np.abs(mean) * 1e-3),  # "exact" is 1e-9 of the sums
            _off(model.var_, var + epsilon, var + epsilon),
        )
        allowed = max(limit, float(rounding))
        return f"off by {worst:.3g}, allowed {allowed:.3g}" if worst > allowed else ""

    names = ("theta_", "var_", "class_prior_")
    ours, twin = tenfold.GaussianNB(), sklearn.naive_bayes.GaussianNB()
    return Recomputed("GaussianNB", ours, twin, X, y, weight, names, wrong, hard)


def discrete_bayes(rng: np.random.Generator) -> Recomputed:
    name = str(rng.choice(["MultinomialNB", "BernoulliNB"]))
    n, p, K = int(rng.integers(10, 100)), int(rng.integers(2, 8)), int(rng.integers(2, 4))
    X = rng.poisson(0.7, (n, p)).astype(float)
    if rng.random() < 0.3:
        X[:, -1] = 0.0
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    weight = rng.uniform(0.1, 3.0, n) if rng.random() < 0.3 else None
    shares = long(np.ones(n) if weight is None else weight)
    alpha = float(rng.choice([1.0, 1e-3, 5.0]))
    one = np.eye(K, dtype=LONG)[y] * shares[:, None]
    classes = np.log(one.sum(axis=0) / shares.sum())
    if name == "MultinomialNB":
        counts = one.T @ long(X) + LONG(alpha)
        features = np.log(counts) - np.log(counts.sum(axis=1, keepdims=True))
    else:
        counts = one.T @ long(X > 0) + LONG(alpha)
        features = np.log(counts) - np.log(one.sum(axis=0) + 2 * LONG(alpha))[:, None]

    def wrong(model: Any, certificate: Any) -> str:
        worst = max(
            float(np.max(np.abs(long(model.feature_log_prob_) - features))),
            float(np.max(np.abs(long(model.class_log_prior_) - classes))),
        )
        return f"off by {worst:.3g}" if worst > 1e-6 else ""

    names = ("feature_log_prob_", "class_log_prior_")
    ours = getattr(tenfold, name)(alpha=alpha)
    twin = getattr(sklearn.naive_bayes, name)(alpha=alpha)
    return Recomputed(name, ours, twin, X, y, weight, names, wrong, False)


def quadratic_discriminant(rng: np.random.Generator) -> Recomputed:
    X, y, hard = _samples(rng, widest=4)
    while np.bincount(y).min() < 2 * X.shape[1] or np.linalg.matrix_rank(X - X.mean(axis=0)) < X.shape[1]:
        X, y, hard = _samples(rng, widest=4)
    X = X.astype(np.float64)
    prior, mean, _ = _moments(X, y, np.ones(len(X)))
    covariances = []
    for k in range(3):
        about = long(X[y == k]) - mean[k]
        covariances.append(about.T @ about / len(about))

    def wrong(model: Any, certificate: Any) -> str:
        worst = _off(model.priors_, prior, prior)
        slack = 1e-6
        for k, C in enumerate(covariances):
            size = np.sqrt(np.diag(C))
            worst = max(worst, _off(model.means_[k], mean[k], size + 1e-3 * np.abs(mean[k])))
            R, s = long(model.rotations_[k]), long(model.scalings_[k])
            worst = max(worst, float(np.max(np.abs((R * s) @ R.T - C) / np.outer(size, size))))
            # rotations are rounded in the units of the largest feature
            slack = max(slack, 1e-13 * float(np.max(np.diag(C)) / np.min(np.diag(C))))
            slack = max(slack, 1e-13 * float(np.max(mean[k] ** 2 / np.diag(C))))
        return f"off by {worst:.3g}, allowed {slack:.3g}" if worst > slack else ""

    settings = {"store_covariance": False}
    ours = tenfold.QuadraticDiscriminantAnalysis(**settings)
    twin = sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis(**settings)
    names = ("means_", "priors_", "scalings_", "rotations_")
    return Recomputed("QuadraticDiscriminantAnalysis", ours, twin, X, y, None, names, wrong, hard)


def _rank_within(X: Any, y: Any) -> int:
    """The rank of samples about the means of their classes."""
    about = X.astype(np.float64)
    for k in np.unique(y):
        about[y == k] -= about[y == k].mean(axis=0)
    return int(np.linalg.matrix_rank(about))


def linear_discriminant(rng: np.random.Generator) -> Recomputed:
    X, y, _ = _samples(rng)
    while _rank_within(X, y) < X.shape[1] or len(X) < 4 * X.shape[1]:
        X, y, _ = _samples(rng)
    X = (X.astype(np.float64) - X.mean(axis=0)) / X.std(axis=0)
    prior, mean, _ = _moments(X, y, np.ones(len(X)))
    solver = str(rng.choice(["svd", "lsqr"]))
    inner = sum((long(X[y == k]) - mean[k]).T @ (long(X[y == k]) - mean[k]) for k in range(3))
    inverse = np.linalg.inv((inner / len(X)).astype(float))
    W = np.asarray(mean, dtype=float) @ inverse
    b = np.log(np.asarray(prior, dtype=float)) - 0.5 * np.einsum("kp,kp->k", W, np.asarray(mean, dtype=float))
    right = X @ W.T + b
    right = right - right.mean(axis=1, keepdims=True)

    def wrong(model: Any, certificate: Any) -> str:
        z = X @ np.asarray(model.coef_).T + model.intercept_
        z = z - z.mean(axis=1, keepdims=True)
        worst = float(np.max(np.abs(z - right))) / max(1.0, float(np.max(np.abs(right))))
        return f"decisions are off by {worst:.3g}" if worst > 1e-6 else ""

    ours = tenfold.LinearDiscriminantAnalysis(solver=solver)
    twin = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver=solver)
    names = ("coef_", "intercept_")
    return Recomputed("LinearDiscriminantAnalysis", ours, twin, X, y, None, names, wrong, False)


def _likelihood(X: Any, weights: Any, means: Any, covariances: Any) -> tuple[Any, Any]:
    """Log densities of samples, summed over components, and responsibilities."""
    n, p = X.shape
    logs = np.zeros((n, len(weights)), LONG)
    for k, C in enumerate(covariances):
        L = _cholesky(C)
        half = np.zeros((p, n), LONG)
        away = (X - means[k]).T
        for i in range(p):
            half[i] = (away[i] - L[i, :i] @ half[:i]) / L[i, i]
        logs[:, k] = np.log(weights[k]) - np.sum(np.log(np.diag(L))) - np.sum(half**2, axis=0) / 2
    logs -= p * np.log(2 * LONG(np.pi)) / 2
    top = logs.max(axis=1, keepdims=True)
    total = np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0]
    return total, np.exp(logs - total[:, None])


def _cholesky(C: Any) -> Any:
    L = np.zeros_like(C)
    for i in range(len(C)):
        L[i, i] = np.sqrt(C[i, i] - L[i, :i] @ L[i, :i])
        for j in range(i + 1, len(C)):
            L[j, i] = (C[j, i] - L[j, :i] @ L[i, :i]) / L[i, i]
    return L


def mixture(rng: np.random.Generator) -> Recomputed:
    X, _, hard = _samples(rng, 100, 3)
    while np.linalg.matrix_rank(X - X.mean(axis=0)) < X.shape[1]:
        X, _, hard = _samples(rng, 100, 3)
    X = X.astype(np.float64)
    kind = str(rng.choice(["full", "diag"]))
    K = int(rng.integers(1, 4))
    reg = 1e-6 * float(np.min(np.var(X, axis=0)))
    settings = {"n_components": K, "covariance_type": kind, "random_state": 0, "reg_covar": reg}
    settings |= {"tol": 1e-6, "max_iter": 3000}

    def wrong(model: Any, certificate: Any) -> str:
        samples = long(X)
        C = long(model.covariances_)
        C = C if kind == "full" else np.array([np.diag(c) for c in C])
        with np.errstate(all="ignore"):
            logs, r = _likelihood(samples, long(model.weights_), long(model.means_), C)
            count = r.sum(axis=0)
            means = (r.T @ samples) / count[:, None]
            after = []
            for k in range(K):
                about = samples - means[k]
                S = (about * r[:, k : k + 1]).T @ about / count[k]
                S = S if kind == "full" else np.diag(np.diag(S))
                after.append(S + LONG(reg) * np.eye(X.shape[1], dtype=LONG))
            rise = float(np.mean(_likelihood(samples, count / count.sum(), means, after)[0]) - np.mean(logs))
        limit = max(certificate.value, certificate.allowed) + certificate.floor
        return f"rises by {rise:.3g} in one step, allowed {limit:.3g}" if not rise <= limit + 1e-15 else ""

    def after(model: Any) -> None:
        """Precisions that fit the covariances."""
        C = np.asarray(model.covariances_, dtype=float)
        if kind == "diag":
            model.precisions_cholesky_ = 1.0 / np.sqrt(np.maximum(C, 1e-300))
            precisions = 1.0 / np.maximum(C, 1e-300)
        else:
            precisions = np.linalg.inv(C)
            factors = [np.linalg.inv(np.linalg.cholesky((c + c.T) / 2)).T for c in C]
            model.precisions_cholesky_ = np.array(factors)
        if "precisions_" in vars(model):
            model.precisions_ = precisions

    ours, twin = tenfold.GaussianMixture(**settings), sklearn.mixture.GaussianMixture(**settings)
    names = ("means_", "covariances_", "weights_")
    return Recomputed("GaussianMixture", ours, twin, X, None, None, names, wrong, hard, after)


RECOMPUTED: dict[str, Callable[[np.random.Generator], Recomputed]] = {
    "kmeans": kmeans,
    "components": components,
    "gaussian_bayes": gaussian_bayes,
    "discrete_bayes": discrete_bayes,
    "quadratic_discriminant": quadratic_discriminant,
    "linear_discriminant": linear_discriminant,
    "mixture": mixture,
}


def tamper(rng: np.random.Generator, case: Recomputed, model: Any) -> tuple[str, Any]:
    """A copy of a model with one name changed, and what was changed."""
    forged = copy.deepcopy(model)
    name = str(rng.choice(case.names))
    if name == "order":
        order = rng.permutation(len(forged.components_))
        for one in ("components_", "singular_values_", "explained_variance_", "explained_variance_ratio_"):
            setattr(forged, one, getattr(forged, one)[order])
        return f"order {order.tolist()}", forged
    value = copy.deepcopy(getattr(forged, name))
    k = int(rng.integers(len(value))) if isinstance(value, list) else 0
    array = np.array(value[k] if isinstance(value, list) else value, dtype=np.float64)
    size = 10.0 ** rng.uniform(-11, 0)
    how = str(rng.choice(["scaled", "shifted", "one", "swapped", "rounded"]))
    if how == "scaled":
        array = array * (1.0 + size)
    elif how == "shifted":
        array = array + size * np.sqrt(np.mean(array**2)) * rng.standard_normal(array.shape)
    elif how == "one":
        at = tuple(int(rng.integers(length)) for length in array.shape)
        array[at] += size * (abs(array[at]) + np.std(array))
    elif how == "swapped":
        array = array[::-1].copy() if rng.random() < 0.5 else np.roll(array, 1, axis=-1)
    else:
        array = array.astype(np.float32).astype(np.float64)
    if name == "weights_":
        array = np.abs(array) / np.abs(array).sum()
    if name == "covariances_" and array.ndim == 3:
        array = (array + array.swapaxes(1, 2)) / 2
    if isinstance(value, list):
        value[k] = array.astype(value[k].dtype)
    else:
        value = array.astype(np.asarray(value).dtype)
    setattr(forged, name, value)
    case.after(forged)
    return f"{name} {how} {size:.1g}", forged
