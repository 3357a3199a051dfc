"""scikit-learn's support vector machines: certified where they are solved tightly, and where nothing is changed."""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from tampering import list_fitted_names, outputs, same_or_raises, tamper

from svm_problems import optimum
from tenfold import LogisticRegression, certify
from tenfold.certification import kernel_svm, report_only
from tenfold.kernels import Gaussian

MACHINES = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)
TIGHT = {"tol": 1e-9, "max_iter": 300_000}


def kernel_of_lists(X, Z):
    """A kernel of samples that are no vectors."""
    return np.array([[float(len(set(a) & set(b))) for b in Z] for a in X])


@cache
def data(classes=2, n=60):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((n, 3))
    f = X[:, 0] + 0.5 * rng.standard_normal(n)
    names = np.array(["a", "b", "c", "d"])[:classes]
    order = np.argsort(np.argsort(f))
    return X, f, names[order * classes // n]


def target(cls, classes=2):
    X, f, labels = data(classes)
    return X, {SVR: f, NuSVR: f, OneClassSVM: None}.get(cls, labels)


def fit(cls, X, y, sample_weight=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**{**TIGHT, **settings}).fit(X, y, sample_weight)


@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_tight_fit_is_certified(cls, kernel, container):
    X, y = target(cls)
    settings = {} if cls is OneClassSVM or kernel == "rbf" else {"coef0": 1.0}
    X = X + 2.0 if cls is OneClassSVM and kernel != "rbf" else X  # so that the origin is outside
    model = fit(cls, container(X), y, kernel=kernel, degree=2, **settings)
    certificate = certify(model, container(X), y)
    assert certificate.ok, certificate.explain()
    assert certificate.kind == "gap"
    assert certificate.value <= 1e-6 * certificate.scale
    if cls is not OneClassSVM:  # where the start may be near the optimum
        loose = fit(cls, container(X), y, kernel=kernel, degree=2, tol=0.3, **settings)
        assert not certify(loose, container(X), y).ok


@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize("settings", [{}, {"decision_function_shape": "ovo"}, {"break_ties": True}])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_all_pairs_of_classes_are_judged(cls, settings, container):
    X, y = target(cls, 4)
    model = fit(cls, container(X), y, **settings)
    certificate = certify(model, container(X), y)
    assert certificate.ok, certificate.explain()
    assert len(certificate.parts) == 6
    assert model.intercept_.shape == (6,)
    for t in range(6):
        worse = pickle.loads(pickle.dumps(model))
        worse.intercept_[t] += 0.1
        worse._intercept_ = worse.intercept_.copy()
        again = certify(worse, container(X), y)
        assert not again.ok
        assert np.argmax(again.parts) == t


@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_samples_and_classes(cls, classes):
    X, y = target(cls, classes)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    weight[::7] = 0.0
    settings = {"class_weight": "balanced"} if cls is SVC else {"nu": 0.4} if cls is NuSVC else {}
    model = fit(cls, X, y, weight, **settings)
    certificate = certify(model, X, y, weight)
    assert certificate.ok, certificate.explain()
    assert not certify(model, X, y).ok


def test_class_weights_of_nu_are_not_read():
    X, y = target(NuSVC)
    model = fit(NuSVC, X, y, class_weight={"a": 5.0, "b": 1.0})
    assert certify(model, X, y).ok


@pytest.mark.parametrize("cls", MACHINES)
def test_precomputed_kernels_and_functions(cls):
    X, y = target(cls)
    K = rbf_kernel(X, gamma=0.5)
    model = fit(cls, K, y, kernel="precomputed")
    assert certify(model, K, y).ok
    same = certify(fit(cls, X, y, gamma=0.5), X, y)
    assert certify(model, K, y).objective == pytest.approx(same.objective, rel=1e-6)
    for kernel in (RBF(1.0), Gaussian(1.0), lambda A, B: rbf_kernel(A, B, gamma=0.5)):
        called = fit(cls, X, y, kernel=kernel)
        certificate = certify(called, X, y)
        assert certificate.ok, certificate.explain()
        called._BaseLibSVM__Xfit = X[::-1]
        assert not certify(called, X, y).ok


@pytest.mark.parametrize("kernel", ["precomputed", lambda A, B: rbf_kernel(A, B)])
def test_kernel_matrix_with_weights_of_zero_is_not_certified(kernel):
    """The columns of the matrix that scikit-learn's predict reads are those of other samples."""
    X, y = target(SVC)
    weight = np.ones(len(X))
    weight[:9] = 0.0
    X = rbf_kernel(X) if kernel == "precomputed" else X
    certificate = certify(fit(SVC, X, y, weight, kernel=kernel), X, y, weight)
    assert not certificate.ok
    assert "predicts wrongly" in certificate.explain()


def test_kernel_matrix_with_weights_of_zero_behind_is_certified():
    X, y = target(SVC)
    weight = np.ones(len(X))
    weight[-9:] = 0.0
    K = rbf_kernel(X)
    assert certify(fit(SVC, K, y, weight, kernel="precomputed"), K, y, weight).ok


def test_kernel_that_is_not_positive_semidefinite():
    X, y = target(SVC)
    for cls in MACHINES:
        labels = target(cls)[1]
        K = np.tanh(X @ X.T - 1.0)
        for samples, settings in ((X, {"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}), (K, {})):
            model = fit(cls, samples, labels, **({"kernel": "precomputed"} | settings))
            certificate = certify(model, samples, labels)
            assert certificate.kind == "stationarity"
            assert "Karush" in certificate.explain()
            assert "not positive semidefinite" in certificate.explain()
            assert certificate.radius is None
            with pytest.raises(ValueError, match="strongly convex"):
                certificate.decided(samples)
    model = fit(SVC, X, y, kernel="sigmoid", gamma=1.0, coef0=-1.0)
    assert certify(model, X, y).ok
    model.intercept_ += 0.01
    model._intercept_ = -model.intercept_
    assert not certify(model, X, y).ok


@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_tampered_model_is_not_certified(cls, classes, container):
    X, y = target(cls, classes)
    model = fit(cls, container(X), y)
    assert certify(model, container(X), y).ok
    before, survivors = outputs(model, container(X), y), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, change, worse in tamper(model):
            try:
                passed = certify(worse, container(X), y).ok
            except Exception:
                passed = False
            harmless = name in report_only(cls) and not same_or_raises(before, outputs(worse, container(X), y))
            if passed and not harmless:
                survivors.append((name, change))
        named = set(list_fitted_names(model))
    assert survivors == []
    assert {"support_", "dual_coef_", "intercept_", "support_vectors_"} <= named


PRIVATE = ("_dual_coef_", "_intercept_", "_gamma", "_n_support")


@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize("name", PRIVATE)
def test_what_predict_reads_must_be_what_is_public(cls, name):
    X, y = target(cls)
    model = fit(cls, X, y)
    value = getattr(model, name)
    setattr(model, name, value * 1.001 if name != "_n_support" else value + np.array([1, -1], dtype=value.dtype))
    certificate = certify(model, X, y)
    assert not certificate.ok
    assert certificate.status == "inconsistent"


def test_scaled_nu_model_is_not_certified():
    """Any multiple of f + b has the same signs: it shows, as the margin is not minimised over."""
    X, y = target(NuSVC)
    model = fit(NuSVC, X, y)
    for factor in (0.5, 1.01, 2.0):
        worse = pickle.loads(pickle.dumps(model))
        for name in ("dual_coef_", "_dual_coef_", "intercept_", "_intercept_"):
            setattr(worse, name, factor * getattr(model, name))
        assert not certify(worse, X, y).ok


@pytest.mark.parametrize("cls", MACHINES)
@pytest.mark.parametrize("change", ["offset", "scale", "constant", "duplicates", "float32", "integers"])
def test_hard_data(cls, change):
    X, y = target(cls)
    if change == "offset":
        X = X + 1e3
    if change == "scale":
        X = X * [1e6, 1.0, 1e-6]
    if change == "constant":
        X = np.column_stack([X, np.full(len(X), 7.0)])
    if change == "duplicates":
        X, y = np.repeat(X[::2], 2, axis=0), None if y is None else np.repeat(y[::2], 2)
    if change == "float32":
        X = X.astype(np.float32)
    if change == "integers":
        X = np.round(3.0 * X).astype(int)
    model = fit(cls, X, y, **({"nu": 0.8} if cls is NuSVC else {}))
    certificate = certify(model, X, y)
    assert certificate.ok, certificate.explain()
    assert certificate.floor <= 1e-3 * certificate.scale


def optimal_values(kind, model, X, probes, **settings):
    """The values of the exact optimum at probes."""
    y = {"hinge": lambda: np.where(target(SVC)[1] == "b", 1.0, -1.0), "one class": lambda: np.zeros(len(X))}
    y = y.get(kind, lambda: target(SVR)[1])()
    C = np.ones(len(X))
    best = optimum(kind, rbf_kernel(X, gamma=model._gamma), y, C, **settings)
    return rbf_kernel(probes, X, gamma=model._gamma) @ best.beta + best.b


@pytest.mark.parametrize("tol", [1.0, 0.1, 1e-3, 1e-6])
@pytest.mark.parametrize(
    ("cls", "kind", "settings"),
    [
        (SVC, "hinge", {}),
        (SVR, "tube", {"epsilon": 0.1}),
        (NuSVR, "nu tube", {"nu": 0.5}),
        (OneClassSVM, "one class", {"nu": 0.5}),
    ],
)
def test_no_optimum_changes_what_is_proven(cls, kind, settings, tol):
    X, y = target(cls)
    probes = np.vstack([X, np.random.default_rng(1).uniform(-4.0, 4.0, (200, 3))])
    model = fit(cls, X, y, tol=tol)
    certificate = certify(model, X, y)
    best = optimal_values(kind, model, X, probes, **settings)
    low, high = certificate.intervals(probes)
    assert np.all(low <= best + 1e-9)
    assert np.all(best <= high + 1e-9)
    sure = certificate.decided(probes)
    u = model.predict(probes) if cls in (SVR, NuSVR) else model.decision_function(probes)
    assert np.all(np.sign(best[sure]) == np.sign(u[sure]))
    if tol == 1e-6:
        assert sure.mean() > 0.8
    if cls is SVC:
        for other in (sparse.csr_array(probes), sparse.csc_matrix(probes), probes.tolist()):
            np.testing.assert_array_equal(certificate.decided(other), sure)
    decides = pickle.loads(pickle.dumps(certificate)).decided(probes)
    np.testing.assert_array_equal(decides, sure)


@pytest.mark.parametrize("breaks_ties", [False, True])
def test_votes_that_no_optimum_changes(breaks_ties):
    X, y = target(SVC, 4)
    exact = fit(SVC, X, y, tol=1e-10, break_ties=breaks_ties)
    loose = fit(SVC, X, y, tol=0.05, break_ties=breaks_ties)
    certificate = certify(loose, X, y)
    probes = np.random.default_rng(1).uniform(-3.0, 3.0, (500, 3))
    sure = certificate.decided(probes)
    assert 0.0 < sure.mean() < 1.0
    np.testing.assert_array_equal(loose.predict(probes)[sure], exact.predict(probes)[sure])
    assert "proven prediction" in certificate.explain()
    low, high = certificate.intervals(probes)
    exact.decision_function_shape = "ovo"
    exact.break_ties = False
    best = exact.decision_function(probes)
    assert np.all((low <= best + 1e-6) & (best <= high + 1e-6))


def test_shifted_labels_are_not_certified():
    """scikit-learn's numbers of classes count within those that have weight; of the last class none is shifted."""
    X, y = target(SVC, 3)
    for name in ("a", "b"):
        weight = np.where(y == name, 0.0, 1.0)
        certificate = certify(fit(SVC, X, y, weight), X, y, weight)
        assert not certificate.ok
        assert "no sample of positive weight" in certificate.explain()
    weight = np.where(y == "c", 0.0, 1.0)
    assert certify(fit(SVC, X, y, weight), X, y, weight).ok


def test_huge_and_tiny_parameters():
    X, y = target(SVC)
    for C in (1e-10, 1e-3, 1e4):
        for gamma in (0.0, 1e-10, 1.0, 1e10):
            certificate = certify(fit(SVC, X, y, C=C, gamma=gamma), X, y)
            assert certificate.floor <= 1e-3 * certificate.scale
            assert np.isfinite(certificate.value)


def test_samples_that_are_no_vectors():
    X = [["a", "b"], ["b", "c"], ["c"], ["c", "d"]] * 5
    y = [0, 0, 1, 1] * 5
    model = fit(SVC, X, y, kernel=kernel_of_lists)
    assert certify(model, X, y).ok


def test_infinite_C():
    X = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
    model = fit(SVC, X, [0, 0, 1, 1], kernel="linear", C=np.inf)
    certificate = certify(model, X, [0, 0, 1, 1])
    assert certificate.ok, certificate.explain()
    # the margin is 1 / ||w||, w = (2/3, 1/3)
    assert certificate.objective == pytest.approx(0.5 * (4.0 + 1.0) / 9.0)
    assert certificate.decided(X).all()


class SquaredSVC(SVC):
    """A machine with a loss, as no class of scikit-learn has one: what it holds is set by the test."""

    def __init__(self, loss="squared_hinge", C=1.0, gamma="scale"):
        super().__init__(C=C, gamma=gamma)
        self.loss = loss


class SquaredSVR(SVR):
    def __init__(self, loss="squared_epsilon_insensitive", C=1.0, gamma="scale", epsilon=0.1):
        super().__init__(C=C, gamma=gamma, epsilon=epsilon)
        self.loss = loss


@pytest.mark.parametrize(("cls", "squared"), [(SVC, SquaredSVC), (SVR, SquaredSVR)])
def test_squared_slack(cls, squared):
    """sum C xi^2 is a kernel with 1 / (2 C) more on its diagonal, and no bound."""
    X, y = target(cls)
    C = 2.0
    K = rbf_kernel(X, gamma=0.5) + np.eye(len(X)) / (2.0 * C)
    given = fit(cls, K, y, kernel="precomputed", C=1e8)
    model = squared(C=C, gamma=0.5)
    vars(model).update({name: value for name, value in vars(given).items() if name not in given.get_params()})
    model._gamma, model.shape_fit_, model.n_features_in_ = 0.5, X.shape, X.shape[1]
    model.support_vectors_ = X[given.support_]
    judge = kernel_svm.classification if cls is SVC else kernel_svm.regression
    certificate = judge(model, X, y, None)
    assert certificate.ok, certificate.explain()
    model.C = 3.0
    assert not judge(model, X, y, None).ok


def test_kernel_matrix_that_is_not_symmetric():
    X, y = target(SVC)
    K = rbf_kernel(X)
    K[0, 1] += 0.1
    certificate = certify(fit(SVC, K, y, kernel="precomputed"), K, y)
    assert certificate.kind == "stationarity"
    assert "not symmetric" in certificate.explain()


def test_matrix_of_too_many_samples_is_not_called_definite(monkeypatch):
    X, y = target(SVC)
    K = rbf_kernel(X)
    model = fit(SVC, K, y, kernel="precomputed")
    assert certify(model, K, y).kind == "gap"
    monkeypatch.setattr("tenfold.judge.kernel_samples.MAX_FACTORED", 10)
    certificate = certify(model, K, y)
    assert certificate.kind == "stationarity"
    assert "too many" in certificate.explain()


def test_intervals_of_other_certificates_say_what_they_need():
    X, y = target(SVC)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="intervals needs"):
        model.certificate_.intervals(X)


def test_bounds_of_a_given_kernel_are_those_of_its_samples():
    X, y = target(SVC)
    K = rbf_kernel(X, gamma=0.5)
    certificate = certify(fit(SVC, K, y, kernel="precomputed", tol=1e-3), K, y)
    same = certify(fit(SVC, X, y, gamma=0.5, tol=1e-3), X, y)
    np.testing.assert_array_equal(certificate.decided(K), same.decided(X))
    with pytest.raises(ValueError, match="precomputed"):
        certificate.decided(K[:5])


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5, 1e8])
@pytest.mark.parametrize("cls", [SVC, SVR, OneClassSVM])
def test_sparse_samples_far_from_zero(cls, offset):
    """Distances of sparse samples lose digits far from zero: the floor says so, and where it is too large for a verdict
    nothing is judged; the bounds hold for the dense kernel matrix.
    """
    X, y = target(cls)
    X = X.copy()
    X[::2] += offset
    dense = fit(cls, X, y, gamma=0.5)
    model = fit(cls, sparse.csr_array(X), y, gamma=0.5)
    certificate = certify(model, sparse.csr_array(X), y)
    if offset <= 1e3:
        assert certificate.ok, certificate.explain()
    low, high = certificate.intervals(sparse.csr_array(X))
    u = dense.predict(X) if cls is SVR else dense.decision_function(X)
    assert np.all((low <= u + 1e-6) & (u <= high + 1e-6))
    assert certify(dense, X, y).ok == (offset < 1e8)  # where libsvm's distances have no digit left, too
    if offset == 1e8:
        assert not certificate.ok
        assert certificate.floor > 1e-3 * certificate.scale
