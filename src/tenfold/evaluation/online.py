"""Prequential evaluation of online learners: predict, receive the target, learn (CMU lecture, slides 10 and 11).

Every sample is predicted by a model that has not seen it, so that no samples are held out. The mean loss of the stream
estimates the mean risk of its models; losses are not independent, but their sum minus that of the risks is a
martingale, and the interval is that of Hoeffding and Azuma.

Alarms detect drift in the losses. Page and Hinkley: the cumulative sum of losses above their mean, minus a slack,
exceeds its minimum by more than a threshold. DDM (Gama and others 2004): the error rate plus its standard error is
three standard errors above its minimum.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.results import Figure


class Alarm(Protocol):
    """A drift detector: `update` takes a loss and returns whether drift is detected; then it starts again."""

    def update(self, loss: float) -> bool: ...


@dataclass
class PageHinkley:
    """Alarm when losses exceed their mean for too long (Page 1954, Hinkley 1971).

    Parameters
    ----------
    threshold : increase of the sum that triggers the alarm. Larger values are slower, with fewer false alarms.
    slack : excess over the mean that is tolerated.
    least : samples before the first alarm.

    Examples
    --------
    >>> from tenfold.evaluation import PageHinkley
    >>> alarm = PageHinkley(threshold=10.0)
    >>> [t for t in range(200) if alarm.update(0.0 if t < 100 else 1.0)]
    [110]
    """

    threshold: float = 25.0
    slack: float = 0.005
    least: int = 30

    def __post_init__(self) -> None:
        if not self.threshold > 0.0:
            raise ValueError(f"threshold must be positive. Got {self.threshold!r}.")
        self._start()

    def _start(self) -> None:
        self._count, self._mean, self._sum, self._lowest = 0, 0.0, 0.0, 0.0

    def update(self, loss: float) -> bool:
        self._count += 1
        self._mean += (loss - self._mean) / self._count
        self._sum += loss - self._mean - self.slack
        self._lowest = min(self._lowest, self._sum)
        if self._count < self.least or self._sum - self._lowest <= self.threshold:
            return False
        self._start()
        return True


@dataclass
class DriftDetection:
    """DDM: alarm when the error rate is three standard errors above its minimum (Gama and others 2004).

    Parameters
    ----------
    errors : number of standard errors.
    least : samples before the first alarm.

    Examples
    --------
    >>> from tenfold.evaluation import DriftDetection
    >>> alarm = DriftDetection()
    >>> [t for t in range(200) if alarm.update(float(t % 10 == 0 or t >= 100))]
    [106]
    """

    errors: float = 3.0
    least: int = 30

    def __post_init__(self) -> None:
        if not self.errors > 0.0:
            raise ValueError(f"errors must be positive. Got {self.errors!r}.")
        self._start()

    def _start(self) -> None:
        self._count, self._wrong, self._best, self._spread = 0, 0.0, np.inf, np.inf

    def update(self, loss: float) -> bool:
        if not 0.0 <= loss <= 1.0:
            raise ValueError(
                f"DDM is for losses between 0 and 1, as of classes. Got {loss!r}: use alarm='page_hinkley'."
            )
        self._count += 1
        self._wrong += loss
        share = self._wrong / self._count
        spread = float(np.sqrt(share * (1.0 - share) / self._count))
        if self._count < self.least:
            return False
        if share + spread < self._best + self._spread:
            self._best, self._spread = share, spread
        if share + spread <= self._best + self.errors * self._spread or self._wrong == 0.0:
            return False
        self._start()
        return True


@dataclass(frozen=True)
class OnlineEvaluation:
    """The losses of a learner along a stream.

    Attributes
    ----------
    model : the learner after the last sample.
    loss : (m,) of each evaluated sample, by the model that had not seen it.
    first : index of the first evaluated sample; those before it were learned without a prediction.
    running : (m,) mean loss up to and with each row.
    windowed : (m,) mean loss of the last `window` rows, of fewer at the start.
    alarms : indices of the samples at which there was an alarm.
    figure : the mean loss, with the interval of Hoeffding and Azuma where losses are at most one.
    window : rows.
    """

    model: Any
    loss: Floats
    first: int
    window: int
    alarms: Integers
    figure: Figure

    @property
    def total(self) -> float:
        """The sum of the losses: the number of mistakes, for classes."""
        return float(np.sum(self.loss))

    @property
    def running(self) -> Floats:
        return np.cumsum(self.loss) / np.arange(1.0, len(self.loss) + 1.0)

    @property
    def windowed(self) -> Floats:
        sums = np.append(0.0, np.cumsum(self.loss))
        last = np.arange(1, len(self.loss) + 1)
        start = np.maximum(last - self.window, 0)
        return (sums[last] - sums[start]) / (last - start)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; curves at 200 rows at most."""
        at = np.unique(np.linspace(0, len(self.loss) - 1, 200).astype(int))
        return {
            "rows": len(self.loss),
            "first": self.first,
            "window": self.window,
            "figure": self.figure.to_dict(),
            "alarms": self.alarms.tolist(),
            "at": (self.first + at).tolist(),
            "running": self.running[at].tolist(),
            "windowed": self.windowed[at].tolist(),
        }

    def __str__(self) -> str:
        changed = ", ".join(map(str, self.alarms)) if len(self.alarms) else "none"
        last = self.windowed[-1]
        return f"{self.figure} over {len(self.loss)} rows; last {self.window}: {last:.4f}; alarms: {changed}"

    __repr__ = __str__


