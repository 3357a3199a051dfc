"""Splits of rows: what each protocol promises of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit, cross_validate

from tenfold import Ridge
from tenfold.selection import (
    hold_out,
    k_fold,
    leave_one_out,
    repeated,
    splits_for,
    three_way,
    time_ordered,
)

CLASSES = np.repeat(["a", "b"], [30, 70])


def disjoint(protocol):
    for train, test in protocol:
        assert not set(train) & set(test)
        assert len(train)
        assert len(test)


@given(n=st.integers(2, 60), k=st.integers(2, 12), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_folds_are_a_partition_and_so_are_the_inner_ones(n, k, seed):
    protocol = k_fold(range(n), k, random_state=seed)
    disjoint(protocol)
    assert np.sort(np.concatenate([test for _, test in protocol])).tolist() == list(range(n))
    for split, (train, _) in enumerate(protocol):
        if len(train) < 2:
            continue
        inner = protocol.inner(split)
        disjoint(inner)
        assert np.sort(np.concatenate([test for _, test in inner])).tolist() == list(range(len(train)))
        if len(protocol) > 2:
            # every inner fold is an outer one
            outer = {tuple(test) for _, test in protocol}
            assert {tuple(np.sort(train[test])) for _, test in inner} < {tuple(np.sort(fold)) for fold in outer}
            assert len(inner) == len(protocol) - 1


def test_classes_have_equal_shares():
    for protocol in (k_fold(CLASSES, 5, classes=CLASSES), hold_out(CLASSES, classes=CLASSES)):
        for _, test in protocol:
            assert np.mean(CLASSES[test] == "a") == pytest.approx(0.3)
    assert "equal shares of the classes" in splits_for(CLASSES, CLASSES).words


def test_a_class_rarer_than_folds_is_named():
    y = np.array(["a"] * 30 + ["b"] * 2)
    assert "the rarest class has 2 rows, so some folds lack it" in k_fold(y, 5, classes=y).words


@pytest.mark.parametrize("classes", [None, CLASSES])
def test_groups_stay_together(classes):
    groups = np.arange(100) // 7
    protocol = splits_for(np.zeros((100, 1)), classes, groups=groups)
    disjoint(protocol)
    for split, (train, test) in enumerate(protocol):
        assert not set(groups[train]) & set(groups[test])
        for inside, out in protocol.inner(split):
            assert not set(groups[train][inside]) & set(groups[train][out])
    assert "whole groups" in protocol.words
    train, test = hold_out(groups, groups=groups).pairs[0]
    assert not set(groups[train]) & set(groups[test])
    assert not protocol.exchangeable


def test_time_is_scikit_learns_where_no_times_are_equal():
    ours = time_ordered(np.arange(61.0))
    for (train, test), (theirs, tested) in zip(ours, TimeSeriesSplit(5).split(np.arange(61)), strict=True):
        assert train.tolist() == theirs.tolist()
        assert test.tolist() == tested.tolist()


def test_test_samples_come_after_training_samples():
    time = np.random.default_rng(0).integers(0, 9, 80)
    protocol = splits_for(np.zeros((80, 1)), np.zeros(80), time=time)
    disjoint(protocol)
    for split, (train, test) in enumerate(protocol):
        assert time[train].max() < time[test].min()
        if len(set(time[train])) > 1:
            for inside, out in protocol.inner(split):
                assert time[train][inside].max() < time[train][out].min()


def test_time_leaves_out_the_groups_that_are_tested():
    groups = np.arange(60) // 7  # some go over the end of a period
    whole, some = time_ordered(np.arange(60)), time_ordered(np.arange(60), groups=groups)
    for (all_before, _), (train, test) in zip(whole, some, strict=True):
        assert not set(groups[train]) & set(groups[test])
        assert set(train) < set(all_before)


def test_three_way():
    parts = three_way(range(100), classes=CLASSES)
    assert sorted([*parts.train, *parts.validation, *parts.test]) == list(range(100))
    (train, chosen), *_ = parts.choosing.pairs
    (both, test), *_ = parts.assessing.pairs
    assert sorted([*train, *chosen]) == both.tolist()
    assert test.tolist() == parts.test.tolist()
    assert np.mean(CLASSES[parts.test] == "a") == pytest.approx(0.3, abs=0.03)


def test_leave_one_out_and_repetitions():
    assert [test.tolist() for _, test in leave_one_out(range(3))] == [[0], [1], [2]]
    three = repeated(k_fold(range(20), 4), 3)
    assert len(three) == 12
    assert str(three.pairs[:4]) == str(k_fold(range(20), 4).pairs)
    assert len(three.inner(5)) == 3
    assert len({tuple(test) for _, test in three}) == 12
    assert len(repeated(hold_out(range(20)), 4)) == 4
    assert len(k_fold(range(20), 4, repeats=2)) == 8


@pytest.mark.parametrize(
    ("n", "count", "kind"),
    [(12, 12, "leave-one-out"), (60, 10, "k-fold"), (500, 5, "k-fold"), (100_001, 1, "hold-out")],
)
def test_default_splits(n, count, kind):
    protocol = splits_for(np.zeros((n, 1)), np.linspace(0, 1, n))
    assert (len(protocol), protocol.kind) == (count, kind)
    assert protocol.words


def test_given_splits_are_taken():
    X = np.zeros((30, 1))
    protocol = splits_for(X, np.arange(30.0), cv=KFold(3))
    assert len(protocol.inner(0)) == 2
    assert protocol.exchangeable
    assert len(splits_for(X, cv=[(np.arange(20), np.arange(20, 30))])) == 1
    assert splits_for(X, cv=protocol) is protocol
    assert len(splits_for(X, cv="loo")) == 30
    assert splits_for(X, cv="hold-out").kind == "hold-out"


def test_two_folds_and_single_splits_are_split_anew_inside():
    for protocol in (k_fold(range(40), 2), hold_out(range(40)), three_way(range(40)).assessing):
        inner = protocol.inner(0)
        assert len(inner) == 5
        assert inner.n == len(protocol.pairs[0][0])


def test_is_a_splitter_of_scikit_learn():
    X = np.random.default_rng(0).standard_normal((40, 2))
    result = cross_validate(Ridge(), X, X[:, 0], cv=k_fold(X, 4))
    assert len(result["test_score"]) == 4
    with pytest.raises(ValueError, match="of 40 rows, X has 39"):
        list(k_fold(X, 4).split(X[:39]))


def test_the_seed_decides():
    assert str(k_fold(range(30), random_state=1).pairs) == str(k_fold(range(30), random_state=1).pairs)
    assert str(k_fold(range(30), random_state=1).pairs) != str(k_fold(range(30), random_state=2).pairs)


def test_integers_with_few_values_are_classes():
    counts = np.arange(200)
    assert "shares" not in splits_for(counts, counts).words
    assert "shares" in splits_for(counts, counts % 3).words
    assert "shares" not in splits_for(counts, (counts % 3).astype(float)).words


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: k_fold(range(1)), "two rows at least"),
        (lambda: k_fold(range(9), 1), "at least 2 folds"),
        (lambda: k_fold(range(9), groups=np.zeros(9)), "two groups at least"),
        (lambda: k_fold(range(9), groups=np.zeros(8)), "groups needs one entry for each of the 9 rows"),
        (lambda: leave_one_out(range(1)), "needs two rows"),
        (lambda: time_ordered(np.zeros(9)), "the same time"),
        (lambda: time_ordered([1.0, np.nan, 2.0]), "times are missing"),
        (lambda: time_ordered(range(9), groups=np.zeros(9)), "No training rows"),
        (lambda: three_way(range(9), test=0.9), "leave rows to train"),
        (lambda: splits_for(range(9), cv="some"), "got 'some'"),
        (lambda: splits_for(range(9), cv="loo", groups=range(9)), "use folds"),
        (lambda: splits_for(range(9), cv=k_fold(range(8))), "of 8 rows, X has 9"),
        (lambda: repeated(leave_one_out(range(9)), 2), "drawn again"),
    ],
)
def test_invalid_input_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_groups_and_times_may_be_lists_or_series():
    pd = pytest.importorskip("pandas")
    groups = [k // 5 for k in range(40)]
    expected = splits_for(range(40), np.arange(40.0), cv=GroupKFold(4), groups=np.array(groups))
    for given_as in (groups, pd.Series(groups, index=range(100, 140))):
        protocol = splits_for(range(40), np.arange(40.0), cv=GroupKFold(4), groups=given_as)
        for one, other in zip(protocol.inner(0), expected.inner(0), strict=True):
            np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("cv", ["loo", "hold-out"])
def test_time_is_not_ignored(cv):
    with pytest.raises(ValueError, match="whatever their time"):
        splits_for(range(40), np.arange(40.0), cv=cv, time=np.arange(40))


def test_bool_is_no_number_of_folds():
    with pytest.raises(ValueError, match="cv is"):
        splits_for(range(40), np.arange(40.0), cv=True)
