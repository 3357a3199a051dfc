"""Default splits of a data set, by its size, its groups and its times."""

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.multiclass import type_of_target

from tenfold.selection.splitters import (
    SINGLE_SPLIT_MIN_SAMPLES,
    Pair,
    Protocol,
    count_rows,
    hold_out,
    k_fold,
    leave_one_out,
    time_ordered,
)

# below the first number of samples each is left out alone, below the second there are ten folds, above them five
LEAVE_ONE_OUT_MAX_SAMPLES, TEN_FOLDS_MAX_SAMPLES = 20, 100


def splits_for(
    X: Any, y: Any = None, *, cv: Any = "auto", groups: Any = None, time: Any = None, random_state: int = 0
) -> Protocol:
    """Default splits of these samples, with a sentence that describes them.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,), default=None
        Their targets; classes have equal shares in all parts. Text, truth values and whole numbers are classes, these
        where there are at most 50 of them, each met more than twice on the average. None where there are no targets.
    cv : "auto", "loo", "hold-out", int, Protocol, cross-validation generator or an iterable, default="auto"
        "auto" is leave-one-out below 20 samples, ten folds below 100, five above, and one split above 100 000; with
        `groups` it is five folds, with `time` five periods. "loo" leaves out each sample alone, "hold-out" is one
        random split of which a fifth tests. Else a number of folds, or of periods with `time`; a splitter of
        scikit-learn; pairs of training and test indices; or a `Protocol`, which is returned as it is.
    groups : array-like of shape (n_samples,), default=None
        Samples of one group are never on both sides; a splitter of scikit-learn is given them, and does with them what
        it does; pairs and a `Protocol` are taken as they are. None for none.
    time : array-like of shape (n_samples,), default=None
        Anything that can be sorted. With "auto" and a number, what is tested comes after what trains; any other `cv` is
        taken as it is. None for no order.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    Protocol
        The splits, with a sentence that says what they are.

    Raises
    ------
    ValueError
        Where `cv` is another word, a `Protocol` of another number of samples, a splitter that gives no split, or "loo"
        with `groups`; and where there are too few samples, groups or times to split.

    Notes
    -----
    Nothing is fitted. Every split holds the indices of all its samples: n of them a fold, n^2 in leave-one-out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold.selection import splits_for
    >>> print(splits_for(*load_iris(return_X_y=True)).words)
    5 random folds of 30 rows with equal shares of the classes
    """
    return splits_of(
        X,
        y,
        y if y is not None and _is_classes(y) else None,
        cv=cv,
        groups=groups,
        time=time,
        random_state=random_state,
    )


def splits_of(
    X: Any, y: Any, classes: Any, *, cv: Any = "auto", groups: Any = None, time: Any = None, random_state: int = 0
) -> Protocol:
    """As `splits_for`, for a target of which it is known whether it holds classes."""
    n = count_rows(X)
    if isinstance(cv, Protocol):
        if cv.n != n:
            raise ValueError(f"These splits are of {cv.n} rows, X has {n}.")
        return cv
    groups, time = (None if tie is None else np.asarray(tie) for tie in (groups, time))
    if isinstance(cv, bool) or (isinstance(cv, str) and cv not in ("auto", "loo", "hold-out")):
        raise ValueError(f'cv is "auto", "loo", "hold-out", a number of folds, a splitter or pairs, got {cv!r}.')
    if classes is not None and not _can_stratify(np.asarray(classes)):
        classes = None  # the first fit raises the error
    number = int(cv) if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) else None
    if time is not None and (cv == "auto" if isinstance(cv, str) else number is not None):
        return time_ordered(time, number or 5, groups=groups, random_state=random_state)
    if isinstance(cv, str) and cv == "auto":
        cv, number = _choose_default(n, groups)
    if number is not None:
        return k_fold(X, number, classes=classes, groups=groups, random_state=random_state)
    if isinstance(cv, str):
        if time is not None:
            raise ValueError(f'cv={cv!r} leaves out samples whatever their time: with time, take "auto" or folds.')
        if groups is not None and cv == "loo":
            raise ValueError("Leaving out rows one by one leaves the rest of their group behind: use folds.")
        return (
            leave_one_out(X) if cv == "loo" else hold_out(X, classes=classes, groups=groups, random_state=random_state)
        )
    splitter = check_cv(cv, y, classifier=classes is not None)
    pairs = tuple((np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups))
    if not pairs:
        raise ValueError("The splitter gives no split.")
    name = "" if isinstance(cv, (list, tuple)) else f" of {type(cv).__name__}"
    repeats = _count_partitions(pairs, n)
    kind = "k-fold" if repeats and isinstance(cv, (KFold, StratifiedKFold)) else "given"
    words = f"{len(pairs)} splits{name}, as given"
    return Protocol(kind, pairs, n, words, repeats, classes, groups, time, random_state)


def _choose_default(n: int, groups: Any) -> tuple[Any, int | None]:
    """What "auto" stands for: a name, or a number of folds."""
    if groups is not None:
        return None, 5
    if n < LEAVE_ONE_OUT_MAX_SAMPLES:
        return "loo", None
    if n > SINGLE_SPLIT_MIN_SAMPLES:
        return "hold-out", None
    return None, 10 if n < TEN_FOLDS_MAX_SAMPLES else 5


def _count_partitions(pairs: tuple[Pair, ...], n: int) -> int:
    """1 where every sample is tested once and trains otherwise, else 0."""
    tests = np.concatenate([test for _, test in pairs])
    once = len(tests) == n and np.array_equal(np.sort(tests), np.arange(n))
    return int(once and all(len(train) + len(test) == n for train, test in pairs))


def _is_classes(y: Any) -> bool:
    """Whether a target holds classes: text, truth values, or whole numbers of which there are few."""
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind == "f":
        return False
    return (y.dtype.kind not in "iu" or _has_few_values(y)) and _can_stratify(y)


def _can_stratify(y: Any) -> bool:
    """Whether these are classes in scikit-learn's sense."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there are many of them, or strange ones
        return type_of_target(y) in ("binary", "multiclass")


def _has_few_values(y: Any) -> bool:
    """Whether whole numbers look like classes: no more than 50 of them, each met more than twice on the average."""
    count = len(np.unique(y))
    return count <= 50 and 2 * count < len(y)
