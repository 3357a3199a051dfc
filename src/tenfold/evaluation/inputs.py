"""`evaluate`: validation of its arguments."""

import numbers as kinds
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state, column_or_1d

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.classification import Predictions, evaluate_classification
from tenfold.evaluation.intervals import Sample
from tenfold.evaluation.regression import evaluate_regression
from tenfold.evaluation.results import Evaluation

MAX_CLASSES = 100  # integer targets with more distinct values are regression unless `task` says otherwise


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    proba: Any = None,
    score: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    confidence: float = 0.95,
    interval: Literal["auto"] | None = "auto",
    groups: Any = None,
    beta: float = 1.0,
    quantile: float | None = None,
    n_bins: int = 10,
    n_resamples: int = 2000,
    random_state: Any = 0,
) -> Evaluation:
    """Metrics of predictions, each with a confidence interval and its method.

    The samples must not have been used for fitting: metrics of training samples do not generalise (Cookbook 6.1).

    =======================================================  ==========================================================
    figures                                                  interval
    =======================================================  ==========================================================
    accuracy, sensitivity, specificity, precision, negative  exact binomial (Clopper and Pearson)
    predictive value, shares in bins of probability
    area under the ROC curve                                 DeLong, on the scale of log odds
    average precision                                        infinitesimal jackknife, on the scale of log odds
    F, Matthews' correlation, balanced accuracy, averages    BCa bootstrap of rows
    over classes, R2
    log loss, Brier score, mean absolute error, bias,        Student's t, corrected for skewness (Hall)
    quantile loss, root mean square
    median absolute error                                    order statistics, exact
    expected calibration error                               Scheffé's, conservative
    =======================================================  ==========================================================

    With `sample_weight`, metrics are weighted and intervals allow for the smaller effective size; with `groups`, groups
    are independent and their samples are not. Where every resample of a bootstrap agrees, as without any error, bounds
    of the rates of the classes take its place, so that no interval has length zero.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True classes or numbers.
    y_pred : array-like of shape (n,), default=None
        Predicted ones; None takes the class of the largest probability or score.
    proba : array-like of shape (n, K) or (n,), default=None
        Probabilities in the order of `classes`, or those of the second of two classes; None where there are none.
    score : array-like of shape (n,) or (n, K), default=None
        Scores, those of `decision_function`, for figures of the order of samples; None takes `proba`.
    classes : array-like of shape (K,), default=None
        The classes in the order of `proba` and `score`; None is the sorted classes of y_true and y_pred.
    sample_weight : array-like of shape (n,), default=None
        Weights of the samples, not negative; those of weight zero are left out. None for ones.
    task : {"classification", "regression"} or None, default=None
        What is predicted. None: numbers that are not whole, or of more than 100 different values, are of regression,
        all else of classification.
    confidence : float, default=0.95
        Probability with which an interval covers.
    interval : "auto" or None, default="auto"
        None leaves out those intervals that need a bootstrap.
    groups : array-like of shape (n,), default=None
        Which samples belong together, as of patients or days. None for samples that are independent.
    beta : float, default=1.0
        Weight of the sensitivity in the F measure.
    quantile : float, default=None
        The quantile that y_pred is meant to be, for regression; adds the quantile (pinball) loss and the share of
        samples below. None for none.
    n_bins : int, default=10
        Number of bins of the probabilities, for calibration.
    n_resamples : int, default=2000
        Number of resamples of a bootstrap. More than 2000 samples of R2, or of weighted samples, are drawn in random
        blocks, and the method says so.
    random_state : int, RandomState instance, Generator or None, default=0
        Seed or generator of the resamples.

    Returns
    -------
    Evaluation
        A mapping from names to figures, with `per_class`, `averages`, `confusion`, `roc` and `calibration`; prints as a
        table.

    Notes
    -----
    Values are those of sklearn.metrics, but that an undefined one is nan and says why. With two classes, figures are
    those of the second. Cookbook, chapter 5; Seeger, sections 5.2.4 and 10.1. References: Clopper and Pearson 1934;
    DeLong, DeLong and Clarke-Pearson 1988; Efron 1987; Korn and Graubard 1998.

    Examples
    --------
    >>> from tenfold import evaluate
    >>> found = evaluate(["ham", "ham", "spam", "spam", "spam"], ["ham", "spam", "spam", "spam", "ham"])
    >>> found["accuracy"].low, found["accuracy"].method
    (0.146..., 'exact binomial')
    >>> found.confusion
    array([[1., 1.],
           [1., 2.]])
    >>> print(evaluate([1.0, 2.5, 3.0], [1.5, 2.0, 3.0])["mae"])
    mae 0.3333 [0.0000, 0.8201]
    """
    if y_pred is None and proba is None and score is None:
        raise ValueError("Nothing is predicted: give y_pred, proba or score.")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, as 0.95. Got {confidence!r}.")
    if interval not in ("auto", None):
        raise ValueError(f"interval must be 'auto' or None. Got {interval!r}.")
    if not _is_integer(n_resamples, 100):
        raise ValueError(f"n_resamples must be a whole number of at least 100. Got {n_resamples!r}.")
    targets = _column(y_true, "y_true")
    if len(targets) == 0:
        raise ValueError("y_true has no rows: nothing can be evaluated.")
    outputs = None if y_pred is None else _column(y_pred, "y_pred", len(targets))
    kind = _task(task, targets, outputs, proba, score, classes)
    sample, keep = _sample(len(targets), sample_weight, groups, confidence)
    drawn = n_resamples if interval == "auto" else 0
    rng = _generator(random_state)
    if kind == "regression":
        if outputs is None:
            raise ValueError("Regression needs y_pred, the predicted numbers; proba and score are of classes.")
        if quantile is not None and not 0.0 < quantile < 1.0:
            raise ValueError(f"quantile must be between 0 and 1. Got {quantile!r}.")
        y, f = _numbers(targets, "y_true")[keep], _numbers(outputs, "y_pred")[keep]
        return evaluate_regression(y, f, sample, quantile=quantile, n_resamples=drawn, rng=rng)
    if not _is_integer(n_bins, 1):
        raise ValueError(f"n_bins must be a positive whole number. Got {n_bins!r}.")
    if not beta > 0.0:
        raise ValueError(f"beta must be positive: 1 weighs precision and sensitivity alike. Got {beta!r}.")
    predictions = _predictions(targets, outputs, proba, score, classes, keep)
    return evaluate_classification(
        predictions, sample, beta=float(beta), n_bins=int(n_bins), n_resamples=drawn, rng=rng
    )


