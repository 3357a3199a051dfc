"""Errors that say what to do instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils import get_tags


@contextmanager
def advising(estimator: Any) -> Iterator[None]:
    """An error about missing values also says what takes them."""
    try:
        yield
    except ValueError as reason:
        if type(reason) is not ValueError or "X contains NaN" not in str(reason):
            raise
        raise ValueError(f"{reason} {_for_missing(estimator)}") from reason


def _for_missing(estimator: Any) -> str:
    own = getattr(estimator, "_with_missing", "")  # a setting of the estimator itself
    kind = get_tags(estimator).estimator_type
    other = {"classifier": "MixedNB takes", "regressor": ""}.get(str(kind), "GaussianMixture takes")
    taken = f"{own} {other} missing values as they are.".strip() if other else own
    return f"{taken} TableEncoder fills and marks them.".strip()
