"""The questions of the cookbook (section 6.3), and counts of parameters."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import tenfold
from tenfold import linear_or_not, recommend
from tenfold.advice import COLUMNS, METHODS, TABLE, n_parameters
from tenfold.datasets import make_gaussian_classes, make_linear, make_sine, make_xor


def test_the_table_is_that_of_the_cookbook():
    assert len(TABLE) == 8
    assert all(tuple(row) == COLUMNS for row in TABLE.values())
    assert TABLE["naive Bayes"]["training"] == "small"
    assert TABLE["k nearest neighbours"]["training"] == "none"
    assert TABLE["k nearest neighbours"]["prediction"] == "large"
    assert TABLE["non-linear SVM"]["multiclass"] == "small"
    assert {method.row for method in METHODS if method.row} <= set(TABLE)


def test_recommended_classes_exist():
    for method in METHODS:
        for name in method.classes:
            model = getattr(tenfold, name)()
            if method.task == "classification" and method.probabilities:
                assert hasattr(model, "predict_proba"), name
            if method.task == "regression" and method.probabilities:
                assert hasattr(model, "predict_interval"), name


def test_answers_lead_to_methods():
    X, y = load_iris(return_X_y=True)
    assert recommend(X, y).classes[0] == "NearestCentroid"
    assert "LinearSVC" not in recommend(X, y, probabilities=True).classes
    assert recommend(X, y, linear=False).classes == ("QuadraticDiscriminantAnalysis", "KNeighborsClassifierCV")
    assert "KNeighborsClassifierCV" not in recommend(X, y, small=True).classes
    assert recommend(*load_diabetes(return_X_y=True)).classes[0] == "RidgeCV"
    assert recommend(X).classes == ("PCA", "TruncatedSVD")
    assert recommend(X, task="clusters").classes == ("KMeans", "GaussianMixture")
    wide = recommend(n_samples=50, n_features=5000, task="classification")
    assert "LinearDiscriminantAnalysis" not in wide.classes
    assert "more columns than rows" in wide.cautions[0]
    assert "linear_or_not" in str(recommend(X, y))
    assert "linear_or_not" not in str(recommend(X, y, linear=True))
    with pytest.raises(ValueError, match="'classification', 'clusters'"):
        recommend(task="ranking")


def test_linear_or_not():
    assert linear_or_not(*make_gaussian_classes(300, random_state=0)).linear_is_enough
    assert not linear_or_not(*make_xor(300, random_state=0)).linear_is_enough
    assert linear_or_not(*make_linear(300, 3, random_state=0)).linear_is_enough
    result = linear_or_not(*make_sine(300, spaced="uniform", random_state=0), max_rows=200)
    assert not result.linear_is_enough
    assert result.rows == 200
    assert "some sign" in str(result)
    with pytest.raises(ValueError, match="'classification' or 'regression'"):
        linear_or_not(np.ones((3, 1)), None)


def test_parameters_are_counted():
    """Cookbook 19: K D of logistic regression (less, of the first class) beside K (D + D (D + 1) / 2) of densities."""
    assert n_parameters("LogisticRegression", 400, 10) == 9 * 401
    assert n_parameters("QuadraticDiscriminantAnalysis", 400, 10) == 10 * (400 + 400 * 401 // 2) + 9
    assert n_parameters("LinearDiscriminantAnalysis", 400, 10) == 10 * 400 + 400 * 401 // 2 + 9
    assert n_parameters("BernoulliNB", 10, 2) == 21
    with pytest.raises(ValueError, match="must be one of"):
        n_parameters("KMeans", 3)