def evaluate_online(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    window: int = 200,
    batch_size: int = 1,
    classes: Any = None,
    loss: Literal["mistakes", "squared", "absolute"] | Callable[[Any, Any], Any] | None = None,
    alarm: Literal["page_hinkley", "ddm"] | Alarm | None = "page_hinkley",
    restart: bool = False,
    confidence: float = 0.95,
) -> OnlineEvaluation:
    """Evaluate a learner on a stream: each sample is predicted, then learned by `partial_fit`.

    Parameters
    ----------
    model : estimator with `partial_fit`
        The learner; it is copied, and goes on from where it is if it is fitted. One that is not learns the first batch
        without being judged.
    X : array-like of shape (n, p) or iterable of pairs (X, y)
        Samples in their order, or with ``y=None`` batches.
    y : array-like of shape (n,), default=None
        Classes or numbers; None where X is an iterable.
    window : int, default=200
        Number of samples of the windowed error.
    batch_size : int, default=1
        Number of samples that are predicted before they are learned.
    classes : array-like of shape (n_classes,), default=None
        All classes; needed for an iterable. None takes those of y.
    loss : {"mistakes", "squared", "absolute"}, callable or None, default=None
        The loss of a prediction, or a function of true and predicted values that gives a loss a sample. None is
        "mistakes" for classifiers and "squared" for regressors.
    alarm : {"page_hinkley", "ddm"}, object or None, default="page_hinkley"
        Drift detector; "ddm" is for losses of at most one. An object has `update(loss)`, true for an alarm. None for no
        alarm.
    restart : bool, default=False
        Whether to begin with a new copy of the model after an alarm.
    confidence : float, default=0.95
        Of the interval of the mean loss.

    Returns
    -------
    OnlineEvaluation
        The losses, the windowed error, the mean with its interval, and the alarms.

    Notes
    -----
    CMU lecture, slides 10 and 11.

    Examples
    --------
    >>> from tenfold import GaussianNB, evaluate_online
    >>> from tenfold.datasets import make_drift
    >>> X, y = make_drift(1500, drift="jump", random_state=0)  # the classes change places after 750 rows
    >>> found = evaluate_online(GaussianNB(), X, y, batch_size=10)
    >>> found.alarms.tolist()
    [783]
    >>> bool(evaluate_online(GaussianNB(), X, y, batch_size=10, restart=True).total < 0.5 * found.total)
    True
    """
    if not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has no partial_fit: it cannot learn row by row. Take one that has, "
            "as SGDClassifier."
        )
    for name, value in (("window", window), ("batch_size", batch_size)):
        if not value >= 1:
            raise ValueError(f"{name} must be a positive whole number. Got {value!r}.")
    is_classes = bool(is_classifier(model))
    measure, loss_name = _loss_function(loss, is_classes)
    batches, all_classes = _batches(X, y, int(batch_size), classes, is_classes)
    callback = _alarm(alarm)
    unfitted = clone(model)
    learner, fitted = copy.deepcopy(model), _is_fitted(model)
    losses: list[Floats] = []
    alarms: list[int] = []
    n_seen, first = 0, 0
    for rows, targets in batches:
        changed = False
        if fitted:
            batch_losses = np.asarray(measure(targets, learner.predict(rows)), dtype=np.float64)
            losses.append(batch_losses)
            for offset, one in enumerate(batch_losses):
                if callback is not None and callback.update(float(one)):
                    alarms.append(n_seen + offset)
                    changed = True
        elif not losses:
            first = n_seen + len(targets)
        if changed and restart:
            learner, fitted = clone(unfitted), False
        learner.partial_fit(rows, targets, **({"classes": all_classes} if is_classes and not fitted else {}))
        fitted = True
        n_seen += len(targets)
    if not losses:
        raise ValueError(
            "No row was judged: there was nothing after the first batch. Give more rows, or smaller batches."
        )
    batch_losses = np.concatenate(losses)
    figure = _mean(loss_name, batch_losses, confidence, bounded=loss_name == "mistakes")
    return OnlineEvaluation(learner, batch_losses, first, int(window), np.array(alarms, dtype=np.intp), figure)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _loss_function(loss: Any, is_classes: bool) -> tuple[Callable[[Any, Any], Any], str]:
    if callable(loss):
        return loss, "loss"
    loss_name = loss if loss is not None else "mistakes" if is_classes else "squared"
    losses_by_name: dict[str, Callable[[Any, Any], Any]] = {
        "mistakes": lambda targets, predictions: np.asarray(targets) != np.asarray(predictions),
        "squared": lambda targets, predictions: (np.asarray(targets, dtype=np.float64) - predictions) ** 2,
        "absolute": lambda targets, predictions: np.abs(np.asarray(targets, dtype=np.float64) - predictions),
    }
    if loss_name not in losses_by_name:
        raise ValueError(f"loss must be one of {', '.join(map(repr, losses_by_name))}, or a function. Got {loss!r}.")
    return losses_by_name[loss_name], loss_name


