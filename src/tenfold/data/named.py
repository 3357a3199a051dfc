"""Columns with names, from files and frames alike: in which words they are refused, and those that stay in memory."""

from collections.abc import Sequence

import numpy as np

from tenfold.arrays import Array

ADVICE = "or leave it out: tenfold.rows(..., columns=[...])."


def check_names(part: str, there: Sequence[str], first: str, names: Sequence[str]) -> None:
    """Refuse a part without one of the names, or with one twice; `part` and `first` begin a place, or are empty."""
    for name in names:
        if there.count(name) == 0:
            before = first.rstrip(", ") or "the first part"
            raise ValueError(f"{part}there is no column {name!r}, which {before} has.")
        if there.count(name) > 1:
            raise ValueError(f"{part}there are {there.count(name)} columns {name!r}: give each a name of its own.")


def text_column(part: str, name: str, example: str = "") -> ValueError:
    """A column of X that is text; the example, in parentheses, follows a blank."""
    return ValueError(
        f"{part}column {name!r} is text{example}, and columns of X are numbers. Encode it, for instance with sklearn's "
        f"OneHotEncoder, {ADVICE}"
    )


def time_column(part: str, name: str, kind: str) -> ValueError:
    """A column of X that holds times."""
    return ValueError(
        f"{part}column {name!r} holds times ({kind}), and columns of X are numbers. Turn it into numbers, for instance "
        f"days, {ADVICE}"
    )


def other_column(part: str, name: str, kind: str) -> ValueError:
    """A column of X that is neither numbers nor text nor times."""
    return ValueError(
        f"{part}column {name!r} has the type {kind}, and columns of X are numbers. Turn it into numbers, {ADVICE}"
    )


def other_target(part: str, name: str, kind: str) -> ValueError:
    """A target that is neither numbers nor text."""
    return ValueError(f"{part}column {name!r} has the type {kind}: targets are numbers or text.")


def bytes_target(part: str, name: str) -> ValueError:
    """A target of bytes."""
    return ValueError(f"{part}column {name!r} holds bytes that are not text in UTF-8.")


def missing_value(role: str, place: str, name: str, word: str = "") -> ValueError:
    """A cell without a value, or with a word that says so; `role` is what contains it."""
    said = f": {word!r} stands for none" if word else ""
    return ValueError(f"{role} contains NaN: {place}, column {name!r} has no value{said}.")


def not_finite(name: str, place: str) -> ValueError:
    """A NaN or an infinity in a column that stays in memory."""
    return ValueError(f"Column {name!r} contains NaN or infinity: {place}.")


class Values:
    """A column that stays in memory, batch after batch.

    Copied, because an array of a batch may hold on to much more than itself, and joined now and then, because many
    small arrays among the large ones that come and go would scatter the memory.
    """

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._recent: list[Array] = []

    def add(self, values: Array) -> None:
        """The values of the next rows."""
        self._recent.append(values.copy())
        if len(self._recent) == 64:
            self._parts.append(np.concatenate(self._recent))
            self._recent = []

    def whole(self) -> Array:
        """The values of all rows."""
        parts = [*self._parts, *self._recent]
        return np.concatenate(parts) if parts else np.empty(0)
