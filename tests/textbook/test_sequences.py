"""Texts as counts and as sequences of words: Seeger, sections 6.5, 12.2.1 and 12.3.2."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from tenfold import (
    BernoulliMixture,
    BigramClassifier,
    BigramModel,
    CountVectorizer,
    MultinomialMixture,
    MultinomialNB,
)


def test_seeger_6_5_words_are_counted_in_any_order():
    """phi(x) has one count a word, and they sum to the length: the order of words does not matter."""
    texts = ["the cat and the dog", "dog the and cat the", "a bird"]
    counter = CountVectorizer(token_pattern=r"\w+", stop_words=["and", "a"])
    counts = counter.fit_transform(texts).toarray()
    assert counter.get_feature_names_out().tolist() == ["bird", "cat", "dog", "the"]
    np.testing.assert_array_equal(counts, [[0, 1, 1, 2], [0, 1, 1, 2], [1, 0, 0, 0]])
    present = CountVectorizer(token_pattern=r"\w+", stop_words=["and", "a"], binary=True).fit_transform(texts)
    np.testing.assert_array_equal(present.toarray(), np.minimum(counts, 1))


def test_seeger_6_5_1_documents_are_told_apart_by_sums_of_log_odds():
    """y_k = sum_m phi_m log p_m^(k) + log P(k), with p_m^(k) = N^(k,m) / sum_m' N^(k,m') and P(k) = n_k / n."""
    rng = np.random.default_rng(0)
    t = np.arange(60) % 3 == 0
    counts = np.stack([rng.multinomial(20, [0.5, 0.3, 0.2] if one else [0.2, 0.3, 0.5]) for one in t]).astype(float)
    model = MultinomialNB(alpha=0.0).fit(counts, t)
    p = np.stack([counts[t == k].sum(axis=0) / counts[t == k].sum() for k in (False, True)])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), p, rtol=1e-12)
    y = counts @ np.log(p).T + np.log([np.mean(~t), np.mean(t)])
    np.testing.assert_array_equal(model.predict(counts), y[:, 1] > y[:, 0])
    odds = np.exp(y - logsumexp(y, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(counts), odds, atol=1e-12)


@pytest.mark.parametrize("cls", [MultinomialMixture, BernoulliMixture])
def test_seeger_12_2_1_mixtures_of_discrete_data(cls):
    """At rest the parameters are those of naive Bayes whose labels are the responsibilities."""
    rng = np.random.default_rng(1)
    which = rng.uniform(size=150) < 0.4
    p = np.where(which[:, None], [0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5])
    if cls is MultinomialMixture:
        X = np.stack([rng.multinomial(25, row) for row in p]).astype(float)
    else:
        X = (rng.uniform(size=(150, 4)) < 1.6 * p).astype(float)
    model = cls(2, alpha=0.0, tol=1e-13, max_iter=20_000, random_state=0).fit(X)
    r = model.predict_proba(X)
    counts = r.T @ X
    below = counts.sum(axis=1, keepdims=True) if cls is MultinomialMixture else r.sum(axis=0)[:, None]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), counts / below, atol=1e-5)
    np.testing.assert_allclose(model.weights_, r.mean(axis=0), atol=1e-5)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-12)


def test_seeger_12_3_2_bigrams_of_complete_documents_are_frequencies():
    """p_a|b = phi_a|b / sum_a' phi_a'|b, and the first word from the empty one."""
    X = [["to", "be", "or", "not", "to", "be"], ["to", "do"], ["or", "not"]]
    model = BigramModel(alpha=0.0).fit(X)
    words = model.vocabulary_.tolist()
    counts = np.zeros((len(words), len(words)))
    for document in X:
        for before, after in itertools.pairwise(document):
            counts[words.index(before), words.index(after)] += 1.0
    followed = counts.sum(axis=1) > 0
    expected = counts[followed] / counts[followed].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(model.transition_log_prob_[followed]), expected, atol=1e-15)
    assert np.exp(model.start_log_prob_[words.index("to")]) == pytest.approx(2 / 3)
    # P(x) is the product along the document
    assert model.score_samples([["to", "be", "or"]])[0] == pytest.approx(np.log(2 / 3 * 2 / 3))


def test_seeger_figure_12_4_a_missing_second_word():
    """(12.4): Q(x_2 = c) = p_x3|c p_c|x1 / sum_c' p_x3|c' p_c'|x1, which all completions give, too."""
    rng = np.random.default_rng(2)
    words = ["a", "b", "c", "d"]
    X = [[words[k] for k in rng.integers(0, 4, 5)] for _ in range(30)]
    model = BigramModel(alpha=0.5).fit(X)
    p, start = np.exp(model.transition_log_prob_), np.exp(model.start_log_prob_)
    x1, x3, x4 = 0, 2, 1
    posterior = p[x1] * p[:, x3] / np.sum(p[x1] * p[:, x3])
    paths = np.array([start[x1] * p[x1, c] * p[c, x3] * p[x3, x4] for c in range(4)])
    np.testing.assert_allclose(posterior, paths / paths.sum(), rtol=1e-12)
    gap = [["a", None, "c", "b"]]
    assert model.score_samples(gap)[0] == pytest.approx(np.log(paths.sum()))
    assert model.fill(gap) == [["a", words[int(np.argmax(posterior))], "c", "b"]]


