"""How far fitted models are from the best ones, by the references: what excuses a tampered model.

`Reference(model, X, y).within(worse, certificate)` says whether `worse`, a copy of the model with other numbers, is
still as good as the certificate allows. The problem is rebuilt here from the parameters that the user gave.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import references as ref
from references import Problem, ScaledHuber, Smooth
from sklearn.utils.class_weight import compute_class_weight

from namespaces import host


def _signs(y: Any, which: int = 1) -> Any:
    return np.where(np.unique(y, return_inverse=True)[1] == which, 1.0, -1.0)


def _even(X: Any) -> Any:
    return np.full(len(X), 1.0 / len(X))


def _lasso(model: Any, X: Any, y: Any) -> list[Any]:
    alpha = float(getattr(model, "alpha_", model.get_params().get("alpha")))
    ratio = float(getattr(model, "l1_ratio_", model.get_params().get("l1_ratio", 1.0)))
    problem = Problem(X, y, _even(X), Smooth(ref.square), 1, model.fit_intercept, alpha * ratio, alpha * (1.0 - ratio))
    problem.positive = model.positive
    return [problem]


def _multi_task(model: Any, X: Any, y: Any) -> list[Any]:
    alpha = float(getattr(model, "alpha_", model.get_params().get("alpha")))
    ratio = float(getattr(model, "l1_ratio_", model.get_params().get("l1_ratio", 1.0)))
    terms = (alpha * ratio, alpha * (1.0 - ratio))
    return [Problem(X, y, _even(X), ref.Squares(), y.shape[1], model.fit_intercept, *terms, multi_task=True)]


def _logistic(model: Any, X: Any, y: Any) -> list[Any]:
    C = float(np.ravel(getattr(model, "C_", getattr(model, "C", 1.0)))[0])
    ratio = float(getattr(model, "l1_ratio", None) or 0.0)
    classes, number = np.unique(y, return_inverse=True)
    weight = compute_class_weight(model.class_weight, classes=classes, y=y)[number]
    share, strength = weight / weight.sum(), 1.0 / C / weight.sum()
    several = len(classes) > 2
    target, loss, outputs = (number, ref.Softmax(), len(classes)) if several else (_signs(y), Smooth(ref.logistic), 1)
    return [Problem(X, target, share, loss, outputs, model.fit_intercept, ratio * strength, (1.0 - ratio) * strength)]


def _deviance(model: Any, X: Any, y: Any) -> list[Any]:
    power = {"PoissonRegressor": 1.0, "GammaRegressor": 2.0}.get(type(model).__name__, getattr(model, "power", 0.0))
    return [Problem(X, y, _even(X), ref.deviance(power), 1, model.fit_intercept, 0.0, model.alpha)]


def _huber(model: Any, X: Any, y: Any) -> list[Any]:
    return [ScaledHuber(X, y, _even(X), model.epsilon, 2.0 * model.alpha / len(X), model.fit_intercept)]


def _quantile(model: Any, X: Any, y: Any) -> list[Any]:
    return [Problem(X, y, _even(X), ref.quantile(model.quantile), 1, model.fit_intercept, model.alpha)]


def _list_generalized_problems(model: Any, X: Any, y: Any) -> list[Any]:
    """The square and the logistic loss, or softmax of two classes, under a square."""
    strength = model.alpha
    assert model.penalty == "l2"
    if model.loss == "square":
        return [Problem(X, y, _even(X), Smooth(ref.square), 1, model.fit_intercept, 0.0, strength)]
    strength = strength / 2.0 if model.loss == "softmax" else strength  # w1^2 + w2^2 is least at (w1 - w2)^2 / 2
    return [Problem(X, _signs(y), _even(X), Smooth(ref.logistic), 1, model.fit_intercept, 0.0, strength)]


def _online(model: Any, X: Any, y: Any) -> list[Any]:
    """The logistic loss and the square under a square."""
    loss = Smooth(ref.logistic) if model.loss == "log_loss" else Smooth(ref.square)
    y = _signs(y) if model.loss == "log_loss" else y
    return [Problem(X, y, _even(X), loss, 1, model.fit_intercept, 0.0, model.alpha)]


def _machine(model: Any, X: Any, y: Any) -> list[Any]:
    losses = {
        "squared_hinge": Smooth(ref.squared_hinge),
        "hinge": ref.Piecewise(ref.hinge_pieces),
        "epsilon_insensitive": ref.tube(model.get_params().get("epsilon", 0.0)),
        "squared_epsilon_insensitive": ref.squared_tube(model.get_params().get("epsilon", 0.0)),
    }
    strength = 1.0 / model.C / len(X)
    ties = (0.0, strength / model.intercept_scaling**2 if model.fit_intercept else 0.0)
    y = _signs(y) if "hinge" in model.loss else y
    return [Problem(X, y, _even(X), losses[model.loss], 1, model.fit_intercept, 0.0, strength, ties)]


PROBLEMS: dict[str, Callable[[Any, Any, Any], list[Any]]] = {
    **dict.fromkeys(("Lasso", "ElasticNet", "LassoCV", "ElasticNetCV"), _lasso),
    **dict.fromkeys(("LassoLars", "LassoLarsCV", "LassoLarsIC"), _lasso),
    **dict.fromkeys(
        ("MultiTaskLasso", "MultiTaskElasticNet", "MultiTaskLassoCV", "MultiTaskElasticNetCV"), _multi_task
    ),
    **dict.fromkeys(("LogisticRegression", "LogisticRegressionCV"), _logistic),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor", "TweedieRegressor"), _deviance),
    **dict.fromkeys(("GeneralizedLinear", "GeneralizedLinearClassifier"), _list_generalized_problems),
    **dict.fromkeys(("LinearSVC", "LinearSVR"), _machine),
    **dict.fromkeys(("SGDClassifier", "SGDRegressor"), _online),
    "HuberRegressor": _huber,
    "QuantileRegressor": _quantile,
}
"""How the convex problem of a class is rebuilt."""

LINEAR = ("coef_", "intercept_", "scale_")
"""Names whose small changes a reference may excuse; all others are refused or listed."""


def _point(model: Any) -> tuple[Any, ...]:
    coef = np.atleast_2d(host(model.coef_)).astype(np.float64)
    b = np.array(np.broadcast_to(np.ravel(host(model.intercept_)).astype(np.float64), len(coef)))
    return (coef, b, float(model.scale_)) if hasattr(model, "scale_") and hasattr(model, "outliers_") else (coef, b)


class Reference:
    """What an independent method says of copies of a model."""

    def __init__(self, model: Any, X: Any, y: Any) -> None:
        self.model, self.X, self.y, self.name = model, X, y, type(model).__name__

    @cached_property
    def best(self) -> list[tuple[Any, float]]:
        """The problems of the model, each with the best objective known."""
        start = [_point(self.model)]
        problems = PROBLEMS[self.name](self.model, self.X, self.y)
        return [
            (one, (one.solve(start) if isinstance(one, ScaledHuber) else ref.solve(one, start)).value)
            for one in problems
        ]

    def within(self, worse: Any, certificate: Any, name: str) -> bool:
        """Whether a copy of which `name` was changed is still as good as its certificate allows."""
        if self.name in PROBLEMS and name in LINEAR:
            return all(float(one.objective(*_point(worse)) - best) <= certificate.allowed for one, best in self.best)
        if self.name in COUNTED and name in LINEAR:
            return int(np.sum(worse.predict(self.X) != self.y)) == certificate.value == 0.0
        if self.name in NETWORKS and name in ("coefs_", "intercepts_"):
            before, constant = network_loss(self.model, self.X, self.y)
            return (network_loss(worse, self.X, self.y)[0] - before) / constant <= certificate.allowed
        if self.name == "StructuredPerceptron" and name in TAGGED:
            tags = zip(worse.predict(self.X), self.y, strict=True)
            return sum(int(np.sum(result != right)) for result, right in tags) == certificate.value == 0.0
        if self.name in ("NMF", "MiniBatchNMF") and name == "components_":
            return bool(np.allclose(_canonical(worse), _canonical(self.model), rtol=1e-9, atol=0.0))
        if self.name in DICTIONARIES and name == "components_":
            ordered = [model.components_[np.lexsort(model.components_.T)] for model in (worse, self.model)]
            return bool(np.array_equal(*ordered))
        return False


def _canonical(model: Any) -> Any:
    """Components in an order and, where nothing is penalised, a scale of their own, which say nothing."""
    H = model.components_ / (1.0 if model.alpha_W > 0.0 else model.components_.sum(axis=1, keepdims=True))
    return H[np.lexsort(H.T)]


DICTIONARIES = ("DictionaryLearning", "MiniBatchDictionaryLearning", "SparsePCA", "MiniBatchSparsePCA")
"""Classes whose components have an order that says nothing."""

TAGGED = ("coef_", "transition_", "start_", "end_")
"""Weights of a structured perceptron."""

COUNTED = ("Perceptron", "AveragedPerceptron", "VotedPerceptron")
"""Whose certificate is the number of mistakes, which is counted again."""

NETWORKS = ("MLPClassifier", "MLPRegressor")
"""Whose loss may exceed that of the fit by a share of the loss of the best constant."""


def network_loss(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """The penalised loss of a network of tanh units, and that of the best constant; by loops over the samples."""
    layers = [
        (host(w).astype(float), host(b).astype(float)) for w, b in zip(model.coefs_, model.intercepts_, strict=True)
    ]
    total = 0.0
    labels = list(model.classes_) if hasattr(model, "classes_") else None
    for x, target in zip(X, y, strict=True):
        a = np.asarray(x, dtype=float)
        for w, b in layers[:-1]:
            a = np.tanh(a @ w + b)
        z = a @ layers[-1][0] + layers[-1][1]
        if labels is None:
            total += 0.5 * float(z[0] - target) ** 2
        else:
            z = np.append(0.0, z) if len(labels) == 2 else z
            total += float(np.log(np.sum(np.exp(z - z.max()))) + z.max() - z[labels.index(target)])
    penalty = 0.5 * model.alpha * sum(float(np.sum(w * w)) for w, _ in layers)
    if labels is None:
        return (total + penalty) / len(X), 0.5 * float(np.var(y))
    share = np.array([np.mean(y == label) for label in labels])
    return (total + penalty) / len(X), float(-np.sum(share * np.log(share)))
