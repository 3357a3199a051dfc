"""Equal quality: every fitted model is judged again from its coefficients alone, ours and those of peers.

The coefficients are put into a plain scikit-learn model, so that the judge cannot know whose they are, and
``tenfold.certify`` reads the data again. The objective, and for the rows that choose alpha the cross-validation error
of the choice, are computed here a second time by plain formulas that share no code with Tenfold.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)
from sklearn.model_selection import KFold
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC

from benchmarks.data import cut
from benchmarks.table import Row

Judged = dict[str, Any]

GENERALISED = {"PoissonRegressor": PoissonRegressor, "QuantileRegressor": QuantileRegressor}


def judge(row: Row, X: Any, y: Any, fitted: dict[str, Any]) -> Judged:
    """The certificate of the coefficients, the objective, and what the row's own question needs."""
    if row.call == "predict one row":
        return {"prediction_error": _prediction_error(row, X, fitted)}
    if row.call == "evaluate":
        return _honest(fitted)
    if row.estimator == "RidgeClassifier":
        y = LabelBinarizer(neg_label=-1).fit_transform(y)
    if row.estimator == "GaussianMixture":
        return {"objective": _surprise(X, fitted), "budget": True}
    if row.estimator == "KMeans":
        return {"objective": _energy(X, fitted), "budget": True}
    if row.estimator == "StringGram":
        return {"objective": float(np.sum(pickle.loads(fitted["model"].tobytes()).gram_)), "budget": True}
    if row.estimator == "SpectralClustering":
        return {"objective": _cut(fitted), "budget": True}
    if row.call == "deviations":
        return _as_it_is(X[: len(X) // 6], y[: len(X) // 6], fitted)
    if row.call.startswith("fit and") or row.call == "read, fit and keep":
        return _as_it_is(X, y, fitted)
    if row.call == "sequences":
        return {"objective": _wrong_tags(X, y, fitted), "budget": True}
    own = X.y if y is None else y  # rows of files have their target with them
    if row.call == "path":
        return _path(row, X, own, fitted)
    judged: Judged = {"objective": _objective(row, X, own, fitted)}
    if row.params.get("tol", 0) is None:
        return judged | {"budget": True}  # equal work, and not an optimum, is what is compared
    judged |= {name: float(fitted[name]) for name in ("alpha", "C") if name in fitted}
    if row.choice is not None:
        error = _leave_one_out if row.choice == "loo" else _folds
        judged["choice_error"] = error(X, y, judged["alpha"])
    try:
        from tenfold import certify
    except ImportError as reason:
        return judged | {"not_judged": f"tenfold cannot be imported: {reason}"}
    certificate = certify(_plain_model(row, X, own, fitted), X, y)
    allowed = max(certificate.tol * certificate.scale, certificate.floor)
    judged |= {"kind": certificate.kind, "value": float(certificate.value), "allowed": float(allowed)}
    return judged | {"ok": bool(certificate.ok), "condition": _number(certificate.condition)}


def _surprise(X: Any, fitted: dict[str, Any]) -> float:
    """Minus the mean log density of the rows in a mixture."""
    model = pickle.loads(fitted["model"].tobytes())
    parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
    logs = [np.log(weight) + multivariate_normal(mean, C).logpdf(X) for weight, mean, C in parts]
    return -float(np.mean(logsumexp(np.stack(logs), axis=0)))


def _energy(X: Any, fitted: dict[str, Any]) -> float:
    """The sum of the squared distances of the rows from their nearest centres, by differences."""
    centres = np.asarray(pickle.loads(fitted["model"].tobytes()).cluster_centers_, dtype=float)
    total, place = 0.0, centres.mean(axis=0)
    for part in np.array_split(X, max(1, X.shape[0] // 4096)):
        part = np.asarray(part, dtype=float) - place
        nearest = np.argmax(part @ (centres - place).T - 0.5 * np.sum((centres - place) ** 2, axis=1), axis=1)
        total += float(np.sum((part - (centres - place)[nearest]) ** 2))
    return total


def _cut(fitted: dict[str, Any]) -> float:
    """The normalised cut of the labels, cluster by cluster, without the diagonal."""
    model = pickle.loads(fitted["model"].tobytes())
    W = np.array(model.affinity_matrix_, dtype=float)
    np.fill_diagonal(W, 0.0)
    cut = [W[inside][:, ~inside].sum() / W[inside].sum() for inside in (model.labels_ == k for k in set(model.labels_))]
    return float(sum(cut))


def _as_it_is(X: Any, y: Any, fitted: dict[str, Any]) -> Judged:
    """The certificate of a model that is judged from outside."""
    from tenfold import certify

    model = pickle.loads(fitted["model"].tobytes())
    certificate = certify(getattr(model, "best_estimator_", model), X, y)
    allowed = float(max(certificate.tol * certificate.scale, certificate.floor))
    # a basis that is not the leading one has an infinite value, which JSON has not
    value = float(certificate.value) if np.isfinite(certificate.value) else 1e300
    return {"kind": certificate.kind, "value": value, "allowed": allowed, "ok": bool(certificate.ok)}


def _honest(fitted: dict[str, Any]) -> Judged:
    """The loss of the best candidate over the outer folds, and its standard error."""
    losses = fitted["losses"]
    best = losses[np.argmin(losses.mean(axis=1))]
    return {"objective": float(best.mean()), "error": float(best.std(ddof=1) / np.sqrt(len(best)))}


def _path(row: Row, X: Any, y: Any, fitted: dict[str, Any]) -> Judged:
    """Some fits of a path: the worst gap, in units of what is allowed, and the sum of the objectives."""
    from tenfold import certify

    result = []
    for alpha, coef in zip(fitted["alpha"], fitted["coef"], strict=True):
        model: Any = Lasso(alpha=float(alpha), fit_intercept=False, tol=row.params["tol"])
        model.coef_, model.intercept_, model.n_features_in_ = coef, 0.0, X.shape[1]
        result.append(certify(model, X, y))
    worst = max(one.value / one.allowed for one in result)
    objective = sum(one.objective / one.allowed for one in result)
    return {"kind": "gap", "value": worst, "allowed": 1.0, "ok": worst <= 1.0, "objective": objective}


def shortfall(ours: Judged, theirs: Judged) -> str | None:
    """Why ``theirs`` is not as good as ``ours``, or None.

    Good enough is what the judge's rule allows for either result (the rounding of the weights in their dtype
    included), or what ours reached if that is more. A gap of a foreign model is an upper bound, so that a peer is
    measured by its objective above the best lower bound that is proved (an objective minus its gap): in its favour.
    """
    if "prediction_error" in theirs:
        return None if theirs["prediction_error"] <= 1e-6 else f"predictions off by {theirs['prediction_error']:.1e}"
    if "error" in theirs:  # other folds, and other ways to choose: what was found is the same up to chance
        excess = (theirs["objective"] - ours["objective"]) / ours["error"]
        return None if excess <= 2.0 else f"loss {excess:.1f} standard errors above ours"
    if "choice_error" in theirs and theirs["choice_error"] > ours["choice_error"] * (1 + 1e-9):
        excess = theirs["choice_error"] / ours["choice_error"] - 1
        return f"chose alpha {theirs['alpha']:.3g}, whose error is higher by {excess:.1e} (relative)"
    if ours.get("kind") == "gap" and ours.get("alpha", 0.0) != theirs.get("alpha", 0.0):
        return f"chose alpha {theirs['alpha']:.6g}, ours {ours['alpha']:.6g}"
    if ours.get("C") != theirs.get("C"):
        return f"chose C {theirs['C']:.6g}, ours {ours['C']:.6g}"
    if "budget" in ours:
        excess = theirs["objective"] / ours["objective"] - 1
        return None if excess <= 1e-6 else f"objective {excess:.1e} above ours after the same work (relative)"
    if "value" not in ours or "value" not in theirs:
        return None
    allowed = max(ours["value"], ours["allowed"], theirs["allowed"])
    if ours["kind"] == "gap" and "objective" in ours:
        bound = max(judged["objective"] - judged["value"] for judged in (ours, theirs))
        excess = theirs["objective"] - bound
        return None if excess <= allowed else f"objective {excess / abs(bound):.1e} above the optimum (relative)"
    return None if theirs["value"] <= allowed else f"{ours['kind']} {theirs['value']:.1e}, allowed {allowed:.1e}"


def _plain_model(row: Row, X: Any, y: Any, fitted: dict[str, Any]) -> Any:
    if row.estimator.startswith("LogisticRegression"):
        params = {"C": float(fitted["C"])} if row.estimator.endswith("CV") else row.params
        model: Any = LogisticRegression(**params)
        model.classes_ = np.unique(y)
        model.n_iter_ = np.zeros(1, dtype=np.int32)
    elif row.estimator == "LinearSVC":
        model = LinearSVC(**row.params)
        model.classes_ = np.unique(y)
    elif row.estimator == "LinearRegression":
        model = LinearRegression()
    elif row.estimator in GENERALISED:
        model = GENERALISED[row.estimator](**row.params)
    elif row.estimator in ("Lasso", "LassoCV"):
        model = Lasso(alpha=_alpha(row, fitted), tol=row.params.get("tol", 1e-4))
    else:
        model = Ridge(alpha=_alpha(row, fitted))
    model.coef_, model.intercept_ = fitted["coef"], fitted["intercept"]
    model.n_features_in_ = X.shape[1]
    return model


def _alpha(row: Row, fitted: dict[str, Any]) -> float:
    return 0.0 if row.estimator == "LinearRegression" else float(fitted.get("alpha", row.params.get("alpha", 1.0)))


def _step_alpha(row: Row, rows: int) -> float:
    """alpha of the delta rule, beside the sum of the losses; zero for other methods."""
    return 1e-4 * rows if row.estimator.startswith("SGD") else 0.0


def _objective(row: Row, X: Any, y: Any, fitted: dict[str, Any]) -> float:
    """Mean loss + penalty in float64: the square loss (z - y)^2 / 2, the softmax, half of Poisson's deviance, the
    pinball loss of the median, the squared hinge; of perceptrons the share of mistakes.
    """
    coef = np.atleast_2d(np.asarray(fitted["coef"], dtype=float))
    parts = [X] if hasattr(X, "__matmul__") else X.cut(1 << 16)
    z = np.concatenate([np.asarray(part @ coef.T, dtype=float) for part in parts])
    z += np.asarray(fitted["intercept"], dtype=float)
    if row.estimator == "PoissonRegressor":
        y, z = np.asarray(y, dtype=float), z[:, 0]
        constant = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0) - y
        return float(np.mean(np.exp(z) - y * z + constant) + 0.5 * _alpha(row, fitted) * np.sum(coef**2))
    if row.estimator == "QuantileRegressor":
        return float(0.5 * np.mean(np.abs(y - z[:, 0])) + _alpha(row, fitted) * np.sum(np.abs(coef)))
    if row.estimator == "Perceptron":
        return float(np.mean(np.where(y == np.unique(y)[1], 1.0, -1.0) * z[:, 0] <= 0.0))
    if row.estimator.startswith("LogisticRegression"):
        logs = np.column_stack([np.zeros(len(z)), z]) if z.shape[1] == 1 else z
        loss = np.sum(np.logaddexp.reduce(logs, axis=1) - logs[np.arange(len(z)), np.searchsorted(np.unique(y), y)])
        strength = 1.0 / float(fitted.get("C", row.params.get("C", 1.0)))
        if "l1_ratio" in row.params:
            return float((loss + strength * np.sum(np.abs(coef))) / len(z))
    elif row.estimator == "LinearSVC":
        # the intercept is penalised
        margin = np.where(y == np.unique(y)[1], 1.0, -1.0) * z[:, 0]
        squares = np.sum(coef**2) + float(np.sum(np.square(fitted["intercept"])))
        return float(np.mean(np.maximum(0.0, 1.0 - margin) ** 2) + 0.5 * squares / len(z))
    elif row.estimator == "SGDClassifier":
        margin = np.where(y == np.unique(y)[1], 1.0, -1.0) * z[:, 0]
        hinge = "loss" not in row.params
        loss = np.maximum(0.0, 1.0 - margin).sum() if hinge else np.logaddexp(0.0, -margin).sum()
        strength = _step_alpha(row, len(z))
    elif row.estimator in ("Lasso", "LassoCV"):
        squares = 0.5 * np.sum((z[:, 0] - y) ** 2) / len(z)
        return float(squares + _alpha(row, fitted) * np.abs(coef).sum())
    else:
        loss, strength = 0.5 * np.sum((z - np.asarray(y, dtype=float).reshape(len(z), -1)) ** 2), _alpha(row, fitted)
        strength = _step_alpha(row, len(z)) or strength
    return float((loss + 0.5 * strength * np.sum(coef**2)) / len(z))


def _wrong_tags(X: Any, y: Any, fitted: dict[str, Any]) -> float:
    """The share of wrong tags, by Viterbi's recursion."""
    wrong = 0
    for tokens, tags in zip(*cut(X, y), strict=True):
        z = tokens @ fitted["coef"].T
        best, back = z[0] + fitted["start"], []
        for scores in z[1:]:
            paths = best[:, None] + fitted["transition"]
            back.append(np.argmax(paths, axis=0))
            best = np.max(paths, axis=0) + scores
        path = [int(np.argmax(best + fitted["end"]))]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        wrong += int(np.sum(np.array(path[::-1]) != tags))
    return wrong / len(y)


def _leave_one_out(X: Any, y: Any, alpha: float) -> float:
    """Mean squared leave-one-out error of ridge with an intercept, from the diagonal of its hat matrix."""
    n, p = X.shape
    Z, T = X - X.mean(axis=0), (y - y.mean(axis=0)).reshape(n, -1)
    if n > p:
        factor = la.cholesky(Z.T @ Z + alpha * np.eye(p), lower=True)
        rotated = la.solve_triangular(factor, Z.T, lower=True)
        residual, free = T - rotated.T @ (rotated @ T), 1 - 1 / n - np.einsum("ij,ij->j", rotated, rotated)
    else:
        inverse = la.inv(Z @ Z.T + alpha * np.eye(n))
        residual, free = alpha * (inverse @ T), alpha * np.diag(inverse) - 1 / n
    return float(np.mean((residual / free[:, None]) ** 2))


def _folds(X: Any, y: Any, alpha: float) -> float:
    """Mean squared error over five folds, each by refitting with a QR of the centred, extended matrix."""
    errors, p = [], X.shape[1]
    for train, test in KFold(5).split(X):
        mean, target = X[train].mean(axis=0), y[train].mean()
        extended = np.vstack([X[train] - mean, np.sqrt(alpha) * np.eye(p)])
        R, rotated = la.qr_multiply(extended, np.append(y[train] - target, np.zeros(p)), mode="right")[::-1]
        w = la.solve_triangular(R, rotated)
        errors.append(np.mean((y[test] - target - (X[test] - mean) @ w) ** 2))
    return float(np.mean(errors))


def _prediction_error(row: Row, X: Any, fitted: dict[str, Any]) -> float:
    """The largest difference between what was predicted and the formula applied to the model's own coefficients."""
    z = np.ravel(X[: len(fitted["prediction"])] @ np.ravel(fitted["coef"]) + fitted["intercept"])
    expected = (z > 0).astype(float) if row.estimator == "LogisticRegression" else z
    return float(np.max(np.abs(fitted["prediction"] - expected)))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
