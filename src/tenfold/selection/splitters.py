"""Protocols of evaluation: which samples train and which test, by scikit-learn's splitters.

A protocol is a value: pairs of index arrays, and a sentence that describes them. It is a splitter itself:
``cv=protocol`` works wherever scikit-learn takes one. Random draws depend on `random_state` alone.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from tenfold.arrays import Integers

Pair = tuple[Integers, Integers]
"""Indices of the training samples and of the test samples."""

SINGLE_SPLIT_MIN_SAMPLES = 100_000  # above, one split has a small enough standard error


@dataclass(frozen=True)
class Protocol:
    """Splits of n samples, with a sentence that describes them.

    It is made by `splits_for`, `hold_out`, `k_fold`, `leave_one_out`, `time_ordered` and `repeated`. It is a splitter
    itself, ``cv=protocol`` works wherever scikit-learn takes one; its length is the number of splits, and iteration
    gives the pairs.

    Attributes
    ----------
    kind : {"hold-out", "k-fold", "leave-one-out", "time-ordered", "given"}
        What the splits are; "given" are those of pairs, and of splitters other than KFold and StratifiedKFold.
    pairs : tuple of (ndarray, ndarray)
        Indices of the samples that train and of those that test, one pair a split.
    n : int
        Number of samples.
    words : str
        What was taken, as a sentence.
    repeats : int
        How many partitions of the samples there are, one after the other, where the tests are partitions; else 0.
    classes : array-like of shape (n,) or None
        Classes whose shares are kept equal; None for none.
    groups : array-like of shape (n,) or None
        Groups that stay together; None for none.
    time : array-like of shape (n,) or None
        What the splits are ordered by; None for no order.
    random_state : int
        Seed of all that is drawn.
    exchangeable : bool
        Whether samples may be left out one by one: neither groups nor time tie them together, and the splits were not
        given.
    tested : ndarray of shape (n,)
        Whether each sample is tested at least once.

    Notes
    -----
    Memory for the indices: n of them a split that uses all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from tenfold import GaussianNB
    >>> from tenfold.selection import k_fold
    >>> X, y = load_iris(return_X_y=True)
    >>> folds = k_fold(X, 10, classes=y)
    >>> len(folds), folds.kind, bool(folds.tested.all())
    (10, 'k-fold', True)
    >>> float(cross_val_score(GaussianNB(), X, y, cv=folds).mean().round(2))
    0.95
    """

    kind: str
    pairs: tuple[Pair, ...]
    n: int
    words: str
    repeats: int = 0
    classes: Any = None
    groups: Any = None
    time: Any = None
    random_state: int = 0

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Pair]:
        """The pairs of training and test indices, in scikit-learn's form.

        X, or None, must have as many samples as these splits, else a ValueError says so; y and groups are not looked
        at: the splits are already there.
        """
        if X is not None and count_rows(X) != self.n:
            raise ValueError(f"These splits are of {self.n} rows, X has {count_rows(X)}.")
        return iter(self.pairs)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of splits, in scikit-learn's form; X, y and groups are not looked at."""
        return len(self.pairs)

    @property
    def exchangeable(self) -> bool:
        """Whether samples may be left out one by one: there are no groups, no times and no given splits."""
        return self.groups is None and self.time is None and self.kind != "given"

    @property
    def tested(self) -> Any:
        """Whether each sample is tested at least once, (n,)."""
        tested = np.zeros(self.n, dtype=bool)
        for _, test in self.pairs:
            tested[test] = True
        return tested

    def inner(self, split: int) -> "Protocol":
        """The splits of the training samples of a split (a number from 0), as a Protocol with indices into them.

        Of a partition into k folds the other k - 1 folds test in turn, so that every fold is the same set of samples
        in all splits. Two folds, hold-outs, splits in time and given splits that are no partition have no such folds:
        the training samples are split again, into five periods, one split of more than 100 000 samples, or five folds.
        """
        train, _ = self.pairs[split]
        k = len(self.pairs) // self.repeats if self.repeats else 0
        if k < 3:
            return self._split_again(train)
        first = split - split % k
        place = np.full(self.n, -1)
        place[train] = np.arange(len(train))
        everyone = np.arange(len(train))
        pairs = []
        for other in range(first, first + k):
            fold = place[self.pairs[other][1]]
            if other != split:
                pairs.append((np.setdiff1d(everyone, fold, assume_unique=True), np.sort(fold)))
        words = f"the {k - 1} other folds, each tested once"
        return replace(self._restrict(train), pairs=tuple(pairs), n=len(train), words=words, repeats=1)

    def _restrict(self, rows: Integers) -> "Protocol":
        """This protocol with the classes, groups and times of some samples."""
        classes, groups, times = (None if tie is None else tie[rows] for tie in (self.classes, self.groups, self.time))
        return replace(self, classes=classes, groups=groups, time=times)

    def _split_again(self, rows: Integers) -> "Protocol":
        inside = self._restrict(rows)
        numbers = np.arange(len(rows))
        ties = {"groups": inside.groups, "random_state": self.random_state}
        if self.time is not None and len(np.unique(inside.time)) > 1:
            return time_ordered(inside.time, groups=inside.groups, random_state=self.random_state)
        if self.kind == "hold-out" and self.n > SINGLE_SPLIT_MIN_SAMPLES:
            return hold_out(numbers, classes=inside.classes, **ties)
        return k_fold(numbers, 5, classes=inside.classes, **ties)