def _is_integer(value: Any, least: int) -> bool:
    return isinstance(value, kinds.Integral) and int(value) >= least


def _column(values: Any, name: str, rows: int | None = None) -> Any:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] != 1:
        raise ValueError(
            f"{name} must be one column of labels or numbers. Got shape {array.shape}: evaluate one column at a time."
        )
    array = column_or_1d(array.ravel() if array.ndim == 2 else array)
    if rows is not None and len(array) != rows:
        raise ValueError(f"{name} must have one value a row: y_true has {rows} rows, {name} has {len(array)}.")
    return array


def _task(task: str | None, targets: Any, outputs: Any, proba: Any, score: Any, classes: Any) -> str:
    if task is not None:
        if task not in ("classification", "regression"):
            raise ValueError(f"task must be 'classification' or 'regression'. Got {task!r}.")
        return task
    if proba is not None or score is not None or classes is not None:
        return "classification"
    return task_of(targets, outputs)


def task_of(targets: Any, outputs: Any = None) -> Literal["classification", "regression"]:
    """The task of targets, and of predictions where they are given."""
    for values in (targets,) if outputs is None else (targets, outputs):
        if values.dtype.kind not in "fiub":
            return "classification"
        if values.dtype.kind == "f" and np.any(values != np.floor(values)):
            return "regression"
    many = targets.dtype.kind in "fiu" and len(np.unique(targets)) > MAX_CLASSES
    return "regression" if many else "classification"


def _sample(rows: int, sample_weight: Any, groups: Any, confidence: float) -> tuple[Sample, Any]:
    """Weights and groups of the samples with positive weight, and their mask."""
    keep: Any = slice(None)
    weights = None
    if sample_weight is not None:
        weights = _numbers(_column(sample_weight, "sample_weight", rows), "sample_weight")
        if np.any(weights < 0.0):
            raise ValueError(f"sample_weight must not be negative. Got {float(weights.min())!r}.")
        if not np.any(weights > 0.0):
            raise ValueError("All sample_weight are zero: no row is left to evaluate.")
        keep = weights > 0.0
        weights = weights[keep]
        if np.all(weights == weights[0]):
            weights = None if weights[0] == 1.0 else weights
    members = None
    if groups is not None:
        members = np.unique(_column(groups, "groups", rows)[keep], return_inverse=True)[1].ravel()
    n_rows = rows if sample_weight is None else int(np.count_nonzero(keep))
    return Sample(n_rows, weights, members, float(confidence)), keep


