"""What scikit-learn certifies, we certify: if its fit at the same parameters is ok for the judge, ours is."""

import copy
import os
import warnings

import numpy as np
import pytest
from attack import FAMILIES
from attack_recomputed import RECOMPUTED

import tenfold

SEED = 29
TIMES = int(os.environ.get("TENFOLD_ATTACK", "1"))
"""How many times the usual number of problems."""

ITERATIVE = [
    "lasso",
    "lasso_lars",
    "multi_task",
    "logistic",
    "deviances",
    "huber",
    "quantile",
    "linear_svc",
    "linear_svr",
    "sgd_classifier",
    "sgd_regressor",
    "sgd_one_class",
    "kmeans",
    "mixture",
]

TIGHT = {"tol": 1e-8, "max_iter": 5000}


def fit_both(family, index):
    """A drawn problem, our model and scikit-learn's at the same parameters, usual or tight; None if it cannot fit."""
    rng = np.random.default_rng([SEED, index])
    case = {**FAMILIES, **RECOMPUTED}[family](rng)
    if case.twin is None:
        return None
    common = set(case.ours.get_params()) & set(case.twin.get_params())
    shared = {name: value for name, value in case.ours.get_params().items() if name in ("tol", "max_iter")}
    shared = shared if index % 2 else TIGHT
    shared = {name: value for name, value in shared.items() if name in common}
    ours, sklearn_model = (copy.deepcopy(model).set_params(**shared) for model in (case.ours, case.twin))
    try:
        sklearn_model = case.fit(sklearn_model)
    except (ValueError, np.linalg.LinAlgError):
        return None
    return case, case.fit(ours), sklearn_model


@pytest.mark.parametrize("problems", [4, pytest.param(16 * TIMES, marks=pytest.mark.product)])
@pytest.mark.parametrize("family", ITERATIVE)
def test_what_sklearn_certifies_we_certify(family, problems):
    missed, certified = [], 0
    for index in range(problems):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = fit_both(family, index)
            if fits is None:
                continue
            case, ours, sklearn_model = fits
            try:
                if not case.certify(sklearn_model).ok:
                    continue
            except (ValueError, TypeError):
                continue
            certified += 1
            again = case.certify(ours)
        own = ours.certificate_
        if not again.ok or not (own.ok or own.status == "not judged"):
            missed.append(f"{family} {index}: {ours!r}: {own!r}, certify says {again!r}")
    assert not missed, "\n".join(missed)
    assert certified or family in NEVER


NEVER = ("sgd_classifier", "sgd_regressor", "sgd_one_class")
"""Whose usual steps are seldom near the optimum."""


def test_the_lasso_converges_where_sklearn_does():
    """Many features and noise as strong as the signal, at the default limit of iterations."""
    import sklearn.linear_model

    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 1000))
    z = X[:, :100] @ rng.standard_normal(100)
    y = z / z.std() + rng.standard_normal(100)
    assert tenfold.certify(sklearn.linear_model.Lasso(alpha=0.05).fit(X, y), X, y).ok
    assert tenfold.Lasso(alpha=0.05).fit(X, y).certificate_.ok
