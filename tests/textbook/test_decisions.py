"""Worked numbers on decisions and evaluation: Seeger 5.1, 5.2, 6.4.2 and 11.2; Welling 6.3; Cookbook 5."""

import numpy as np
import pytest
from scipy.special import expit, ndtr

from tenfold import KernelFisherDiscriminant, LinearDiscriminantAnalysis, evaluate
from tenfold.datasets import BOXES_AND_FRUIT, make_cauchy, make_gaussian_classes
from tenfold.decide import (
    bayes_decisions,
    best_error,
    best_threshold,
    chow,
    expected_loss,
    reweight,
    screening_loss,
    threshold,
    with_reject,
)


def test_seeger_5_1_boxes_and_fruit():
    """The box of an orange: red with 2/3; of an apple: blue with 9/11; the best decisions are wrong with 1/4."""
    fruit = {f: np.array([BOXES_AND_FRUIT[f, box] for box in ("red", "blue")]) for f in ("apple", "orange")}
    posterior = {f: joint / joint.sum() for f, joint in fruit.items()}
    np.testing.assert_allclose(posterior["orange"], [2 / 3, 1 / 3])
    np.testing.assert_allclose(posterior["apple"], [2 / 11, 9 / 11])
    shares = np.array([11 / 20, 9 / 20])
    result = bayes_decisions([posterior["apple"], posterior["orange"]], with_reject(2, 1.0))
    assert result.choice.tolist() == [1, 0]
    # 1/10 of apples from red boxes and 3/20 of oranges from blue ones are told wrong
    assert result.risk @ shares == pytest.approx(1 / 10 + 3 / 20)
    # two fruits of the same box: P(second orange | first orange) = 7/12
    assert posterior["orange"] @ [3 / 4, 1 / 4] == pytest.approx(7 / 12)


@pytest.mark.parametrize("factor", [1.0, 10.0, 500.0])
def test_seeger_5_2_4_screening_moves_the_threshold_by_the_log_of_the_factor(factor):
    loss = screening_loss(factor)
    cut = threshold(loss)
    assert cut.log_odds == pytest.approx(-np.log(factor))
    assert cut.probability == pytest.approx(1.0 / (1.0 + factor))
    p = np.linspace(0.0, 1.0, 2001)
    decided = bayes_decisions(p, loss).choice
    clear = np.abs(p - cut.probability) > 1e-9
    np.testing.assert_array_equal(decided[clear], (p > cut.probability)[clear])


def test_seeger_5_2_4_general_threshold_and_its_limits():
    loss = [[1.0, 7.0], [4.0, 2.0]]  # log (L10 - L00) / (L01 - L11)
    assert threshold(loss).log_odds == pytest.approx(np.log(3.0 / 5.0))
    # the factor grows without limit: always positive
    assert np.all(bayes_decisions(np.linspace(1e-6, 1.0, 100), screening_loss(1e12)).choice == 1)
    # Welling 6.3: theta = -inf always says 1, theta = +inf always 0
    assert threshold([[0.0, 1.0], [0.0, 0.0]]).log_odds == -np.inf
    assert threshold([[0.0, 0.0], [1.0, 0.0]]).log_odds == np.inf


def test_seeger_5_2_4_rejecting_is_an_extra_row():
    """With one for every mistake: don't know where the likeliest class has less than 1 - c."""
    p = np.random.default_rng(0).dirichlet(np.ones(4), 500)
    for cost in (0.05, 0.3, 0.74):
        by_rows = bayes_decisions(p, with_reject(4, cost)).choice
        rule = chow(p, cost)
        np.testing.assert_array_equal(np.where(by_rows == 4, -1, by_rows), rule)
        np.testing.assert_array_equal(rule == -1, p.max(axis=1) < 1.0 - cost)


def test_seeger_5_2_1_bayes_errors_from_posteriors():
    """R* = E min_k P(k | x): Cauchy classes 1/2 - arctan(D)/pi, Gaussian ones Phi(-|w|/2)."""
    for distance, error in ((1.0, 0.25), (2.0, 0.14758), (5.0, 0.06283)):
        X, _ = make_cauchy(100_000, distance=distance, random_state=0)
        odds = (1.0 + (X[:, 0] + distance) ** 2) / (1.0 + (X[:, 0] - distance) ** 2)
        result = best_error(odds / (1.0 + odds))
        assert result.value == pytest.approx(error, abs=0.002)
        assert result.low < error < result.high or abs(result.value - error) < 0.001
    for apart, error in ((1.0, 0.30854), (2.0, 0.15866), (3.0, 0.06681), (4.0, 0.02275)):
        assert ndtr(-apart / 2.0) == pytest.approx(error, abs=5e-6)
        X, _ = make_gaussian_classes(100_000, means=[[-apart / 2], [apart / 2]], covariances=1.0, random_state=0)
        assert best_error(expit(apart * X[:, 0])).value == pytest.approx(error, abs=0.002)


