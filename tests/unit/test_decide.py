"""Losses, thresholds, rejecting, shares of classes, and classifiers that decide."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import GaussianNB, LinearSVC, LogisticRegression, RidgeClassifier, RidgeClassifierCV, evaluate
from tenfold.datasets import make_gaussian_classes
from tenfold.decide import (
    Calibrator,
    DecisionClassifier,
    bayes_decisions,
    best_error,
    best_threshold,
    chow,
    cover_hart,
    estimate_priors,
    expected_loss,
    reject_curve,
    reweight,
    screening_loss,
    threshold,
    with_reject,
)
from tenfold.judge.isotonic import monotone

# losses and thresholds ------------------------------------------------------------------------------------------------


def test_the_module_is_public():
    assert tenfold.decide.chow is chow


@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_threshold_is_the_best_of_all_cuts(weighted):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    score = np.round(rng.standard_normal(60) + y, 1)
    loss = np.array([[0.0, 5.0], [1.0, 0.5]])
    w = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    result = best_threshold(y, score, loss, sample_weight=w if weighted else None)

    def mean(cut: float) -> float:
        return float(np.average(loss[(score > cut).astype(int), y], weights=w))

    np.testing.assert_allclose(result.losses, [mean(cut) for cut in result.cuts], rtol=1e-12)
    tried = [mean(cut) for cut in np.linspace(-4, 5, 2000)]
    assert result.loss == pytest.approx(min(tried))
    assert mean(result.cut) == pytest.approx(result.loss)


def test_empirical_threshold_approaches_the_theoretical():
    X, y = make_gaussian_classes(100_000, random_state=0)
    proba = expit(2.0 * X[:, 0] / 0.36)
    loss = screening_loss(5.0)
    assert best_threshold(y, proba, loss).cut == pytest.approx(threshold(loss).probability, abs=0.05)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: screening_loss(-1.0), "must not be negative"),
        (lambda: with_reject(2, -0.1), "must not be negative"),
        (lambda: chow([0.5], -0.1), "must not be negative"),
        (lambda: expected_loss([0.5], np.eye(3)), "column for each of the 2"),
        (lambda: expected_loss([0.5], [0.0, 1.0]), "row for every decision"),
        (lambda: expected_loss([0.5], [[0.0, np.inf], [1.0, 0.0]]), "finite"),
        (lambda: expected_loss([1.5], np.eye(2)), "must be probabilities"),
        (lambda: expected_loss([[0.5, 0.6]], np.eye(2)), "must be probabilities"),
        (lambda: threshold(with_reject(2, 0.1)), "two decisions"),
        (lambda: threshold([[1.0, 0.0], [0.0, 1.0]]), "wrong order"),
        (lambda: best_threshold([0, 2], [0.1, 0.2], np.eye(2)), "0 or 1"),
        (lambda: best_threshold([0, 1], [0.1, 0.2], with_reject(2, 0.1)), "two decisions"),
        (lambda: best_threshold([0, 1], [0.1, 0.2], np.eye(2), sample_weight=[-1, 1]), "negative"),
        (lambda: reject_curve([0, 5], [[0.5, 0.5], [0.5, 0.5]]), "numbers of the 2 columns"),
        (lambda: cover_hart(1.5), "between 0 and 1"),
        (lambda: reweight([0.5], [0.5, 0.6], [0.5, 0.5]), "sum to one"),
        (lambda: reweight([0.5], [0.5, 0.5], [1.0, 0.0]), "nothing is known"),
        (lambda: estimate_priors([0.5], [1.0, 0.0]), "share of training is 0"),
        (lambda: estimate_priors(np.empty((0, 2)), [0.5, 0.5]), "no rows"),
    ],
)
def test_invalid_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# rejecting ------------------------------------------------------------------------------------------------------------


def test_reject_curve():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1.0, 1.0, 1.0], 400)
    y = np.array([rng.choice(3, p=row) for row in p])
    curve = reject_curve(y, p)
    sure, best = p.max(axis=1), p.argmax(axis=1)
    for cost in (0.1, 0.3, 0.5):
        kept = sure >= 1.0 - cost
        coverage, error = curve.at_cost(cost)
        assert coverage == pytest.approx(kept.mean())
        assert error == pytest.approx(np.mean(best[kept] != y[kept]))
        assert np.array_equal(chow(p, cost) != -1, kept)
    assert curve.coverage[-1] == 1.0
    assert curve.error[-1] == pytest.approx(np.mean(best != y))
    assert np.all(np.diff(curve.certainty) < 0.0)
    assert curve.area < curve.error[-1]  # certainty tells mistakes from the rest
    assert curve.at_cost(0.0)[0] == 0.0
    assert 0.0 < curve.for_error(0.4) < 1.0
    assert curve.for_error(0.0) == 0.0
    # calibrated: the error that is expected is the one that comes
    assert best_error(p).low < curve.error[-1] < best_error(p).high + 0.05


def test_cover_and_hart():
    for bayes in (0.0, 0.1, 0.4):
        asymptotic = 2.0 * bayes * (1.0 - bayes)
        low, high = cover_hart(asymptotic)
        assert low == pytest.approx(bayes)
        assert high == asymptotic
    assert cover_hart(1.0, 4)[0] == pytest.approx(0.75)


# shares of classes ----------------------------------------------------------------------------------------------------


def test_reweight_is_invertible():
    p = np.random.default_rng(2).dirichlet(np.ones(3), 50)
    old, new = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    np.testing.assert_allclose(reweight(reweight(p, new, old), old, new), p, rtol=1e-10)
    np.testing.assert_allclose(reweight(p, old, old), p, rtol=1e-12)
    gone = reweight(p, [0.5, 0.5, 0.0], old)
    assert np.all(gone[:, 2] == 0.0)
    np.testing.assert_allclose(reweight([[0.0, 0.0, 1.0]], [0.5, 0.5, 0.0], old), [[0.5, 0.5, 0.0]])


def test_estimate_priors_increases_the_likelihood():
    X, y = make_gaussian_classes(4000, priors=[0.85, 0.15], random_state=3)
    p = expit(2.0 * X[:, 0] / 0.36)
    result = estimate_priors(p, [0.5, 0.5])
    assert result.priors[1] == pytest.approx(y.mean(), abs=0.01)
    assert result.gap <= 1e-8
    assert np.all(np.diff(result.log_likelihoods) >= -1e-15)
    assert result.p_value < 1e-10
    np.testing.assert_allclose(result.posteriors.mean(axis=0), result.priors, atol=1e-4)  # a fixed point of EM
    # no other shares have a larger likelihood
    ratio = np.column_stack([1.0 - p, p]) / 0.5
    best = np.mean(np.log(ratio @ result.priors))
    for share in np.linspace(0.01, 0.99, 99):
        assert np.mean(np.log(ratio @ [1.0 - share, share])) <= best + 1e-8
    same = estimate_priors(expit(2.0 * make_gaussian_classes(4000, random_state=4)[0][:, 0] / 0.36), [0.5, 0.5])
    assert same.p_value > 0.01


def test_estimate_priors_reports_the_gap_at_max_iter():
    X, _ = make_gaussian_classes(500, priors=[0.85, 0.15], random_state=3)
    short = estimate_priors(expit(X[:, 0]), [0.5, 0.5], max_iter=2)
    assert short.n_iter == 2
    assert short.gap > 1e-8


# calibration ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_probabilities(cancer, method):
    X, new, y, labels = train_test_split(*cancer, random_state=0, stratify=cancer[1])
    model = Calibrator(RidgeClassifier(), method=method).fit(X, y)
    assert model.protocol_ == "exact leave-one-out"
    assert model.certificate_.ok
    raw = expit(RidgeClassifier().fit(X, y).decision_function(new))
    ours, before = evaluate(labels, proba=model.predict_proba(new)), evaluate(labels, proba=raw)
    assert ours["brier"].value < 0.5 * before["brier"].value
    assert ours["ece"].low == 0.0


def test_left_out_scores_are_those_of_refitting(cancer):
    X, y = cancer[0][:60], cancer[1][:60]
    weighed = RidgeClassifier(2.0, class_weight={0: 2})
    for inner in (RidgeClassifier(3.0), RidgeClassifierCV(alphas=[0.5, 5.0]), weighed):
        model = Calibrator(inner).fit(X, y)
        alpha = getattr(model.estimator_, "alpha_", getattr(inner, "alpha", None))
        for i in (0, 17, 44):
            kept = np.arange(60) != i
            again = RidgeClassifier(alpha, class_weight=inner.class_weight).fit(X[kept], y[kept])
            assert model.left_out_scores_[i] == pytest.approx(float(again.decision_function(X[i : i + 1])[0]), rel=1e-7)
    iris = load_iris(return_X_y=True)
    several = Calibrator(RidgeClassifier()).fit(*iris)
    kept = np.arange(150) != 77
    again = RidgeClassifier().fit(iris[0][kept], iris[1][kept]).decision_function(iris[0][77:78])
    np.testing.assert_allclose(several.left_out_scores_[77], again[0], rtol=1e-7)


def test_folds_without_exact_leave_one_out(cancer):
    X, y = cancer
    for inner in (GaussianNB(), LinearSVC(), RidgeClassifier(class_weight="balanced"), RidgeClassifierCV(cv=3)):
        assert Calibrator(inner).fit(X, y).protocol_ == "5 folds"
    assert Calibrator(cv=3).fit(X, y).protocol_ == "3 folds"
    few = np.append(np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:40])
    assert Calibrator(GaussianNB()).fit(X[few], y[few]).protocol_ == "3 folds"


def test_a_frozen_model_is_calibrated_on_new_rows(cancer):
    X, new, y, labels = train_test_split(*cancer, random_state=0)
    model = LinearSVC().fit(X, y)
    result = Calibrator(FrozenEstimator(model)).fit(new, labels)
    np.testing.assert_allclose(result.left_out_scores_, model.decision_function(new))


def test_weights_are_repeated_rows(cancer):
    X, y = cancer[0][:120], cancer[1][:120]
    times = np.random.default_rng(5).integers(1, 4, 120)
    model = LogisticRegression(C=0.1).fit(X, y)
    for method in ("sigmoid", "isotonic"):
        frozen = Calibrator(FrozenEstimator(model), method=method, cv=2)
        repeated = frozen.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).calibrators_[0]
        curve = type(repeated).fit(model.decision_function(X), y == 1, times.astype(float))
        at = np.linspace(-3, 3, 50)
        np.testing.assert_allclose(curve(at), repeated(at), rtol=1e-5, atol=1e-7)


def test_sigmoid_of_separable_scores():
    score, y = np.concatenate([np.linspace(-3, -1, 20), np.linspace(1, 3, 20)])[:, None], np.repeat([0, 1], 20)
    model = Calibrator(FrozenEstimator(RidgeClassifier().fit(score, y))).fit(score, y)
    assert model.certificate_.ok
    assert 0.5 < model.predict_proba([[3.0]])[0, 1] < 1.0


def test_certificate_rejects_a_changed_curve():
    rng = np.random.default_rng(6)
    y = np.sort(rng.random(50)) + 0.3 * rng.standard_normal(50)
    w = rng.uniform(0.5, 2.0, 50)
    best = isotonic_regression(y, weights=w).x
    assert monotone(y, best, w).ok
    assert not monotone(y, best + 0.01, w).ok
    assert not monotone(y, best[::-1], w).ok
    assert not monotone(y, np.linspace(best[0], best[-1], 50), w).ok
    # the gap bounds what is lost
    worse = best * 0.9
    verdict = monotone(y, worse, w)
    lost = 0.5 * np.average((worse - y) ** 2 - (best - y) ** 2, weights=w)
    assert verdict.value >= lost - 1e-12
    assert verdict.lower_bound <= 0.5 * np.average((best - y) ** 2, weights=w) + 1e-12


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Calibrator(method="beta"), "'sigmoid' or 'isotonic'"),
        (Calibrator(cv="prefit"), "'auto', a number of folds"),
        (Calibrator(GaussianNB(), cv=[([0, 1, 2, 3, 50, 51], [4, 5])]), "every row needs"),
    ],
)
def test_invalid_calibrators(cancer, model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(cancer[0][:60], cancer[1][:60])


def test_calibrators_need_two_rows_of_a_class(cancer):
    X, y = cancer
    lonely = np.append(np.flatnonzero(y == 0)[:1], np.flatnonzero(y == 1)[:40])
    with pytest.raises(ValueError, match="single row"):
        Calibrator(GaussianNB()).fit(X[lonely], y[lonely])
    with pytest.raises(ValueError, match="takes no sample_weight"):
        Calibrator(make_pipeline(StandardScaler(), GaussianNB())).fit(X, y, sample_weight=np.ones(len(y)))


# deciding -------------------------------------------------------------------------------------------------------------


def test_costs_move_decisions(cancer):
    X, new, y, labels = train_test_split(*cancer, random_state=1, stratify=cancer[1])
    inner = LogisticRegression(C=0.1)
    plain = DecisionClassifier(inner).fit(X, y)
    np.testing.assert_array_equal(plain.predict(new), inner.fit(X, y).predict(new))
    assert plain.threshold_.probability == 0.5
    careful = DecisionClassifier(inner, loss={(1, 0): 50.0}).fit(X, y)  # a malignant tumour is taken for harmless
    assert careful.loss_.tolist() == [[0.0, 1.0], [50.0, 0.0]]
    assert careful.threshold_.probability == pytest.approx(50 / 51)
    assert careful.risk(new, labels).value <= 50.0 * np.mean((plain.predict(new) == 1) & (labels == 0)) + 0.2
    np.testing.assert_array_equal(careful.predict(new), np.where(careful.predict_proba(new)[:, 1] > 50 / 51, 1, 0))
    np.testing.assert_allclose(careful.expected_loss(new), careful.predict_proba(new) @ careful.loss_.T)


def test_reject_option(cancer):
    X, y = cancer
    names = np.array(["malignant", "benign"])[y]
    model = DecisionClassifier(GaussianNB(), reject_cost=0.1).fit(X, names)
    said = model.predict(X)
    assert set(said) == {"malignant", "benign", "don't know"}
    sure = model.predict_proba(X).max(axis=1)
    np.testing.assert_array_equal(said == "don't know", sure < 0.9)
    cost = np.where(said == "don't know", 0.1, said != names)
    assert model.risk(X, names).value == pytest.approx(cost.mean())
    assert DecisionClassifier(GaussianNB(), reject_cost=0.1, reject_label=9).fit(X, y).decisions_.tolist() == [0, 1, 9]
    assert model.threshold_ is None
    numbered = DecisionClassifier(GaussianNB(), reject_cost=0.1).fit(X, y)
    np.testing.assert_array_equal(numbered.predict(X), chow(GaussianNB().fit(X, y).predict_proba(X), 0.1))
    mixed = DecisionClassifier(GaussianNB(), reject_cost=0.1, reject_label="unsure").fit(X, y)
    assert mixed.decisions_.tolist() == [0, 1, "unsure"]


def test_decisions_need_not_be_classes():
    X, y = load_iris(return_X_y=True)
    loss = [[0.0, 5.0, 5.0], [1.0, 0.5, 0.5]]
    model = DecisionClassifier(GaussianNB(), loss=loss, decisions=["water", "call"]).fit(X, y)
    assert set(model.predict(X)) == {"water", "call"}
    best = bayes_decisions(model.predict_proba(X), loss)
    np.testing.assert_array_equal(model.predict(X), np.array(["water", "call"])[best.choice])


def test_other_priors():
    X, y = make_gaussian_classes(2000, random_state=7)
    new, labels = make_gaussian_classes(4000, priors=[0.95, 0.05], random_state=8)
    inner = LogisticRegression(C=np.inf)
    plain = DecisionClassifier(inner).fit(X, y)
    given = DecisionClassifier(inner, priors={0: 0.95, 1: 0.05}).fit(X, y)
    adapted, result = plain.adapt(new)
    assert result.priors[1] == pytest.approx(0.05, abs=0.01)
    assert adapted.priors_[1] == result.priors[1]
    assert plain.priors_.tolist() == plain.trained_priors_.tolist()
    wrong = [np.mean(model.predict(new) != labels) for model in (plain, given, adapted)]
    assert wrong[1] < 0.75 * wrong[0]
    assert wrong[2] < 0.75 * wrong[0]
    np.testing.assert_allclose(
        given.predict_proba(new), inner.fit(X, y).with_priors([0.95, 0.05]).predict_proba(new), rtol=1e-8
    )


def test_weights_count_in_the_priors(cancer):
    X, y = cancer
    weight = np.where(y == 1, 2.0, 1.0)
    model = DecisionClassifier(GaussianNB()).fit(X, y, sample_weight=weight)
    assert model.trained_priors_[1] == pytest.approx(weight[y == 1].sum() / weight.sum())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": [[0, 1, 1], [1, 0, 1]]}, "column for each of the 2"),
        ({"loss": [[0, 1], [1, 0], [1, 1]]}, "name them by decisions"),
        ({"loss": {("a", 0): 3.0}}, "none of decisions"),
        ({"priors": [0.5, 0.6]}, "sum to one"),
        ({"priors": {0: 1.0}}, "share for each of the classes"),
        ({"reject_cost": 0.1, "reject_label": 1}, "also a decision"),
        ({"reject_cost": -0.1}, "must not be negative"),
    ],
)
def test_invalid_decisions(cancer, options, words):
    with pytest.raises(ValueError, match=words):
        DecisionClassifier(GaussianNB(), **options).fit(*cancer)


def test_estimator_without_probabilities_raises(cancer):
    X, y = cancer
    with pytest.raises(TypeError, match="Calibrator"):
        DecisionClassifier(LinearSVC()).fit(X, y)
    with pytest.raises(ValueError, match="also a class"):
        DecisionClassifier(GaussianNB(), reject_cost=0.1).fit(X, 2 * y - 1)
    model = DecisionClassifier(GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match="none of the classes"):
        model.risk(X[:2], [0, 7])