def _numbers(values: Any, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers. Got {values.dtype} values, as {values[0]!r}.") from error
    invalid = ~np.isfinite(array)
    if np.any(invalid):
        raise ValueError(
            f"{name} must be finite numbers: row {int(np.argmax(invalid))} is {array[np.argmax(invalid)]}, and "
            f"{int(invalid.sum())} of its values are missing or infinite. Leave these rows out, or predict them."
        )
    return array


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, kinds.Integral):
        return np.random.default_rng(None if random_state is None else int(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


# classes --------------------------------------------------------------------------------------------------------------


def _predictions(targets: Any, outputs: Any, proba: Any, score: Any, classes: Any, keep: Any) -> Predictions:
    all_classes = _classes(targets, outputs, classes)
    if len(all_classes) < 2:
        raise ValueError(
            f"There is one class, {all_classes[0]!r}: figures need at least two. Name the others by classes=[...]."
        )
    true = _codes(targets, all_classes, "y_true")
    probabilities = None if proba is None else _probabilities(proba, len(targets), all_classes)
    scores = None if score is None else _scores(score, len(targets), all_classes)
    if outputs is not None:
        predicted = _codes(outputs, all_classes, "y_pred")
    elif probabilities is not None:
        predicted = np.argmax(probabilities, axis=1)
    else:
        assert scores is not None
        predicted = (scores[:, 1] > 0.0).astype(np.intp) if len(all_classes) == 2 else np.argmax(scores, axis=1)
    return Predictions(
        tuple(all_classes),
        true[keep],
        predicted[keep],
        None if scores is None else scores[keep],
        None if probabilities is None else probabilities[keep],
    )


def _classes(targets: Any, outputs: Any, classes: Any) -> list[Any]:
    if classes is not None:
        all_classes = np.asarray(classes).ravel().tolist()
        if len(set(all_classes)) != len(all_classes):
            raise ValueError(f"classes must be different from each other. Got {all_classes!r}.")
        return all_classes
    parts = [targets] if outputs is None else [targets, outputs]
    for values in parts:
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("A class is missing (nan): leave these rows out, or predict them.")
    distinct: set[Any] = set()
    for values in parts:
        distinct |= set(values.tolist()) if values.dtype.kind == "O" else set(np.unique(values).tolist())
    try:
        return sorted(distinct)
    except TypeError as error:
        shown = ", ".join(sorted({f"{label!r} ({type(label).__name__})" for label in distinct})[:4])
        raise ValueError(
            f"Labels must be of one kind in y_true and y_pred, and none missing. Got {shown}, among others."
        ) from error


def _codes(values: Any, all_classes: list[Any], name: str) -> Integers:
    """The class index of each label."""
    if values.dtype.kind in "fiu" and all(isinstance(label, (kinds.Real, np.generic)) for label in all_classes):
        labels = np.asarray(all_classes)
        order = np.argsort(labels)
        positions = np.minimum(np.searchsorted(labels[order], values), len(labels) - 1)
        codes = order[positions]
        invalid = labels[codes] != values
        if np.any(invalid):
            raise ValueError(_unknown(values[np.argmax(invalid)].item(), all_classes, name))
        return codes
    code_of = {label: k for k, label in enumerate(all_classes)}
    try:
        return np.fromiter((code_of[value] for value in values.tolist()), dtype=np.intp, count=len(values))
    except KeyError as error:
        raise ValueError(_unknown(error.args[0], all_classes, name)) from None


def _unknown(label: Any, all_classes: list[Any], name: str) -> str:
    shown = ", ".join(repr(value) for value in all_classes[:6]) + (", ..." if len(all_classes) > 6 else "")
    return f"{name} has the label {label!r}, which is none of the classes {shown}."


def _table(values: Any, rows: int, all_classes: list[Any], name: str) -> Floats:
    """(n, K) of an array with a column a class, or of the second of two classes alone, untouched."""
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = _numbers(array.ravel(), name).reshape(array.shape)
    if array.ndim not in (1, 2) or len(array) != rows:
        raise ValueError(f"{name} must have one row a row of y_true ({rows}). Got shape {array.shape}.")
    if array.ndim == 2 and array.shape[1] not in (1, len(all_classes)):
        raise ValueError(
            f"{name} must have a column for each of the {len(all_classes)} classes {all_classes[:6]!r}. Got "
            f"{array.shape[1]} columns: name all classes, in the order of the columns, by classes=[...]."
        )
    one = array.ndim == 1 or array.shape[1] == 1
    if one and len(all_classes) != 2:
        raise ValueError(
            f"{name} must have shape ({rows}, {len(all_classes)}), a column a class. Got shape {array.shape}."
        )
    _numbers(array.ravel(), name)
    return array.reshape(rows, -1)


def _probabilities(proba: Any, rows: int, all_classes: list[Any]) -> Floats:
    probabilities = _table(proba, rows, all_classes, "proba")
    if np.any(probabilities < 0.0) or np.any(probabilities > 1.0 + 1e-6):
        invalid = float(probabilities.min() if np.any(probabilities < 0.0) else probabilities.max())
        raise ValueError(f"proba must be between 0 and 1. Got {invalid!r}: scores of another kind are given by score=.")
    if probabilities.shape[1] == 1:
        return np.hstack([1.0 - probabilities, probabilities])
    total: Floats = np.asarray(np.sum(probabilities, axis=1, dtype=np.float64))
    off = np.abs(total - 1.0) > 1e-4
    if np.any(off):
        first = int(np.argmax(off))
        raise ValueError(f"The probabilities of a row must sum to one. Those of row {first} sum to {total[first]:.6g}.")
    return probabilities


def _scores(score: Any, rows: int, all_classes: list[Any]) -> Floats:
    scores = _table(score, rows, all_classes, "score").astype(np.float64, copy=False)
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
