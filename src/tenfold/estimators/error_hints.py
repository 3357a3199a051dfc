"""Hints that are added to error messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils import get_tags


@contextmanager
def add_hint(estimator: Any) -> Iterator[None]:
    """Append to errors about missing values which estimators accept them."""
    try:
        yield
    except ValueError as reason:
        if type(reason) is not ValueError or "X contains NaN" not in str(reason):
            raise
        raise ValueError(f"{reason} {_missing_value_hint(estimator)}") from reason


def _missing_value_hint(estimator: Any) -> str:
    hint = getattr(estimator, "_with_missing", "")  # a parameter of the estimator itself
    kind = get_tags(estimator).estimator_type
    other = {"classifier": "MixedNB takes", "regressor": ""}.get(str(kind), "GaussianMixture takes")
    accepted = f"{hint} {other} missing values as they are.".strip() if other else hint
    return f"{accepted} TableEncoder fills and marks them.".strip()
