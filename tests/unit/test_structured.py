"""The structured perceptron: paths beside all paths, updates written out, and a corpus whose model is known."""

import copy
import itertools
import pickle
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils import get_tags

import tenfold
from tenfold import StructuredPerceptron, certify
from tenfold.data import Sequences
from tenfold.judge import viterbi as judge
from tenfold.judge.viterbi import count_tags
from tenfold.stats.viterbi import TagWeights, best_tags


def best_path(model, x):
    """By trying all of them."""
    tags = range(len(model.classes_))
    z = x @ model.coef_.T

    def score(path):
        total = model.start_[path[0]] + model.end_[path[-1]] + sum(z[t, tag] for t, tag in enumerate(path))
        return total + sum(model.transition_[a, b] for a, b in itertools.pairwise(path))

    # of equal paths the one with the earliest tags, compared from the end
    return max((path[::-1] for path in itertools.product(tags, repeat=len(x))), key=score)


def corpus(sequences=60, length=6, tags=3, words=12, seed=0):
    """A hidden Markov model: its tags, its words one-hot, and its parameters."""
    rng = np.random.default_rng(seed)
    start, move = rng.dirichlet(np.ones(tags)), rng.dirichlet(np.full(tags, 0.3), tags)
    emit = rng.dirichlet(np.full(words, 0.1), tags)
    X, y = [], []
    for _ in range(sequences):
        path = [rng.choice(tags, p=start)]
        while len(path) < length:
            path.append(rng.choice(tags, p=move[path[-1]]))
        X.append(np.eye(words)[[rng.choice(words, p=emit[tag]) for tag in path]])
        y.append(np.array(path))
    return X, y, (start, move, emit)


def test_paths_are_the_best_of_all():
    X, y, _ = corpus()
    model = StructuredPerceptron().fit(X, y)
    for x, result in zip(X[:20], model.predict(X[:20]), strict=True):
        assert tuple(result) == best_path(model, x)
    wrong = sum(int(np.sum(a != b)) for a, b in zip(model.predict(X), y, strict=True))
    assert model.certificate_.value == wrong
    assert model.score(X, y) == pytest.approx(1 - wrong / 360)


@pytest.mark.parametrize("average", [True, False])
def test_updates_are_those_of_the_recursion(average):
    X, y, _ = corpus(20, 4)
    model = StructuredPerceptron(max_iter=3, shuffle=False, average=average).fit(X, y)
    slow = clone(model)
    slow.classes_ = model.classes_
    k, p = model.coef_.shape
    now = [np.zeros((k, p)), np.zeros((k, k)), np.zeros(k), np.zeros(k)]
    total = [np.zeros_like(part) for part in now]
    for _ in range(model.n_iter_):
        for x, gold in zip(X, y, strict=True):
            slow.coef_, slow.transition_, slow.start_, slow.end_ = now
            for path, a in ((gold, 1.0), (best_path(slow, x), -1.0)):
                for t, tag in enumerate(path):
                    now[0][tag] += a * x[t]
                for b, c in itertools.pairwise(path):
                    now[1][b, c] += a
                now[2][path[0]] += a
                now[3][path[-1]] += a
            for part, sum_ in zip(now, total, strict=True):
                sum_ += part
    expected = [part / (model.n_iter_ * len(X)) for part in total] if average else now
    for result, part in zip((model.coef_, model.transition_, model.start_, model.end_), expected, strict=True):
        np.testing.assert_allclose(result, part, rtol=1e-12, atol=1e-12)


def test_a_corpus_of_a_known_model_is_tagged_nearly_as_well_as_by_it():
    """Within 1 % of Viterbi's tags under the true model, on sequences not seen."""
    X, y, (start, move, emit) = corpus(1500, 12, 5, 40, seed=3)
    model = StructuredPerceptron(max_iter=10).fit(X[:1000], y[:1000])
    truth = clone(model)
    truth.classes_, truth.n_features_in_ = model.classes_, 40
    with np.errstate(divide="ignore"):
        logs = [np.maximum(np.log(part), -1e6) for part in (emit, move, start)]
    truth.coef_, truth.transition_, truth.start_ = logs
    truth.end_ = np.zeros(5)
    assert model.score(X[1000:], y[1000:]) >= truth.score(X[1000:], y[1000:]) - 0.01


