"""Named columns of files and frames: the errors that they raise, and a buffer for columns that stay in memory."""

from collections.abc import Sequence

import numpy as np

from tenfold.arrays import Array

ADVICE = "or leave it out: tenfold.rows(..., columns=[...])."


def check_names(part: str, there: Sequence[str], first: str, names: Sequence[str]) -> None:
    """Raise where a part lacks one of the names or has it twice; `part` and `first` are prefixes of error messages."""
    for name in names:
        if there.count(name) == 0:
            before = first.rstrip(", ") or "the first part"
            raise ValueError(f"{part}there is no column {name!r}, which {before} has.")
        if there.count(name) > 1:
            raise ValueError(f"{part}there are {there.count(name)} columns {name!r}: give each a name of its own.")


def text_column(part: str, name: str, example: str = "") -> ValueError:
    """The error of a text column in X; `example` is appended to the name."""
    return ValueError(
        f"{part}column {name!r} is text{example}, and columns of X are numbers. Encode it, for instance with sklearn's "
        f"OneHotEncoder, {ADVICE}"
    )


def time_column(part: str, name: str, kind: str) -> ValueError:
    """The error of a column of times in X."""
    return ValueError(
        f"{part}column {name!r} holds times ({kind}), and columns of X are numbers. Turn it into numbers, for instance "
        f"days, {ADVICE}"
    )


def other_column(part: str, name: str, kind: str) -> ValueError:
    """The error of a column in X that is neither numeric nor text nor times."""
    return ValueError(
        f"{part}column {name!r} has the type {kind}, and columns of X are numbers. Turn it into numbers, {ADVICE}"
    )


def other_target(part: str, name: str, kind: str) -> ValueError:
    """The error of a target that is neither numeric nor text."""
    return ValueError(f"{part}column {name!r} has the type {kind}: targets are numbers or text.")


def bytes_target(part: str, name: str) -> ValueError:
    """The error of a target of bytes."""
    return ValueError(f"{part}column {name!r} holds bytes that are not text in UTF-8.")


def missing_value(role: str, place: str, name: str, word: str = "") -> ValueError:
    """The error of a missing value, or of a word that stands for one; `role` names the array or column."""
    detail = f": {word!r} stands for none" if word else ""
    return ValueError(f"{role} contains NaN: {place}, column {name!r} has no value{detail}.")


def not_finite(name: str, place: str) -> ValueError:
    """The error of NaN or infinity in a column that stays in memory."""
    return ValueError(f"Column {name!r} contains NaN or infinity: {place}.")


class ColumnBuffer:
    """A column that stays in memory, appended batch by batch.

    Batches are copied, because a view keeps its whole batch alive, and concatenated every 64 batches, because many
    small arrays among large temporary ones fragment the heap.
    """

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._recent: list[Array] = []

    def add(self, values: Array) -> None:
        """Append the values of the next rows."""
        self._recent.append(values.copy())
        if len(self._recent) == 64:
            self._parts.append(np.concatenate(self._recent))
            self._recent = []

    def whole(self) -> Array:
        """The values of all rows."""
        parts = [*self._parts, *self._recent]
        return np.concatenate(parts) if parts else np.empty(0)
