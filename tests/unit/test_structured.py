"""The structured perceptron: paths beside all paths, updates written out, and a corpus whose model is known."""

import itertools
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from tenfold import StructuredPerceptron


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
    for x, found in zip(X[:20], model.predict(X[:20]), strict=True):
        assert tuple(found) == best_path(model, x)
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
    for found, part in zip((model.coef_, model.transition_, model.start_, model.end_), expected, strict=True):
        np.testing.assert_allclose(found, part, rtol=1e-12, atol=1e-12)


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
    thin = StructuredPerceptron().fit([sparse.csr_matrix(x) for x in X], y)
    words = [[{f"w{np.argmax(row):02}": 1.0} for row in x] for x in X]
    named = StructuredPerceptron().fit(words, y)
    for other in (thin, named):
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


def test_it_says_that_it_takes_sequences():
    tags = get_tags(StructuredPerceptron())
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required