def test_storage_does_not_matter():
    X, y, _ = corpus()
    dense = StructuredPerceptron().fit(X, y)
    sparse_model = StructuredPerceptron().fit([sparse.csr_matrix(x) for x in X], y)
    words = [[{f"w{np.argmax(row):02}": 1.0} for row in x] for x in X]
    named = StructuredPerceptron().fit(words, y)
    for other in (sparse_model, named):
        np.testing.assert_array_equal(other.transition_, dense.transition_)
    assert [*map(list, named.predict(words))] == [*map(list, dense.predict(X))]
    assert named.predict([[{"unheard": 1.0}]])[0].shape == (1,)
    text = [["abc"[tag] for tag in tags] for tags in y]
    assert StructuredPerceptron().fit(X, text).sequence_accuracy(X, text) == dense.sequence_accuracy(X, y)


def test_sequences_that_can_be_learned_are_certified():
    X = corpus(10, 5, seed=2)[0]
    tags = [np.argmax(x, axis=1) % 3 for x in X]
    model = StructuredPerceptron(max_iter=100).fit(X, tags)
    assert (model.status_, model.trace_[-1].mistakes) == ("converged", 0)
    assert model.certificate_.ok
    last = StructuredPerceptron(max_iter=100, average=False).fit(X, tags)
    assert last.certificate_.ok
    assert last.certificate_.parts == (0.0, 0.0, 0.0)
    worse = [np.roll(t, 1) for t in tags]
    assert model.score(X, worse) < 1.0


def test_many_tokens_take_seconds():
    rng = np.random.default_rng(0)
    tokens, tags = 20_000, 50
    X = sparse.random_array((tokens, 2000), density=0.005, rng=rng, format="csr")
    y = rng.integers(0, tags, tokens)
    cuts = range(0, tokens, 20)
    begin = time.process_time()
    StructuredPerceptron(max_iter=1).fit([X[a : a + 20] for a in cuts], [y[a : a + 20] for a in cuts])
    assert time.process_time() - begin < 10.0


def test_weights_are_factors_of_steps_and_zero_removes():
    X, y, _ = corpus(30, 5)
    weight = np.tile([1.0, 0.0, 2.0], 10)
    model = StructuredPerceptron(shuffle=False).fit(X, y, sample_weight=weight)
    some = np.flatnonzero(weight)
    fewer = StructuredPerceptron(shuffle=False).fit(
        [X[i] for i in some], [y[i] for i in some], sample_weight=weight[some]
    )
    np.testing.assert_array_equal(model.coef_, fewer.coef_)
    assert model.certificate_.value == fewer.certificate_.value
    assert model.certificate_.objective == pytest.approx(1.0 - model.score(X, y, sample_weight=weight), abs=1e-12)
    twice = StructuredPerceptron(shuffle=False).fit(X, y, sample_weight=2.0)
    np.testing.assert_allclose(twice.coef_, 2.0 * StructuredPerceptron(shuffle=False).fit(X, y).coef_, rtol=1e-12)


# -- the judge -------------------------------------------------------------------------------------------------------


def read_sequences(weights, X, y):
    """Sequences as the judge reads them."""
    offsets = np.append(0, np.cumsum([len(x) for x in X])).astype(np.int64)
    matrix = sparse.csr_array(np.concatenate(X).astype(float))
    matrix.indices = matrix.indices.astype(np.int32)
    return Sequences(matrix, offsets).with_tags(np.concatenate(y))


def of_model(model):
    return TagWeights(model.coef_.T, model.transition_, model.start_, model.end_)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("most", [1 << 15, 8])
