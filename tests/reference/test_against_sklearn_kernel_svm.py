"""Support vector machines with kernels beside libsvm: values, support vectors, layout and errors."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse

import tenfold
from tenfold.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.standard_normal((160, 4))
BINARY = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * RNG.standard_normal(160) > 0.3, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * RNG.standard_normal(160), [-0.2, 0.8])
NUMBERS = np.sin(2.0 * X[:, 0]) + 0.2 * RNG.standard_normal(160)
WEIGHT = RNG.integers(0, 4, 160).astype(float)
QUERIES = RNG.standard_normal((50, 4))
LAYOUT = ("support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "shape_fit_", "n_iter_", "coef_")


def quadratic(A, B):
    return (A @ B.T + 1.0) ** 2


def both(name, y, weight=None, samples=X, **settings):
    ours = getattr(tenfold, name)(**settings).fit(samples, y, sample_weight=weight)
    return ours, getattr(sklearn.svm, name)(**{**settings, "tol": 1e-7}).fit(samples, y, sample_weight=weight)


def values(model, Q):
    return model.decision_function(Q) if hasattr(model, "decision_function") else model.predict(Q)


def assert_same(ours, sklearn_model, Q=QUERIES, rtol=1e-4):
    assert ours.certificate_.ok, ours.certificate_.explain()
    there = values(sklearn_model, Q)
    np.testing.assert_allclose(values(ours, Q), there, atol=rtol * np.abs(there).max())
    np.testing.assert_array_equal(ours.support_, sklearn_model.support_)
    for name in LAYOUT:
        assert hasattr(ours, name) == hasattr(sklearn_model, name), name
        if hasattr(ours, name):
            one, other = getattr(ours, name), getattr(sklearn_model, name)
            assert type(one) is type(other), name
            assert getattr(one, "shape", one) == getattr(other, "shape", other) or name == "n_iter_", name
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None), name


@pytest.mark.parametrize("y", [BINARY, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"C": 50.0, "gamma": 0.3},
        {"kernel": "linear"},
        {"kernel": "poly", "coef0": 1.0, "degree": 2},
        {"kernel": "sigmoid", "gamma": 0.1},
        {"class_weight": "balanced", "decision_function_shape": "ovo"},
        {"gamma": "auto", "break_ties": True},
        {"kernel": quadratic},
    ],
    ids=lambda settings: ",".join(f"{key}={getattr(value, '__name__', value)}" for key, value in settings.items()),
)
def test_classification_has_libsvm_values(y, settings):
    ours, sklearn_model = both("SVC", y, **settings)
    assert_same(ours, sklearn_model)
    np.testing.assert_array_equal(ours.predict(QUERIES), sklearn_model.predict(QUERIES))
    np.testing.assert_allclose(ours.class_weight_, sklearn_model.class_weight_)


@pytest.mark.parametrize("y", [BINARY, THREE], ids=["two", "three"])
def test_weights_sparse_and_precomputed(y):
    assert_same(*both("SVC", y, WEIGHT))
    assert_same(*both("SVC", y, samples=sparse.csr_matrix(X)), Q=sparse.csr_matrix(QUERIES))
    assert_same(*both("SVC", y, samples=sparse.csr_matrix(X), kernel="linear"), Q=sparse.csr_matrix(QUERIES))
    assert_same(*both("SVC", y, samples=X @ X.T + 1.0, kernel="precomputed"), Q=QUERIES @ X.T + 1.0)
    assert_same(*both("NuSVC", y, nu=0.3))
    assert_same(*both("NuSVC", y, WEIGHT, nu=0.2))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_regression_and_one_class(weight):
    assert_same(*both("SVR", NUMBERS, weight))
    assert_same(*both("SVR", NUMBERS, weight, kernel="linear", epsilon=0.3))
    assert_same(*both("NuSVR", NUMBERS, weight, nu=0.3))
    assert_same(*both("OneClassSVM", None, weight, nu=0.3))


def test_columns_of_any_scale_and_samples_on_each_other():
    """A kernel whose condition is beyond float64 ends, and says that it is not certified."""
    wild = X * np.array([1e-6, 1.0, 1e4, 1e7])
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="Scale the columns"):
        model = tenfold.SVC(kernel="poly", degree=2, gamma=1.0).fit(wild, BINARY)
    assert np.isfinite(model.dual_coef_).all()
    assert tenfold.SVC(kernel="poly", degree=2).fit(1e6 * X, BINARY).certificate_.ok
    assert tenfold.SVC(C=1e6, kernel="linear").fit(X, BINARY).certificate_.ok
    doubled = np.concatenate([X, X])
    model = tenfold.SVC().fit(doubled, np.concatenate([BINARY, BINARY[::-1]]))
    assert model.certificate_.ok


@pytest.mark.parametrize("C", [1e-10, 1e-3, 1e3])
@pytest.mark.parametrize("gamma", [1e-10, 1.0, 1e10])
def test_strengths_and_widths_of_any_size(C, gamma):
    assert tenfold.SVC(C=C, gamma=gamma).fit(X, BINARY).certificate_.ok


def test_hard_margin_is_found():
    """Two points at (0, 0) and (2, 0): the margin is one, and the weights (1, 0)."""
    points = np.array([[0.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    model = tenfold.SVC(C=np.inf, kernel="linear").fit(points, [0, 1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-6)
    assert model.certificate_.ok


SQUARE = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
def test_hard_margin_of_separable_classes_is_certified(kernel, classes):
    y = np.digitize(X[:, 0], [0.0] if classes == 2 else [-0.5, 0.5])
    ours, sklearn_model = both("SVC", y, C=np.inf, kernel=kernel)
    assert ours.certificate_.ok, ours.certificate_.explain()
    assert ours.score(X, y) == 1.0
    there = values(sklearn_model, QUERIES)
    np.testing.assert_allclose(values(ours, QUERIES), there, atol=1e-3 * np.abs(there).max())


def test_hard_margin_of_xor_has_the_weights_of_the_feature_map():
    """(1 + x.z)^2 separates what no line does; a line has no margin, and that is proven."""
    y = np.array([0, 0, 1, 1])
    model = tenfold.SVC(C=np.inf, kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(SQUARE, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.decision_function(SQUARE), [-1.0, -1.0, 1.0, 1.0], atol=1e-5)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="touch or overlap"):
        line = tenfold.SVC(C=np.inf, kernel="linear").fit(SQUARE, y)
    assert line.certificate_.status == "no maximum"


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("samples", "y"),
    [
        (np.vstack([X, X[:1]]), np.append(X[:, 0] > 0.0, X[0, 0] <= 0.0)),
        (np.ones((2, 2)), [0, 1]),
        (np.vstack([X, X[:1]]), np.append(np.digitize(X[:, 0], [-0.5, 0.5]), 0)),
    ],
    ids=["two", "pair", "three"],
)
def test_equal_samples_of_two_classes_have_no_hard_margin(kernel, samples, y):
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="touch or overlap"):
        model = tenfold.SVC(C=np.inf, kernel=kernel).fit(samples, y)
    assert not model.certificate_.ok
    assert model.certificate_.status == "no maximum"


def test_one_sample_of_each_class():
    """The planes halfway between two samples: w = 2 (x - z) / ||x - z||^2."""
    model = tenfold.SVC(C=np.inf, kernel="linear").fit([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]], [0, 1, 2])
    assert model.certificate_.ok
    np.testing.assert_allclose(model.coef_, [[-1.0, 0.0], [0.0, -0.5], [0.2, -0.4]], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, [1.0, 1.0, 0.6], atol=1e-6)


def test_squared_slack_is_a_ridge_of_the_kernel():
    """C sum xi^2 is the hard margin of K + I / (2 C)."""
    K, C = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)), 2.0
    ours = tenfold.SVC(C=C, gamma=0.5, loss="squared_hinge").fit(X, BINARY)
    other = sklearn.svm.SVC(C=1e8, kernel="precomputed", tol=1e-9).fit(K + np.eye(len(K)) / (2.0 * C), BINARY)
    assert ours.certificate_.ok
    np.testing.assert_allclose(ours.dual_coef_.sum(), 0.0, atol=1e-9)
    dual = np.zeros(len(X))
    dual[other.support_] = other.dual_coef_[0]
    mine = np.zeros(len(X))
    mine[ours.support_] = ours.dual_coef_[0]
    np.testing.assert_allclose(mine, dual, atol=2e-3 * np.abs(dual).max())


def test_kernel_objects_serve():
    ours = tenfold.SVC(kernel=Gaussian(1.0)).fit(X, THREE)
    same = tenfold.SVC(gamma=0.5).fit(X, THREE)
    np.testing.assert_allclose(ours.decision_function(QUERIES), same.decision_function(QUERIES), atol=1e-4)


def test_errors():
    with pytest.raises(ValueError, match="nu is infeasible"):
        tenfold.NuSVC(nu=0.9).fit(X, THREE == 0)
    with pytest.raises(ValueError, match="greater than one"):
        tenfold.SVC().fit(X, np.zeros(160))
    with pytest.raises(ValueError, match="must not be negative"):
        tenfold.SVC(class_weight={"yes": -1.0}).fit(X, BINARY)
    with pytest.raises(ValueError, match="same class"):
        tenfold.SVC().fit(X, BINARY, sample_weight=(BINARY == "yes").astype(float))
    with pytest.raises(ValueError, match="square matrix"):
        tenfold.SVC(kernel="precomputed").fit(X, BINARY)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        tenfold.SVC(kernel="precomputed").fit(sparse.csr_matrix(X @ X.T), BINARY)
    with pytest.raises(ValueError, match="break_ties must be False"):
        tenfold.SVC(break_ties=True, decision_function_shape="ovo").fit(X, THREE).predict(X)


def test_few_steps_are_said():
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        model = tenfold.SVC(max_iter=3).fit(X, BINARY)
    assert model.fit_status_ == 1
    assert model.status_ == "iteration limit"
    assert model.n_iter_.tolist() == [3]
    assert not model.certificate_.ok


@pytest.mark.parametrize("removed", [(0,), (1,), (3,), (1, 2)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"break_ties": True}], ids=str)
def test_classes_that_weights_remove_have_no_machines(removed, container, settings):
    """As a fit without their samples; the attributes have the layout of scikit-learn, whose labels are shifted."""
    y = np.digitize(X[:, 0] + 0.3 * RNG.standard_normal(160), [-0.6, 0.0, 0.6])
    weight = np.where(np.isin(y, removed), 0.0, WEIGHT)
    kept = ~np.isin(y, removed)
    samples, queries = container(X), container(QUERIES)
    model = tenfold.SVC(gamma=0.3, **settings).fit(samples, y, sample_weight=weight)
    other = tenfold.SVC(gamma=0.3, **settings).fit(samples[kept], y[kept], sample_weight=weight[kept])
    assert model.certificate_.ok
    assert tenfold.certify(model, samples, y, sample_weight=weight).ok
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])
    np.testing.assert_array_equal(model.predict(queries), other.predict(queries))
    np.testing.assert_array_equal(model.n_support_, other.n_support_)
    values, rest = model.decision_function(queries), np.setdiff1d(range(4), removed)
    assert values.shape == (50, 4)
    assert np.all(values[:, removed] == -1.0)
    if len(rest) > 2:
        np.testing.assert_allclose(values[:, rest], other.decision_function(queries), atol=1e-3)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(queries), model.predict(queries))
    if container is np.asarray:  # scikit-learn does not fit sparse ones
        sklearn_model = sklearn.svm.SVC(gamma=0.3, tol=1e-7, **settings).fit(X, y, sample_weight=weight)
        for name in ("support_", "n_support_", "dual_coef_", "intercept_", "classes_", "class_weight_"):
            np.testing.assert_allclose(getattr(model, name), getattr(sklearn_model, name), atol=1e-3)
        model.decision_function_shape, model.break_ties = "ovo", False
        sklearn_model.decision_function_shape, sklearn_model.break_ties = "ovo", False
        pairs = sklearn_model.decision_function(QUERIES)
        np.testing.assert_allclose(model.decision_function(QUERIES), pairs, atol=1e-3)
        assert tenfold.certify(sklearn_model, X, y, sample_weight=weight).status == (
            "inconsistent" if removed != (3,) else "judged"
        )
    model._present = model._present[::-1].copy()
    assert not tenfold.certify(model, samples, y, sample_weight=weight).ok


def test_probabilities_of_classes_that_weights_remove_are_zero():
    weight = (THREE != 1).astype(float)
    with pytest.warns(FutureWarning, match="probability"):
        p = tenfold.SVC(probability=True, random_state=0).fit(X, THREE, weight).predict_proba(QUERIES)
    assert p.shape == (50, 3)
    assert np.all(p[:, 1] == 0.0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("kernel", ["precomputed", quadratic, Gaussian(1.0)], ids=["matrix", "function", "object"])
def test_kernel_matrix_with_weights_of_zero(name, kernel):
    """support_ counts within the samples of positive weight, as scikit-learn's; columns of the matrix do not."""
    y = {"SVC": THREE, "NuSVC": THREE, "OneClassSVM": None}.get(name, NUMBERS)
    cls, settings = getattr(tenfold, name), {"nu": 0.2} if name == "NuSVC" else {}
    kept = WEIGHT > 0.0
    form = Gaussian(1.0) if isinstance(kernel, Gaussian) else quadratic
    samples, queries = (form(X, X), form(QUERIES, X)) if kernel == "precomputed" else (X, QUERIES)
    model = cls(kernel=kernel, **settings).fit(samples, y, sample_weight=WEIGHT)
    rest = None if y is None else y[kept]
    other = cls(kernel=form, **settings).fit(X[kept], rest, sample_weight=WEIGHT[kept])
    np.testing.assert_array_equal(model.support_, other.support_)
    there = values(other, QUERIES)
    np.testing.assert_allclose(values(model, queries), there, atol=1e-5 * np.abs(there).max())
    assert tenfold.certify(model, samples, y, sample_weight=WEIGHT).ok
    again = pickle.loads(pickle.dumps(model)) if kernel != quadratic else model
    np.testing.assert_array_equal(values(again, queries), values(model, queries))
    model._columns = model.support_
    assert "predicts wrongly" in tenfold.certify(model, samples, y, sample_weight=WEIGHT).explain()


def test_kernel_of_degree_zero_is_constant():
    ours = tenfold.SVC(kernel="poly", degree=0).fit(X, BINARY)
    assert np.ptp(ours.decision_function(QUERIES)) == 0.0
    assert ours.certificate_.ok


@pytest.mark.parametrize("y", [BINARY, THREE], ids=["two", "three"])
def test_probabilities(y):
    assert not hasattr(tenfold.SVC(), "predict_proba")
    with pytest.warns(FutureWarning, match="probability"):
        ours = tenfold.SVC(probability=True, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        sklearn_model = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y)
    p = ours.predict_proba(QUERIES)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.abs(p - sklearn_model.predict_proba(QUERIES)).mean() < 0.05  # the folds differ
