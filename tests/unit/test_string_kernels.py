"""String kernels: values by enumeration, gradients, odd strings, and every kernel method on raw strings."""

import itertools
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
import sklearn.gaussian_process
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import kernels
from tenfold.kernels import Mismatch, Normalised, Spectrum, Subsequence, White, decode_strings, encode_strings


def draw(count, longest, alphabet, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(alphabet), rng.integers(0, longest + 1))) for _ in range(count)]


def spectrum(s, t, p):
    one, other = (Counter(u[i : i + p] for i in range(len(u) - p + 1)) for u in (s, t))
    return sum(one[u] * other[u] for u in one)


def subsequence(s, t, p, decay):
    """By all choices of places."""

    def weigh(u):
        result = Counter()
        for places in itertools.combinations(range(len(u)), p):
            result["".join(u[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return result

    one, other = weigh(s), weigh(t)
    return sum(one[u] * other[u] for u in one)


def mismatch(s, t, k, m, alphabet):
    """By all words of the alphabet."""

    def near(word, u):
        parts = (u[i : i + k] for i in range(len(u) - k + 1))
        return sum(sum(a != b for a, b in zip(word, part, strict=True)) <= m for part in parts)

    words = ["".join(w) for w in itertools.product(alphabet, repeat=k)]
    return sum(near(w, s) * near(w, t) for w in words)


def table(f, S, T):
    return np.array([[f(s, t) for t in T] for s in S], dtype=np.float64).reshape(len(S), len(T))


class TestValues:
    S, T = draw(9, 9, "abé€"), draw(21, 11, "abé€", 1)

    @pytest.mark.parametrize("p", [1, 2, 3, 12])
    def test_spectrum(self, p):
        expected = table(lambda s, t: spectrum(s, t, p), self.S, self.T)
        np.testing.assert_array_equal(Spectrum(p).block(self.S, self.T), expected)

    @pytest.mark.parametrize("p", [1, 2, 3, 4, 12])
    @pytest.mark.parametrize("decay", [0.3, 1.0])
    def test_subsequence(self, p, decay):
        expected = table(lambda s, t: subsequence(s, t, p, decay), self.S, self.T)
        np.testing.assert_allclose(Subsequence(p, decay).block(self.S, self.T), expected, rtol=1e-13)

    @pytest.mark.parametrize(("k", "m"), [(1, 0), (2, 0), (2, 1), (3, 1), (3, 2)])
    @pytest.mark.parametrize("more", ["", "xyz"])
    def test_mismatch(self, k, m, more):
        alphabet = "abé€" + more
        S, T = self.S[:4], self.T[:5]
        expected = table(lambda s, t: mismatch(s, t, k, m, alphabet), S, T)
        own = Mismatch(k, m, len(alphabet))
        np.testing.assert_array_equal(own.block(S, T), expected)

    def test_mismatch_without_mismatches_is_spectrum(self):
        np.testing.assert_array_equal(Mismatch(3, 0)(self.T), Spectrum(3)(self.T))

    def test_mismatch_does_not_depend_on_the_other_samples(self):
        own = Mismatch(3, 1)
        np.testing.assert_array_equal(own(self.T)[:3, :3], own(self.T[:3]))

    @pytest.mark.parametrize("kernel", [Spectrum(2), Subsequence(3, 0.4), Mismatch(2, 1, 9)], ids=repr)
    def test_gram_is_symmetric_with_its_diagonal_and_psd(self, kernel):
        K = kernel(self.T)
        assert (K == K.T).all()
        np.testing.assert_allclose(kernel.diag(self.T), np.diag(K), rtol=1e-13)
        assert np.linalg.eigvalsh(K).min() > -1e-12 * K.max()
        one = Normalised(kernel)(self.T)
        assert set(np.diag(one)) <= {0.0, 1.0}
        assert np.abs(one).max() <= 1.0 + 1e-12
        np.testing.assert_allclose(kernel.multiply(self.S, self.T, np.eye(len(self.T))), kernel.block(self.S, self.T))

    @pytest.mark.parametrize("isa", tenfold._core.available_isas())
    def test_every_instruction_set(self, isa):
        before = tenfold._core.isa()
        try:
            tenfold._core.set_isa(isa)
            expected = table(lambda s, t: subsequence(s, t, 3, 0.6), self.T, self.T)
            np.testing.assert_allclose(Subsequence(3, 0.6)(self.T), expected, rtol=1e-13)
        finally:
            tenfold._core.set_isa(before)

    def test_bits_do_not_depend_on_neighbours(self):
        K = Subsequence(3, 0.7)(self.T)
        alone = np.array([[Subsequence(3, 0.7)(s, t) for t in self.T] for s in self.T])
        np.testing.assert_array_equal(np.triu(K), np.triu(alone))


class TestHyperParameters:
    T = draw(70, 8, "abc", 3)

    @pytest.mark.parametrize("wrap", [lambda k: k, Normalised, lambda k: k * 2.0 + White(0.1)])
    def test_gradient_in_log_decay(self, wrap):
        kernel = wrap(Subsequence(3, 0.4))
        _, gradient = kernel(self.T, eval_gradient=True)
        for j in range(kernel.n_dims):
            step = np.eye(kernel.n_dims)[j] * 1e-6
            ahead, back = (kernel.clone_with_theta(kernel.theta + sign * step)(self.T) for sign in (1, -1))
            np.testing.assert_allclose(gradient[:, :, j], (ahead - back) / 2e-6, atol=1e-7)
        A = np.ones((len(self.T), len(self.T)))
        np.testing.assert_allclose(kernel.weighted_gradient(self.T, A), gradient.sum(axis=(0, 1)), rtol=1e-10)

    def test_decay_is_a_hyper_parameter_within_bounds(self):
        kernel = Subsequence(2, 0.5)
        assert kernel.theta == np.log([0.5])
        np.testing.assert_allclose(np.exp(kernel.bounds), [[1e-3, 1.0]])
        assert Subsequence(2, 0.5, "fixed").n_dims == 0
        assert Spectrum(2).n_dims == Mismatch(3, 1).n_dims == 0

    def test_gaussian_process_learns_the_decay(self):
        rng = np.random.default_rng(0)
        X = draw(40, 8, "ab", 5)
        K = Normalised(Subsequence(2, 0.15))(X) + 1e-3 * np.eye(40)
        y = np.linalg.cholesky(K) @ rng.standard_normal(40)
        kernel = Normalised(Subsequence(2, 0.8)) + White(1e-3, "fixed")
        model = tenfold.GaussianProcessRegressor(kernel).fit(X, y)
        assert 0.02 < np.exp(model.kernel_.theta[0]) < 0.5
        assert model.certificate_.ok
        other = sklearn.gaussian_process.GaussianProcessRegressor(kernel).fit(X, y)
        expected = other.log_marginal_likelihood_value_
        np.testing.assert_allclose(model.log_marginal_likelihood_value_, expected, rtol=1e-5)


class TestSamples:
    def test_codes_round_trip(self):
        odd = ["", "\0", "a\ud800b", "日本語", "𝔘nicode", "e\u0301", "x" * 1000]
        assert decode_strings(encode_strings(odd)) == odd
        assert encode_strings(encode_strings(odd)).nnz == sum(map(len, odd))

    @pytest.mark.parametrize("kind", [list, tuple, np.array, lambda x: np.array(x, dtype=object)[:, None]])
    def test_kinds_of_input(self, kind):
        X = ["abc", "abd", ""]
        np.testing.assert_array_equal(Spectrum(2)(kind(X)), [[2, 1, 0], [1, 2, 0], [0, 0, 0]])

    def test_a_pair_gives_a_number(self):
        assert Spectrum(2)("abc", "xabx") == 1.0
        assert Normalised(Spectrum(1))("ab", "") == 0.0

    def test_long_strings(self):
        rng = np.random.default_rng(0)
        s = "".join(rng.choice(list("ACGT"), 50_000))
        K = Spectrum(8)([s, s[:1000], "A"])
        assert K[0, 1] >= 993
        assert K[2, 2] == 0
        assert Mismatch(6, 1, 4)([s, s[:50]])[0, 1] > 0
        assert 0.0 < Normalised(Subsequence(2, 0.5))([s[:2000], s[:100]])[0, 1] < 1.0

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (["a", None], "NoneType as sample 1"),
            (["a", 3.0], "float as sample 1"),
            ([b"a"], "bytes as sample 0"),
            ("abc", "one string"),
            (np.zeros((3, 2)), "shape"),
            (np.array([["a", "b"]]), "shape"),
        ],
    )
    def test_other_samples_raise(self, given, words):
        with pytest.raises(ValueError, match=words):
            Spectrum(2)(given)

    @pytest.mark.parametrize(
        "kernel",
        [
            Spectrum(0),
            Spectrum(1.5),
            Subsequence(0),
            Subsequence(2, 0.0),
            Subsequence(2, 1.5),
            Mismatch(3, 3),
            Mismatch(3, -1),
            Mismatch(2, 1, 0),
        ],
        ids=repr,
    )
    def test_wrong_parameters_raise(self, kernel):
        with pytest.raises(ValueError, match="must be"):
            kernel(["abc"])

    def test_more_characters_than_the_alphabet_raise(self):
        with pytest.raises(ValueError, match="use 3 characters, alphabet_size is 2"):
            Mismatch(2, 1, 2)(["abc"])

    def test_kernels_of_strings_and_vectors_do_not_mix(self):
        with pytest.raises(ValueError, match="samples are either"):
            tenfold.KernelRidge(kernel=Spectrum(2) + kernels.Gaussian()).fit(["a", "b"], [0, 1])

    def test_numbers_raise(self):
        with pytest.raises(ValueError, match="reads strings"):
            tenfold.KernelRidge(kernel=Spectrum(2)).fit(np.zeros((3, 3)), [0, 1, 2])


TEXT = Normalised(Spectrum(2))
X = [
    *(f"win a free prize now {w}" for w in ("cash", "offer", "claim", "100%", "wow", "today", "money", "gift")),
    *(f"lunch at {h} with the team" for h in ("noon", "one", "two", "12", "three", "half past", "four", "five")),
]
Y = np.repeat([1, 0], 8)
NEW = ["free prize offer", "team lunch", ""]
MODELS = {
    "SVC": (lambda: tenfold.SVC(kernel=TEXT), "predict"),
    "SVR": (lambda: tenfold.SVR(kernel=TEXT), "predict"),
    "OneClassSVM": (lambda: tenfold.OneClassSVM(kernel=TEXT, nu=0.3), "predict"),
    "KernelRidge": (lambda: tenfold.KernelRidge(kernel=TEXT, alpha=0.1), "predict"),
    "KernelRidgeClassifier": (lambda: tenfold.KernelRidgeClassifier(kernel=TEXT, alpha=0.1), "predict"),
    "KernelRidgeCV": (lambda: tenfold.KernelRidgeCV(alphas=[0.1, 1.0], kernel=TEXT), "predict"),
    "KernelPCA": (lambda: tenfold.KernelPCA(2, kernel=TEXT), "transform"),
    "KernelFisherDiscriminant": (lambda: tenfold.KernelFisherDiscriminant(kernel=TEXT, beta=0.1), "predict"),
    "KernelKMeans": (lambda: tenfold.KernelKMeans(2, kernel=TEXT, random_state=0), "predict"),
    "GaussianProcessRegressor": (
        lambda: tenfold.GaussianProcessRegressor(TEXT, alpha=0.1, optimizer=None),
        "predict",
    ),
    "GaussianProcessClassifier": (lambda: tenfold.GaussianProcessClassifier(TEXT, optimizer=None), "predict"),
    "Nystroem": (lambda: tenfold.Nystroem(kernel=TEXT, n_components=6, random_state=0), "transform"),
}


@pytest.mark.parametrize("name", MODELS)
class TestEveryMethod:
    def fit(self, name):
        make, method = MODELS[name]
        return make().fit(X, Y), method

    def test_fit_is_that_of_the_kernel_matrix_and_certified(self, name):
        model, method = self.fit(name)
        got = getattr(model, method)(NEW)
        verdict = tenfold.certify(model, X, Y)
        assert verdict.ok, verdict.explain()
        if name.startswith(("GaussianProcess", "Nystroem")):  # which take no kernel matrix
            return
        given = clone(model).set_params(kernel="precomputed").fit(TEXT(X), Y)
        expected = getattr(given, method)(TEXT(NEW, X))
        if method == "transform":
            expected = expected * np.sign(np.sum(expected * got, axis=0))
        np.testing.assert_allclose(got, expected, atol=1e-6)

    def test_copies_and_files_predict_the_same(self, name, tmp_path):
        model, method = self.fit(name)
        expected = getattr(model, method)(NEW)
        np.testing.assert_array_equal(getattr(pickle.loads(pickle.dumps(model)), method)(NEW), expected)
        np.testing.assert_array_equal(getattr(clone(model).fit(X, Y), method)(NEW), expected)
        tenfold.save(model, tmp_path / "model.tenfold")
        np.testing.assert_array_equal(getattr(tenfold.load(tmp_path / "model.tenfold"), method)(NEW), expected)

    def test_arrays_of_strings(self, name):
        model, method = self.fit(name)
        make, _ = MODELS[name]
        other = make().fit(np.array(X, dtype=object), Y)
        np.testing.assert_array_equal(getattr(other, method)(np.array(NEW)), getattr(model, method)(NEW))

    def test_changed_model_is_not_certified(self, name):
        model, _ = self.fit(name)
        other = [*X[1:], X[0]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                verdict = tenfold.certify(model, other, Y)
            except ValueError:
                return
        assert not verdict.ok


class TestSpectralClustering:
    def test_strings(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = tenfold.SpectralClustering(2, affinity=TEXT, random_state=0).fit_predict(X)
            model = tenfold.SpectralClustering(2, affinity=TEXT, random_state=0).fit(X)
        assert len(set(labels[:8])) == len(set(labels[8:])) == 1
        assert labels[0] != labels[8]
        assert tenfold.certify(model, X).ok

    def test_kernel_cca_of_two_views(self):
        words = ["gewinn gratis", "preis umsonst"] * 4 + ["mittag team", "essen um zwei"] * 4
        model = tenfold.KernelCCA(kernel=TEXT, ridge=0.1).fit(X, words)
        assert model.certificate_.ok
        assert tenfold.certify(model, X, words).ok
        assert model.transform(NEW).shape == (3, model.n_components)


class TestSelection:
    def test_pipeline_and_grid(self):
        pipe = make_pipeline(tenfold.KernelPCA(3, kernel=TEXT), tenfold.LogisticRegression())
        assert pipe.fit(X, Y).predict(NEW[:2]).tolist() == [1, 0]
        assert tenfold.certify(pipe, X, Y).ok
        grid = {"kernel": [Normalised(Spectrum(p)) for p in (2, 3)], "alpha": [0.1, 1.0]}
        folds = StratifiedKFold(2, shuffle=True, random_state=0)
        search = GridSearchCV(tenfold.KernelRidgeClassifier(), grid, cv=folds).fit(X, Y)
        assert search.best_score_ == 1.0

    def test_scikit_learn_gaussian_process_takes_raw_strings(self):
        model = sklearn.gaussian_process.GaussianProcessClassifier(Normalised(Subsequence(2, 0.5, "fixed"))).fit(X, Y)
        assert model.predict(NEW[:2]).tolist() == [1, 0]