def test_the_judge_finds_the_paths_of_the_compiled_recursion(k, most, monkeypatch):
    """Sequences of all lengths, in batches of any size; neither knows the other's code."""
    monkeypatch.setattr(judge, "STEP", most)
    rng = np.random.default_rng(k)
    X = [rng.standard_normal((rng.integers(0, 9), 4)) for _ in range(40)]
    weights = TagWeights(*(rng.standard_normal(shape) for shape in ((4, k), (k, k), (k,), (k,))))
    sequences = read_sequences(weights, X, [np.zeros(len(x), int) for x in X])
    result = best_tags(sequences, weights)
    certificate = count_tags(sequences.with_tags(result), weights, status="judged")
    assert certificate.value == 0.0
    assert certificate.ok
    other = np.where(rng.random(len(result)) < 0.3, (result + 1) % k, result)
    certificate = count_tags(sequences.with_tags(other), weights, status="judged")
    assert certificate.value == np.sum(other != result)
    assert sum(certificate.parts) == certificate.value


def test_the_margin_is_that_of_all_paths():
    X = corpus(8, 4, seed=2)[0]
    tags = [np.argmax(x, axis=1) % 3 for x in X]
    model = StructuredPerceptron(max_iter=100).fit(X, tags)

    def score(z, path):
        moves = sum(model.transition_[a, b] for a, b in itertools.pairwise(path))
        return model.start_[path[0]] + model.end_[path[-1]] + sum(z[t, tag] for t, tag in enumerate(path)) + moves

    margins = []
    for x, gold in zip(X, tags, strict=True):
        z = x @ model.coef_.T
        others = [score(z, p) for p in itertools.product(range(3), repeat=len(x)) if p != tuple(gold)]
        margins.append(score(z, gold) - max(others))
    size = np.sqrt(sum(np.sum(part**2) for part in of_model(model)))
    assert f"The smallest margin is {min(margins) / size:.3g}" in model.certificate_.note
    assert model.certificate_.ok
    assert min(margins) > 0


