"""A random attack on certificates: problems, ordinary and hard, and tampered solutions of each; is `ok` ever wrong?

    python -m tests.certificates.attack --n 1000 --seed 0 [--only Class] [--index I] [--minutes M] [--tampers T]

For every problem a model of ours is fitted, and sometimes scikit-learn's; then solutions are tampered with: scaled,
shifted, moved along directions that the data do not see, rounded, stopped early. The true excess of each is the
objective in long double minus the best that an independent method knows (`references`). A certificate that is ok, or
states a gap, a lower bound or a radius, against it is a violation, and the exit code is 1. Problem I of a seed is the
same in every run.
"""

import argparse
import copy
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import references as ref
import sklearn.linear_model
import sklearn.svm
from attack_recomputed import RECOMPUTED, tamper
from references import Best, Problem, ScaledHuber, Smooth
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight

import tenfold
from tenfold import losses

# ----------------------------------------------------------------------------------------------------------------- data


@dataclass
class Data:
    """X as it is given to fit, its dense values, and what is hard about it."""

    X: Any
    dense: Any
    weight: Any
    doubles: list[tuple[int, int, float]] = field(default_factory=list)
    constants: list[tuple[int, float]] = field(default_factory=list)
    hard: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        return int(self.dense.shape[0])

    @property
    def shares(self) -> Any:
        """The weights, ones where there are none."""
        return np.ones(self.n) if self.weight is None else np.asarray(self.weight, dtype=np.float64)


def draw_data(rng: np.random.Generator, most: int = 200, widest: int = 12) -> Data:
    """Samples of a random shape; half of them ordinary, the others with one or several difficulties."""
    n, p = int(np.exp(rng.uniform(np.log(5), np.log(most)))), int(rng.integers(1, widest + 1))
    easy = rng.random() < 0.4
    hard: list[str] = []
    if not easy and rng.random() < 0.15:
        n, p = int(rng.integers(5, 20)), int(rng.integers(10, 31))
        hard.append("wide")
    kind = rng.choice(["normal", "integers", "binary", "correlated"], p=[0.45, 0.2, 0.15, 0.2])
    X = rng.standard_normal((n, p))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, p)).astype(float)
    elif kind == "binary":
        X = (rng.random((n, p)) < 0.3).astype(float)
    elif kind == "correlated":
        X = X + 3.0 * rng.standard_normal((n, 1))
    doubles, constants = [], []
    is_sparse = rng.random() < 0.2
    if is_sparse:
        X = X * (rng.random((n, p)) < 0.4)
    if not easy:
        if rng.random() < 0.3:
            hard.append("scales")
            X = X * 10.0 ** (rng.uniform(-8, 8, p) if rng.random() < 0.5 else rng.uniform(-8, 8))
        if rng.random() < 0.25 and not is_sparse:
            hard.append("offset")
            X = X + (np.abs(X).max(axis=0) + 1e-300) * 10.0 ** rng.uniform(0, 6) * rng.choice([-1.0, 1.0], p)
        if rng.random() < 0.3 and p > 1:
            hard.append("double")
            i, j = (int(k) for k in rng.choice(p, 2, replace=False))
            factor = float(rng.choice([1.0, -1.0, 2.0, 2.0**-10]))  # exact, so that the features are dependent
            X[:, j] = factor * X[:, i]
            doubles.append((i, j, factor))
            if rng.random() < 0.2:
                X[:, j] *= 1 + 1e-9 * rng.standard_normal(n)
        if rng.random() < 0.25 and p > 1:
            hard.append("constant")
            j = int(rng.integers(p))
            doubles = [one for one in doubles if j not in one[:2]]
            X[:, j] = float(rng.choice([1.0, -3.0, 1e5, 1e-5]))
            constants.append((j, float(X[0, j])))
        if rng.random() < 0.2 and p > 1:
            hard.append("empty")
            j = int(rng.integers(p))
            doubles = [one for one in doubles if j not in one[:2]]
            constants = [one for one in constants if one[0] != j] + [(j, 0.0)]
            X[:, j] = 0.0
    weight = None
    if rng.random() < 0.3:
        weight = [rng.uniform(0.1, 3.0, n), rng.integers(0, 3, n).astype(float), 10.0 ** rng.uniform(-4, 4, n)][
            rng.integers(3)
        ]
        weight[: min(4, n)] = 1.0
    if not easy and rng.random() < 0.15:
        hard.append("float32")
        X = X.astype(np.float32)
        constants = [(j, float(np.float32(value))) for j, value in constants]
    given = sparse.csr_array(X) if is_sparse else X
    return Data(given, X.astype(np.float64), weight, doubles, constants, hard)


