"""Parameters of constructors: what is allowed, and the words of the refusal."""

import re

import numpy as np
import pytest

import tenfold
from estimators import SHAPES, SOLVED
from tenfold.estimators.parameters import (
    InvalidParameterError,
    array_like,
    boolean,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    random_state,
    real,
    splitter,
)

ALLOWED = [
    (
        real(0),
        [0, 0.0, 1, 2.5, np.float32(1), np.int64(3)],
        [-1, -1e-300, np.nan, np.inf, "1", None, True, np.True_, [1.0]],
    ),
    (real(0, closed="neither"), [1e-300, 1], [0, 0.0, np.inf]),
    (real(0, 1, closed="both"), [0, 1, 0.5], [1.0000001, -0.0000001]),
    (real(0, np.inf, closed="both"), [0, np.inf], [-np.inf]),
    (integer(1), [1, 10**12, np.int8(3)], [0, 1.0, True, "1", None]),
    (choice("svd", "lsqr"), ["svd"], ["SVD", None, 1, ["svd"]]),
    (nothing(), [None], [0, False, ""]),
    (boolean(), [True, False, np.True_], [0, 1, "True", None]),
    (array_like(), [[1.0], (1,), np.ones(2), range(3)], ["abc", b"abc", {1: 2}, 3.0]),
    (instance(dict), [{}, {1: 2}], [[], None]),
    (function(), [len, lambda: 0], ["len", None]),
    (random_state(), [None, 3, np.random.RandomState(0)], ["seed", True, 1.5]),
    (splitter(), [None, 2, 5, [], [([0], [1])]], [1, 0, True, "loo", 2.5]),
]


@pytest.mark.parametrize(("check", "good", "bad"), ALLOWED, ids=[check[0][1] for check in ALLOWED])
def test_what_is_allowed(check, good, bad):
    test, words = check
    assert all(test(value) for value in good), words
    assert not any(test(value) for value in bad), words


class Something:
    size = -1.0
    name = "svd"


def test_first_invalid_parameter_raises_with_what_was_expected_and_what_came():
    with pytest.raises(InvalidParameterError) as caught:
        check_parameters(Something(), {"name": (choice("svd"),), "size": (real(0), nothing())})
    assert str(caught.value) == (
        "The 'size' parameter of Something must be a float in the range [0, inf) or None. Got -1.0 instead."
    )


def test_the_error_is_both_a_value_and_a_type_error():
    assert issubclass(InvalidParameterError, ValueError)
    assert issubclass(InvalidParameterError, TypeError)


def test_three_alternatives_are_listed():
    with pytest.raises(
        InvalidParameterError, match=re.escape("must be a float in the range [0, inf), a str among {'a'} or None.")
    ):
        check_parameters(Something(), {"size": (real(0), choice("a"), nothing())})


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_every_parameter_is_checked_by_fit_and_not_before(row):
    """A value that is certainly wrong for every parameter: __init__ takes it, fit refuses it by name."""

    class Nonsense:
        def __repr__(self):
            return "<nonsense>"

    data = SHAPES["tall"](row)
    for name in row.make().get_params():
        model = row.make(**{name: Nonsense()})
        with pytest.raises(ValueError, match=f"'?{name}'?.*<nonsense>|<nonsense>.*{name}"):
            model.fit(data.X, data.y)


@pytest.mark.parametrize("name", ["LogisticRegression", "LogisticRegressionCV"])
def test_words_for_no_value_are_not_offered(name):
    with pytest.raises(ValueError, match="penalty") as caught:
        getattr(tenfold, name)(penalty="ridge").fit([[0.0], [1.0]], [0, 1])
    assert "deprecated" not in str(caught.value)