def test_a_tie_within_rounding_is_decided_exactly():
    """One is lost beside 2^60: scores that differ by it are equal in float64, and the earlier tag is taken."""
    big = 2.0**60
    weights = TagWeights(np.array([[big, big], [1.0, 0.0], [-big, -big]]), np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    sequences = read_sequences(weights, [np.ones((1, 3))], [np.array([0])])
    assert count_tags(sequences, weights, status="judged").ok
    worse = weights._replace(emission=weights.emission[:, ::-1].copy())
    assert best_tags(sequences, worse).tolist() == [0]
    assert count_tags(sequences, worse, status="judged").value == 1.0
    numbers = np.array([0.1, -3.0, 2.0**-1074, 0.0, 1e300])
    whole, low = judge._whole(numbers)
    assert [Fraction(int(one)) * Fraction(2) ** low for one in whole] == [Fraction(x) for x in numbers]


def test_certify_equals_certificate_of_fit_and_a_worse_model_is_not_certified():
    X = corpus(10, 5, seed=2)[0]
    tags = [np.argmax(x, axis=1) % 3 for x in X]
    model = StructuredPerceptron(max_iter=100).fit(X, tags)
    assert certify(model, X, tags).ok
    assert certify(model, X, tags) == model.certificate_
    worse = copy.deepcopy(model)
    worse.transition_ = worse.transition_ + 100.0 * np.eye(3)
    certificate = certify(worse, X, tags)
    assert not certificate.ok
    assert "do not rely" in certificate.explain()
    assert certificate.value == sum(np.sum(a != b) for a, b in zip(worse.predict(X), tags, strict=True))
    with pytest.raises(ValueError, match="tags that the model does not know: \\[7\\]"):
        certify(model, X[:1], [np.full(5, 7)])
    with pytest.raises(NotFittedError):
        certify(StructuredPerceptron(), X, tags)


# -- the contract ----------------------------------------------------------------------------------------------------


def test_bits_do_not_depend_on_threads(monkeypatch):
    X, y, _ = corpus(60)
    model = StructuredPerceptron().fit(X, y)
    sequences = read_sequences(of_model(model), X, y)
    paths = []
    for count in (1, 2, 5):
        monkeypatch.setattr("tenfold.stats.viterbi.threads", lambda entries, count=count: count)
        paths.append(best_tags(sequences, of_model(model)).tolist())
    assert paths[0] == paths[1] == paths[2]


def test_it_works_with_what_scikit_learn_does_with_estimators():
    X, y, _ = corpus(40, 5)
    model = StructuredPerceptron().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert [*map(list, again.predict(X))] == [*map(list, model.predict(X))]
    scores = cross_val_score(StructuredPerceptron(), X, y, cv=KFold(4))
    assert scores.shape == (4,)
    assert scores.min() > 0.4
    search = GridSearchCV(StructuredPerceptron(), {"max_iter": [1, 5]}, cv=3).fit(X, y)
    assert search.best_params_["max_iter"] in (1, 5)
    cube = StructuredPerceptron().fit(np.stack(X), np.stack(y))
    np.testing.assert_array_equal(cube.coef_, model.coef_)


def test_sequences_may_be_empty():
    X, y, _ = corpus(20, 4)
    model = StructuredPerceptron().fit([*X, X[0][:0], []], [*y, [], []])
    np.testing.assert_array_equal(model.transition_, StructuredPerceptron().fit(X, y).transition_)
    assert [len(tags) for tags in model.predict([[], X[0]])] == [0, 4]
    assert model.score([X[0], []], [y[0], []]) == model.score(X[:1], y[:1])


def test_one_tag():
    model = StructuredPerceptron().fit([np.ones((3, 2))], [["only"] * 3])
    assert model.predict([np.zeros((1, 2))])[0].tolist() == ["only"]
    assert model.certificate_.ok


def test_time_limit():
    rng = np.random.default_rng(0)
    X, y = [rng.standard_normal((50, 3)) for _ in range(5)], [rng.integers(0, 4, 50) for _ in range(5)]
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = StructuredPerceptron(max_iter=10_000, time_limit=1e-9).fit(X, y)
    assert model.n_iter_ < 3


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([], [], "list of sequences"),
        (np.zeros((4, 3)), [0, 1, 0, 1], "got ndarray"),
        ("words", [[0]], "list of sequences"),
        ([["the", "dog"]], [["D", "N"]], "Sequence 0 holds words"),
        ([np.zeros(3)], [[0, 1, 0]], "Expected 2D array"),
        ([np.zeros((2, 3))], "ab", "sequence of tags for each of the 1 sequences"),
        ([np.zeros((2, 3))], [3], "that of sequence 0 is 3"),
        ([np.zeros((2, 3)), np.zeros((2, 2))], [[0, 1], [0, 1]], "same features"),
        ([np.full((2, 3), np.nan)], [[0, 1]], "NaN"),
        ([sparse.csr_array([[np.inf]])], [[0]], "infinity"),
        ([np.zeros((0, 3))], [[]], "no tokens"),
    ],
)
def test_invalid_input_raises(X, y, match):
    model = StructuredPerceptron()
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_features_beyond_the_range_of_numbers():
    with pytest.raises(ValueError, match="divide the features"):
        StructuredPerceptron().fit([np.full((3, 1), 1e308)] * 3, [[0, 1, 0]] * 3)


def test_other_sources_raise():
    rows = tenfold.rows([(np.zeros((3, 2)), np.zeros(3))])
    with pytest.raises(TypeError, match=r"does not read Parquet.*list of sequences"):
        StructuredPerceptron().fit(rows, None)


def test_bad_input():
    X, y, _ = corpus(4)
    with pytest.raises(ValueError, match="list of sequences"):
        StructuredPerceptron().fit([], [])
    with pytest.raises(ValueError, match="for each of the 4 sequences"):
        StructuredPerceptron().fit(X, y[:3])
    with pytest.raises(ValueError, match="Sequence 1 has 6 tokens and 5 tags"):
        StructuredPerceptron().fit(X, [y[0], y[1][:5], *y[2:]])
    with pytest.raises(ValueError, match="same features"):
        StructuredPerceptron().fit([X[0], X[1][:, :3]], y[:2])
    with pytest.raises(ValueError, match="max_iter"):
        StructuredPerceptron(max_iter=0).fit(X, y)
    model = StructuredPerceptron().fit(X, y)
    with pytest.raises(ValueError, match="expecting 12"):
        model.predict([x[:, :3] for x in X])
    with pytest.raises(ValueError, match="NaN"):
        model.predict([X[0] * np.nan])
    with pytest.raises(ValueError, match="no columns here"):
        model.predict([[{"a": 1.0}]])


def test_input_tags_of_sequences():
    tags = get_tags(StructuredPerceptron())
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required
