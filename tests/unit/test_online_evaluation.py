"""Predict, be told, learn: losses, alarms, and what is refused."""

import json

import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB

from tenfold import GaussianNB, LinearSVC, evaluate_online
from tenfold.datasets import make_drift, make_linear
from tenfold.evaluation import DriftDetection, PageHinkley


@pytest.fixture(scope="module")
def stream() -> tuple[np.ndarray, np.ndarray]:
    return make_drift(600, drift="jump", random_state=0)


def by_hand(X: np.ndarray, y: np.ndarray, batch: int) -> np.ndarray:
    model, lost = TheirGaussianNB(), []
    for at in range(0, len(y), batch):
        rows, labels = X[at : at + batch], y[at : at + batch]
        if at:
            lost.append(model.predict(rows) != labels)
        model.partial_fit(rows, labels, classes=[-1, 1])
    return np.concatenate(lost)


@pytest.mark.parametrize("batch", [20, 7])
def test_losses_are_those_of_the_loop_written_out(stream, batch):
    X, y = stream
    result = evaluate_online(GaussianNB(), X, y, batch_size=batch, window=50)
    lost = by_hand(X, y, batch)
    np.testing.assert_array_equal(result.loss, lost)
    assert result.first == batch
    assert result.total == lost.sum()
    np.testing.assert_allclose(result.running, [lost[: t + 1].mean() for t in range(len(lost))])
    np.testing.assert_allclose(result.windowed, [lost[max(t - 49, 0) : t + 1].mean() for t in range(len(lost))])
    assert result.figure.value == pytest.approx(lost.mean())
    half = np.sqrt(np.log(2 / 0.05) / (2 * len(lost)))
    assert result.figure.high - result.figure.value == pytest.approx(half)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "mistakes" in str(result)


def test_fitted_model_is_evaluated_from_the_first_sample(stream):
    X, y = stream
    model = GaussianNB().fit(X[:100], y[:100])
    means = model.theta_.copy()
    result = evaluate_online(model, X[100:], y[100:], batch_size=10)
    assert result.first == 0
    assert len(result.loss) == 500
    np.testing.assert_array_equal(model.theta_, means)
    assert not np.array_equal(result.model.theta_, means)


def test_jump_triggers_an_alarm_and_restart_helps(stream):
    X, y = stream
    calm = evaluate_online(GaussianNB(), *make_drift(600, drift="none", random_state=0), batch_size=10)
    assert calm.alarms.size == 0
    inputs = evaluate_online(GaussianNB(), *make_drift(600, drift="inputs", random_state=0), batch_size=10)
    assert inputs.alarms.size == 0  # the rows wander, what they mean stays
    for alarm in ("page_hinkley", "ddm", PageHinkley(threshold=20.0)):
        heard = evaluate_online(GaussianNB(), X, y, batch_size=10, alarm=alarm)
        again = evaluate_online(GaussianNB(), X, y, batch_size=10, alarm=alarm, restart=True)
        assert 300 < heard.alarms[0] < 360
        assert again.total < 0.6 * heard.total
    assert evaluate_online(GaussianNB(), X, y, batch_size=10, alarm=None).alarms.size == 0


def test_page_and_hinkley_by_the_formula():
    losses = np.random.default_rng(0).random(300) + (np.arange(300) > 150) * 0.4
    means = np.cumsum(losses) / np.arange(1, 301)
    sums = np.append(0.0, np.cumsum(losses - means - 0.01))
    rise = sums[1:] - np.minimum.accumulate(sums)[1:]
    alarm = PageHinkley(threshold=5.0, slack=0.01, least=10)
    sounded = [t for t in range(300) if alarm.update(losses[t])]
    assert sounded[0] == np.flatnonzero(rise > 5.0)[0]


def test_numbers_and_their_losses():
    X, y = make_linear(300, 3, noise=0.1, random_state=0)
    squared = evaluate_online(SGDRegressor(random_state=0), X, y, batch_size=5, window=50)
    absolute = evaluate_online(SGDRegressor(random_state=0), X, y, batch_size=5, loss="absolute")
    mine = evaluate_online(SGDRegressor(random_state=0), X, y, batch_size=5, loss=lambda a, b: np.abs(a - b) ** 2)
    np.testing.assert_allclose(np.sqrt(squared.loss), absolute.loss)
    np.testing.assert_allclose(squared.loss, mine.loss)
    assert np.isnan(squared.figure.low)
    assert squared.windowed[-1] < 0.5 * squared.windowed[49]


def test_batches_may_come_one_by_one(stream):
    X, y = stream
    batches = ((X[at : at + 20], y[at : at + 20]) for at in range(0, 600, 20))
    result = evaluate_online(GaussianNB(), batches, classes=[-1, 1])
    np.testing.assert_array_equal(result.loss, by_hand(X, y, 20))


def test_frames_are_taken(stream):
    pandas = pytest.importorskip("pandas")
    X, y = stream
    result = evaluate_online(GaussianNB(), pandas.DataFrame(X, columns=list("abcde")), pandas.Series(y), batch_size=20)
    np.testing.assert_array_equal(result.loss, by_hand(X, y, 20))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": 0}, "window must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"loss": "log"}, "loss must be one of"),
        ({"alarm": "bell"}, "alarm must be"),
        ({"batch_size": 600}, "No row was judged"),
        ({"alarm": DriftDetection(), "loss": lambda a, b: np.full(len(a), 3.0)}, "between 0 and 1"),
    ],
)
def test_invalid_options(stream, options, words):
    with pytest.raises(ValueError, match=words):
        evaluate_online(GaussianNB(), *stream, **{"batch_size": 20, **options})


def test_invalid_data(stream):
    X, y = stream
    with pytest.raises(TypeError, match="no partial_fit"):
        evaluate_online(LinearSVC(), X, y)
    with pytest.raises(ValueError, match="X has 600 rows"):
        evaluate_online(GaussianNB(), X, y[:5])
    with pytest.raises(ValueError, match="y is missing"):
        evaluate_online(GaussianNB(), X)
    with pytest.raises(ValueError, match="classes must be given"):
        evaluate_online(GaussianNB(), iter([(X, y)]))
    for wrong in (lambda: PageHinkley(threshold=0.0), lambda: DriftDetection(errors=0.0)):
        with pytest.raises(ValueError, match="must be positive"):
            wrong()
