"""Encoders of the columns of one kind: transformers from frames to numeric matrices with feature names.

Their state is plain data: numbers, strings, lists and arrays.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from tenfold.arrays import Array, Floats
from tenfold.data.errors import TableError
from tenfold.features.dtypes import as_text
from tenfold.features.frames import frame_of, pl

DAY = 86_400_000_000


class Block(TransformerMixin, BaseEstimator):
    """Base of the encoders: names of the input columns and of the features."""

    names_: list[str]
    names_out_: list[str]

    def _names(self, X: Any) -> pl.DataFrame:
        """Store the names of the columns."""
        frame = frame_of(X)
        self.names_ = list(frame.columns)
        self.n_features_in_ = frame.width
        return frame

    def _columns(self, X: Any) -> list[pl.Series]:
        return frame_of(X).get_columns()

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the features that `transform` returns."""
        return np.asarray(self.names_out_, dtype=object)


class Numbers(Block):
    """Numbers with median imputation, missing indicators and optional standardisation.

    Parameters
    ----------
    scale : bool, default=False
        Whether columns, except indicators, are centred and divided by their standard deviation.
    indicators : bool, default=True
        Whether columns with missing values get an indicator, ``age.missing``.
    sparse_output : bool, default=False
        Whether the result is a sparse matrix.

    Attributes
    ----------
    medians_, means_, scales_ : of each column.
    marked_ : indices of the columns that have indicators.
    n_missing_ : the number of missing values of each column.
    """

    def __init__(self, *, scale: bool = False, indicators: bool = True, sparse_output: bool = False) -> None:
        self.scale = scale
        self.indicators = indicators
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> "Numbers":
        """Learn medians, and means and standard deviations after imputation."""
        values = self._array(X, learn=True)
        gaps = np.isnan(values)
        self.n_missing_ = gaps.sum(axis=0)
        self.medians_ = np.median(values, axis=0)
        for j in np.flatnonzero(self.n_missing_):
            given = values[~gaps[:, j], j]
            self.medians_[j] = np.median(given) if len(given) else 0.0
        filled = np.where(gaps, self.medians_, values) if self.n_missing_.any() else values
        self.means_ = filled.mean(axis=0) if self.scale else np.zeros(values.shape[1])
        deviations = filled.std(axis=0) if self.scale else np.ones(values.shape[1])
        # constant up to rounding
        is_constant = deviations <= 10 * np.finfo(np.float64).eps * np.abs(self.means_)
        self.scales_ = np.where(is_constant, 1.0, deviations)
        self.marked_ = np.flatnonzero(self.n_missing_) if self.indicators else np.zeros(0, dtype=np.int64)
        self.names_out_ = self.names_ + [f"{self.names_[j]}.missing" for j in self.marked_]
        return self

    def transform(self, X: Any) -> Array:
        """Imputed numbers, then the indicators."""
        values = self._array(X)
        gaps = np.isnan(values)
        marks = gaps[:, self.marked_].astype(np.float64)
        if gaps.any():
            values = np.where(gaps, self.medians_, values)
        if self.scale:
            values = (values - self.means_) / self.scales_
        values = np.hstack([values, marks]) if len(self.marked_) else values
        return _as_csr(values) if self.sparse_output else values

    def _array(self, X: Any, learn: bool = False) -> Floats:
        if isinstance(X, np.ndarray):
            if learn:
                self.n_features_in_ = X.shape[1]
                self.names_ = [f"x{j}" for j in range(X.shape[1])]
            return X
        frame = self._names(X) if learn else frame_of(X)
        if any(kind != pl.Float64 for kind in frame.dtypes):
            frame = frame.cast(pl.Float64)
        return frame.to_numpy() if frame.width else np.zeros((frame.height, 0))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns, then of the indicators."""
        names = self.names_ if input_features is None else list(input_features)
        return np.asarray(names + [f"{names[j]}.missing" for j in self.marked_], dtype=object)


def _as_csr(values: Floats) -> sparse.csr_array:
    """A dense array as CSR without explicit zeros."""
    rows, columns = values.shape
    kind = np.int32 if rows * columns < 2**31 else np.int64
    places = np.tile(np.arange(columns, dtype=kind), rows)
    ends = np.arange(rows + 1, dtype=kind) * columns
    matrix = sparse.csr_array((values.flatten(), places, ends), shape=values.shape)
    matrix.eliminate_zeros()
    return matrix


class Ranks(Block):
    """Ordinals as r/L: the rank r of a level, from 1, divided by the number L of levels.

    Parameters
    ----------
    levels : for each column, its levels from the lowest on.

    Notes
    -----
    Cookbook, section 4.2: low, medium, high are 1/3, 2/3, 3/3. Missing values stay missing; a value that is no level
    is an error.
    """

    def __init__(self, levels: Sequence[Sequence[str]]) -> None:
        self.levels = levels

    def fit(self, X: Any, y: Any = None) -> "Ranks":
        """Check the levels."""
        frame = self._names(X)
        self.names_out_ = list(self.names_)
        self.transform(frame)
        return self

    def transform(self, X: Any) -> Floats:
        """Ranks divided by the number of levels."""
        out = []
        for series, levels in zip(self._columns(X), self.levels, strict=True):
            text = as_text(series)
            codes = {level: (r + 1) / len(levels) for r, level in enumerate(levels)}
            ranks = text.replace_strict(codes, default=None, return_dtype=pl.Float64)
            wrong = ranks.is_null() & text.is_not_null()
            if wrong.any():
                row = wrong.arg_max() or 0
                raise TableError(
                    f"{text[row]!r} is none of the declared levels {', '.join(map(repr, levels))}. Correct it, or add "
                    "it to ordinal=...",
                    column=series.name,
                    row=row + 1,
                )
            out.append(ranks.to_numpy())
        return np.column_stack(out)


class CountBins(Block):
    """Counts clipped at `top` (Welling, section 6.1)."""

    def __init__(self, top: int = 2) -> None:
        self.top = top

    def fit(self, X: Any, y: Any = None) -> "CountBins":
        """Store the names."""
        self._names(X)
        self.names_out_ = list(self.names_)
        return self

    def transform(self, X: Any) -> Floats:
        """The smaller of count and top."""
        return np.column_stack([np.minimum(s.cast(pl.Float64).to_numpy(), self.top) for s in self._columns(X)])


class DateParts(Block):
    """Dates as year, month, day of the week (Monday is 0), day of the year on a circle, hour, and days since the first.

    Constant parts are left out, such as the hour where all times are midnight. A missing date has missing parts and an
    indicator, ``date.missing``, where some were missing in fit.

    Attributes
    ----------
    first_ : the first moment of each column, in microseconds since 1970.
    parts_ : the parts that are kept of each column.
    """

    def fit(self, X: Any, y: Any = None) -> "DateParts":
        """Find the first moments and the parts that are not constant."""
        frame = self._names(X)
        self.first_, self.parts_ = [], []
        self.names_out_ = []
        for series in frame.get_columns():
            moments = series.cast(pl.Datetime("us")).cast(pl.Int64)
            first = moments.min()
            self.first_.append(int(first) if isinstance(first, int) else 0)
            parts = _parts(series, self.first_[-1])
            kept = [name for name, values in parts.items() if not _constant(values)]
            self.parts_.append(kept)
            self.names_out_ += [f"{series.name}.{part}" for part in kept]
        return self

    def transform(self, X: Any) -> Floats:
        """The parts, side by side."""
        columns = self._columns(X)
        out = []
        for series, first, kept in zip(columns, self.first_, self.parts_, strict=True):
            parts = _parts(series, first)
            out += [parts[part] for part in kept]
        return np.column_stack(out) if out else np.zeros((len(columns[0]), 0))


def _parts(series: pl.Series, first: int) -> dict[str, Floats]:
    moments = series.cast(pl.Datetime("us"))
    date = moments.dt
    since = ((moments.cast(pl.Int64) - first) / DAY).cast(pl.Float64).to_numpy()
    # a period of 366, so that the last day of a leap year differs from the first day
    turn = (2 * np.pi / 366) * (date.ordinal_day().cast(pl.Float64).to_numpy() - 1)
    hour = date.hour().cast(pl.Float64) + date.minute().cast(pl.Float64) / 60
    return {
        "year": date.year().cast(pl.Float64).to_numpy(),
        "month": date.month().cast(pl.Float64).to_numpy(),
        "weekday": date.weekday().cast(pl.Float64).to_numpy() - 1,
        "yearday_sin": np.sin(turn),
        "yearday_cos": np.cos(turn),
        "hour": hour.to_numpy(),
        "days": np.floor(since) if (hour.fill_null(0) == 0).all() else since,
        "missing": moments.is_null().cast(pl.Float64).to_numpy(),
    }


def _constant(values: Floats) -> bool:
    given = values[~np.isnan(values)]
    return not len(given) or bool((given == given[0]).all())