def signal(rng: np.random.Generator, data: Data) -> Any:
    """A linear function of the samples of about unit size."""
    spread = data.dense.std(axis=0)
    Z = (data.dense - data.dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    w = rng.standard_normal(Z.shape[1]) * (rng.random(Z.shape[1]) < 0.6)
    return Z @ w / np.sqrt(max(1.0, np.count_nonzero(w)))


def like_X(data: Data, y: Any) -> Any:
    """Targets in the dtype of X, as a user of float32 has them."""
    return y.astype(data.X.dtype) if "float32" in data.hard else y


def draw_numbers(rng: np.random.Generator, data: Data) -> Any:
    z = signal(rng, data)
    kind = rng.choice(
        ["noise", "heavy", "exact", "integers", "scaled", "constant"], p=[0.4, 0.15, 0.1, 0.15, 0.15, 0.05]
    )
    y = z + rng.choice([0.01, 0.3, 1.0]) * rng.standard_normal(data.n)
    if kind == "heavy":
        y = z + rng.standard_t(1.5, data.n)
    elif kind == "exact":
        y = z
    elif kind == "integers":
        y = np.round(3 * y)
    elif kind == "scaled":
        y = (y + rng.choice([0.0, 100.0])) * 10.0 ** rng.uniform(-6, 6)
    elif kind == "constant":
        y = np.full(data.n, float(rng.choice([0.0, 1.0, 5.0])))
    return like_X(data, y)


def draw_classes(rng: np.random.Generator, data: Data, K: int) -> Any:
    noise = rng.choice([0.1, 1.0, 4.0])
    scores = np.column_stack([signal(rng, data) + noise * rng.standard_normal(data.n) for _ in range(K)])
    if K == 2 and rng.random() < 0.2:
        scores[:, 0] += 1.5  # one class is rare
    y = np.argmax(scores, axis=1)
    order = np.flatnonzero(data.shares > 0)[:K]
    y[order] = np.arange(len(order))
    return y


# ---------------------------------------------------------------------------------------------------------------- cases


@dataclass
class Case:
    """A problem of one class, in the library's terms and in those of the reference.

    `problems` are those of the parts of the certificate, one for each row of `coef_` unless `joint`; `halves` where
    two classes keep only the difference of their weights.
    """

    name: str
    ours: Any
    twin: Any
    data: Data
    y: Any
    problems: list[Any]
    joint: bool = False
    halves: bool = False
    has_scale: bool = False
    has_weights: bool = True
    tuned: bool = False

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.data.X, self.y, *((self.data.weight,) if self.has_weights else ())

    def fit(self, model: Any) -> Any:
        if self.data.weight is None or not self.has_weights:
            return model.fit(self.data.X, self.y)
        return model.fit(self.data.X, self.y, sample_weight=self.data.weight)

    def certify(self, model: Any) -> Any:
        return tenfold.certify(model, self.data.X, self.y, self.data.weight if self.has_weights else None)


def _settings(rng: np.random.Generator, data: Data) -> tuple[bool, float]:
    """Whether there is an intercept, and a penalty."""
    return bool(rng.random() < 0.75), float(10.0 ** rng.uniform(-6, 1))


def _of_both(name: str, home: Any, **settings: Any) -> tuple[Any, Any]:
    return getattr(tenfold, name)(**settings), getattr(home, name)(**settings)


def least_squares(rng: np.random.Generator) -> Case:
    data = draw_data(rng)
    y = draw_numbers(rng, data)
    intercept, alpha = _settings(rng, data)
    alpha = 0.0 if rng.random() < 0.4 else alpha
    W = data.shares.sum()
    problem = Problem(data.dense, y, data.shares / W, Smooth(ref.square), 1, intercept, 0.0, alpha / W)
    if alpha == 0.0:
        ours, twin = _of_both("LinearRegression", sklearn.linear_model, fit_intercept=intercept)
    else:
        ours, twin = _of_both("Ridge", sklearn.linear_model, alpha=alpha, fit_intercept=intercept)
    return Case(type(ours).__name__, ours, twin, data, y, [problem])


def lasso(rng: np.random.Generator) -> Case:
    data = draw_data(rng)
    y = draw_numbers(rng, data)
    intercept, alpha = _settings(rng, data)
    alpha *= float(np.std(y)) or 1.0
    positive, ratio = bool(rng.random() < 0.2), float(rng.choice([1.0, 0.5, 0.05]))
    W = data.shares.sum()
    name = "Lasso" if ratio == 1.0 else "ElasticNet"
    settings: dict[str, Any] = {"alpha": alpha, "fit_intercept": intercept, "positive": positive}
    settings["tol"] = float(rng.choice([1e-4, 1e-8]))
    if name == "ElasticNet":
        settings["l1_ratio"] = ratio
    problem = Problem(
        data.dense, y, data.shares / W, Smooth(ref.square), 1, intercept, alpha * ratio, alpha * (1 - ratio)
    )
    problem.positive = positive
    ours, twin = _of_both(name, sklearn.linear_model, **settings)
    return Case(name, ours, twin, data, y, [problem], tuned=True)


def lasso_lars(rng: np.random.Generator) -> Case:
    data = draw_data(rng)
    data.X, data.weight = data.dense, None
    y = draw_numbers(rng, data).astype(np.float64)
    intercept, alpha = _settings(rng, data)
    alpha *= float(np.std(y)) or 1.0
    problem = Problem(data.dense, y, data.shares / data.n, Smooth(ref.square), 1, intercept, alpha)
    ours, twin = _of_both("LassoLars", sklearn.linear_model, alpha=alpha, fit_intercept=intercept)
    return Case("LassoLars", ours, twin, data, y, [problem], has_weights=False)


def multi_task(rng: np.random.Generator) -> Case:
    data = draw_data(rng, 80, 8)
    data.X, data.weight = (data.dense.astype(np.float32) if "float32" in data.hard else data.dense), None
    K = int(rng.integers(2, 4))
    y = np.column_stack([draw_numbers(rng, data) for _ in range(K)])
    intercept, alpha = _settings(rng, data)
    alpha *= float(np.std(y)) or 1.0
    ratio = float(rng.choice([1.0, 0.5]))
    name = "MultiTaskLasso" if ratio == 1.0 else "MultiTaskElasticNet"
    settings: dict[str, Any] = {"alpha": alpha, "fit_intercept": intercept}
    if ratio < 1.0:
        settings["l1_ratio"] = ratio
    problem = Problem(data.dense, y, data.shares / data.n, ref.Squares(), K, intercept, alpha * ratio)
    problem.l2, problem.multi_task = alpha * (1 - ratio), True
    ours, twin = _of_both(name, sklearn.linear_model, **settings)
    return Case(name, ours, twin, data, y, [problem], joint=True, has_weights=False)


def logistic(rng: np.random.Generator) -> Case:
    K = int(rng.choice([2, 3, 4], p=[0.6, 0.25, 0.15]))
    data = draw_data(rng, 200 if K == 2 else 80, 12 if K == 2 else 6)
    y = draw_classes(rng, data, K)
    intercept, _ = _settings(rng, data)
    C = float(10.0 ** rng.uniform(-3, 5))
    ratio = float(rng.choice([0.0, 1.0, 0.5], p=[0.45, 0.35, 0.2]))
    if rng.random() < 0.15:
        C, ratio = np.inf, 0.0
    balanced = "balanced" if rng.random() < 0.15 else None
    weight = data.shares
    classes = np.arange(K)
    if balanced:
        factor = compute_class_weight("balanced", classes=classes, y=y, sample_weight=data.shares)
        weight = weight * factor[y]
    W = weight.sum()
    penalty = (ratio / C / W, (1 - ratio) / C / W)
    settings = {"C": C, "fit_intercept": intercept, "class_weight": balanced, "l1_ratio": ratio}
    solver = "lbfgs" if ratio == 0.0 else "saga"
    ours = tenfold.LogisticRegression(**settings, solver=solver)
    twin = sklearn.linear_model.LogisticRegression(**settings, solver=solver, tol=1e-6, max_iter=1000)
    if K == 2:
        target, loss, outputs = np.where(y == 1, 1.0, -1.0), Smooth(ref.logistic), 1
    else:
        target, loss, outputs = y, ref.Softmax(), K
    problem = Problem(data.dense, target, weight / W, loss, outputs, intercept, *penalty)
    return Case("LogisticRegression", ours, twin, data, y, [problem], joint=True)


def deviances(rng: np.random.Generator) -> Case:
    data = draw_data(rng)
    intercept, alpha = _settings(rng, data)
    alpha = 0.0 if rng.random() < 0.15 else alpha
    power = float(rng.choice([0.0, 1.0, 1.3, 1.5, 1.9, 2.0]))
    z = np.clip(signal(rng, data), -4, 4) + rng.choice([0.0, 3.0])
    if power == 0.0:
        y = draw_numbers(rng, data)
    elif power == 2.0:
        y = like_X(data, np.maximum(rng.gamma(2.0, np.exp(z) / 2.0), 1e-12))
    elif rng.random() < 0.1:
        y = like_X(data, np.ones(data.n))
    else:
        y = like_X(data, rng.poisson(np.exp(z)) * (rng.gamma(2.0, 0.5, data.n) if power > 1.0 else np.ones(data.n)))
        y[0] = max(y[0], 1.0)
    if power == 1.0 and rng.random() < 0.5:
        ours, twin = _of_both("PoissonRegressor", sklearn.linear_model, alpha=alpha, fit_intercept=intercept)
    elif power == 2.0 and rng.random() < 0.5:
        ours, twin = _of_both("GammaRegressor", sklearn.linear_model, alpha=alpha, fit_intercept=intercept)
    else:
        ours, twin = _of_both(
            "TweedieRegressor", sklearn.linear_model, power=power, alpha=alpha, fit_intercept=intercept
        )
    twin.set_params(tol=1e-8, max_iter=1000)
    W = data.shares.sum()
    problem = Problem(data.dense, y, data.shares / W, ref.deviance(power), 1, intercept, 0.0, alpha)
    return Case(type(ours).__name__, ours, twin, data, y, [problem])


def huber(rng: np.random.Generator) -> Case:
    data = draw_data(rng)
    y = draw_numbers(rng, data)
    intercept, _ = _settings(rng, data)
    alpha = float(rng.choice([0.0, 10.0 ** rng.uniform(-9, 1)], p=[0.15, 0.85]))
    epsilon = float(rng.choice([1.01, 1.35, 2.0]))
    settings = {"epsilon": epsilon, "alpha": alpha, "fit_intercept": intercept}
    ours, twin = _of_both("HuberRegressor", sklearn.linear_model, **settings)
    twin.set_params(max_iter=1000)
    W = data.shares.sum()
    problem = ScaledHuber(data.dense, y, data.shares / W, epsilon, 2.0 * alpha / W, intercept)
    return Case("HuberRegressor", ours, twin, data, y, [problem], has_scale=True)


def quantile(rng: np.random.Generator) -> Case:
    data = draw_data(rng, 120, 8)
    y = draw_numbers(rng, data)
    intercept, alpha = _settings(rng, data)
    alpha = 0.0 if rng.random() < 0.35 else alpha
    q = float(rng.choice([0.5, 0.1, 0.9, 0.3]))
    ours, twin = _of_both("QuantileRegressor", sklearn.linear_model, quantile=q, alpha=alpha, fit_intercept=intercept)
    problem = Problem(data.dense, y, data.shares / data.shares.sum(), ref.quantile(q), 1, intercept, alpha)
    return Case("QuantileRegressor", ours, twin, data, y, [problem])


def _penalty(rng: np.random.Generator, alpha: float, p: int, grouped: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of GeneralizedLinear for a penalty, and those of the reference."""
    kind = rng.choice(["l2", "l1", "elasticnet", "none", "group"], p=[0.25, 0.25, 0.15, 0.2, 0.15])
    kind = "l1" if kind == "group" and not grouped else str(kind)
    if kind == "none":
        return {"penalty": None}, {}
    if kind == "l2":
        return {"penalty": kind, "alpha": alpha}, {"l2": alpha}
    if kind == "l1":
        return {"penalty": kind, "alpha": alpha}, {"l1": alpha}
    if kind == "elasticnet":
        return {"penalty": kind, "alpha": alpha, "l1_ratio": 0.3}, {"l1": 0.3 * alpha, "l2": 0.7 * alpha}
    groups = rng.integers(0, max(1, p // 2), p)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    limits = [(alpha * np.sqrt(len(member)), member) for member in members]
    return {"penalty": kind, "alpha": alpha, "groups": groups}, {"groups": limits}


def draw_generalized(rng: np.random.Generator) -> Case:
    data = draw_data(rng, 100, 8)
    intercept, alpha = _settings(rng, data)
    y = draw_numbers(rng, data)
    width, q = float(rng.choice([0.1, 1.35])), float(rng.choice([0.5, 0.2]))
    table: list[tuple[Any, Any, bool]] = [
        ("square", Smooth(ref.square), True),
        (losses.Huber(width), ref.huber(width), True),
        ("laplace", ref.tube(0.0), False),
        (losses.Quantile(q), ref.quantile(q), False),
        ("epsilon_insensitive", ref.tube(0.1), False),
        ("squared_epsilon_insensitive", ref.squared_tube(0.1), True),
        ("poisson", Smooth(ref.poisson), True),
        ("gamma", Smooth(ref.gamma), True),
        ("tweedie", ref.tweedie(1.5), True),
    ]
    loss, reference, grouped = table[rng.integers(len(table))]
    if isinstance(loss, str) and loss in ("poisson", "gamma", "tweedie"):
        z = np.clip(signal(rng, data), -4, 4)
        y = like_X(data, rng.poisson(np.exp(z)).astype(float) + (0.5 if loss == "gamma" else 0.0))
        y[0] = max(y[0], 1.0)
    settings, terms = _penalty(rng, alpha, data.dense.shape[1], grouped)
    ours = tenfold.GeneralizedLinear(loss, **settings, fit_intercept=intercept)
    problem = Problem(data.dense, y, data.shares / data.shares.sum(), reference, 1, intercept, **terms)
    return Case("GeneralizedLinear", ours, None, data, y, [problem])


def draw_generalized_classes(rng: np.random.Generator) -> Case:
    table: list[tuple[Any, Any, bool]] = [
        ("logistic", Smooth(ref.logistic), True),
        ("hinge", ref.Piecewise(ref.hinge_pieces), False),
        ("squared_hinge", Smooth(ref.squared_hinge), True),
        ("modified_huber", Smooth(ref.modified_huber), True),
        ("softmax", ref.Softmax(), True),
    ]
    loss, reference, grouped = table[rng.integers(len(table))]
    K = int(rng.choice([2, 3])) if loss == "softmax" else 2
    data = draw_data(rng, 100 if K == 2 else 60, 8 if K == 2 else 5)
    y = draw_classes(rng, data, K)
    intercept, alpha = _settings(rng, data)
    settings, terms = _penalty(rng, alpha, data.dense.shape[1], grouped)
    ours = tenfold.GeneralizedLinearClassifier(loss, **settings, fit_intercept=intercept)
    joint = loss == "softmax" and K > 2
    if loss == "softmax" and not joint:
        # the difference w of two classes: |w_1| + |w_2| is least at |w|, and w_1^2 + w_2^2 at w^2 / 2
        reference, terms = (
            Smooth(ref.logistic),
            {name: part / 2 if name == "l2" else part for name, part in terms.items()},
        )
    target = y if joint else np.where(y == 1, 1.0, -1.0)
    share = data.shares / data.shares.sum()
    problem = Problem(data.dense, target, share, reference, K if joint else 1, intercept, **terms)
    return Case("GeneralizedLinearClassifier", ours, None, data, y, [problem], joint=True)


def linear_svc(rng: np.random.Generator) -> Case:
    crammer = bool(rng.random() < 0.3)
    K = int(rng.choice([2, 3]))
    data = draw_data(rng, 40 if crammer else 120, 5 if crammer else 10)
    y = draw_classes(rng, data, K)
    intercept, _ = _settings(rng, data)
    C, unit = float(10.0 ** rng.uniform(-3, 4)), float(rng.choice([1.0, 10.0]))
    settings: dict[str, Any] = {"C": C, "fit_intercept": intercept, "intercept_scaling": unit, "random_state": 0}
    loss, reference, l1 = "squared_hinge", Smooth(ref.squared_hinge), False
    if crammer:
        settings["multi_class"] = "crammer_singer"
    elif rng.random() < 0.5:
        loss, reference = "hinge", ref.Piecewise(ref.hinge_pieces)
    elif rng.random() < 0.4:
        l1 = True
        settings |= {"penalty": "l1", "dual": False}
    ours, twin = _of_both("LinearSVC", sklearn.svm, loss=loss, **settings)
    twin.set_params(tol=1e-8, max_iter=20000)
    W = data.shares.sum()
    strength = 1.0 / C / W
    share = data.shares / W
    tie = strength / unit**2 if intercept else 0.0
    if crammer:
        problem = Problem(data.dense, y, share, ref.CrammerSinger(), K, intercept, 0.0, strength, (0.0, tie))
        return Case("LinearSVC", ours, twin, data, y, [problem], joint=True, halves=K == 2)
    problems = []
    for k in [1] if K == 2 else range(K):
        target = np.where(y == k, 1.0, -1.0)
        if l1:
            ties = (strength / unit if intercept else 0.0, 0.0)
            problems.append(Problem(data.dense, target, share, reference, 1, intercept, strength, 0.0, ties))
        else:
            problems.append(Problem(data.dense, target, share, reference, 1, intercept, 0.0, strength, (0.0, tie)))
    return Case("LinearSVC", ours, twin, data, y, problems)


def linear_svr(rng: np.random.Generator) -> Case:
    data = draw_data(rng, 80, 8)
    y = draw_numbers(rng, data)
    intercept, _ = _settings(rng, data)
    C, epsilon = float(10.0 ** rng.uniform(-3, 3)), float(rng.choice([0.0, 0.1, 1.0]))
    loss = str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
    reference = ref.tube(epsilon) if loss == "epsilon_insensitive" else ref.squared_tube(epsilon)
    settings = {"C": C, "epsilon": epsilon, "loss": loss, "fit_intercept": intercept, "random_state": 0}
    ours, twin = _of_both("LinearSVR", sklearn.svm, dual=loss == "epsilon_insensitive", **settings)
    ours.set_params(dual="auto")
    twin.set_params(tol=1e-8, max_iter=20000)
    W = data.shares.sum()
    strength = 1.0 / C / W
    ties = (0.0, strength if intercept else 0.0)
    problem = Problem(data.dense, y, data.shares / W, reference, 1, intercept, 0.0, strength, ties)
    return Case("LinearSVR", ours, twin, data, y, [problem])


def _sgd_penalty(rng: np.random.Generator, alpha: float) -> tuple[dict[str, Any], dict[str, float]]:
    kind = str(rng.choice(["l2", "l1", "elasticnet"]))
    terms = {"l2": {"l2": alpha}, "l1": {"l1": alpha}, "elasticnet": {"l1": 0.15 * alpha, "l2": 0.85 * alpha}}[kind]
    return {"penalty": kind, "alpha": alpha}, terms


def sgd_classifier(rng: np.random.Generator) -> Case:
    table = {
        "hinge": ref.Piecewise(ref.hinge_pieces),
        "log_loss": Smooth(ref.logistic),
        "modified_huber": Smooth(ref.modified_huber),
        "squared_hinge": Smooth(ref.squared_hinge),
    }
    loss = str(rng.choice(list(table)))
    K = int(rng.choice([2, 3]))
    data = draw_data(rng, 80, 6)
    y = draw_classes(rng, data, K)
    intercept = bool(rng.random() < 0.75)
    W, count = data.shares.sum(), np.count_nonzero(data.shares)
    settings, terms = _sgd_penalty(rng, float(10.0 ** rng.uniform(-5, 0)))
    terms = {name: value * count / W for name, value in terms.items()}
    ours, twin = _of_both(
        "SGDClassifier", sklearn.linear_model, loss=loss, fit_intercept=intercept, random_state=0, **settings
    )
    share = data.shares / W
    problems = [
        Problem(data.dense, np.where(y == k, 1.0, -1.0), share, table[loss], 1, intercept, **terms)
        for k in ([1] if K == 2 else range(K))
    ]
    twin = twin if count == data.n else None  # which counts samples of weight zero, too
    return Case("SGDClassifier", ours, twin, data, y, problems)


def sgd_regressor(rng: np.random.Generator) -> Case:
    data = draw_data(rng, 80, 6)
    y = draw_numbers(rng, data)
    epsilon = 0.1
    table = {
        "squared_error": Smooth(ref.square),
        "huber": ref.huber(epsilon),
        "epsilon_insensitive": ref.tube(epsilon),
        "squared_epsilon_insensitive": ref.squared_tube(epsilon),
    }
    loss = str(rng.choice(list(table)))
    intercept = bool(rng.random() < 0.75)
    W, count = data.shares.sum(), np.count_nonzero(data.shares)
    settings, terms = _sgd_penalty(rng, float(10.0 ** rng.uniform(-5, 0)))
    terms = {name: value * count / W for name, value in terms.items()}
    ours, twin = _of_both(
        "SGDRegressor", sklearn.linear_model, loss=loss, fit_intercept=intercept, random_state=0, **settings
    )
    problem = Problem(data.dense, y, data.shares / W, table[loss], 1, intercept, **terms)
    twin = twin if count == data.n else None
    return Case("SGDRegressor", ours, twin, data, y, [problem])


def sgd_one_class(rng: np.random.Generator) -> Case:
    data = draw_data(rng, 80, 6)
    data.weight = None
    nu = float(rng.choice([0.05, 0.3, 0.5, 0.9]))
    ours, twin = _of_both("SGDOneClassSVM", sklearn.linear_model, nu=nu, random_state=0)
    share = np.full(data.n, 1.0 / data.n)
    problem = Problem(data.dense, np.ones(data.n), share, ref.one_sided(1.0), 1, True, 0.0, nu, linear=nu)
    return Case("SGDOneClassSVM", ours, twin, data, None, [problem], has_weights=False)


FAMILIES: dict[str, Callable[[np.random.Generator], Case]] = {
    "least_squares": least_squares,
    "lasso": lasso,
    "lasso_lars": lasso_lars,
    "multi_task": multi_task,
    "logistic": logistic,
    "deviances": deviances,
    "huber": huber,
    "quantile": quantile,
    "generalized": draw_generalized,
    "generalized_classes": draw_generalized_classes,
    "linear_svc": linear_svc,
    "linear_svr": linear_svr,
    "sgd_classifier": sgd_classifier,
    "sgd_regressor": sgd_regressor,
    "sgd_one_class": sgd_one_class,
}
"""What draws a case of each kind of convex problem."""

CLASSES = {
    "LinearRegression": "least_squares",
    "Ridge": "least_squares",
    "Lasso": "lasso",
    "ElasticNet": "lasso",
    "LassoLars": "lasso_lars",
    "MultiTaskLasso": "multi_task",
    "MultiTaskElasticNet": "multi_task",
    "LogisticRegression": "logistic",
    "PoissonRegressor": "deviances",
    "GammaRegressor": "deviances",
    "TweedieRegressor": "deviances",
    "HuberRegressor": "huber",
    "QuantileRegressor": "quantile",
    "GeneralizedLinear": "generalized",
    "GeneralizedLinearClassifier": "generalized_classes",
    "LinearSVC": "linear_svc",
    "LinearSVR": "linear_svr",
    "SGDClassifier": "sgd_classifier",
    "SGDRegressor": "sgd_regressor",
    "SGDOneClassSVM": "sgd_one_class",
    "KMeans": "kmeans",
    "PCA": "components",
    "TruncatedSVD": "components",
    "GaussianNB": "gaussian_bayes",
    "MultinomialNB": "discrete_bayes",
    "BernoulliNB": "discrete_bayes",
    "QuadraticDiscriminantAnalysis": "quadratic_discriminant",
    "LinearDiscriminantAnalysis": "linear_discriminant",
    "GaussianMixture": "mixture",
}
"""The family of each class."""

# ------------------------------------------------------------------------------------------------------------ solutions


@dataclass
class Solution:
    """Weights (T, p), intercepts (T,) and the scale of Huber's regression, as a model keeps them."""

    coef: Any
    intercept: Any
    scale: float = 1.0

    def copy(self) -> "Solution":
        return Solution(self.coef.copy(), self.intercept.copy(), self.scale)


def read(case: Case, model: Any) -> Solution:
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.atleast_2d(coef).astype(np.float64)
    b = 1.0 - np.ravel(model.offset_) if hasattr(model, "offset_") else np.ravel(np.asarray(model.intercept_))
    b = np.array(np.broadcast_to(b.astype(np.float64), len(coef)))
    return Solution(coef, b, float(model.scale_) if case.has_scale else 1.0)


def write(case: Case, model: Any, solution: Solution) -> Any:
    """A copy of the model that holds other weights, in its own dtypes and shapes."""
    tampered = copy.deepcopy(model)
    tampered.coef_ = solution.coef.astype(np.asarray(model.coef_).dtype).reshape(np.shape(model.coef_))
    if hasattr(model, "offset_"):
        b = np.asarray(model.offset_)
        tampered.offset_ = (1.0 - solution.intercept).astype(b.dtype).reshape(b.shape)
        if "intercept_" in vars(model):
            tampered.intercept_ = (-tampered.offset_).astype(b.dtype)
    else:
        b = np.asarray(model.intercept_)
        new = solution.intercept if b.ndim else solution.intercept[0]
        new = np.asarray(new, dtype=b.dtype if b.dtype.kind == "f" else np.float64).reshape(b.shape if b.ndim else ())
        tampered.intercept_ = new if b.ndim else (float(new) if isinstance(model.intercept_, float) else new[()])
    if case.has_scale:
        tampered.scale_ = type(model.scale_)(solution.scale)
    return tampered


def arguments_of(case: Case, solution: Solution, part: int) -> tuple[Any, ...]:
    """What the objective of a part takes."""
    coef, b = solution.coef, solution.intercept
    if case.halves:
        coef, b = np.concatenate([-0.5 * coef, 0.5 * coef]), np.concatenate([-0.5 * b, 0.5 * b])
    if not case.joint:
        coef, b = coef[part : part + 1], b[part : part + 1]
    return (coef, b, solution.scale) if case.has_scale else (coef, b)


def tamper_solution(rng: np.random.Generator, case: Case, solution: Solution) -> tuple[str, Solution]:
    """Another solution, and how it was made."""
    s, data = solution.copy(), case.data
    T, p = s.coef.shape
    spread = data.dense.std(axis=0)
    unit = 1.0 / np.where(spread > 0, spread, np.where(np.abs(data.dense).max(axis=0) > 0, 1.0, 1.0))
    level = float(np.max(np.abs(s.coef) / unit, initial=0.0)) or 1.0
    size = level * 10.0 ** rng.uniform(-9, 1)
    kinds = ["scaled", "shifted", "one", "swapped", "rounded", "zero", "negated", "one zeroed"]
    kinds += ["null", "null"] * bool(data.doubles) + ["useless", "useless", "useless and back"] * bool(data.constants)
    fits_intercept = bool(getattr(case.ours, "fit_intercept", True))
    kinds += ["intercept", "intercept"] if fits_intercept else ["given intercept"]
    kinds += ["sigma"] * case.has_scale
    how = str(rng.choice(kinds))
    k, j = int(rng.integers(T)), int(rng.integers(p))
    if how == "scaled":
        s.coef *= 1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-10, 0.5)
    elif how == "shifted":
        s.coef += size * unit * rng.standard_normal((T, p))
    elif how == "one":
        s.coef[k, j] += size * unit[j] * rng.choice([-1.0, 1.0])
    elif how == "swapped" and p > 1:
        i, j = rng.choice(p, 2, replace=False)
        s.coef[:, [i, j]] = s.coef[:, [j, i]]
    elif how == "rounded":
        s.coef, s.intercept = (part.astype(np.float32).astype(np.float64) for part in (s.coef, s.intercept))
    elif how == "zero":
        s.coef *= 0.0
    elif how == "negated":
        s.coef[k] *= -1.0
    elif how == "one zeroed":
        s.coef[k, j] = 0.0
    elif how == "null":
        i, j, factor = data.doubles[0]
        a = level * unit[i] * 10.0 ** rng.uniform(-8, 6)
        s.coef[k, i] += a
        s.coef[k, j] -= a / factor
    elif how.startswith("useless"):
        j, value = data.constants[rng.integers(len(data.constants))]
        a = 10.0 ** rng.uniform(-8, 6) * level
        s.coef[k, j] += a
        if how == "useless and back" and fits_intercept:
            s.intercept[k] -= a * value
    elif how == "sigma":
        s.scale *= 1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-8, -0.1)
    if how.endswith("intercept"):
        s.intercept[k] += size * rng.choice([-1.0, 1.0])
    elif fits_intercept and how in ("scaled", "shifted", "one", "zero", "one zeroed") and rng.random() < 0.6:
        # the mean prediction stays, so that offsets do not hide the rest
        s.intercept += (solution.coef - s.coef) @ data.dense.mean(axis=0)
    return how, s


