"""Feature maps: where samples are, what is refused, and how far the features are from the kernel."""

import copy

import numpy as np
import pytest
from scipy import sparse

import tenfold
from tenfold import AdditiveChi2Sampler, Nystroem, PolynomialCountSketch, RBFSampler, SkewedChi2Sampler
from tenfold.bounds import hoeffding, random_features_error
from tenfold.kernels import Gaussian, Laplacian, Matern, Sigmoid

X = np.random.default_rng(0).standard_normal((200, 5))
H = np.abs(X)

MAPS = [
    RBFSampler(n_components=40, random_state=0),
    RBFSampler(n_components=40, random_state=0, kernel="matern", orthogonal=True, gamma="scale"),
    SkewedChi2Sampler(n_components=40, random_state=0),
    PolynomialCountSketch(n_components=40, random_state=0, coef0=1.0, degree=3),
    AdditiveChi2Sampler(sample_steps=3),
    Nystroem(n_components=40, random_state=0),
    Nystroem(n_components=4, random_state=0, kernel="sigmoid", gamma=0.1),
    Nystroem(n_components=20, random_state=0, kernel="poly", centres="leverage"),
]


def names(model):
    return f"{type(model).__name__}-{'-'.join(str(v) for v in model.get_params().values() if isinstance(v, str))}"


@pytest.mark.parametrize("model", MAPS, ids=names)
def test_storage_of_the_samples(model):
    model = copy.deepcopy(model)
    Z = model.fit(H).transform(H)
    Z = Z.toarray() if sparse.issparse(Z) else Z
    np.testing.assert_allclose(model.transform(np.asfortranarray(H)), Z, rtol=1e-9, atol=1e-12)
    single = copy.deepcopy(model).fit(H.astype(np.float32)).transform(H.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, Z, atol=5e-3 * np.abs(Z).max())
    if "sparse" in model._registration.where:
        for kind in (sparse.csr_array, sparse.csc_matrix):
            again = copy.deepcopy(model).fit(kind(H)).transform(kind(H))
            again = again.toarray() if sparse.issparse(again) else again
            np.testing.assert_allclose(again, Z, rtol=1e-6, atol=1e-9 * np.abs(Z).max())


@pytest.mark.parametrize("model", MAPS, ids=names)
def test_other_namespaces(model):
    strict = pytest.importorskip("array_api_strict")
    model = copy.deepcopy(model)
    Z = model.fit(H).transform(H)
    given = strict.asarray(H)
    again = copy.deepcopy(model).fit(given).transform(given)
    assert type(again) is type(given)
    np.testing.assert_allclose(np.asarray(again), Z, atol=1e-6 * np.abs(Z).max())


@pytest.mark.parametrize("model", MAPS, ids=names)
def test_dask(model):
    array = pytest.importorskip("dask.array")
    lazy = array.from_array(H, chunks=(50, 5))
    fitted = copy.deepcopy(model).fit(lazy)
    np.testing.assert_allclose(fitted.transform(lazy).compute(), fitted.transform(H), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", MAPS, ids=names)
def test_certified_and_tampered(model):
    model = copy.deepcopy(model).fit(H)
    assert tenfold.certify(model, H).ok
    for name, value in vars(model).items():
        if not name.endswith("_") or not isinstance(value, np.ndarray) or value.dtype == object:
            continue
        for change in (lambda v: v + v.dtype.type(1), lambda v: v[:-1], lambda v: -v, lambda v: 0 * v):
            tampered = copy.copy(model)
            setattr(tampered, name, change(value.copy()))
            if np.array_equal(getattr(tampered, name), value):
                continue
            try:
                ok = tenfold.certify(tampered, H).ok
            except (ValueError, IndexError):
                ok = False
            assert not ok, name


def test_one_number_of_the_draw_is_seen():
    model = RBFSampler(n_components=40, random_state=0).fit(X)
    model.random_weights_[2, 3] *= 1.0 + 1e-6
    assert not tenfold.certify(model, X).ok


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "matern"])
@pytest.mark.parametrize("orthogonal", [False, True])
def test_features_give_the_kernel(kernel, orthogonal):
    if orthogonal and kernel == "laplacian":
        with pytest.raises(ValueError, match="not the same in all directions"):
            RBFSampler(kernel=kernel, orthogonal=True).fit(X)
        return
    gamma, exact = (
        0.2,
        {"gaussian": Gaussian(np.sqrt(2.5)), "laplacian": Laplacian(5.0), "matern": Matern(np.sqrt(2.5), nu=2.5)},
    )
    model = RBFSampler(gamma=gamma, n_components=20_000, random_state=1, kernel=kernel, nu=2.5, orthogonal=orthogonal)
    Z = model.fit_transform(X[:60])
    assert np.abs(Z @ Z.T - exact[kernel](X[:60])).max() < 0.05


