"""Messages about a table: errors, and decisions that were taken while reading."""

from collections.abc import Iterable
from dataclasses import dataclass


class TableError(ValueError):
    """A table that cannot be used as it is: what is wrong, where, and what to do.

    Attributes
    ----------
    source : the file, or None.
    line : line of the file, from 1, or None.
    column : name of the column, or None.
    row : row of the table, from 1 and without the header, or None.
    """

    def __init__(
        self,
        what: str,
        *,
        source: str | None = None,
        line: int | None = None,
        column: str | None = None,
        row: int | None = None,
    ) -> None:
        self.what, self.source, self.line, self.column, self.row = what, source, line, column, row
        places = [
            source,
            None if line is None else f"line {line}",
            None if row is None or line is not None else f"row {row}",
            None if column is None else f"column {column!r}",
        ]
        place = ", ".join(part for part in places if part)
        super().__init__(f"{place}: {what}" if place else what[:1].upper() + what[1:])

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.what, self.source, self.line, self.column, self.row)


def _again(what: str, source: str | None, line: int | None, column: str | None, row: int | None) -> TableError:
    return TableError(what, source=source, line=line, column=column, row=row)


@dataclass(frozen=True)
class Decision:
    """An automatic decision about a table: its subject `about`, the column, and a sentence."""

    about: str
    sentence: str
    column: str | None = None

    def __str__(self) -> str:
        return self.sentence if self.column is None else f"{self.column}: {self.sentence}"


def some(names: Iterable[object], limit: int = 5) -> str:
    """The first `limit` names for a sentence, and how many more there are."""
    listed = [repr(name) for name in names]
    more = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {more} more" if more > 0 else "")