# -------------------------------------------------------------------------------------------------------------- verdict


@dataclass
class Violation:
    name: str
    index: int
    what: str
    detail: str


@dataclass
class Tally:
    """What was seen of a class."""

    problems: int = 0
    tampered: int = 0
    ok: int = 0
    errors: int = 0
    own_not_ok: int = 0
    own_not_ok_hard: int = 0
    certify_not_ok: int = 0
    worst: float = 0.0
    slowest: float = 0.0


def check(case: Case, certificate: Any, solution: Solution, best: list[Best]) -> Iterator[tuple[str, float]]:
    """What a certificate says against the reference: a sentence, and the ratio of excess to what is stated."""
    if certificate.kind == "residual":
        yield from _check_residual(case, certificate, solution, best[0])
        return
    if certificate.status in ("not judged", "no maximum"):
        if certificate.ok:
            yield "ok without a judgement", np.inf
        return
    objectives = [problem.objective(*arguments_of(case, solution, k)) for k, problem in enumerate(case.problems)]
    parts = certificate.parts if len(certificate.parts) == len(objectives) else (certificate.value,)
    size = max(abs(float(one)) for one in objectives)
    # of what is refused anyway some digits suffice
    slack = certificate.floor + (1e-17 if certificate.ok else 1e-9) * size
    fits_intercept = bool(getattr(case.ours, "fit_intercept", True))
    if not fits_intercept and np.any(solution.intercept):
        if certificate.ok:
            yield f"ok with an intercept of {np.max(np.abs(solution.intercept)):.2g} that is not fitted", np.inf
        return
    if certificate.ok and not certificate.floor <= 1e-3 * certificate.scale * 1.0001:
        yield f"ok with a floor of {certificate.floor:.2g} at scale {certificate.scale:.2g}", np.inf
    for k, (objective, value) in enumerate(zip(objectives, parts, strict=False)):
        excess = float(objective - best[k].value)
        ratio = excess / value if value > 0 else np.inf
        if excess > value + slack:
            yield f"part {k}: excess {excess:.4g} > stated {value:.4g} + floor {slack:.2g} (ok={certificate.ok})", ratio
        else:
            yield "", ratio
    if len(objectives) == 1:
        objective, excess = float(objectives[0]), float(objectives[0] - best[0].value)
        if certificate.ok and excess > certificate.allowed + slack:
            yield f"ok, excess {excess:.4g} > allowed {certificate.allowed:.4g}", np.inf
        if np.isfinite(objective) and np.isfinite(certificate.objective):
            away = abs(certificate.objective - objective)
            if certificate.ok and away > 1e-9 * abs(objective) + 2 * slack:
                yield f"objective {certificate.objective!r} stated, {objective!r} is right", np.inf
        lower = certificate.lower_bound
        if lower is not None:
            best[0].lower = max(best[0].lower, lower - certificate.floor)  # a bound is true up to its rounding
        if lower is not None and lower > float(best[0].value) + slack + 4e-16 * abs(lower):
            yield f"lower bound {lower!r}, but {float(best[0].value)!r} is reached", np.inf
        yield from _check_radius(case, certificate, solution, best[0])


