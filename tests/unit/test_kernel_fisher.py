"""Kernel Fisher discriminant: beside a dense eigenproblem, certificates, bad input."""

import numpy as np
import pytest
import scipy.linalg

from tenfold import KernelFisherDiscriminant, certify
from tenfold.judge.kernel_fisher import kernel_fisher
from tenfold.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 2))
Y = np.digitize(np.hypot(*X.T), [0.8, 1.5])
KERNEL = Gaussian(1.0)


def dense_solution(beta):
    K = KERNEL(X)
    kappa, counts = [K[:, c == Y].mean(axis=1) for c in range(3)], np.bincount(Y)
    between = sum(n * np.outer(k - K.mean(1), k - K.mean(1)) for k, n in zip(kappa, counts, strict=True))
    within = K @ K - sum(n * np.outer(k, k) for k, n in zip(kappa, counts, strict=True))
    values, vectors = scipy.linalg.eigh(between, 0.5 * (within + within.T) + beta * np.eye(90))
    return values[::-1][:2], vectors[:, ::-1][:, :2]


@pytest.mark.parametrize("beta", [1e-3, 0.1, 10.0])
def test_beside_a_dense_eigenproblem(beta):
    model = KernelFisherDiscriminant(kernel=KERNEL, beta=beta).fit(X, Y)
    values, vectors = dense_solution(beta)
    np.testing.assert_allclose(model.values_, values, rtol=1e-7)
    np.testing.assert_allclose(np.abs(model.dual_coef_), np.abs(vectors), atol=1e-6 * np.abs(vectors).max())
    assert model.certificate_.ok
    assert certify(model, X, Y).ok


def test_wrong_directions_are_found():
    model = KernelFisherDiscriminant(kernel=KERNEL, beta=0.1).fit(X, Y)
    good = {"coef": model.dual_coef_, "values": model.values_, "means": model.means_, "variances": model.variances_}
    assert kernel_fisher(KERNEL, X, Y, 0.1, **good).ok
    second = {
        "coef": model.dual_coef_[:, 1:],
        "values": model.values_[1:],
        "means": model.means_[:, 1:],
        "variances": model.variances_[:, 1:],
    }
    assert not kernel_fisher(KERNEL, X, Y, 0.1, **second).ok
    assert not kernel_fisher(KERNEL, X, Y, 0.11, **good).ok
    for name, value in good.items():
        assert not kernel_fisher(KERNEL, X, Y, 0.1, **{**good, name: value * 1.0001}).ok
    twice = {name: value[..., [0, 0]] for name, value in good.items()}
    assert not kernel_fisher(KERNEL, X, Y, 0.1, **twice).ok


def test_names_of_classes_and_single_precision():
    names = np.array(["inner", "middle", "outer"])[Y]
    model = KernelFisherDiscriminant(1, kernel=KERNEL, beta=0.1).fit(X.astype(np.float32), names)
    assert set(model.predict(X[:20])) <= set(names)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.certificate_.ok


def test_given_matrix():
    model = KernelFisherDiscriminant(kernel=KERNEL, beta=0.1).fit(X, Y)
    given = KernelFisherDiscriminant(kernel="precomputed", beta=0.1).fit(KERNEL(X), Y)
    np.testing.assert_array_equal(given.predict(KERNEL(X[:9] + 0.1, X)), model.predict(X[:9] + 0.1))


class TestBadInput:
    def test_one_class(self):
        with pytest.raises(ValueError, match="1 class"):
            KernelFisherDiscriminant().fit(X, np.zeros(90))

    def test_more_components_than_classes(self):
        with pytest.raises(ValueError, match="classes less one, 2"):
            KernelFisherDiscriminant(3).fit(X, Y)

    def test_no_regularisation(self):
        with pytest.raises(ValueError, match="beta"):
            KernelFisherDiscriminant(beta=0.0).fit(X, Y)

    def test_numbers_that_are_no_classes(self):
        with pytest.raises(ValueError, match="label type"):
            KernelFisherDiscriminant().fit(X, X[:, 0])
