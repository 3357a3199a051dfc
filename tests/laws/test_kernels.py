"""Laws of kernels: symmetric, positive semidefinite, the same by every way, with the gradient of differences."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_cases import COMPOSED, ELEMENTARY, KERNELS, draw_samples, name_of
from scipy import sparse
from threadpoolctl import threadpool_limits

from tenfold.arrays import on_host
from tenfold.kernels import (
    AdditiveChi2,
    AllSubsets,
    ArcSine,
    Chi2,
    Composed,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Normalised,
    Periodic,
    RationalQuadratic,
    White,
    evaluation,
)

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=name_of)


def pair_by_pair(kernel, X, Z):
    """k(x, z) of single samples, in blocks of one."""
    return np.array([[kernel(x, z) for z in Z] for x in X])


@every_kernel
def test_blocks_are_symmetric_and_psd_and_have_the_diagonal(kernel):
    X = draw_samples(40)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12, atol=1e-14)
    if kernel.certainly_psd:
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] >= -1e-13 * 40 * eigenvalues[-1]


@every_kernel
def test_tiles_are_the_values_of_pairs(kernel, monkeypatch):
    X, Z = draw_samples(9), draw_samples(7, 1)
    expected = pair_by_pair(kernel, X, Z)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-13)
    whole = kernel(X)
    monkeypatch.setattr(evaluation, "TILE_VALUES", 20)  # tiles of two rows
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(X), whole, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)


@every_kernel
@pytest.mark.parametrize("targets", [0, 1, 3, 12])
def test_products_are_those_of_the_block(kernel, targets):
    X, Z, rng = draw_samples(23), draw_samples(17, 1), np.random.default_rng(2)
    V, W = rng.standard_normal((17, targets)), rng.standard_normal((23, targets))
    V, W = (V[:, 0], W[:, 0]) if targets == 1 else (V, W)
    for got, K, vectors in ((kernel.multiply(X, Z, V), kernel(X, Z), V), (kernel.multiply(X, None, W), kernel(X), W)):
        size = np.abs(K) @ np.abs(vectors)
        assert got.shape == size.shape
        assert np.all(np.abs(got - K @ vectors) <= 1e-12 * size + 1e-14)


@every_kernel
def test_gradients_are_those_of_differences(kernel):
    X = draw_samples(14)
    A = np.random.default_rng(3).standard_normal((14, 14))
    A = A + A.T
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(K, kernel(X), rtol=0, atol=0)
    assert gradient.shape == (14, 14, kernel.n_dims)
    weighted = kernel.weighted_gradient(X, A)
    assert weighted.shape == (kernel.n_dims,)
    for k in range(kernel.n_dims):
        step = np.zeros(kernel.n_dims)
        step[k] = 1e-4
        values = [kernel.clone_with_theta(kernel.theta + t * step)(X) for t in (-2, -1, 1, 2)]
        differences = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12e-4)
        size = np.abs(K).max() + np.abs(differences).max()
        np.testing.assert_allclose(gradient[:, :, k], differences, rtol=1e-8, atol=1e-10 * size)
        expected, terms = np.sum(A * gradient[:, :, k]), np.sum(np.abs(A * gradient[:, :, k]))
        assert abs(weighted[k] - expected) <= 1e-12 * terms


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.n_dims], ids=name_of)
def test_weighted_gradients_in_small_tiles(kernel, monkeypatch):
    X, A = draw_samples(13), np.random.default_rng(4).standard_normal((13, 13))
    A = A + A.T
    expected = np.einsum("ij,ijk->k", A, kernel(X, eval_gradient=True)[1])
    monkeypatch.setattr(evaluation, "TILE_VALUES", 30)
    np.testing.assert_allclose(kernel.weighted_gradient(X, A), expected, rtol=1e-9, atol=1e-11 * np.abs(A).sum())


SPARSE = [kernel for kernel in KERNELS if "shift_and_bend" not in repr(kernel)]


@pytest.mark.parametrize("kernel", SPARSE, ids=name_of)
def test_sparse_samples_are_dense_ones(kernel):
    X, Z = draw_samples(20), draw_samples(11, 1)
    X, Z = X * (X > 0.5), Z * (Z > 0.5)
    A = np.random.default_rng(5).standard_normal((20, 20))
    A = A + A.T
    S, T = sparse.csr_array(X), sparse.csr_matrix(Z)
    rooted = ("Exponential", "Matern", "Periodic")  # of the root of the rounding of a product
    rounding = 1e-7 if any(name in repr(kernel) for name in rooted) else 1e-13
    for got, expected in (
        (kernel(S), kernel(X)),
        (kernel(S, T), kernel(X, Z)),
        (kernel.diag(S), kernel.diag(X)),
        (kernel.multiply(S, T, np.ones(11)), kernel.multiply(X, Z, np.ones(11))),
        (kernel.weighted_gradient(S, A), kernel.weighted_gradient(X, A)),
    ):
        scale = 1.0 + np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=20 * rounding * scale)


STRICT = [
    kernel
    for kernel in KERNELS
    if "shift_and_bend" not in repr(kernel) and getattr(kernel, "nu", 1.5) in (0.5, 1.5, 2.5, np.inf)
]


@pytest.mark.parametrize("kernel", STRICT, ids=name_of)
def test_arrays_of_another_library_stay_there(kernel):
    X, Z = draw_samples(12), draw_samples(8, 1)
    A = np.random.default_rng(6).standard_normal((12, 12))
    A = A + A.T
    S, T, B = (array_api_strict.asarray(part) for part in (X, Z, A))
    for got, expected in ((kernel(S), kernel(X)), (kernel(S, T), kernel(X, Z)), (kernel.diag(S), kernel.diag(X))):
        assert type(got) is type(S)
        np.testing.assert_allclose(on_host(got), expected, rtol=1e-11, atol=1e-12)
    expected = kernel.weighted_gradient(X, A)
    np.testing.assert_allclose(kernel.weighted_gradient(S, B), expected, rtol=1e-9, atol=1e-11 * np.abs(A).sum())
    assert kernel.block(S, dtype=np.float32).dtype == array_api_strict.float32


@every_kernel
def test_float32_is_within_its_rounding(kernel):
    X, Z = draw_samples(70), draw_samples(40, 1)
    for got, expected in (
        (kernel.block(X, dtype=np.float32), kernel(X)),
        (kernel.block(X, Z, dtype="f4"), kernel(X, Z)),
    ):
        assert got.dtype == np.float32
        # of a square (d + 8) 2^-24 of the squared lengths, here below 40, is rounding; the functions are at most 6 as
        # steep as they are large, and a root makes of it its own root
        assert np.abs(got - expected).max() <= 3e-4 * np.abs(expected).max()
    np.testing.assert_array_equal(kernel.block(X, dtype=np.float32), kernel.block(X, dtype=np.float32).T)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern(nu=0.7), *COMPOSED[:4]], ids=name_of)
def test_bits_do_not_depend_on_threads(kernel):
    X = np.random.default_rng(7).standard_normal((400, 9))
    A = X @ X.T
    blocks = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            blocks.append(
                (
                    kernel(X),
                    kernel.block(X, dtype=np.float32),
                    kernel(X, X[:50]),
                    kernel.multiply(X, X[:50], X[:50, :2]),
                    kernel.weighted_gradient(X, A),
                )
            )
    for one, other in zip(*blocks, strict=True):
        np.testing.assert_array_equal(one, other)


WIDTHS = st.integers(-10, 10).map(lambda power: 10.0**power)
SCALED = st.sampled_from([Gaussian, Exponential, Laplacian, Matern, RationalQuadratic, Periodic])


@given(SCALED, WIDTHS, st.sampled_from([0.5, 1.5, 2.5, 0.9, 7.3, np.inf]))
def test_no_width_gives_nan(cls, width, nu):
    kernel = cls(width, nu=nu) if cls is Matern else cls(width)
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, -2.0], [1e5, 3.0]])
    for K in (kernel(X), kernel.block(X, dtype=np.float32), *np.moveaxis(kernel(X, eval_gradient=True)[1], 2, 0)):
        assert np.isfinite(K).all()
    assert np.isfinite(kernel.weighted_gradient(X, np.ones((4, 4)))).all()
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.all((np.abs(K) <= 1.0 + 1e-12) & (K >= 0.0))
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert K[0, 1] == 1.0


finite = st.floats(-1e3, 1e3, width=32)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=finite), st.sampled_from(ELEMENTARY))
def test_any_samples_give_a_symmetric_psd_matrix(X, kernel):
    X = np.abs(X)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.isfinite(K).all()
    if kernel.certainly_psd:
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] >= -1e-12 * max(abs(eigenvalues[-1]), 1e-300)


@given(st.sampled_from(KERNELS), st.integers(0, 5))
def test_theta_goes_round(kernel, seed):
    theta = kernel.theta + np.random.default_rng(seed).uniform(-0.5, 0.5, kernel.n_dims)
    other = kernel.clone_with_theta(theta)
    np.testing.assert_allclose(other.theta, theta, rtol=1e-14, atol=1e-15)
    assert other.bounds.shape == (kernel.n_dims, 2)
    assert sum(h.n_elements for h in other.hyperparameters if not h.fixed) == kernel.n_dims
    assert other.clone_with_theta(kernel.theta).bounds.tolist() == kernel.bounds.tolist()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_stationary_kernels_do_not_cancel(offset):
    rng = np.random.default_rng(8)
    X = rng.integers(-8, 8, (50, 4)) / 4.0
    for kernel in (Gaussian(0.5), Exponential(0.5), Matern(0.5, nu=1.5), RationalQuadratic(0.5), Laplacian(0.5)):
        np.testing.assert_allclose(kernel(X + offset), kernel(X), rtol=1e-9)


def test_white_noise_belongs_to_equal_places_and_not_to_equal_samples():
    X = draw_samples(5)
    np.testing.assert_array_equal(White(2.0)(X), 2.0 * np.eye(5))
    np.testing.assert_array_equal(White(2.0)(X, X.copy()), np.zeros((5, 5)))
    np.testing.assert_array_equal(White(2.0).multiply(X, None, np.ones(5)), np.full(5, 2.0))


def test_normalised_kernels_of_zero_are_zero():
    K = Normalised(Linear())(np.array([[0.0, 0.0], [1.0, 2.0]]))
    np.testing.assert_array_equal(K, [[0.0, 0.0], [0.0, 1.0]])


def test_formulas_of_kernels_that_scikit_learn_lacks():
    X, Z = draw_samples(6), draw_samples(4, 1)
    np.testing.assert_allclose(AllSubsets()(X, Z), np.prod(1.0 + X[:, None, :] * Z[None, :, :], axis=2), rtol=1e-13)
    u, v = (np.column_stack([np.full(len(part), 0.5), 1.5 * part]) for part in (X, Z))
    lengths = np.sqrt(np.outer(1.0 + 2.0 * (u * u).sum(axis=1), 1.0 + 2.0 * (v * v).sum(axis=1)))
    np.testing.assert_allclose(ArcSine(0.5, 1.5)(X, Z), 2.0 / np.pi * np.arcsin(2.0 * u @ v.T / lengths), rtol=1e-12)
    D = np.sqrt(((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))
    np.testing.assert_allclose(Exponential(0.7)(X, Z), np.exp(-D / 0.7), rtol=1e-12)
    np.testing.assert_allclose(Composed(Linear(), np.sin)(X, Z), np.sin(X) @ np.sin(Z).T, rtol=1e-12)
    np.testing.assert_allclose(Periodic(1.3, 2.0)(X, Z), np.exp(-2 * np.sin(np.pi * D / 2.0) ** 2 / 1.3**2), rtol=1e-12)
    assert AdditiveChi2()([1.0, 0.0], [3.0, 0.0]) == -1.0
    assert Chi2(2.0)([1.0, 0.0], [3.0, 0.0]) == pytest.approx(np.exp(-2.0))