def _check_radius(case: Case, certificate: Any, solution: Solution, best: Best) -> Iterator[tuple[str, float]]:
    if certificate.radius is None or not np.isfinite(certificate.radius):
        return
    l2 = float(case.problems[0].l2)
    coef = arguments_of(case, solution, 0)[0]
    away = float(np.sqrt(np.sum((ref.long(coef).reshape(best.coef.shape) - best.coef) ** 2)))
    unsure = best.distance(l2)  # the reference itself need not be at the optimum
    if away > certificate.radius * (1 + 1e-9) + unsure:
        yield f"radius {certificate.radius:.6g}, best weights are {away:.6g} away", np.inf


def _check_residual(case: Case, certificate: Any, solution: Solution, best: Best) -> Iterator[tuple[str, float]]:
    """A cosine is what it is said to be, unless the residual beyond the best one is nothing beside the targets."""
    data, problem = case.data, case.problems[0]
    alpha = float(getattr(case.ours, "alpha", 0.0))
    cosine, _ = ref.cosines(
        data.dense, case.y, data.shares, alpha, problem.intercept, solution.coef[0], solution.intercept[0]
    )
    objective = problem.objective(solution.coef, solution.intercept)
    excess = float(objective - best.value)
    mean = problem.share @ problem.y if problem.intercept else 0
    null = float(problem.share @ (problem.y - mean) ** 2 / 2)
    if not problem.intercept and np.any(solution.intercept) and certificate.ok:
        yield "ok with an intercept that is not fitted", np.inf
        return
    nothing = excess <= 1e-6 * null + 1e-28 * float(problem.share @ problem.y**2)
    if certificate.ok and cosine > max(certificate.value, certificate.allowed) + certificate.floor and not nothing:
        yield (
            f"cosine {cosine:.4g}, stated {certificate.value:.4g}; excess {excess:.4g} of {null:.4g}",
            cosine / certificate.value,
        )
    elif certificate.ok and certificate.floor > 1e-3 * 1.0001:
        yield f"ok with a floor of {certificate.floor:.2g}", np.inf
    else:
        yield "", 0.0
    if certificate.ok:
        yield from _check_radius(case, certificate, solution, best)


