"""Learners that are tried as rows come: predict, be told, learn (CMU lecture, slides 10 and 11).

Every row is judged by a model that has not seen it, so that nothing has to be held back. The mean loss of such a stream
estimates the mean risk of the models along it; losses are not independent, but their sum less that of the risks is a
martingale, and the interval is that of Hoeffding and Azuma.

Alarms watch the losses. Page and Hinkley: the sum of what losses exceed their mean by, less a slack, has risen by more
than a threshold above its lowest. DDM (Gama and others 2004): the share of mistakes and its standard error are by three
standard errors above the lowest they have been.
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
from tenfold.evaluation.figures import Figure


class Alarm(Protocol):
    """Is told each loss, and says whether something has changed; after an alarm it starts again."""

    def update(self, loss: float) -> bool: ...


@dataclass
class PageHinkley:
    """Sounds when losses are above their mean for too long (Page 1954, Hinkley 1971).

    Parameters
    ----------
    threshold : the rise of the sum that sounds it. Larger ones are slower, and wrong less often.
    slack : by how much a loss may exceed the mean and count as nothing.
    least : rows before it may sound.

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
    """DDM: sounds when the share of mistakes is three standard errors above its lowest (Gama and others 2004).

    Parameters
    ----------
    errors : how many standard errors.
    least : rows before it may sound.

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
    model : the learner after the last row.
    loss : (m,) of each judged row, by the model that had not seen it.
    first : the number of the first judged row; those before it were learned without a prediction.
    running : (m,) mean loss up to and with each row.
    windowed : (m,) mean loss of the last `window` rows, of fewer at the start.
    alarms : numbers of the rows at which the alarm sounded.
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
        sounded = ", ".join(map(str, self.alarms)) if len(self.alarms) else "none"
        last = self.windowed[-1]
        return f"{self.figure} over {len(self.loss)} rows; last {self.window}: {last:.4f}; alarms: {sounded}"

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
    """Try a learner on a stream: each row is predicted, then told, then learned by `partial_fit`.

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
        How a change is noticed; "ddm" is for losses of at most one. An object's `update(loss)` says whether to sound.
        None for no alarm.
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
    measure, called = _measure(loss, is_classes)
    batches, known = _batches(X, y, int(batch_size), classes, is_classes)
    callback = _alarm(alarm)
    fresh = clone(model)
    learner, ready = copy.deepcopy(model), _fitted(model)
    losses: list[Floats] = []
    alarms: list[int] = []
    seen, first = 0, 0
    for rows, told in batches:
        sounded = False
        if ready:
            lost = np.asarray(measure(told, learner.predict(rows)), dtype=np.float64)
            losses.append(lost)
            for offset, one in enumerate(lost):
                if callback is not None and callback.update(float(one)):
                    alarms.append(seen + offset)
                    sounded = True
        elif not losses:
            first = seen + len(told)
        if sounded and restart:
            learner, ready = clone(fresh), False
        learner.partial_fit(rows, told, **({"classes": known} if is_classes and not ready else {}))
        ready = True
        seen += len(told)
    if not losses:
        raise ValueError(
            "No row was judged: there was nothing after the first batch. Give more rows, or smaller batches."
        )
    lost = np.concatenate(losses)
    figure = _mean(called, lost, confidence, bounded=called == "mistakes")
    return OnlineEvaluation(learner, lost, first, int(window), np.array(alarms, dtype=np.intp), figure)


def _fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _measure(loss: Any, is_classes: bool) -> tuple[Callable[[Any, Any], Any], str]:
    if callable(loss):
        return loss, "loss"
    called = loss if loss is not None else "mistakes" if is_classes else "squared"
    kinds: dict[str, Callable[[Any, Any], Any]] = {
        "mistakes": lambda told, said: np.asarray(told) != np.asarray(said),
        "squared": lambda told, said: (np.asarray(told, dtype=np.float64) - said) ** 2,
        "absolute": lambda told, said: np.abs(np.asarray(told, dtype=np.float64) - said),
    }
    if called not in kinds:
        raise ValueError(f"loss must be one of {', '.join(map(repr, kinds))}, or a function. Got {loss!r}.")
    return kinds[called], called


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
    told = np.asarray(y)
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    if told.ndim != 1 or len(told) != count:
        raise ValueError(f"y must have one value a row: X has {count} rows, y has shape {told.shape}.")
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if hasattr(rows, "iloc"):
        rows = rows.iloc
    known = None if not is_classes else np.unique(told) if classes is None else np.asarray(classes)
    parts = ((rows[at : at + batch_size], told[at : at + batch_size]) for at in range(0, count, batch_size))
    return parts, known


def _mean(name: str, lost: Floats, confidence: float, bounded: bool) -> Figure:
    """The mean loss; of mistakes, with the interval of a martingale."""
    value = float(np.mean(lost))
    if not bounded:
        return Figure(name, value, np.nan, np.nan, confidence, "none: losses without a bound", "lower")
    half = float(np.sqrt(np.log(2.0 / (1.0 - confidence)) / (2.0 * len(lost))))
    return Figure(
        name, value, max(value - half, 0.0), min(value + half, 1.0), confidence, "Hoeffding and Azuma", "lower"
    )