@dataclass(frozen=True)
class ThreeWay:
    """Training, validation and test samples: disjoint parts of a data set.

    Attributes
    ----------
    train : ndarray of int
        Indices of the samples that train, in increasing order.
    validation : ndarray of int
        Indices of the samples that choose between models, in increasing order.
    test : ndarray of int
        Indices of the samples that are to be looked at once, at the end; in increasing order.
    random_state : int
        Seed of the draw.
    n : int
        Number of all samples.
    choosing : Protocol
        One split: `train` trains and `validation` tests.
    assessing : Protocol
        One split: `train` and `validation` train together, and `test` tests.

    Examples
    --------
    >>> from tenfold.selection import three_way
    >>> parts = three_way(range(100))
    >>> print(parts.choosing.words)
    trained on 50 rows, compared on 25
    >>> print(parts.assessing.words)
    trained again on 75 rows, tested once on 25
    """

    train: Integers
    validation: Integers
    test: Integers
    random_state: int = 0

    @property
    def n(self) -> int:
        """Number of all samples."""
        return len(self.train) + len(self.validation) + len(self.test)

    @property
    def choosing(self) -> Protocol:
        """The split that compares models: training samples, and validation samples that test."""
        words = f"trained on {len(self.train)} rows, compared on {len(self.validation)}"
        return Protocol("given", ((self.train, self.validation),), self.n, words, random_state=self.random_state)

    @property
    def assessing(self) -> Protocol:
        """The split that assesses the selected model: trained on both, tested on the rest."""
        both = np.sort(np.concatenate([self.train, self.validation]))
        words = f"trained again on {len(both)} rows, tested once on {len(self.test)}"
        return Protocol("given", ((both, self.test),), self.n, words, random_state=self.random_state)