def test_seeger_6_4_2_unequal_shares():
    """|w| = 2 and P(+) = 0.8: the best error is 0.11207, reached with posteriors reweighted from equal shares."""
    X, y = make_gaussian_classes(200_000, means=[[-1.0], [1.0]], covariances=1.0, priors=[0.2, 0.8], random_state=1)
    trained = expit(2.0 * X[:, 0])
    moved = reweight(trained, [0.2, 0.8], [0.5, 0.5])
    np.testing.assert_allclose(moved[:, 1], expit(2.0 * X[:, 0] + np.log(4.0)), rtol=1e-10)
    wrong = np.mean(np.argmax(moved, axis=1) != y)
    assert wrong == pytest.approx(0.11207, abs=0.002)
    assert np.mean((trained > 0.5) != y) > wrong + 0.03


def test_seeger_5_2_4_expected_loss_is_linear_in_the_posterior():
    loss = np.random.default_rng(1).random((5, 3))
    p = np.random.default_rng(2).dirichlet(np.ones(3), 7)
    np.testing.assert_allclose(expected_loss(p, loss), p @ loss.T)


@pytest.mark.parametrize("seed", range(4))
def test_seeger_11_2_fisher_direction_with_a_fitted_threshold(seed):
    """u = S_W^-1 d / ||.|| maximises (u'd)^2 / u' S_W u, and b is where the training error is smallest."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(size=120) < 0.3
    X = rng.standard_normal((120, 2)) * np.where(t[:, None], [3.0, 1.0], [1.0, 0.3]) @ [[1.0, 0.6], [0.0, 1.0]]
    X[t] += [2.0, -1.0]
    d = X[t].mean(axis=0) - X[~t].mean(axis=0)
    within = sum(np.cov(X[part].T, bias=True) * np.mean(part) for part in (t, ~t))
    u = np.linalg.solve(within, d)
    u /= np.linalg.norm(u)
    model = LinearDiscriminantAnalysis().fit(X, t)
    np.testing.assert_allclose(model.coef_[0] / np.linalg.norm(model.coef_[0]), u, rtol=1e-9)
    ratio = (u @ d) ** 2 / (u @ within @ u)
    assert ratio == pytest.approx(d @ np.linalg.solve(within, d))
    others = rng.standard_normal((200, 2))
    assert np.all((others @ d) ** 2 / np.einsum("ij,jk,ik->i", others, within, others) <= ratio * (1.0 + 1e-12))
    # every cut of the scores, by counting
    z = X @ u
    found = best_threshold(t, z, screening_loss(1.0))
    errors = [np.mean((z > cut) != t) for cut in np.concatenate([[-np.inf], z])]
    assert found.loss == pytest.approx(min(errors))
    assert np.mean((z > found.cut) != t) == pytest.approx(min(errors))
    own = model.decision_function(X)
    assert best_threshold(t, own, screening_loss(1.0)).loss == pytest.approx(min(errors))
    assert min(errors) <= np.mean((own > 0.0) != t)


def test_seeger_11_2_the_threshold_is_fitted_to_a_direction_of_kernels_too():
    """Classes of unequal variance: the cut at the middle of the means is not the best."""
    rng = np.random.default_rng(0)
    t = np.arange(200) % 2 == 1
    X = rng.standard_normal((200, 2)) * np.where(t, 3.0, 0.5)[:, None]
    model = KernelFisherDiscriminant(beta=1.0, gamma=0.2).fit(X, t)
    z = model.transform(X)[:, 0]
    z = z if z[t].mean() > z[~t].mean() else -z
    middle = 0.5 * (z[t].mean() + z[~t].mean())
    found = best_threshold(t, z, screening_loss(1.0))
    assert found.loss == pytest.approx(np.mean((z > found.cut) != t))
    assert found.loss < np.mean((z > middle) != t)


def test_cookbook_5_the_five_figures():
    """TP 40, FN 10, FP 5, TN 45. The printed table 5.1 has FP in the place of FN, which would give 40/45 for both."""
    y = np.repeat([1, 1, 0, 0], [40, 10, 5, 45])
    said = np.repeat([1, 0, 1, 0], [40, 10, 5, 45])
    result = evaluate(y, said)
    assert result.confusion.tolist() == [[45, 5], [10, 40]]
    for name, value in {
        "accuracy": 85 / 100,
        "sensitivity": 40 / 50,
        "specificity": 45 / 50,
        "precision": 40 / 45,
        "f1": 2 * (40 / 45) * (40 / 50) / (40 / 45 + 40 / 50),
    }.items():
        assert result[name].value == pytest.approx(value), name
    # type I and II errors are what is missing from specificity and sensitivity
    assert 1.0 - result["specificity"].value == pytest.approx(5 / 50)
    assert 1.0 - result["sensitivity"].value == pytest.approx(10 / 50)


def test_cookbook_5_sweeping_the_threshold_makes_the_curve():
    """Welling 6.3 and Cookbook 5: x = FPR, y = TPR at every threshold, from none to all."""
    score = np.array([0.1, 0.4, 0.35, 0.8])
    y = np.array([0, 0, 1, 1])
    curve = evaluate(y, score=score).roc[1]
    for cut, false, true in zip(curve.thresholds, curve.false_positives, curve.true_positives, strict=True):
        assert false == np.mean(score[y == 0] >= cut)
        assert true == np.mean(score[y == 1] >= cut)
    assert (curve.false_positives[0], curve.true_positives[-1]) == (0.0, 1.0)