def solve_references(case: Case, starts: list[Solution]) -> list[Best]:
    result = []
    for k, problem in enumerate(case.problems):
        begin = [arguments_of(case, start, k) for start in starts]
        result.append(problem.solve(begin) if case.has_scale else ref.solve(problem, begin))
    return result


def from_best(case: Case, best: list[Best]) -> Solution:
    """The reference's solution as a model would keep it."""
    coef = np.concatenate([np.asarray(one.coef, dtype=np.float64) for one in best])
    b = np.concatenate([np.asarray(one.intercept, dtype=np.float64) for one in best])
    if case.halves:
        coef, b = coef[1:] - coef[:1], b[1:] - b[:1]
    return Solution(coef, b, float(best[0].scale) if case.has_scale else 1.0)


EARLY = {"max_iter": (1, 2, 3)}


def early(rng: np.random.Generator, case: Case) -> Any:
    """A model that is stopped early, ours or scikit-learn's, or None."""
    model = case.twin if case.twin is not None and rng.random() < 0.5 else case.ours
    if "max_iter" not in model.get_params():
        return None
    model = copy.deepcopy(model).set_params(max_iter=int(rng.choice([1, 2, 5, 20])))
    return case.fit(model)


TAMPERS = 8
"""Tampered solutions of each problem."""


