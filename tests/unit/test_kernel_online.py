"""Learners of kernel coefficients that look at samples one after the other: perceptrons, stochastic gradients."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import tenfold
from tenfold import (
    KernelPerceptron,
    KernelSGD,
    KernelSGDClassifier,
    Perceptron,
    Tikhonov,
    TikhonovClassifier,
    VotedPerceptron,
    certify,
    kernels,
    losses,
)


def rings(n=120, count=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.digitize(np.hypot(X[:, 0], X[:, 1]), [1.0, 1.6][: count - 1])


def slow_perceptron(K, y, count, passes):
    """The rule written out: coefficients after each update, and the mistakes in order."""
    n = len(K)
    signs = np.where(y == 1, 1.0, -1.0)
    a, mistakes, means, votes = (
        np.zeros((n, 1 if count == 2 else count)),
        [],
        np.zeros((n, 1 if count == 2 else count)),
        [],
    )
    for _ in range(passes):
        before = len(mistakes)
        for i in range(n):
            f = K[i] @ a
            if count == 2:
                if signs[i] * f[0] <= 0.0:
                    a[i, 0] += signs[i]
                    mistakes.append(i)
                    votes.append(0)
            else:
                others = np.where(np.arange(count) == y[i], -np.inf, f)
                if f[y[i]] <= others.max():
                    a[i, y[i]] += 1.0
                    a[i, others.argmax()] -= 1.0
                    mistakes.append(i)
                    votes.append(0)
            means = means + a
            if votes:
                votes[-1] += 1
        if len(mistakes) == before:
            break
    return a, mistakes, means, votes


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("prediction", ["last", "averaged", "voted"])
def test_perceptron_is_the_rule_written_out(count, prediction):
    X, y = rings(count=count)
    model = KernelPerceptron(gamma=2.0, prediction=prediction, shuffle=False, max_iter=4).fit(X, y)
    K = kernels.Gaussian(0.5).block(X)
    a, mistakes, means, votes = slow_perceptron(K, y, count, 4)
    assert model.mistakes_.tolist() == mistakes
    order = list(dict.fromkeys(mistakes))
    np.testing.assert_array_equal(model.support_vectors_, X[order])
    wanted = means[order] / model.t_ if prediction == "averaged" else a[order]
    np.testing.assert_allclose(model.dual_coef_.reshape(len(order), -1), wanted, atol=1e-12)
    if prediction == "voted":
        assert model.votes_.tolist()[:-1] == votes[:-1]
        assert model.votes_[-1] >= votes[-1]


def test_a_linear_kernel_is_the_perceptron():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = (X @ [1.0, -1.0, 0.5] > 0.0).astype(int)
    linear = Perceptron(fit_intercept=False, shuffle=False, tol=None).fit(X, y)
    model = KernelPerceptron("linear", shuffle=False).fit(X, y)
    assert model.n_mistakes_ == linear.n_mistakes_
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, linear.coef_[0], atol=1e-9)
    voted = VotedPerceptron(fit_intercept=False, shuffle=False).fit(X, y)
    votes = KernelPerceptron("linear", shuffle=False, prediction="voted").fit(X, y).votes_
    np.testing.assert_array_equal(votes[:-1], voted.votes_[:-1])


def test_rows_that_are_not_kept_give_the_same(monkeypatch):
    X, y = rings(count=3)
    whole = KernelPerceptron(gamma=2.0, random_state=1).fit(X, y)
    monkeypatch.setattr("tenfold.plans.kernel_perceptron.KEPT_VALUES", 0)
    rows = KernelPerceptron(gamma=2.0, random_state=1).fit(X, y)
    np.testing.assert_array_equal(rows.dual_coef_, whole.dual_coef_)


@pytest.mark.parametrize("prediction", ["last", "averaged", "voted"])
def test_parts_are_one_pass(prediction):
    X, y = rings(count=3)
    whole = KernelPerceptron(gamma=2.0, shuffle=False, max_iter=1, prediction=prediction).fit(X, y)
    parts = KernelPerceptron(gamma=2.0, prediction=prediction)
    for start in range(0, len(y), 17):
        parts.partial_fit(X[start : start + 17], y[start : start + 17], classes=[0, 1, 2])
    assert parts.status_ == "not judged"
    assert parts.n_mistakes_ == whole.n_mistakes_
    np.testing.assert_allclose(parts.dual_coef_, whole.dual_coef_, atol=1e-9)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert certify(parts, X, y).value == certify(whole, X, y).value


@pytest.mark.parametrize("removal", ["oldest", "random"])
def test_a_budget_is_kept(removal):
    X, y = rings(400)
    y = np.where(np.random.default_rng(1).random(400) < 0.1, 1 - y, y)
    model = KernelPerceptron(gamma=2.0, budget=30, removal=removal, max_iter=5).fit(X, y)
    assert len(model.support_vectors_) == 30
    assert model.n_mistakes_ > 30
    assert model.score(X, y) > 0.6
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
        assert len(model.support_vectors_) <= 30
    enough = KernelPerceptron(gamma=2.0, budget=400).fit(*rings(100))
    free = KernelPerceptron(gamma=2.0).fit(*rings(100))
    np.testing.assert_array_equal(enough.dual_coef_, free.dual_coef_)


def test_mistakes_are_within_their_bound():
    """And the bound is recomputed; a changed model is refused."""
    for count in (2, 3):
        X, y = rings(count=count)
        for prediction in ("last", "averaged", "voted"):
            model = KernelPerceptron(gamma=2.0, prediction=prediction, max_iter=1000).fit(X, y)
            assert model.certificate_.ok
            assert model.n_mistakes_ <= model.mistake_bound_ < np.inf
            for name in ("dual_coef_", "support_vectors_", "mistake_bound_"):
                other = copy.copy(model)
                setattr(other, name, 1.001 * getattr(model, name))
                assert not certify(other, X, y).ok, (prediction, name)
            other = copy.copy(model)
            other.kernel_ = kernels.Gaussian(0.6)
            assert not certify(other, X, y).ok
            if prediction == "voted":
                other = copy.copy(model)
                other.votes_ = model.votes_[::-1]
                assert not certify(other, X, y).ok


def test_mistakes_are_counted_again():
    X, y = rings()
    model = KernelPerceptron(gamma=2.0).fit(X, y)
    flipped = y.copy()
    flipped[[3, 50, 70]] = 1 - y[[3, 50, 70]]
    certificate = certify(model, X, flipped)
    assert not certificate.ok
    overlap = KernelPerceptron(gamma=1e-3, max_iter=3).fit(X, flipped)
    z = overlap.decision_function(X)
    wrong = np.where(flipped == 1, z, -z) <= 0.0
    assert overlap.certificate_.value >= wrong.sum() > 0
    assert overlap.mistake_bound_ == np.inf


def test_weights_are_steps_and_none_is_none():
    X, y = rings()
    weight = np.ones(len(y))
    weight[5] = 0.0
    model = KernelPerceptron(gamma=2.0, shuffle=False).fit(X, y, sample_weight=weight)
    without = KernelPerceptron(gamma=2.0, shuffle=False).fit(np.delete(X, 5, 0), np.delete(y, 5))
    np.testing.assert_allclose(model.decision_function(X), without.decision_function(X), atol=1e-12)
    heavy = KernelPerceptron(gamma=2.0, shuffle=False).fit(X, y, sample_weight=2.0 * np.ones(len(y)))
    plain = KernelPerceptron(gamma=2.0, shuffle=False).fit(X, y)
    np.testing.assert_allclose(heavy.dual_coef_, 2.0 * plain.dual_coef_)
    in_csr = KernelPerceptron(gamma=2.0, shuffle=False).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(in_csr.decision_function(X), plain.decision_function(X), atol=1e-9)


def test_errors_of_the_perceptron():
    X, y = rings(20)
    with pytest.raises(ValueError, match="precomputed"):
        KernelPerceptron("precomputed").fit(np.eye(20), y)
    with pytest.raises(ValueError, match="prediction='last'"):
        KernelPerceptron(budget=5, prediction="voted").fit(X, y)
    with pytest.raises(ValueError, match="classes must be passed"):
        KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="not supported for partial_fit"):
        KernelPerceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(NotFittedError):
        KernelPerceptron().predict(X)
    assert tenfold.KernelPerceptron is KernelPerceptron


def test_stochastic_gradients_are_the_rule_written_out():
    """Batches of three in order, with weights, without averaging."""
    X, y = rings(30)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    signs, s = np.where(y == 1, 1.0, -1.0), weight / weight.mean()
    model = KernelSGDClassifier(
        "logistic", alpha=0.1, gamma=0.5, batch_size=3, max_iter=2, shuffle=False, average=False, eta0=0.7
    ).fit(X, y, sample_weight=weight)
    K = kernels.Gaussian(1.0).block(X)
    c, b, t = np.zeros(30), 0.0, 0
    for _ in range(2):
        for start in range(0, 30, 3):
            some = np.arange(start, start + 3)
            eta = 0.7 / (1.0 + 0.7 * 0.1 * t)
            u = -s[some] * signs[some] / (1.0 + np.exp(signs[some] * (K[some] @ c + b))) / 3.0
            c *= 1.0 - eta * 0.1
            c[some] -= eta * u
            b -= eta * u.sum()
            t += 1
    np.testing.assert_allclose(model.dual_coef_, c, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-12)


@pytest.mark.parametrize("loss", ["square", "huber", "laplace"])
def test_passes_go_towards_the_minimum(loss):
    X, _ = rings(100)
    y = np.sin(2.0 * X[:, 0])
    gaps = []
    for passes in (2, 200):
        model = KernelSGD(loss, alpha=0.01, max_iter=passes).fit(X, y)
        assert model.status_ == "not judged"
        assert not model.certificate_.ok
        certificate = certify(model, X, y)
        best = Tikhonov(loss, alpha=0.01).fit(X, y).certificate_
        assert certificate.value >= certificate.objective - best.objective - best.value
        gaps.append(certificate.objective - best.objective)
    assert gaps[1] < 0.2 * gaps[0]


def test_a_minimum_that_is_put_in_is_certified():
    X, y = rings(80, count=3)
    best = TikhonovClassifier("softmax", alpha=0.01).fit(X, y)
    model = KernelSGDClassifier("softmax", alpha=0.01).fit(X, y)
    assert not certify(model, X, y).ok
    model.dual_coef_, model.intercept_ = best.dual_coef_, best.intercept_
    assert certify(model, X, y).ok
    model.dual_coef_ = 1.1 * model.dual_coef_
    assert not certify(model, X, y).ok


def test_blocks_that_are_not_kept_and_given_kernels_give_the_same(monkeypatch):
    X, y = rings(50)
    weight = np.ones(50)
    weight[[3, 9]] = 0.0
    K = kernels.Gaussian(1.0).block(X)
    model = KernelSGDClassifier("hinge", gamma=0.5).fit(X, y, sample_weight=weight)
    given = KernelSGDClassifier("hinge", kernel="precomputed").fit(K, y, sample_weight=weight)
    monkeypatch.setattr("tenfold.plans.kernel_sgd.KEPT_VALUES", 0)
    rows = KernelSGDClassifier("hinge", gamma=0.5).fit(X, y, sample_weight=weight)
    for other in (given, rows):
        np.testing.assert_allclose(other.dual_coef_, model.dual_coef_, atol=1e-9)
    assert np.all(model.dual_coef_[[3, 9]] == 0.0)


def test_errors_of_stochastic_gradients():
    X, y = rings(20)
    with pytest.raises(ValueError, match="Lower eta0"):
        KernelSGD(eta0=1e6, alpha=1e-9, learning_rate="constant", max_iter=200).fit(X, y.astype(float))
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        KernelSGDClassifier(losses.JointHinge()).fit(*rings(30, count=3))