def _alarm(alarm: Any) -> Alarm | None:
    if alarm is None or hasattr(alarm, "update"):
        return copy.deepcopy(alarm)
    if alarm == "page_hinkley":
        return PageHinkley()
    if alarm == "ddm":
        return DriftDetection()
    raise ValueError(f"alarm must be 'page_hinkley', 'ddm', None or an object with update(loss). Got {alarm!r}.")


def _batches(X: Any, y: Any, batch_size: int, classes: Any, is_classes: bool) -> tuple[Iterator[tuple[Any, Any]], Any]:
    if y is None:
        if not isinstance(X, Iterable) or hasattr(X, "shape"):
            raise ValueError("y is missing: give y, or an iterable of batches (X, y) as X.")
        if is_classes and classes is None:
            raise ValueError("classes must be given with batches that come one by one: not all may be in the first.")
        return iter(X), None if classes is None else np.asarray(classes)
    targets = np.asarray(y)
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    if targets.ndim != 1 or len(targets) != count:
        raise ValueError(f"y must have one value a row: X has {count} rows, y has shape {targets.shape}.")
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if hasattr(rows, "iloc"):
        rows = rows.iloc
    all_classes = None if not is_classes else np.unique(targets) if classes is None else np.asarray(classes)
    parts = ((rows[at : at + batch_size], targets[at : at + batch_size]) for at in range(0, count, batch_size))
    return parts, all_classes


def _mean(name: str, batch_losses: Floats, confidence: float, bounded: bool) -> Figure:
    """The mean loss; of mistakes, with the interval of a martingale."""
    value = float(np.mean(batch_losses))
    if not bounded:
        return Figure(name, value, np.nan, np.nan, confidence, "none: losses without a bound", "lower")
    half = float(np.sqrt(np.log(2.0 / (1.0 - confidence)) / (2.0 * len(batch_losses))))
    return Figure(
        name, value, max(value - half, 0.0), min(value + half, 1.0), confidence, "Hoeffding and Azuma", "lower"
    )