def test_wrong_widths_are_refused_without_a_seed():
    model = RBFSampler(gamma=0.1, n_components=2000, random_state=np.random.RandomState(0)).fit(X)
    certificate = tenfold.certify(model, X)
    assert certificate.ok
    assert "the draw was not repeated" in certificate.explain()
    mean, bound = certificate.parts[-2:]
    assert 0.0 < mean < bound
    model.random_weights_ *= 2.0
    refused = tenfold.certify(model, X)
    assert not refused.ok
    assert "beyond Hoeffding's bound" in refused.explain()


def test_orthogonal_features_have_smaller_errors():
    K, gains = Gaussian(np.sqrt(5.0))(X[:50]), []
    for seed in range(8):
        errors = []
        for orthogonal in (False, True):
            Z = RBFSampler(gamma=0.1, n_components=200, random_state=seed, orthogonal=orthogonal).fit_transform(X[:50])
            errors.append(np.mean((Z @ Z.T - K) ** 2))
        gains.append(errors[0] / errors[1])
    assert np.median(gains) > 1.0


def test_nystroem_is_exact_at_its_centres():
    model = Nystroem(gamma=0.3, n_components=60, random_state=0).fit(X)
    Z = model.transform(model.components_)
    np.testing.assert_allclose(Z @ Z.T, Gaussian(np.sqrt(0.5 / 0.3))(model.components_), atol=1e-10)
    full = Nystroem(gamma=0.3, n_components=200, random_state=0).fit(X)
    Z = full.transform(X)
    np.testing.assert_allclose(Z @ Z.T, Gaussian(np.sqrt(0.5 / 0.3))(X), atol=1e-9)
    mean, bound = full.certificate_.parts[-2:]
    assert mean < 1e-9
    assert bound < 0.3


def test_equal_centres_and_more_centres_than_samples():
    repeated = np.repeat(X[:10], 6, axis=0)
    model = Nystroem(n_components=40, random_state=0).fit(repeated)
    assert model.certificate_.ok
    Z = model.transform(X)
    assert np.isfinite(Z).all()
    assert np.linalg.norm(Z, axis=1).max() <= 1.0 + 1e-9
    with pytest.warns(UserWarning, match="n_components > n_samples"):
        few = Nystroem(n_components=100, random_state=0).fit(X[:7])
    assert few.transform(X).shape == (200, 7)
    assert few.certificate_.ok


def test_scikit_learn_amplifies_rounding_where_centres_are_equal():
    import sklearn.kernel_approximation as theirs

    repeated = np.repeat(X[:10], 6, axis=0)
    model = theirs.Nystroem(n_components=40, random_state=0).fit(repeated)
    assert not tenfold.certify(model, repeated).ok


def test_a_kernel_that_is_not_positive_semidefinite():
    model = Nystroem(kernel=Sigmoid(1.0, -1.0), n_components=30, random_state=0).fit(X)
    assert model.certificate_.ok
    assert np.isinf(model.certificate_.parts[-1])  # no bound on errors of such a kernel


def test_a_precomputed_kernel():
    K = Gaussian()(X)
    model = Nystroem(kernel="precomputed", n_components=30, random_state=0).fit(K)
    again = Nystroem(kernel=Gaussian(), n_components=30, random_state=0).fit(X)
    np.testing.assert_array_equal(model.component_indices_, again.component_indices_)
    np.testing.assert_allclose(model.transform(K), again.transform(X), atol=1e-9)
    assert tenfold.certify(model, K).ok
    with pytest.raises(ValueError, match="Don't pass gamma"):
        Nystroem(kernel="precomputed", gamma=1.0).fit(K)
    with pytest.raises(ValueError, match="must be square"):
        Nystroem(kernel="precomputed", n_components=3).fit(X)


def test_overflow_is_an_error():
    with pytest.raises(ValueError, match="overflow"):
        RBFSampler(gamma=1e300, n_components=5, random_state=0).fit(X).transform(1e200 * X)
    with pytest.raises(ValueError, match="overflows or is NaN"):
        Nystroem(kernel="poly", degree=200, n_components=5).fit(1e10 * X)
    with pytest.raises(ValueError, match="at least zero"):
        PolynomialCountSketch(coef0=-1.0).fit(X)


def test_hoeffding():
    assert hoeffding([1.0], 0.5) == pytest.approx(np.sqrt(0.5 * np.log(4.0)))
    assert random_features_error(100, block=100) > random_features_error(100)
    draws = np.random.default_rng(0).uniform(size=(2000, 50)).mean(axis=1)
    assert np.mean(np.abs(draws - 0.5) > hoeffding(np.full(50, 1 / 50), 0.9)) < 0.1
    for confidence in (0.0, 1.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            hoeffding([1.0], confidence)
    with pytest.raises(ValueError, match="must be a feature"):
        random_features_error(0)