def attack(name: str, seed: int, index: int, tampers: int = TAMPERS) -> tuple[Case, list[Violation], Tally]:
    """One problem of a family, and all solutions that are tried on it."""
    rng = np.random.default_rng([seed, index])
    case = FAMILIES[CLASSES.get(name, name)](rng)
    tally, violations = Tally(problems=1), []

    def judge(model: Any, how: str, solution: Solution, best: list[Best]) -> Any:
        begin = time.process_time()
        try:
            certificate = case.certify(model)
        except (ValueError, TypeError, FloatingPointError, OverflowError):
            tally.errors += 1
            return None
        finally:
            tally.slowest = max(tally.slowest, time.process_time() - begin)
        compare(certificate, how, solution, best)
        return certificate

    def compare(certificate: Any, how: str, solution: Solution, best: list[Best]) -> None:
        tally.ok += certificate.ok
        for what, ratio in check(case, certificate, solution, best):
            # below the floor the ratio says nothing
            tally.worst = max(tally.worst, ratio if certificate.value > 2 * certificate.floor and not what else 0.0)
            if what:
                tally.worst = max(tally.worst, ratio)
                violations.append(Violation(case.name, index, f"{how}: {what}", repr(certificate)))

    try:
        model = case.fit(copy.deepcopy(case.ours))
    except ValueError:
        tally.errors += 1
        return case, violations, tally
    models = [("own", model)]
    if case.twin is not None and rng.random() < 0.35:
        try:
            models.append(("sklearn", case.fit(copy.deepcopy(case.twin))))
        except (ValueError, TypeError, np.linalg.LinAlgError):  # a linear programme of its that was not solved, too
            tally.errors += 1
    if rng.random() < 0.2:
        try:
            stopped = early(rng, case)
        except (ValueError, np.linalg.LinAlgError):
            stopped = None
        models += [("early", stopped)] if stopped is not None else []
    models = [(how, one) for how, one in models if _finite(case, one)]
    if not models:
        tally.errors += 1
        return case, violations, tally
    solutions = [read(case, one) for _, one in models]
    best = solve_references(case, solutions)
    own = getattr(model, "certificate_", None)
    if own is not None and models[0][0] == "own" and own.status != "not judged":
        compare(own, "own certificate_", solutions[0], best)
        if not own.ok and own.status != "no maximum":
            tally.own_not_ok += not case.data.hard
            tally.own_not_ok_hard += bool(case.data.hard)
    for (how, one), solution in zip(models, solutions, strict=True):
        result = judge(one, how, solution, best)
        if how == "own" and own is not None and own.ok and (result is None or not result.ok):
            tally.certify_not_ok += 1
    bases = [*solutions, from_best(case, best)]
    for _ in range(tampers):
        base = bases[rng.integers(len(bases))]
        how, solution = tamper_solution(rng, case, base)
        host = models[rng.integers(len(models))][1]
        forged = write(case, host, solution)
        if not _finite(case, forged):
            continue
        tally.tampered += 1
        judge(forged, how, read(case, forged), best)
    return case, violations, tally


