"""Kernels as values: parameters, operators, scikit-learn's protocol, conversions, diagnostics and bad input."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import tenfold
from tenfold import machine
from tenfold.kernels import (
    ARD,
    AllSubsets,
    ArcSine,
    Callable,
    Composed,
    Constant,
    Exp,
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalised,
    Periodic,
    Polynomial,
    Power,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
    White,
    align,
    alignment,
    as_kernel,
    check_precomputed,
    effective_dimension,
    is_psd,
    spectrum,
    width_grid,
    width_limits,
)
from tenfold.persist import LoadError, SaveError
from tenfold.persist.values import Reader, Writer

S = sklearn_kernels
rng = np.random.default_rng(0)
X, Z = rng.standard_normal((30, 4)), rng.standard_normal((12, 4))
y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
X.flags.writeable = Z.flags.writeable = y.flags.writeable = False

VALUES = [
    Linear(),
    Polynomial(degree=2, coef0=0.0),
    AllSubsets(),
    Gaussian(np.float64(0.3)),
    ARD(np.array([0.1, 2.0, 3.0, 4.0]), (1e-3, 1e3)),
    Exponential(2.0, "fixed"),
    Laplacian([1.0, 2.0, 3.0, 4.0]),
    Matern(0.7, nu=math.inf),
    RationalQuadratic(alpha=0.3),
    Periodic(periodicity=3.0),
    ArcSine(sigma=2.0),
    Sigmoid(gamma=0.1),
    Precomputed(),
    2.0 * Gaussian(0.7) + White(0.1),
    (Gaussian() + Linear(1.0)) * (Matern() + (Constant(0.5) + Gaussian(2.0))),
    Gaussian() * (Matern() * Linear()),
    (Gaussian() + 1.0) ** 2,
    (Gaussian() ** 2) ** 3,
    Exp(Scaled(Linear(), 0.3, "fixed")),
    Normalised(Polynomial()) * 0.5,
]


@pytest.mark.parametrize("kernel", VALUES, ids=repr)
def test_a_kernel_is_a_value(kernel):
    from tenfold import kernels

    names = {name: getattr(kernels, name) for name in kernels.__all__}
    again = eval(repr(kernel), {"__builtins__": {"float": float}}, names)
    for other in (again, clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert other is not kernel
        assert other == kernel
        assert type(other) is type(kernel)
        assert repr(other) == repr(kernel)
    assert kernel != Gaussian(123.0)
    assert kernel != "a kernel"
    assert kernel.n_dims == len(kernel.theta) == len(kernel.bounds)


def test_nested_parameters_by_name():
    kernel = 2.0 * Gaussian(0.7) + White(0.1)
    params = kernel.get_params()
    assert params["k1__k2__length_scale"] == 0.7
    assert params["k2__noise_level"] == 0.1
    assert kernel.set_params(k1__k2__length_scale=3.0, k2=White(0.5), k2__noise_level=0.6) is kernel
    assert kernel == 2.0 * Gaussian(3.0) + White(0.6)
    with pytest.raises(ValueError, match=r"Invalid parameter 'k3' for kernel Sum.*k1__k2__length_scale"):
        kernel.set_params(k3=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'nu' for kernel Product"):
        kernel.set_params(k1__nu=1.0)
    with pytest.raises(TypeError, match="unhashable"):
        hash(kernel)


def test_theta_is_that_of_scikit_learn():
    for theirs in (
        S.ConstantKernel(2.0) * S.RBF([0.5, 2.0]) + S.WhiteKernel(0.1),
        S.RationalQuadratic(0.7, 1.3, (0.1, 1.0), (0.2, 2.0)),
        S.ExpSineSquared(0.5, 2.0, "fixed"),
    ):
        ours = as_kernel(theirs)
        np.testing.assert_allclose(ours.theta, theirs.theta, rtol=1e-15)
        np.testing.assert_allclose(ours.bounds, theirs.bounds, rtol=1e-15)
        assert [h.name for h in ours.hyperparameters] == [h.name for h in theirs.hyperparameters]
        assert ours.n_dims == theirs.n_dims
    with pytest.raises(ValueError, match="theta must have 1 entries"):
        Gaussian().theta = [1.0, 2.0]
    kernel = Gaussian([1.0, 2.0])
    other = kernel.clone_with_theta(np.log([3.0, 4.0]))
    np.testing.assert_allclose(other.length_scale, [3.0, 4.0])
    assert list(kernel.length_scale) == [1.0, 2.0]


def test_operators_take_numbers_and_scikit_learns_kernels():
    assert Gaussian() + 2 == Sum(Gaussian(), Constant(2.0))
    assert 2 + Gaussian() == Sum(Constant(2.0), Gaussian())
    assert 0.5 * Gaussian() == Product(Constant(0.5), Gaussian())
    assert Gaussian() ** 2 == Power(Gaussian(), 2)
    assert Gaussian() + S.RBF(2.0) == Sum(Gaussian(), Gaussian(2.0))
    theirs = S.RBF(2.0) + Gaussian()  # scikit-learn's sum with a kernel of ours in it
    assert isinstance(theirs, S.Sum)
    np.testing.assert_allclose(theirs(X), as_kernel(theirs)(X), rtol=1e-12)
    np.testing.assert_allclose(theirs.theta, as_kernel(theirs).theta)


SKLEARN = [
    S.RBF(0.7),
    S.RBF([0.5, 1.0, 2.0, 3.0]),
    *(S.Matern(0.7, nu=nu) for nu in (0.5, 0.8, 1.5, 2.5, math.inf)),
    S.Matern([0.5, 1.0, 2.0, 3.0], nu=1.5),
    S.RationalQuadratic(0.7, 1.3),
    S.ExpSineSquared(0.9, 2.3),
    S.DotProduct(0.6),
    S.ConstantKernel(2.0) * S.RBF(0.5) + S.WhiteKernel(0.1),
    (S.RBF() + S.DotProduct()) ** 2 * S.Matern(),
]


@pytest.mark.parametrize("theirs", SKLEARN, ids=str)
def test_kernels_of_gaussian_processes(theirs):
    ours = as_kernel(theirs)
    (K, G), (expected, gradient) = ours(X, eval_gradient=True), theirs(X, eval_gradient=True)
    np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.diag(X), theirs.diag(X), rtol=1e-12)
    # of a general nu scikit-learn's gradients are differences
    rounding = 1e-4 if getattr(theirs, "nu", 1.5) == 0.8 else 1e-11
    np.testing.assert_allclose(G, gradient, atol=rounding)
    assert ours.is_stationary() == theirs.is_stationary()


@pytest.mark.parametrize(
    "name", ["additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid"]
)
def test_names_of_pairwise_kernels(name):
    P, Q = np.abs(X), np.abs(Z)
    options = {"gamma": 0.3, "degree": 2, "coef0": 0.7}
    ours = as_kernel(name, **options)
    for given in (P, None):
        expected = pairwise_kernels(Q, given, metric=name, filter_params=True, **options)
        np.testing.assert_allclose(ours(Q, given), expected, rtol=1e-12, atol=1e-13)
    default = pairwise_kernels(Q, P, metric=name)
    np.testing.assert_allclose(as_kernel(name, Q)(Q, P), default, rtol=1e-12, atol=1e-13)


def test_gamma_of_names():
    assert as_kernel("rbf", X, gamma="scale") == as_kernel("rbf", gamma=1.0 / (4 * X.var()))
    assert as_kernel("rbf", X, gamma="auto") == as_kernel("rbf", X) == as_kernel("rbf", gamma=0.25)
    sparse_scale = as_kernel("rbf", sparse.csr_array(X), gamma="scale")
    assert sparse_scale.length_scale == pytest.approx(as_kernel("rbf", X, gamma="scale").length_scale, rel=1e-12)
    assert as_kernel("rbf", np.ones((3, 2)), gamma="scale") == as_kernel("rbf", gamma=1.0)
    with pytest.raises(ValueError, match="depends on the samples"):
        as_kernel("rbf", gamma="scale")
    with pytest.raises(ValueError, match="gamma must be a number"):
        as_kernel("rbf", X, gamma="large")
    with pytest.raises(ValueError, match="must be positive"):
        as_kernel("rbf", gamma=-1.0)
    with pytest.raises(ValueError, match="Unknown kernel 'rfb'"):
        as_kernel("rfb", X)
    with pytest.raises(ValueError, match="a name, a kernel object or a function"):
        as_kernel(3.0)
    with pytest.raises(ValueError, match="CompoundKernel"):
        as_kernel(S.CompoundKernel([S.RBF()]))


def test_pairwise_kernel_objects_keep_their_bounds():
    ours = as_kernel(S.PairwiseKernel(gamma=0.5, gamma_bounds=(0.125, 2.0), metric="rbf"), X)
    assert ours == Gaussian(1.0, (0.5, 2.0))
    assert as_kernel(S.PairwiseKernel(0.5, "fixed", metric="laplacian"), X) == Laplacian(2.0, "fixed")
    assert as_kernel(S.PairwiseKernel(0.5, (0.1, 1.0), metric="sigmoid"), X).gamma_bounds == (0.1, 1.0)

    class Own(S.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return 3.0 * super().__call__(X, X if Y is None else Y)

    np.testing.assert_allclose(as_kernel(Own())(X, Z), 3.0 * Gaussian()(X, Z), rtol=1e-12)
    np.testing.assert_allclose(as_kernel(Own()).diag(X), 3.0)


def test_estimators_of_scikit_learn_take_kernels():
    ridge = KernelRidge(kernel=Gaussian(2.0)).fit(X, y)
    expected = KernelRidge(kernel="rbf", gamma=0.125).fit(X, y)
    np.testing.assert_allclose(ridge.predict(Z), expected.predict(Z), rtol=1e-10)
    machine = SVC(kernel=Gaussian(2.0)).fit(X, y > 0)
    assert np.array_equal(machine.predict(Z), SVC(kernel="rbf", gamma=0.125).fit(X, y > 0).predict(Z))
    search = GridSearchCV(KernelRidge(kernel=Constant() * Gaussian()), {"kernel__k2__length_scale": [0.01, 2.0]})
    assert search.fit(X, y).best_params_ == {"kernel__k2__length_scale": 2.0}
    assert pairwise_kernels(X[:3], metric=Gaussian().__call__).shape == (3, 3)  # called for pairs of rows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gaussian_processes_of_scikit_learn_take_kernels():
    theirs = S.ConstantKernel(1.0) * S.RBF([1.0] * 4) + S.WhiteKernel(0.1)
    expected = GaussianProcessRegressor(theirs).fit(X, y)
    for kernel in (as_kernel(theirs), S.ConstantKernel(1.0) * Gaussian([1.0] * 4) + White(0.1)):
        model = GaussianProcessRegressor(kernel).fit(X, y)
        assert model.log_marginal_likelihood_value_ == pytest.approx(expected.log_marginal_likelihood_value_, rel=1e-6)
        mean, deviation = model.predict(Z, return_std=True)
        np.testing.assert_allclose(mean, expected.predict(Z), atol=1e-3)
        np.testing.assert_allclose(deviation, expected.predict(Z, return_std=True)[1], atol=1e-3)


def test_parameters_at_a_bound_warn():
    kernel = Gaussian(0.1, (0.1, 10.0)) * Constant(5.0, (0.1, 5.0))
    with pytest.warns(ConvergenceWarning) as caught:
        kernel._check_bounds_params()
    assert [str(one.message).split(" is at ")[1] for one in caught] == [
        "its lower bound 0.1. Decrease the bound.",
        "its upper bound 5. Increase the bound.",
    ]


def test_pairs_of_rows_give_numbers():
    assert Gaussian()([0.0, 1.0], [0.0, 2.0]) == pytest.approx(math.exp(-0.5))
    assert isinstance(Gaussian()(X[0], X[1]), float)
    assert Gaussian()(X[0]).shape == (1, 1)
    assert Linear()([[1, 2]], [[3, 4]]).tolist() == [[11.0]]


def test_functions_are_kernels():
    kernel = as_kernel(lambda x, z, power: (x @ z) ** power, params={"power": 2})
    np.testing.assert_allclose(kernel(X, Z), (X @ Z.T) ** 2, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag((X @ X.T) ** 2), rtol=1e-12)
    matrices = Callable(lambda A, B: A @ B.T, matrices=True)
    np.testing.assert_allclose((matrices * 2.0)(X, Z), 2.0 * X @ Z.T, rtol=1e-12)
    words = Callable(lambda x, z: float(len(set(x) & set(z))))
    assert words(["abc", "bcd"]).tolist() == [[3.0, 2.0], [2.0, 3.0]]
    lengths = Composed(Gaussian(), lambda words: np.array([[float(len(word))] for word in words]))
    np.testing.assert_allclose(lengths(["a", "abc"], ["ab"]), np.exp([[-0.5], [-0.5]]))


def test_precomputed_kernels():
    K = X @ X.T
    kernel = as_kernel("precomputed")
    np.testing.assert_array_equal(kernel(K), K)
    np.testing.assert_array_equal((kernel * 2.0)(K), 2.0 * K)
    np.testing.assert_array_equal(kernel(K[:5], K), K[:5])
    np.testing.assert_array_equal(kernel.diag(K), np.diag(K))
    with pytest.raises(ValueError, match=r"is square where these are all samples; got 30 columns"):
        kernel(K[:5])


def test_wrong_input_raises():
    with pytest.raises(ValueError, match="X has 4 features, Y 3"):
        Gaussian()(X, Z[:, :3])
    with pytest.raises(ValueError, match=r"same number of dimensions.*2 length scales, 4 features"):
        ARD([1.0, 2.0])(X)
    for kernel in (Gaussian(0.0), Gaussian([1.0, -1.0, 1.0, 1.0]), Matern(nu=-1.0), RationalQuadratic(alpha=0.0)):
        with pytest.raises(ValueError, match="must be positive"):
            kernel(X)
    with pytest.raises(ValueError, match="one length scale"):
        Periodic([1.0, 2.0])(X)
    with pytest.raises(ValueError, match="negative values"):
        as_kernel("chi2")(X)
    with pytest.raises(ValueError, match="Y=None only"):
        Gaussian()(X, Z, eval_gradient=True)
    with pytest.raises(ValueError, match="float64 or float32"):
        Gaussian().block(X, dtype=np.int64)
    with pytest.raises(ValueError, match="30 x 30 weights"):
        Gaussian().weighted_gradient(X, np.ones((3, 3)))
    with pytest.raises(ValueError, match="a matrix"):
        Gaussian()(np.ones((2, 2, 2)))


def test_a_matrix_that_does_not_fit_raises_before_it_starts(monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 1 << 27)
    big = np.zeros((6000, 1))
    for kernel in (Gaussian(), Gaussian() + Linear() * Matern()):
        with pytest.raises(MemoryError, match=r"kernel matrix of 6000 and 6000 samples needs 288,000,000 bytes"):
            kernel(big)
    with pytest.raises(MemoryError, match="Use weighted_gradient"):
        (Gaussian() * 2.0)(big[:3500], eval_gradient=True)


def test_polynomials_of_degree_zero_and_one():
    X = np.random.default_rng(0).standard_normal((9, 3))
    np.testing.assert_array_equal(Polynomial(0, coef0=0.0)(X), np.ones((9, 9)))
    _, slopes = Polynomial(1, gamma=0.5)(X, eval_gradient=True)
    np.testing.assert_allclose(slopes[:, :, 0], 0.5 * X @ X.T, atol=1e-12)  # of log gamma


def test_spectra_and_definiteness():
    K = Gaussian()(X)
    np.testing.assert_allclose(spectrum(K), np.linalg.eigvalsh(K)[::-1], atol=1e-12)
    np.testing.assert_allclose(spectrum("linear", X), np.linalg.eigvalsh(X @ X.T)[::-1], atol=1e-12)
    assert is_psd(K)
    assert is_psd(Linear(), X)
    report = is_psd(Sigmoid(1.0, -1.0), X)
    smallest = np.linalg.eigvalsh(np.tanh(X @ X.T - 1.0))[0]
    assert not report
    assert report.smallest == pytest.approx(smallest)
    assert f"an eigenvalue is {smallest:.6g}" in report.explain()
    assert "positive semidefinite up to rounding" in is_psd(K).explain()
    assert not Sigmoid().certainly_psd
    assert not (Gaussian() + Sigmoid()).certainly_psd
    assert (2.0 * Gaussian() + White()).certainly_psd
    assert not (Gaussian() * -1.0).certainly_psd
    assert not Polynomial(1.5).certainly_psd
    assert is_psd(np.zeros((0, 0)))


def test_given_matrices_are_checked():
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(check_precomputed(K), K)
    with pytest.raises(ValueError, match="square"):
        check_precomputed(K[:1])
    with pytest.raises(ValueError, match=r"symmetric: K\[0, 1\] = 5, and K\[1, 0\] = 1"):
        check_precomputed([[2.0, 5.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="an eigenvalue is -1"):
        check_precomputed([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="NaN or infinity"):
        check_precomputed([[1.0, np.nan], [np.nan, 1.0]])
    with pytest.raises(ValueError, match="Give the samples"):
        is_psd(Gaussian())


def test_effective_dimensions():
    K = Gaussian()(X)
    assert effective_dimension(K, 0.1) == pytest.approx(np.trace(K @ np.linalg.inv(K + 0.1 * np.eye(30))))
    assert effective_dimension(Linear(), 1e-7, X) == pytest.approx(4.0)
    with pytest.raises(ValueError, match="alpha must be positive"):
        effective_dimension(K, 0.0)


@pytest.mark.parametrize("kernel", [Gaussian(), Exponential(), Matern(nu=2.5), RationalQuadratic()], ids=repr)
def test_limits_of_the_width(kernel):
    limits = width_limits(X, kernel, tol=0.05)
    low, high = (
        type(kernel)(**{**kernel.get_params(), "length_scale": one})(X) for one in (limits.identity, limits.ones)
    )
    assert np.abs(low - np.eye(30)).max() == pytest.approx(0.05, rel=1e-6)
    assert 1.0 - high.min() == pytest.approx(0.05, rel=1e-6)


def test_limits_and_grids_of_the_width():
    assert width_limits(np.ones((3, 2))).ones == 0.0
    with pytest.raises(ValueError, match="one length scale"):
        width_limits(X, Linear())
    with pytest.raises(ValueError, match="does not fall"):
        width_limits(X, Periodic())
    with pytest.raises(ValueError, match="tol"):
        width_limits(X, tol=2.0)
    grid = width_grid(X, 5)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    nearest = np.min(D + 1e9 * np.eye(30), axis=1)
    expected = np.geomspace(0.5 * np.quantile(nearest, 0.1), 4.0 * np.quantile(D[np.triu_indices(30, 1)], 0.9), 5)
    np.testing.assert_allclose(grid, expected, rtol=1e-12)
    np.testing.assert_allclose(width_grid(sparse.csr_array(X), 5), expected, rtol=1e-9)
    np.testing.assert_array_equal(width_grid(np.ones((4, 2)), 3), 1.0)
    many = np.random.default_rng(1).standard_normal((2500, 2))
    assert np.all(width_grid(many) > 0.0)
    with pytest.raises(ValueError, match="at least one width"):
        width_grid(X, 0)


def slow_alignment(K, Y):
    H = np.eye(len(K)) - 1.0 / len(K)
    C, T = H @ K @ H, H @ Y @ Y.T @ H
    return np.sum(C * T) / (np.linalg.norm(C) * np.linalg.norm(T))


def test_alignment_is_the_cosine_of_centred_matrices():
    K = Gaussian()(X)
    assert alignment(K, y) == pytest.approx(slow_alignment(K, y[:, None]))
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    indicators = (labels[:, None] == np.array(["a", "b", "c"])).astype(float)
    assert alignment(Gaussian(), labels, X) == pytest.approx(slow_alignment(K, indicators))
    assert alignment(np.ones((30, 30)), y) == 0.0
    with pytest.raises(ValueError, match="30 samples and y 3"):
        alignment(K, y[:3])


def test_the_mixture_has_the_largest_alignment():
    parts = [Gaussian(0.5), Gaussian(3.0), Linear(), "cosine"]
    mixture = align(parts, X, y)
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert np.all(mixture.weights >= 0.0)
    assert mixture.alignment == pytest.approx(slow_alignment(mixture.kernel(X), y[:, None]))
    np.testing.assert_allclose(mixture.alignments, [alignment(as_kernel(k, X), y, X) for k in parts])
    assert mixture.alignment >= mixture.alignments.max() - 1e-12
    K = [as_kernel(k, X)(X) for k in parts]
    for weights in np.random.default_rng(2).dirichlet(np.ones(4), 200):
        assert (
            slow_alignment(sum(w * k for w, k in zip(weights, K, strict=True)), y[:, None]) <= mixture.alignment + 1e-12
        )
    with pytest.raises(ValueError, match="at least one kernel"):
        align([], X, y)
    with pytest.raises(ValueError, match="X has 30 samples and y 2"):
        align(parts, X, y[:2])


def test_where_no_kernel_agrees_one_is_taken():
    opposite = Callable(lambda x, z: -float(x[0] * z[0]))
    assert align([opposite], X, X[:, 0]).weights.tolist() == [1.0]


@pytest.mark.parametrize("kernel", [*VALUES, *SKLEARN], ids=repr)
def test_kernels_in_files(kernel):
    from tenfold.persist.models import Instances, write

    writer = Writer(write)
    written = writer.write(kernel, "the kernel")
    reader = Reader(lambda i: writer.arrays[i], Instances("1.9", "1.9").table(), 50)
    again = reader.read(written)
    assert type(again) is type(kernel)
    assert again == kernel


@pytest.mark.parametrize("kernel", [Callable(np.dot), 2.0 * Composed(Gaussian(), math.sin)], ids=["dot", "sin"])
def test_functions_are_not_in_files(kernel):
    from tenfold.persist.models import write

    with pytest.raises(SaveError, match=r"parameter 'function' of (Callable|Composed) is .*a function"):
        Writer(write).write(kernel, "the kernel")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["tenfold.Nothing", {}], "a kernel 'tenfold.Nothing', which is not known"),
        (["sklearn.CompoundKernel", {}], "which is not known"),
        (["os.system", {}], "which is not known"),
        (["tenfold.White", {"noise_level": 1.0}], "noise_level_bounds is missing"),
        (["tenfold.White", {"noise_level": "1", "noise_level_bounds": "fixed"}], "noise_level must be a number"),
        (["tenfold.White", {"noise_level": 1.0, "noise_level_bounds": [1.0]}], "noise_level_bounds must be"),
        (["tenfold.Exp", {"kernel": 3.0}], "kernel must be a kernel"),
    ],
)
def test_damaged_kernels_raise(written, words):
    from tenfold.persist.models import Instances

    reader = Reader(lambda i: None, Instances("1.9", "1.9").table(), 50)
    with pytest.raises(LoadError, match=words):
        reader.read({"kernel": written})


def test_base_class_raises_not_implemented():
    with pytest.raises(NotImplementedError):
        Kernel()(X)
    assert isinstance(Gaussian(), S.Kernel)
    assert "kernels" not in tenfold.__all__


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Laplacian() + Linear()], ids=repr)
def test_dense_queries_of_sparse_samples(kernel):
    rng = np.random.default_rng(0)
    X, Z, V = rng.random((7, 3)), rng.random((5, 3)), rng.standard_normal((5, 2))
    expected = kernel(X, Z)
    for x, z in ((sparse.csr_array(X), Z), (X, sparse.csr_array(Z))):
        np.testing.assert_allclose(kernel(x, z), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel.multiply(x, z, V), expected @ V, rtol=1e-12)