def draw_with_gaps(p, rng, count):
    """Documents of nine words, of which no two in a row are missing, neither the first nor the last."""
    documents = []
    for _ in range(count):
        path = [int(rng.integers(4))]
        while len(path) < 9:
            path.append(int(rng.choice(4, p=p[path[-1]])))
        gone = {j for j in (1, 3, 5, 7) if rng.uniform() < 0.7}
        documents.append([None if j in gone else f"w{k}" for j, k in enumerate(path)])
    return documents


def test_seeger_12_3_2_gaps_are_better_filled_than_cut_at():
    """Bigrams by EM with missing words are nearer to the truth than those of the pieces between the gaps."""
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.full(4, 0.4), 4)
        documents = draw_with_gaps(p, rng, 60)
        filled = BigramModel(alpha=0.1, tol=1e-6, max_iter=500).fit(documents)
        groups = [itertools.groupby(words, key=lambda word: word is not None) for words in documents]
        cut = BigramModel(alpha=0.1).fit([list(piece) for group in groups for known, piece in group if known])
        assert np.all(np.diff(filled.lower_bounds_) >= -1e-9)
        assert cut.vocabulary_.tolist() == filled.vocabulary_.tolist() == ["w0", "w1", "w2", "w3"]
        errors.append([np.abs(np.exp(model.transition_log_prob_) - p).mean() for model in (filled, cut)])
    assert np.mean(errors, axis=0)[0] < 0.9 * np.mean(errors, axis=0)[1]


def test_seeger_12_3_2_bigrams_tell_documents_of_the_same_words_apart():
    """Bags of words are the same in both classes, and pairs of words are not."""
    rng = np.random.default_rng(4)
    forward, documents, t = np.roll(np.eye(3), 1, axis=1), [], []
    for i in range(120):
        step = 0.2 + 0.4 * (forward if i % 2 else forward.T)
        path = [int(rng.integers(3))]
        while len(path) < 12:
            path.append(int(rng.choice(3, p=step[path[-1]] / step[path[-1]].sum())))
        documents.append([f"w{k}" for k in path])
        t.append(i % 2)
    model = BigramClassifier().fit(documents[:80], t[:80])
    assert model.score(documents[80:], t[80:]) > 0.75
    counter = CountVectorizer(token_pattern=r"\w+")
    bags = counter.fit_transform([" ".join(document) for document in documents])
    assert MultinomialNB().fit(bags[:80], t[:80]).score(bags[80:], t[80:]) < 0.65