def count_rows(X: Any) -> int:
    """The number of rows of an array, a frame, a sparse matrix or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def hold_out(X: Any, *, test: float = 0.2, classes: Any = None, groups: Any = None, random_state: int = 0) -> Protocol:
    """One split at random: a share of the samples, or of the groups, tests.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples; only their number counts.
    test : float, default=0.2
        Share of the samples, or of the groups, that test.
    classes : array-like of shape (n_samples,), default=None
        Classes, whose shares are kept equal in both parts, as nearly as can be: where every class has two samples,
        both parts have room for every class, and there are no groups. None for none.
    groups : array-like of shape (n_samples,), default=None
        Groups of samples that stay together. None for samples that are independent.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    Protocol
        The split, with a sentence that says what it is.

    Raises
    ------
    ValueError
        Where a part is left without samples or groups, or `classes` or `groups` have not one entry a sample.

    Notes
    -----
    One permutation of the samples or groups; nothing is fitted.

    Examples
    --------
    >>> from tenfold.selection import hold_out
    >>> print(hold_out(range(50)).words)
    one random split, 40 rows train and 10 test
    """
    n = count_rows(X)
    numbers = np.zeros((n, 1))
    settings = {"n_splits": 1, "test_size": test, "random_state": random_state}
    how = "one random split"
    if groups is not None:
        groups = _check_entries(groups, n, "groups")
        pairs = list(GroupShuffleSplit(**settings).split(numbers, groups=groups))
        how += " of the groups"
    elif (
        classes is not None and _rarest_class_size(classes) > 1 and min(test, 1.0 - test) * n >= len(np.unique(classes))
    ):
        classes = _check_entries(classes, n, "classes")
        pairs = list(StratifiedShuffleSplit(**settings).split(numbers, classes))
        how += " with equal shares of the classes"
    else:
        pairs = list(ShuffleSplit(**settings).split(numbers))
    train, tests = (np.sort(part) for part in pairs[0])
    words = f"{how}, {len(train)} rows train and {len(tests)} test"
    return Protocol("hold-out", ((train, tests),), n, words, 0, classes, groups, None, random_state)


def three_way(
    X: Any, *, validation: float = 0.25, test: float = 0.25, classes: Any = None, random_state: int = 0
) -> ThreeWay:
    """Split samples at random into a half that trains, a quarter that validates and a quarter that tests.

    Seeger, section 10.1.1; Cookbook, section 6.2.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples; only their number counts.
    validation : float, default=0.25
        Share of the samples that choose.
    test : float, default=0.25
        Share of the samples that test.
    classes : array-like of shape (n_samples,), default=None
        Classes, whose shares are kept equal in all parts, as nearly as can be. None for none.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    ThreeWay
        Indices of the three parts.

    Raises
    ------
    ValueError
        Where the two shares are not above 0 or leave nothing to train on, or there are too few samples for three parts.

    Notes
    -----
    Two permutations of the samples; nothing is fitted.

    Examples
    --------
    >>> from tenfold.selection import three_way
    >>> parts = three_way(range(100))
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (50, 25, 25)
    """
    if not (validation > 0.0 and test > 0.0 and validation + test < 1.0):
        raise ValueError(f"validation and test are shares that leave rows to train, got {validation!r} and {test!r}.")
    first = hold_out(X, test=test, classes=classes, random_state=random_state)
    both, tests = first.pairs[0]
    inside = None if classes is None else np.asarray(classes)[both]
    count = round(validation * first.n) / len(both)
    second = hold_out(both, test=count, classes=inside, random_state=random_state)
    train, chosen = (both[part] for part in second.pairs[0])
    return ThreeWay(train, chosen, tests, random_state)


def k_fold(
    X: Any, k: int = 5, *, classes: Any = None, groups: Any = None, repeats: int = 1, random_state: int = 0
) -> Protocol:
    """k disjoint parts of the samples, drawn at random, each tested once by a model of the others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples; only their number counts.
    k : int, default=5
        Number of parts, two at least; where there are fewer samples or groups, each is a part of its own.
    classes : array-like of shape (n_samples,), default=None
        Classes, whose shares are kept equal in all parts, as nearly as can be, where some class has k samples. None for
        none.
    groups : array-like of shape (n_samples,), default=None
        Groups of samples that stay together. None for samples that are independent.
    repeats : int, default=1
        How many partitions are drawn, one after the other.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    Protocol
        The splits, with a sentence that says what they are.

    Raises
    ------
    ValueError
        Where k is below 2, there are fewer than two samples or groups, or `classes` or `groups` have not one entry a
        sample.

    Notes
    -----
    One permutation of the samples a partition, and n indices a fold; nothing is fitted.

    Examples
    --------
    >>> from tenfold.selection import k_fold
    >>> folds = k_fold(range(100), 5)
    >>> len(folds), folds.words
    (5, '5 random folds of 20 rows')
    >>> len(folds.inner(0))  # the other four
    4
    """
    n = count_rows(X)
    classes = None if classes is None else _check_entries(classes, n, "classes")
    groups = None if groups is None else _check_entries(groups, n, "groups")
    units = n if groups is None else len(np.unique(groups))
    what = "rows" if groups is None else "groups"
    if units < 2:
        raise ValueError(f"Folds need two {what} at least, got {f'n_samples={n}' if groups is None else units}.")
    if k < 2:
        raise ValueError(f"There are at least 2 folds, got k={k!r}.")
    fewer = k > units
    k = min(k, units)
    note = f" (there are no more {what})" if fewer else ""
    if classes is not None and np.bincount(np.unique(classes, return_inverse=True)[1]).max() < k:
        classes = None  # no class is large enough for a sample in every fold
    pairs: list[Pair] = []
    for repeat in range(repeats):
        splitter = _splitter(k, classes is not None, groups is not None, random_state + repeat)
        with warnings.catch_warnings():
            # the description below says that a class has fewer samples than folds
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            pairs += list(splitter.split(np.zeros((n, 1)), classes, groups))
    sizes = sorted({len(test) for _, test in pairs})
    rows = f"{sizes[0]} rows" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} rows"
    constraints = [] if classes is None else ["equal shares of the classes"]
    constraints += [] if groups is None else ["whole groups"]
    words = f"{k} random folds of {rows}{note}" + (f" with {' and '.join(constraints)}" if constraints else "")
    words += f", drawn {repeats} times" if repeats > 1 else ""
    if classes is not None and (least := _rarest_class_size(classes)) < k:
        words += f"; the rarest class has {least} row{'s' * (least > 1)}, so some folds lack it"
    return Protocol("k-fold", tuple(pairs), n, words, repeats, classes, groups, None, random_state)


def leave_one_out(X: Any) -> Protocol:
    """Each sample is tested by a model of all others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples; only their number counts.

    Returns
    -------
    Protocol
        The splits, with a sentence that says what they are.

    Raises
    ------
    ValueError
        Where there are fewer than two samples.

    Notes
    -----
    n^2 indices; nothing is drawn, and nothing fitted. Classes of ours that end in CV leave out each sample in closed
    form, without any of these.

    Examples
    --------
    >>> from tenfold.selection import leave_one_out
    >>> len(leave_one_out(range(30)))
    30
    """
    n = count_rows(X)
    if n < 2:
        raise ValueError(f"Leaving one row out needs two rows, got n_samples={n}.")
    rows = np.arange(n)
    pairs = tuple((np.delete(rows, i), rows[i : i + 1]) for i in rows)
    return Protocol("leave-one-out", pairs, n, f"each of the {n} rows left out once", 1)


def time_ordered(time: Any, k: int = 5, *, groups: Any = None, random_state: int = 0) -> Protocol:
    """k consecutive periods, each tested by a model of all that came before it.

    Samples of one time are never on both sides.

    Parameters
    ----------
    time : array-like of shape (n_samples,)
        Anything that can be sorted, one entry a sample.
    k : int, default=5
        Number of periods that are tested, of n / (k + 1) samples each, rounded down; the first training samples are the
        rest. There are fewer where samples of one time fill a period.
    groups : array-like of shape (n_samples,), default=None
        Groups; training samples whose group is tested are left out. None for none.
    random_state : int, default=0
        Nothing here is random: the seed of folds inside (`Protocol.inner`) where all training samples have one time.

    Returns
    -------
    Protocol
        The splits, with a sentence that says what they are.

    Raises
    ------
    ValueError
        Where a time is missing, all are the same, every group that is tested was there before, or `groups` has not one
        entry a sample.

    Notes
    -----
    One sort of the times, and at most n indices a period; nothing is fitted.

    Examples
    --------
    >>> from tenfold.selection import time_ordered
    >>> [(len(train), len(test)) for train, test in time_ordered(range(60))]
    [(10, 10), (20, 10), (30, 10), (40, 10), (50, 10)]
    """
    time = _check_entries(time, count_rows(time), "time")
    n = len(time)
    if np.any(time != time):
        raise ValueError("Some times are missing: rows without a time cannot be put in order. Drop them.")
    order = np.argsort(time, kind="stable")
    sorted_time = time[order]
    size = n // (k + 1)
    cuts = [n - (k - i) * size for i in range(k)] if size else list(range(1, n))
    # a cut between samples of one time moves to the first of them
    cuts = sorted({int(np.searchsorted(sorted_time, sorted_time[cut], side="left")) for cut in cuts} - {0})
    if not cuts:
        raise ValueError("All rows have the same time: there is no before and after.")
    pairs = []
    for begin, end in zip(cuts, [*cuts[1:], n], strict=True):
        train, test = np.sort(order[:begin]), np.sort(order[begin:end])
        if groups is not None:
            groups = _check_entries(groups, n, "groups")
            train = train[~np.isin(groups[train], groups[test])]
        if len(train):
            pairs.append((train, test))
    if not pairs:
        raise ValueError("No training rows are left: every group that is tested was there before. Give no groups.")
    words = f"{len(pairs)} periods, each tested by a model of all rows before it"
    words += "" if groups is None else ", less those of its groups"
    return Protocol("time-ordered", tuple(pairs), n, words, 0, None, groups, time, random_state)


def repeated(protocol: Protocol, times: int) -> Protocol:
    """`times` independent draws of a hold-out or of folds, one after the other; their first is `protocol` itself.

    Parameters
    ----------
    protocol : Protocol
        A hold-out or folds that are not repeated; the draws keep its classes and groups.
    times : int
        How many draws there are; their seeds are `protocol.random_state` and the integers after it.

    Returns
    -------
    Protocol
        The splits, with a sentence that says what they are.

    Raises
    ------
    ValueError
        Where `protocol` is neither a hold-out nor folds, or is repeated already.

    Notes
    -----
    `times` permutations of the samples or groups; nothing is fitted.

    Examples
    --------
    >>> from tenfold.selection import k_fold, repeated
    >>> len(repeated(k_fold(range(100), 5), 3))
    15
    """
    if protocol.kind not in ("hold-out", "k-fold") or protocol.repeats > 1:
        raise ValueError(f"Only a hold-out and folds are drawn again, got {protocol.words!r}.")
    ties = {"classes": protocol.classes, "groups": protocol.groups}
    draws = [protocol]
    for seed in range(protocol.random_state + 1, protocol.random_state + times):
        if protocol.kind == "k-fold":
            draws.append(k_fold(range(protocol.n), len(protocol), random_state=seed, **ties))
        else:
            share = len(protocol.pairs[0][1]) / protocol.n
            draws.append(hold_out(range(protocol.n), test=share, random_state=seed, **ties))
    pairs = tuple(pair for draw in draws for pair in draw.pairs)
    partitions = times if protocol.kind == "k-fold" else 0
    return replace(protocol, pairs=pairs, repeats=partitions, words=f"{protocol.words}, drawn {times} times")


def _splitter(k: int, stratified: bool, grouped: bool, seed: int) -> Any:
    if stratified and grouped:
        return StratifiedGroupKFold(k, shuffle=True, random_state=seed)
    if grouped:
        return GroupKFold(k, shuffle=True, random_state=seed)
    return (StratifiedKFold if stratified else KFold)(k, shuffle=True, random_state=seed)


def _rarest_class_size(classes: Any) -> int:
    return int(np.unique(np.asarray(classes), return_counts=True)[1].min())


def _check_entries(values: Any, n: int, name: str) -> Any:
    """Values as an array, checked to have one entry per sample."""
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(f"{name} needs one entry for each of the {n} rows, got shape {values.shape}.")
    return values
