"""Bigram models: counts, gaps by enumeration, EM with missing words, the classifier, tampering and what is refused."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import BigramClassifier, BigramModel

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.full(4, 0.5), 4)
WORDS = np.array(["a", "b", "c", "d"])


def draw(n, length, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(n):
        path = [int(rng.integers(4))]
        while len(path) < length:
            path.append(int(rng.choice(4, p=P[path[-1]])))
        result.append([None if rng.uniform() < missing else str(WORDS[k]) for k in path])
    return result


def probability(model, words):
    """The probability of a sequence, with missing words, by enumeration."""
    known = model.vocabulary_.tolist()
    start, transition = np.exp(model.start_log_prob_), np.exp(model.transition_log_prob_)
    choices = [range(len(known)) if word is None else [known.index(word)] for word in words]
    total = 0.0
    for path in itertools.product(*choices):
        total += start[path[0]] * np.prod([transition[i, j] for i, j in itertools.pairwise(path)])
    return total


def test_frequencies_of_complete_sequences():
    model = BigramModel(alpha=0.0).fit([["a", "b", "a"], ["a", "b", "b"], []])
    np.testing.assert_allclose(np.exp(model.start_log_prob_), [1.0, 0.0])
    np.testing.assert_allclose(np.exp(model.transition_log_prob_), [[0.0, 1.0], [0.5, 0.5]])
    assert model.certificate_.ok
    smooth = BigramModel(alpha=1.0).fit([["a", "b", "a"], ["a", "b", "b"]])
    np.testing.assert_allclose(np.exp(smooth.transition_log_prob_), [[0.25, 0.75], [0.5, 0.5]])


@pytest.mark.parametrize(
    "words", [["a", None, "b"], [None, "c"], [None, None, "a", None], ["d", None, None, None, "a"], [None], [], ["b"]]
)
def test_scores_by_enumeration(words):
    model = BigramModel(alpha=0.5).fit(draw(30, 6, 1))
    wanted = np.log(probability(model, words)) if words else 0.0
    assert model.score_samples([words])[0] == pytest.approx(wanted, abs=1e-12)


def test_a_missing_word_by_hand():
    """Seeger, equation 12.4: the posterior of x_2 between x_1 and x_3, and one step of EM from it."""
    X = [["a", None, "c"], ["a", "b", "c"], ["a", "d", "b"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = BigramModel(alpha=0.5, max_iter=1, tol=0.0).fit(X)
        two = BigramModel(alpha=0.5, max_iter=2, tol=0.0).fit(X)
    Q = np.exp(one.transition_log_prob_)
    share = Q[0] * Q[:, 2]
    share /= share.sum()
    counts = np.full((4, 4), 0.5)
    for i, j in ((0, 1), (1, 2), (0, 3), (3, 1)):
        counts[i, j] += 1.0
    counts[0] += share
    counts[:, 2] += share
    np.testing.assert_allclose(np.exp(two.transition_log_prob_), counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_em_rises_and_recovers_transitions(alpha):
    X = draw(600, 8, 2, missing=0.25)
    model = BigramModel(alpha=alpha, tol=1e-7, max_iter=2000).fit(X)
    assert model.certificate_.ok
    assert tenfold.certify(model, X).ok
    assert np.all(np.diff(model.lower_bounds_) >= -1e-9)
    np.testing.assert_allclose(np.exp(model.transition_log_prob_), P, atol=0.08)
    if alpha == 0.0:
        assert model.lower_bound_ == pytest.approx(model.score(X), abs=1e-5)


def test_weights_are_repetitions():
    X, weight = draw(20, 6, 3, missing=0.3), np.arange(20) % 3
    one = BigramModel(tol=1e-9, max_iter=1000).fit(X, sample_weight=weight)
    other = BigramModel(tol=1e-9, max_iter=1000).fit([x for x, w in zip(X, weight, strict=True) for _ in range(w)])
    np.testing.assert_allclose(one.transition_log_prob_, other.transition_log_prob_, rtol=1e-6)


def test_fill_is_the_most_probable_completion():
    model = BigramModel().fit(draw(100, 6, 4))
    for words in (["a", None, "b"], [None, None, "c", None], ["d", None, None, "a"]):
        places = [WORDS if word is None else [word] for word in words]
        best = max(itertools.product(*places), key=lambda path: probability(model, [str(w) for w in path]))
        assert probability(model, model.fill([words])[0]) == pytest.approx(probability(model, [str(w) for w in best]))
    assert all(len(words) == 5 for words in model.sample(3, length=5, random_state=0))


@pytest.mark.parametrize("name", ["start_log_prob_", "transition_log_prob_", "lower_bound_"])
def test_tampered_models_are_refused(name):
    X = draw(50, 6, 5, missing=0.2)
    model = copy.copy(BigramModel(tol=1e-8, max_iter=2000).fit(X))
    value = getattr(model, name)
    setattr(model, name, value + 1.0 if name == "lower_bound_" else np.roll(value, 1, axis=-1))
    assert not tenfold.certify(model, X).ok
    setattr(model, name, value + 0.1)
    assert not tenfold.certify(model, X).ok


def test_classifier_by_the_rule_of_bayes():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 120)
    X = [words if label else words[::-1] for words, label in zip(draw(120, 10, 7), y, strict=True)]
    X[0][1] = None
    model = BigramClassifier().fit(X, y)
    assert model.score(X, y) > 0.7
    log = np.log(np.bincount(y) / 120)
    each = [BigramModel().fit([words for words, label in zip(X, y, strict=True) if label == c]) for c in (0, 1)]
    joint = np.exp(np.column_stack([one.score_samples(X) for one in each]) + log)
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-6)
    assert model.certificate_.ok
    assert tenfold.certify(model, X, y).ok
    worse = copy.copy(model)
    worse.class_log_prior_ = model.class_log_prior_[::-1]
    assert not tenfold.certify(worse, X, y).ok
    np.testing.assert_allclose(model.predict_proba([["never"]])[0], np.exp(log))
    assert model.predict([[]])[0] == np.argmax(log)


def test_cloned_pickled_and_saved(tmp_path):
    X = draw(20, 6, 8, missing=0.2)
    for model in (BigramModel().fit(X), BigramClassifier().fit(X, np.arange(20) % 2)):
        clone(model)
        path = tmp_path / f"{type(model).__name__}.tenfold"
        tenfold.save(model, path)
        for again in (pickle.loads(pickle.dumps(model)), tenfold.load(path)):
            np.testing.assert_array_equal(again.transition_log_prob_, model.transition_log_prob_)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "not empty"),
        ("words", "list of sequences"),
        (["words"], "Sequence 0 must be a list"),
        ([[], [None]], "no words"),
        ([["a", 1]], "all strings, or all numbers"),
    ],
)
def test_bad_sequences(X, message):
    with pytest.raises(ValueError, match=message):
        BigramModel().fit(X)


def test_bad_words_and_labels():
    model = BigramModel().fit([["a", "b"]])
    with pytest.raises(ValueError, match="'z' was not seen"):
        model.score_samples([["a", "z"]])
    free = BigramModel(unknown="missing").fit([["a", "b"]])
    assert free.score_samples([["a", "z"]])[0] == pytest.approx(free.score_samples([["a"]])[0])
    with pytest.raises(ValueError, match="a class for each"):
        BigramClassifier().fit([["a", "b"]], [0, 1])
    with pytest.raises(ValueError, match="no words of positive weight"):
        BigramClassifier().fit([["a", "b"], [None]], [0, 1])
