"""Neighbours, windows and histograms: Seeger 2.1, 6.1 and 12.2.1, Rosasco 2 and 3, Welling 5, Cookbook 22."""

import numpy as np
import pytest

from tenfold import (
    Histogram,
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    ParzenRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4))
Y = np.sign(X[:, 0] + 0.3 * RNG.standard_normal(90)).astype(int)


def test_rosasco_2_1_nearest_neighbour():
    """i' = argmin |x - x_i|^2, f(x) = y_i'."""
    rng = np.random.default_rng(1)
    queries = rng.standard_normal((30, 4))
    expected = [Y[np.argmin(((X - q) ** 2).sum(axis=1))] for q in queries]
    np.testing.assert_array_equal(KNeighborsClassifier(1).fit(X, Y).predict(queries), expected)
    np.testing.assert_array_equal(KNeighborsClassifier(1).fit(X, Y).predict(X), Y)


def test_rosasco_2_1_hamming_distance():
    """d(x, x') = (1 / D) sum_j [x_j != x'_j]."""
    rng = np.random.default_rng(1)
    words = rng.integers(0, 3, (20, 7)).astype(float)
    distances, rows = NearestNeighbors(n_neighbors=20, metric="hamming").fit(words).kneighbors(words[:1])
    np.testing.assert_allclose(distances[0], np.mean(words[rows[0]] != words[0], axis=1))


def test_rosasco_2_2_all_rows_as_neighbours():
    """K = n gives the class ratio, or the mean."""
    model = KNeighborsClassifier(90).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X[:3])[:, 1], np.mean(Y == 1))
    np.testing.assert_allclose(KNeighborsRegressor(90).fit(X, Y).predict(X[:3]), Y.mean())


def test_rosasco_2_2_sign_of_the_sum():
    """With odd K the sign of the sum of labels -1 and +1 is the majority."""
    rng = np.random.default_rng(1)
    queries = rng.standard_normal((30, 4))
    for k in (1, 3, 15):
        sums = k * KNeighborsRegressor(k).fit(X, Y).predict(queries)
        np.testing.assert_array_equal(np.sign(sums), KNeighborsClassifier(k).fit(X, Y).predict(queries))


def test_rosasco_2_3_parzen_windows():
    """Three rows on a line, written out; the triangle of Figure 2 with r > 1 and with r < 1."""
    x, y, at = np.array([[0.0], [0.5], [2.0]]), np.array([1.0, 3.0, 10.0]), [[0.25]]
    assert ParzenRegressor(0.3, window="box").fit(x, y).predict(at)[0] == pytest.approx(2.0)
    assert ParzenRegressor(2.0, window="box").fit(x, y).predict(at)[0] == pytest.approx(14.0 / 3.0)
    assert ParzenRegressor(5.0, window="triangular").fit(x, y).predict([[0.0]])[0] == pytest.approx(2.5 / 1.5)
    assert ParzenRegressor(0.4, window="triangular").fit(x, y).predict([[0.0]])[0] == pytest.approx(1.0)
    g = np.exp(-(np.array([0.25, 0.25, 1.75]) ** 2) / 2.0)
    assert ParzenRegressor(1.0).fit(x, y).predict(at)[0] == pytest.approx(g @ y / g.sum())
    e = np.exp(-np.array([0.25, 0.25, 1.75]) / np.sqrt(2.0))
    assert ParzenRegressor(1.0, window="exponential").fit(x, y).predict(at)[0] == pytest.approx(e @ y / e.sum())


@pytest.mark.parametrize(("dimensions", "edge"), [(10, 0.6310), (100, 0.9550)])
def test_rosasco_2_4_a_hundredth_of_the_volume(dimensions, edge):
    """The sub-cube with one per cent of the volume has edges of almost the whole length: so have neighbourhoods."""
    assert 0.01 ** (1 / dimensions) == pytest.approx(edge, abs=5e-5)
    rng = np.random.default_rng(dimensions)
    model = NearestNeighbors(metric="chebyshev").fit(rng.uniform(size=(20_000, dimensions)))
    inside = len(model.radius_neighbors([[0.5] * dimensions], edge / 2, return_distance=False)[0])
    assert inside == pytest.approx(200, abs=60)


def test_rosasco_3_1_error_of_k_neighbours():
    """s^2 + (f(x) - mean of f at the neighbours)^2 + s^2 / K: with minus in the square, where the text prints plus."""
    rng = np.random.default_rng(1)
    x, at, s, k = np.linspace(-1, 1, 21)[:, None], np.array([[0.83]]), 0.4, 5
    f = np.exp(2.0 * x[:, 0])
    rows = NearestNeighbors(n_neighbors=k).fit(x).kneighbors(at)[1][0]
    truth = np.exp(2.0 * at[0, 0])
    expected = s**2 + (truth - f[rows].mean()) ** 2 + s**2 / k
    draws = 4000
    noisy = f[:, None] + s * rng.standard_normal((21, draws))
    result = KNeighborsRegressor(k).fit(x, noisy).predict(at)[0]
    errors = (truth + s * rng.standard_normal(draws) - result) ** 2
    assert errors.mean() == pytest.approx(expected, rel=0.06)
    assert abs(errors.mean() - (s**2 + (truth + f[rows].mean()) ** 2 + s**2 / k)) > 10.0


