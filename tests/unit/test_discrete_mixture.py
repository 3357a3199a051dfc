"""Mixtures of multinomials and of Bernoulli features: EM by hand, degenerate data, storage, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import BernoulliMixture, MultinomialMixture

RNG = np.random.default_rng(0)
TOPICS = np.array([[0.6, 0.3, 0.05, 0.05], [0.05, 0.05, 0.3, 0.6]])
WORDS = np.array([RNG.multinomial(30, TOPICS[k]) for k in RNG.integers(0, 2, 80)], dtype=np.float64)
MARKS = (RNG.uniform(size=(80, 6)) < np.where(np.arange(80)[:, None] < 30, 0.8, 0.2)).astype(np.float64)


def joint(model, X):
    """log pi_k + log p(x | k) by definition."""
    q, log_pi = np.exp(model.feature_log_prob_), np.log(model.weights_)
    if type(model) is MultinomialMixture:
        return log_pi + X @ np.log(q).T
    return log_pi + X @ np.log(q).T + (1.0 - X) @ np.log(1.0 - q).T


@pytest.mark.parametrize(("cls", "X"), [(MultinomialMixture, WORDS), (BernoulliMixture, MARKS)])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_step_by_hand(cls, X, alpha):
    """A second model that starts where the first ended has taken the step that responsibilities and counts give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = cls(2, alpha=alpha, max_iter=2, tol=0.0, init_params="random", random_state=0).fit(X)
        q = np.exp(start.feature_log_prob_)
        q = q / q.sum(axis=1, keepdims=True) if cls is MultinomialMixture else q
        known = {"weights_init": start.weights_ / start.weights_.sum(), "probabilities_init": q}
        after = cls(2, alpha=alpha, max_iter=1, tol=0.0, **known).fit(X)
    z = joint(start, X)
    r = np.exp(z - logsumexp(z, axis=1, keepdims=True))
    counts = r.T @ X + alpha
    below = counts.sum(axis=1, keepdims=True) if cls is MultinomialMixture else r.sum(axis=0)[:, None] + 2.0 * alpha
    np.testing.assert_allclose(after.weights_, r.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(np.exp(after.feature_log_prob_), counts / below, rtol=1e-12)


@pytest.mark.parametrize(("cls", "X"), [(MultinomialMixture, WORDS), (BernoulliMixture, MARKS)])
def test_answers_by_definition_dense_and_sparse(cls, X):
    model, thin = (cls(2, tol=1e-9, max_iter=1000, random_state=0).fit(rows) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.feature_log_prob_, model.feature_log_prob_, rtol=1e-9)
    z = joint(model, X)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(z, axis=1), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(z - logsumexp(z, axis=1, keepdims=True)), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.argmax(z, axis=1))
    assert model.bic(X) > model.aic(X)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-9)
    assert tenfold.certify(model, X).ok


def test_topics_are_recovered():
    model = MultinomialMixture(2, alpha=0.0, tol=1e-9, max_iter=1000, random_state=0).fit(WORDS)
    order = np.argsort(-model.feature_log_prob_[:, 0])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[order]), TOPICS, atol=0.05)
    drawn, which = model.sample(50, length=12)
    assert drawn.shape == (50, 4)
    assert np.all(drawn.sum(axis=1) == 12)
    assert (model.predict(drawn) == which).mean() > 0.9
    marks, _ = BernoulliMixture(2, random_state=0).fit(MARKS).sample(10)
    assert set(np.unique(marks)) <= {0.0, 1.0}


@pytest.mark.parametrize("cls", [MultinomialMixture, BernoulliMixture])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("init", ["kmeans", "random", "random_from_data"])
@pytest.mark.parametrize("X", [np.ones((6, 3)), np.repeat(np.eye(3), 2, axis=0), np.eye(4)[:, :3]])
def test_degenerate_data(cls, alpha, init, X):
    """Equal samples, more components than distinct samples, and a sample of zeros."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        model = cls(4, alpha=alpha, init_params=init, random_state=0, max_iter=2000, tol=1e-6).fit(X)
    assert model.certificate_.ok
    assert np.all(np.isfinite(model.score_samples(X)))


def test_weights_are_repetitions_and_priors_count():
    weight = np.arange(80) % 3
    known = {"weights_init": [0.5, 0.5], "probabilities_init": TOPICS, "tol": 1e-10, "max_iter": 2000}
    one = MultinomialMixture(2, **known).fit(WORDS, sample_weight=weight)
    other = MultinomialMixture(2, **known).fit(np.repeat(WORDS, weight, axis=0))
    np.testing.assert_allclose(one.feature_log_prob_, other.feature_log_prob_, rtol=1e-8)
    even = MultinomialMixture(2, weight_concentration_prior=1e6, **known).fit(WORDS)
    np.testing.assert_allclose(even.weights_, 0.5, atol=1e-3)
    assert even.certificate_.ok


def test_warm_start_goes_on():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BernoulliMixture(3, warm_start=True, max_iter=2, tol=0.0, init_params="random", random_state=0)
        first = model.fit(MARKS).lower_bound_
        assert model.fit(MARKS).lower_bound_ > first


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (MultinomialMixture(2), -WORDS, "Negative values in data passed to MultinomialMixture"),
        (MultinomialMixture(2, alpha=0.0), np.zeros((4, 3)), "All counts are zero"),
        (MultinomialMixture(90), WORDS, "n_samples >= n_components"),
        (BernoulliMixture(2, binarize=None), WORDS, "between 0 and 1"),
        (BernoulliMixture(2, binarize=-1.0), sparse.csr_array(MARKS), "Cannot binarize a sparse matrix"),
        (BernoulliMixture(2, probabilities_init=[[0.5]]), MARKS, "should have the shape"),
        (BernoulliMixture(2, probabilities_init=np.full((2, 6), 1.5)), MARKS, "range"),
        (MultinomialMixture(2, probabilities_init=np.full((2, 4), 0.5)), WORDS, "sum to one"),
        (MultinomialMixture(2, alpha=-1.0), WORDS, "alpha"),
        (MultinomialMixture(2), WORDS[:1], "minimum of 2"),
    ],
)
def test_bad_input(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)
