"""What certify asks beside the judge: the model's own predictions, and a budget of passes over the data."""

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from estimators import SOLVED
from tenfold.data import BudgetSpent, MemoryRows, limit_passes, weights_of
from tenfold.stats.derivatives import Total

LINEAR = [row for row in SOLVED if row.linear]
METHODS = ("predict", "decision_function", "predict_proba")
CASES = [(row, method) for row in LINEAR for method in METHODS if method in dir(getattr(tenfold, row.name))]
CASES = [case for case in CASES if (case[0].name, case[1]) != ("GeneralizedLinearClassifier", "predict_proba")]


@pytest.mark.parametrize(("row", "method"), CASES, ids=[f"{row.id}-{method}" for row, method in CASES])
def test_other_predictions_are_not_certified(row, method, monkeypatch):
    X, y, _ = row.data()
    model = row.make().fit(X, y)
    own = getattr(model, method)
    assert tenfold.certify(model, X, y).ok

    def other(X, own=own):
        answer = own(X)
        return answer[::-1] if answer.dtype.kind in "US" else answer + 1e-3 * (1.0 + np.abs(answer))

    monkeypatch.setattr(model, method, other)
    certificate = tenfold.certify(model, X, y)
    assert not certificate.ok
    assert method in certificate.explain()


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, np.float32])
def test_outputs_agree_for_every_storage(storage):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = (X[:, 0] + rng.logistic(size=400) > 0).astype(int)
    model = sklearn.linear_model.LogisticRegression(tol=1e-8).fit(storage(X), y)
    assert tenfold.certify(model, storage(X), y).ok


def test_samples_of_a_table():
    X, y, _ = LINEAR[0].data(60, 4)
    table = tenfold.rows([X[:30], X[30:]])
    assert tenfold.certify(tenfold.Ridge().fit(X, y), table, y).ok


def test_spent_budget_is_reported():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] + rng.logistic(size=200) > 0
    model = tenfold.LogisticRegression().fit(X, y)
    assert tenfold.certify(model, X, y).ok
    certificate = tenfold.certify(model, X, y, budget=1)
    assert not certificate.ok
    assert "more than 1 passes over X" in certificate.explain()
    piped = make_pipeline(StandardScaler(), tenfold.LogisticRegression()).fit(X, y)
    assert tenfold.certify(piped, X, y).ok
    assert tenfold.certify(piped, X, y, budget=1).status == "not judged"


def test_passes_over_samples_are_shares_of_a_pass():
    rows = MemoryRows(np.ones((90, 2)), np.zeros((90, 1)))
    count = lambda block: Total(weights_of(block))  # noqa: E731
    with limit_passes(3.0):
        rows.fold(count)
        for _ in range(5):
            rows.subsample(3).fold(count)
        with pytest.raises(BudgetSpent):
            rows.fold(count)
    rows.fold(count)