def attack_recomputed(name: str, seed: int, index: int, tampers: int = TAMPERS) -> tuple[Any, list[Violation], Tally]:
    """One problem of a family without a convex objective."""
    rng = np.random.default_rng([seed, index])
    case = RECOMPUTED[name](rng)
    tally, violations = Tally(problems=1), []

    def judge(model: Any, how: str) -> Any:
        begin = time.process_time()
        try:
            certificate = case.certify(model)
        except (ValueError, TypeError, FloatingPointError, OverflowError, np.linalg.LinAlgError):
            tally.errors += 1
            return None
        finally:
            tally.slowest = max(tally.slowest, time.process_time() - begin)
        tally.ok += certificate.ok
        what = case.wrong(model, certificate) if certificate.ok else ""
        if what:
            violations.append(Violation(case.name, index, f"{how}: {what}", repr(certificate)))
        return certificate

    try:
        models = [case.fit(copy.deepcopy(case.ours))]
    except (ValueError, np.linalg.LinAlgError):  # a covariance that has no inverse
        tally.errors += 1
        return case, violations, tally
    own = judge(models[0], "own")
    if own is None or not own.ok:
        tally.own_not_ok += not case.hard
        tally.own_not_ok_hard += case.hard
    tally.certify_not_ok += bool(models[0].certificate_.ok and (own is None or not own.ok))
    if rng.random() < 0.35:
        try:
            models.append(case.fit(copy.deepcopy(case.twin)))
            judge(models[-1], "sklearn")
        except ValueError:  # components that collapse
            tally.errors += 1
    for _ in range(tampers + tampers // 2):  # they are judged faster
        try:
            how, forged = tamper(rng, case, models[rng.integers(len(models))])
        except np.linalg.LinAlgError:
            continue
        tally.tampered += 1
        judge(forged, how)
    return case, violations, tally


def _finite(case: Case, model: Any) -> bool:
    solution = read(case, model)
    return bool(np.isfinite(solution.coef).all() and np.isfinite(solution.intercept).all())


# ------------------------------------------------------------------------------------------------------------------ run


def merge(one: Tally, other: Tally) -> None:
    for name in ("problems", "tampered", "ok", "errors", "own_not_ok", "own_not_ok_hard", "certify_not_ok"):
        setattr(one, name, getattr(one, name) + getattr(other, name))
    one.worst, one.slowest = max(one.worst, other.worst), max(one.slowest, other.slowest)


SLOW = 3.0
"""Seconds of one call of certify on such small data that are worth a line."""


@dataclass
class Report:
    tallies: dict[str, Tally] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    def table(self) -> str:
        bad = {name: sum(one.name == name for one in self.violations) for name in self.tallies}
        head = (
            f"{'class':28}{'problems':>9}{'tampered':>9}{'ok':>8}{'wrong':>6}{'errors':>7}"
            f"{'own not ok':>11}{'(hard)':>7}{'refused':>8}{'worst':>9}{'slowest':>8}"
        )
        lines = [head]
        for name, t in sorted(self.tallies.items()):
            lines.append(
                f"{name:28}{t.problems:9}{t.tampered:9}{t.ok:8}{bad[name]:6}{t.errors:7}"
                f"{t.own_refused:11}{t.own_refused_hard:7}{t.certify_refused:8}{t.worst:9.3g}{t.slowest:7.1f}s"
            )
        return "\n".join(lines)


def hard_of(case: Any) -> Any:
    return case.data.hard if isinstance(case, Case) else "hard" if case.hard else "ordinary"


def run(
    n: int,
    seed: int,
    only: str | None = None,
    index: int | None = None,
    minutes: float | None = None,
    loud: bool = True,
    tampers: int = TAMPERS,
) -> Report:
    """Problems 0 to n - 1 of a seed, the families in turn; or one of them."""
    report, begin = Report(), time.perf_counter()
    names = [*FAMILIES, *RECOMPUTED]
    for i in range(n) if index is None else [index]:
        name = CLASSES.get(only, only) if only else names[i % len(names)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                case, violations, tally = (attack_recomputed if name in RECOMPUTED else attack)(name, seed, i, tampers)
            except KeyboardInterrupt:
                break
            except Exception:
                report.crashes.append(f"{name}, index {i}: {traceback.format_exc()}")
                if loud:
                    print(report.crashes[-1], flush=True)
                continue
        merge(report.tallies.setdefault(case.name, Tally()), tally)
        report.violations += violations
        if loud and tally.slowest > SLOW:
            print(
                f"--seed {seed} --only {name} --index {i}: {case.name} {hard_of(case)} took {tally.slowest:.1f} s",
                flush=True,
            )
        for one in violations if loud else ():
            print(
                f"--seed {seed} --only {name} --index {i}: {one.name} {hard_of(case)} {one.what} {one.detail}",
                flush=True,
            )
        if minutes is not None and time.perf_counter() - begin > 60.0 * minutes:
            break
    return report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="how many problems")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", help=f"a class ({', '.join(CLASSES)}) or a family ({', '.join([*FAMILIES, *RECOMPUTED])})"
    )
    parser.add_argument("--index", type=int, help="only this problem of the seed")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--tampers", type=int, default=TAMPERS, help="tampered solutions of each problem")
    request = parser.parse_args(arguments)
    begin = time.perf_counter()
    report = run(request.n, request.seed, request.only, request.index, request.minutes, tampers=request.tampers)
    print(report.table())
    print(
        f"{sum(t.problems for t in report.tallies.values())} problems, "
        f"{sum(t.tampered for t in report.tallies.values())} tampered solutions, seed {request.seed}: "
        f"{len(report.violations)} violations, {len(report.crashes)} crashes, {time.perf_counter() - begin:.0f} s"
    )
    return 1 if report.violations or report.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