def test_welling_5_votes_by_similarity():
    """The sign of sum_n K(x, x_n) (2 y_n - 1) over the k most similar, as a function of the distance."""
    rng = np.random.default_rng(1)
    labels = (Y > 0).astype(int)
    queries = rng.standard_normal((30, 4))

    def similarity(distances):
        return np.exp(-(distances**2))

    model = KNeighborsClassifier(7, weights=similarity).fit(X, labels)
    for q, result in zip(queries, model.predict(queries), strict=True):
        away = np.linalg.norm(X - q, axis=1)
        near = np.argsort(away)[:7]
        assert result == (similarity(away[near]) @ (2 * labels[near] - 1) > 0)


def test_seeger_2_1_two_prototypes_are_a_linear_classifier():
    """w = w_+ - w_-, b = (|w_-|^2 - |w_+|^2) / 2."""
    rng = np.random.default_rng(1)
    plus, minus = np.array([1.0, 2.0, -1.0]), np.array([0.5, -1.0, 0.3])
    queries = rng.standard_normal((200, 3))
    model = KNeighborsClassifier(1).fit([minus, plus], [-1, 1])
    linear = np.sign(queries @ (plus - minus) + 0.5 * (minus @ minus - plus @ plus))
    np.testing.assert_array_equal(model.predict(queries), linear)


def test_seeger_6_1_histogram():
    """Bars of height n_j / (n dx) have area one."""
    rng = np.random.default_rng(1)
    grades = rng.choice(np.arange(0, 6.5, 0.5), size=200)
    model = Histogram(width=0.5).fit(grades[:, None])
    edges = model.bin_edges_[0]
    assert np.sum(model.density_ * np.diff(edges)) == pytest.approx(1.0)
    np.testing.assert_allclose(model.density_, [np.mean(grades == a) / 0.5 for a in edges[:-1]])


def test_seeger_12_2_1_kernel_density():
    """(1 / n) sum_i N(x | x_i, h^2 I); a small h has spikes, and the likelihood of rows left out finds the middle."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, 2))
    at = np.array([0.3, -0.2])
    d = ((rows - at) ** 2).sum(axis=1)
    expected = np.mean(np.exp(-d / (2 * 0.25)) / (2 * np.pi * 0.25))
    assert np.exp(KernelDensity(bandwidth=0.5).fit(rows).score_samples([at]))[0] == pytest.approx(expected)
    tried = [0.01, 0.5, 10.0]
    assert KernelDensity(bandwidth="likelihood", candidates=tried).fit(rows).bandwidth_ == 0.5


def test_cookbook_22_ties_are_broken_at_random():
    """Algorithm 21: of two neighbours of different classes either class is as likely; Welling, chapter 5, and Seeger,
    section 2.1, ask for the same.
    """
    rows, labels = np.array([[-1.0], [1.0], [5.0]]), ["a", "b", "b"]
    first = KNeighborsClassifier(2).fit(rows, labels)
    assert first.predict([[0.0]])[0] == "a"
    drawn = [KNeighborsClassifier(2, tie_break="random", random_state=s).fit(rows, labels) for s in range(400)]
    answers = np.array([model.predict([[0.0], [3.0]]) for model in drawn])
    assert np.mean(answers[:, 0] == "a") == pytest.approx(0.5, abs=0.08)
    assert set(answers[:, 1]) == {"b"}


def test_cookbook_22_whitening_is_the_mahalanobis_distance():
    """Columns along the principal axes times inverse square roots of the eigenvalues; the text prints inverses."""
    values, vectors = np.linalg.eigh(np.cov(X.T))
    mixed = X @ np.diag([3.0, 1.0, 0.2, 1.0])
    values, vectors = np.linalg.eigh(np.cov(mixed.T))
    white = mixed @ vectors / np.sqrt(values)
    np.testing.assert_allclose(np.var(white, axis=0, ddof=1), 1.0)
    whitened = NearestNeighbors().fit(white).kneighbors()
    direct = NearestNeighbors(metric="mahalanobis").fit(mixed).kneighbors()
    np.testing.assert_array_equal(direct[1], whitened[1])
    np.testing.assert_allclose(direct[0], whitened[0])
    wrong = NearestNeighbors().fit(mixed @ vectors / values).kneighbors()
    assert np.mean(wrong[1] == direct[1]) < 0.9


def test_cookbook_c_4_distances():
    """Euclidean, city block, ordinal by ranks, Hamming."""
    rows = np.array([[1.0, 10.0], [2.0, 1000.0], [9.0, 20.0]])
    result = {
        name: NearestNeighbors(n_neighbors=3, metric=name).fit(rows).kneighbors(rows[:1])
        for name in ("euclidean", "manhattan", "ordinal", "hamming")
    }
    assert result["euclidean"][0][0].tolist() == [0.0, pytest.approx(np.sqrt(164.0)), pytest.approx(np.sqrt(980101.0))]
    assert result["manhattan"][0][0].tolist() == [0.0, 18.0, 991.0]
    np.testing.assert_allclose(result["ordinal"][0][0], [0.0, 1.0, 1.0])  # ranks (1, 1), (2, 3), (3, 2) of three
    assert result["hamming"][0][0].tolist() == [0.0, 1.0, 1.0]
