"""`certify` of pipelines of a feature map and a linear model, of ours and of scikit-learn's."""

import numpy as np
import pytest
import sklearn.kernel_approximation as theirs
import sklearn.linear_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 4))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(300)


@pytest.mark.parametrize("library", [theirs, tenfold])
@pytest.mark.parametrize("name", ["RBFSampler", "Nystroem"])
def test_features_and_a_ridge(library, name):
    features = getattr(library, name)(gamma=0.3, n_components=50, random_state=0)
    for ridge in (tenfold.Ridge(0.1), sklearn.linear_model.Ridge(0.1), sklearn.linear_model.RidgeCV([0.1, 1.0])):
        model = make_pipeline(StandardScaler(), features, ridge).fit(X, Y)
        certificate = tenfold.certify(model, X, Y)
        assert certificate.ok
        assert "Hoeffding" in certificate.explain()
    model[-1].coef_ = model[-1].coef_ + 0.1
    assert not tenfold.certify(model, X, Y).ok


@pytest.mark.parametrize("library", [theirs, tenfold])
def test_a_map_of_another_kernel_is_refused(library):
    model = make_pipeline(library.RBFSampler(gamma=0.1, n_components=3000, random_state=0), tenfold.Ridge()).fit(X, Y)
    model[0].random_weights_ = 3.0 * model[0].random_weights_
    model[-1].fit(model[0].transform(X), Y)  # the ridge on these features is right
    certificate = tenfold.certify(model, X, Y)
    assert not certificate.ok
    assert "RBFSampler" in certificate.explain()


def test_classes_on_features():
    model = make_pipeline(
        theirs.Nystroem(n_components=40, random_state=0), sklearn.linear_model.LogisticRegression(tol=1e-8)
    ).fit(X, Y > 0)
    assert tenfold.certify(model, X, Y > 0).ok
    model[0].normalization_ = model[0].normalization_ + 0.1
    assert not tenfold.certify(model, X, Y > 0).ok
