"""Counts, means and centred second moments."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm

from tenfold import _core
from tenfold.arrays import (
    FLOATS,
    Array,
    Floats,
    Integers,
    contiguous,
    cross,
    entries,
    is_array_api,
    is_numpy,
    is_sparse,
    like,
    namespace,
    on_host,
    ones,
)
from tenfold.data import (
    BatchRows,
    Block,
    Deferred,
    MaybeDeferred,
    MemoryRows,
    Table,
    column_summary,
    resolve,
    weights_of,
)
from tenfold.machine import threads

SMALLEST, LARGEST = (
    1e-280,
    1e280,
)  # squares beyond these need exponents: products could overflow


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, weight, means and centred second moments of the columns of X (p of them) and of y (t, after those of X).

    Column j is kept as z = 2^-exponent_j (x - shift_j). The mean is the pair shift_j + 2^exponent_j offset_j, never
    added up before the end: at an offset of 1e8 this keeps the last digit. Moments of disjoint sets of samples can be
    merged, saved and loaded; `Ridge` and `LinearRegression` fit to them.

    Attributes
    ----------
    count : int
        Number of samples.
    weight : float
        Sum of their weights.
    shift : ndarray of shape (p + t,)
        What was subtracted from each column.
    offset : ndarray of shape (p + t,)
        Means of the scaled columns z.
    exponent : ndarray of int of shape (p + t,)
        Power of two by which each column was divided.
    XX : ndarray of shape (p, p)
        ``sum weight (z - mean z)(z - mean z)'`` of the columns of X.
    XY : ndarray of shape (p, t)
        The same of the columns of X with those of y.
    yy : ndarray of shape (t,)
        Sums of squares of the columns of y.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Moments
    >>> X = np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 5.0]])
    >>> first, second = Moments.of(X[:1]), Moments.of(X[1:])
    >>> total = first.merge(second)
    >>> total.mean
    array([3., 4.])
    >>> total.covariance()
    array([[2.66666667, 2.        ],
           [2.        , 2.        ]])
    """

    count: int
    weight: float
    shift: Floats
    offset: Floats
    exponent: Integers
    XX: Floats
    XY: Floats
    yy: Floats

    @classmethod
    def zero(cls, p: int, t: int = 0) -> "Moments":
        """The statistic of no samples, of p features and t targets."""
        return cls(
            0,
            0.0,
            np.zeros(p + t),
            np.zeros(p + t),
            np.zeros(p + t, np.int32),
            np.zeros((p, p)),
            np.zeros((p, t)),
            np.zeros(t),
        )

    @classmethod
    def of(cls, X: Array, y: Array | None = None, weight: Array | None = None) -> "Moments":
        """The statistic of samples X (n, p), with targets y and `weight`, or of a table (`tenfold.rows`), whose target
        and weights count.
        """
        if isinstance(X, Table):
            y, weight = X.y if y is None else y, X.weight if weight is None else weight
            return BatchRows(X, _targets(y, X.shape[0]), weight).fold(cls.lift)
        if is_sparse(X):
            X = X.tocsr()
        elif not is_array_api(X):
            X = np.asarray(X)
            X = contiguous(X if X.dtype in FLOATS else X.astype(np.float64))
        targets: Array = y if is_array_api(y) else like(_targets(y, X.shape[0]), X)
        targets = targets[:, None] if targets.ndim == 1 else targets
        weight = weight if weight is None or is_array_api(weight) else like(np.array(weight, dtype=np.float64), X)
        return MemoryRows(X, targets, weight).fold(cls.lift)

    def save(self, file: Any) -> None:
        """Write to a file or path (.npz), to be loaded and merged later."""
        np.savez(file, **{name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def load(cls, file: Any) -> "Moments":
        """Read what `save` wrote to a file or path."""
        with np.load(file) as result:
            count, weight, *arrays = (result[name] for name in cls.__dataclass_fields__)
        return cls(int(count), float(weight), *arrays)

    @classmethod
    def lift(cls, block: Block) -> "MaybeDeferred[Moments]":
        """The statistic of one block."""
        return _lift_groups(replace(block, group=None), 1)[0]

    @property
    def features(self) -> int:
        return self.XX.shape[0]

    @property
    def mean(self) -> Floats:
        """Mean of each column of X."""
        return self.means()[: self.features]

    @property
    def target_mean(self) -> Floats:
        """Mean of each column of y."""
        return self.means()[self.features :]

    def means(self) -> Floats:
        """Mean of each column of [X y]."""
        return self.shift + np.ldexp(self.offset, self.exponent)

    def covariance(self) -> Floats:
        """Covariance of the columns of X with divisor `weight`, in the units of the data."""
        e = self.exponent[: self.features]
        return np.ldexp(self.XX / self.weight, e[:, None] + e)

    def about(self, origin: bool) -> tuple[Floats, Floats, Floats]:
        """XX, XY, yy about the means, or about the origin, in the scaled units."""
        if not origin:
            return self.XX, self.XY, self.yy
        p = self.features
        centre = np.ldexp(self.shift, -self.exponent) + self.offset
        if not centre.any():
            return self.XX, self.XY, self.yy
        x, y = centre[:p], centre[p:]
        return (
            _plus(self.weight, np.outer(x, x), self.XX),
            _plus(self.weight, np.outer(x, y), self.XY),
            self.yy + self.weight * y * y,
        )

    def from_origin(self) -> "Moments":
        """The moments with zero means and the raw sums of these: for models without an intercept."""
        nothing = np.zeros_like(self.offset)
        XX, XY, yy = self.about(origin=True)
        return replace(self, shift=nothing, offset=nothing, XX=XX, XY=XY, yy=yy)

    def merge(self, other: "Moments") -> "Moments":
        """The statistic of the samples of this one and of `other` together (Chan, Golub and LeVeque 1979)."""
        if other.weight == 0.0 or self.weight == 0.0:
            return other if self.weight == 0.0 else self
        e = self._common_exponent(other)
        a, b = self._rescale(e), other._rescale(e)
        weight = a.weight + b.weight
        with np.errstate(invalid="ignore", over="ignore"):  # the caller of the fold rejects values that are not finite
            step = np.ldexp(b.shift - a.shift, -e) + (b.offset - a.offset)
            # constant on both sides and equal up to the rounding of a mean: constant
            away = np.abs(step) > 8.0 * np.finfo(np.float64).eps * np.abs(np.ldexp(a.shift, -e) + a.offset)
            if not away.all():
                step = np.where(away | a._varies() | b._varies(), step, 0.0)
            dx, dy = step[: a.features], step[a.features :]
            f = a.weight * (b.weight / weight)
            return Moments(
                a.count + b.count,
                weight,
                a.shift,
                a.offset + (b.weight / weight) * step,
                e,
                _plus(f, np.outer(dx, dx), a.XX + b.XX),
                _plus(f, np.outer(dx, dy), a.XY + b.XY),
                a.yy + b.yy + f * dy * dy,
            )

    def _common_exponent(self, other: "Moments") -> Integers:
        """The largest exponent of the columns that vary, within either set or between the means; constant columns do
        not count.
        """
        least = np.iinfo(np.int32).min
        away = np.ldexp(other.offset, other.exponent) - np.ldexp(self.offset, self.exponent)
        with np.errstate(invalid="ignore"):  # as in merge
            step = np.abs((other.shift - self.shift) + away)
        if not (self.exponent.any() or other.exponent.any()) and np.all((step > 1e-140) & (step < 1e140)):
            return self.exponent
        extreme = (step < 1e-140) | (step > 1e140)
        between = np.where(step > 0, np.where(extreme, np.frexp(step)[1], 0), least)
        within = [np.where(m._varies(), m.exponent, least) for m in (self, other)]
        largest = np.maximum(np.maximum(*within), between)
        return np.where(largest == least, 0, largest).astype(np.int32)

    def _varies(self) -> NDArray[np.bool_]:
        return np.concatenate([np.diag(self.XX), self.yy]) > 0

    def _rescale(self, exponent: Integers) -> "Moments":
        """The same statistic with other exponents; exact, as they are powers of two."""
        d = self.exponent - exponent
        if not d.any():
            return self
        x, y = d[: self.features], d[self.features :]
        return Moments(
            self.count,
            self.weight,
            self.shift,
            np.ldexp(self.offset, d),
            exponent,
            np.ldexp(self.XX, x[:, None] + x),
            np.ldexp(self.XY, x[:, None] + y),
            np.ldexp(self.yy, 2 * y),
        )


@dataclass(frozen=True, slots=True)
class GroupedMoments:
    """`Moments` of each group of samples, from one pass: the classes, or the folds of a splitter."""

    groups: tuple[Any, ...]

    @classmethod
    def lifter(cls, count: int) -> Callable[[Block], "GroupedMoments"]:
        """The lift for groups numbered 0 .. count - 1."""
        return lambda block: cls(tuple(_lift_groups(block, count)))

    def merge(self, other: "GroupedMoments") -> "GroupedMoments":
        return GroupedMoments(tuple(a.merge(b) for a, b in zip(self.groups, other.groups, strict=True)))

    def result(self) -> "GroupedMoments":
        """Without pending parts."""
        return GroupedMoments(tuple(map(resolve, self.groups)))


def _plus(factor: float, product: Floats, sums: Floats) -> Floats:
    """sums + factor * product, in the memory of the product, which saves an allocation."""
    product *= factor
    product += sums
    return product


def products_with(S: Floats, V: Floats) -> Floats:
    """S V' as (t, p), for a symmetric S (p, p) and weights V (t, p) of which many may be zero."""
    active = np.flatnonzero(V.any(axis=0))
    if 2 * active.size < len(S):  # rows that are gathered are written and read again
        S, V = S[active], V[:, active]
    return np.asarray(dgemm(1.0, S.T, V.T).T)  # transposed, in LAPACK's order: nothing is copied


def all_but_one(parts: tuple[Moments, ...]) -> list[Moments]:
    """For each part the merge of all others, by prefixes and suffixes, without subtraction."""
    prefix, suffix = [parts[0]], [parts[-1]]
    for left, right in zip(parts[1:], parts[-2::-1], strict=True):
        prefix.append(prefix[-1].merge(left))
        suffix.append(right.merge(suffix[-1]))
    suffix.reverse()
    inner = [a.merge(b) for a, b in zip(prefix[:-2], suffix[2:], strict=True)]
    return [suffix[1], *inner, prefix[-2]]


def _lift_groups(block: Block, groups: int) -> "Sequence[MaybeDeferred[Moments]]":
    if not (is_sparse(block.X) or is_numpy(block.X)):
        return moments_in_arrays(block, groups)
    data = (block.y, block.weight, block.group, groups, threads(entries(block.X)))
    if is_sparse(block.X):
        X = block.X
        count, weight, shift, offset, e, XX, XY, yy = _core.moments_csr(X.data, X.indices, X.indptr, X.shape[1], *data)
    else:
        count, weight, shift, offset, e, XX, XY, yy = _core.moments(block.X, *data)
    result = [Moments(int(count[g]), float(weight[g]), shift, offset[g], e, XX[g], XY[g], yy[g]) for g in range(groups)]
    return [_recentre_sparse(one, block, g) for g, one in enumerate(result)] if is_sparse(block.X) else result


def is_noise(spread: Floats, raw: Floats, count: int) -> NDArray[np.bool_]:
    """Whether a centred sum of squares is only rounding of the raw one."""
    return np.asarray(spread <= 16.0 * np.finfo(np.float64).eps * np.sqrt(count) * raw)


MIN_CENTRED_SHARE = 1e-6
# Ratio of centred to raw squares of a sparse feature up to which it is read again: it is constant, or the raw sums have
# lost too many digits.

DENSE_COLUMNS = 16  # sparse features made dense at a time: bounds the memory


def dense_columns(X: Array, index: Integers) -> Iterator[tuple[Integers, Floats]]:
    """Selected features of CSR samples as dense float64 arrays, a few at a time."""
    if not len(index):
        return
    columns = X[:, index].tocsc()
    for first in range(0, len(index), DENSE_COLUMNS):
        some = slice(first, first + DENSE_COLUMNS)
        yield index[some], np.ascontiguousarray(columns[:, some].toarray(), dtype=np.float64)


def _recentre_sparse(result: Moments, block: Block, group: int) -> Moments:
    """Recomputes sparse features far from zero about their means; zero for constant features."""
    p, total, e = result.features, result.weight, result.exponent.astype(np.int64)
    raw = total * result.offset[:p] ** 2
    far = np.flatnonzero((np.diag(result.XX) <= MIN_CENTRED_SHARE * raw) & (raw > 0.0))
    if not far.size:
        return result
    result = replace(result, shift=result.shift.copy())
    rows = np.flatnonzero((weights_of(block) > 0.0) & (True if block.group is None else block.group == group))
    X, weight = block.X[rows], weights_of(block)[rows]
    y = np.ldexp(block.y[rows] - result.shift[p:], -e[p:]) - result.offset[p:]
    result.XX[far], result.XX[:, far], result.XY[far] = 0.0, 0.0, 0.0
    varied: list[tuple[Integers, Floats]] = []
    for some, column in dense_columns(X, far):
        moved = np.ldexp(column - column[0], -e[some])
        mean = weight @ moved / total
        result.shift[some], result.offset[some] = column[0], mean
        varies = moved.any(axis=0)
        if varies.any():
            varied.append((some[varies], np.ascontiguousarray((moved - mean)[:, varies])))
    for some, moved in varied:
        weighted = weight[:, None] * moved
        products = np.ldexp(np.asarray(X.T @ weighted), -e[:p, None])
        products -= np.outer(np.ldexp(result.shift[:p], -e[:p]) + result.offset[:p], weighted.sum(axis=0))
        result.XX[:, some], result.XX[some] = products, products.T
        result.XY[some] = weighted.T @ y
    for some, moved in varied:
        for other, beside in varied:
            result.XX[np.ix_(some, other)] = (weight[:, None] * moved).T @ beside
    return result


def _targets(y: Any, n: int) -> Floats:
    """Targets (n, t) in float64."""
    if y is None:
        return np.zeros((n, 0))
    y = np.asarray(y, dtype=np.float64)
    return np.ascontiguousarray(y[:, None] if y.ndim == 1 else y)


def moments_in_arrays(block: Block, groups: int = 1) -> list[Deferred[Moments]]:
    """The lift of `Moments` in the Array API: for other namespaces, and the reference for the compiled loop."""
    return [_moments_of(block, g) for g in range(groups)]


def _rows_of_group(block: Block, group: int) -> Block:
    """The samples of a group with positive weights."""
    if block.weight is None and block.group is None:
        return block
    xp, weight = namespace(block.X), weights_of(block)
    inside = xp.nonzero(weight > 0 if block.group is None else (weight > 0) & (block.group == group))[0]
    return Block(*(xp.take(part, inside, axis=0) for part in (block.X, block.y, weight)))


def _moments_of(block: Block, group: int) -> Deferred[Moments]:
    rows = _rows_of_group(block, group)
    m, p, t = rows.X.shape[0], rows.X.shape[1], rows.y.shape[1]
    if m == 0:
        return Deferred((), Moments.zero(p, t))
    shift = _shift(rows)
    sums = _sums(rows, shift, np.zeros(p + t, np.int32))
    return Deferred.of(sums, partial(_from_sums, shift), key=shift.tobytes(), source=(block, group, m))


def _from_sums(shift: Floats, sources: tuple[tuple[Block, int, int], ...], *sums: Floats) -> Moments:
    """Where squares overflow or underflow the samples are read again, scaled by their largest values."""
    squares = np.concatenate([np.diag(sums[0]), np.diag(sums[2])[:-1]])
    usual = (squares > SMALLEST) & (squares < LARGEST)
    if not usual.all():
        return reduce(Moments.merge, (_rescale(block, group, shift, usual) for block, group, _ in sources))
    return _about_means(sum(m for _, _, m in sources), shift, np.zeros(len(shift), np.int32), *sums)


def _rescale(block: Block, group: int, shift: Floats, usual: NDArray[np.bool_]) -> Moments:
    """With exponents for columns that overflow or underflow."""
    rows, xp = _rows_of_group(block, group), namespace(block.X)
    largest = np.concatenate([on_host(xp.max(xp.abs(part), axis=0)) for part in _centre(rows, shift)])
    e = np.where(~usual & (largest > 0.0), np.frexp(largest)[1], 0).astype(np.int32)
    return _about_means(rows.X.shape[0], shift, e, *map(on_host, _sums(rows, shift, e)))


def _about_means(count: int, shift: Floats, exponent: Integers, S: Floats, C: Floats, last: Floats) -> Moments:
    """From the sums about the shift."""
    p, total = len(S), float(last[-1, -1])
    offset = np.append(C[-1], last[:-1, -1]) / total
    x, v = offset[:p], offset[p:]
    S, C = S - np.outer(total * x, x), C[:-1].T - np.outer(total * x, v)
    diagonal = S.ravel()[:: p + 1]
    np.maximum(diagonal, 0.0, out=diagonal)
    yy = np.maximum(np.diag(last)[:-1] - total * v * v, 0.0)
    return Moments(count, total, shift, offset, exponent, S, C, yy)


def _shift(block: Block) -> Floats:
    """Approximate column means, from the head of the block, exact for constant columns; zero for X where no mean
    exceeds the deviations: that costs one bit and saves a pass.
    """
    mean, deviation, _, constant = column_summary(block)
    shift, p = np.where(np.isnan(constant), mean, constant), block.X.shape[1]
    if np.all(np.abs(mean[:p]) <= deviation[:p]):
        shift[:p] = 0.0
    return shift


def _centre(block: Block, shift: Floats) -> tuple[Array, Array]:
    """The samples of X and y about the shift, in float64."""
    xp, p = namespace(block.X), block.X.shape[1]
    X, y = (xp.astype(part, xp.float64, copy=False) for part in (block.X, block.y))
    return X - like(shift[:p], X) if shift[:p].any() else X, y - like(shift[p:], y)


def _sums(block: Block, shift: Floats, exponent: Integers) -> tuple[Array, Array, Array]:
    """With z and v the columns of X and y about the shift and divided by powers of two: z'z, [v 1]'z, [v 1]'[v 1]."""
    xp, p = namespace(block.X), block.X.shape[1]
    z, v = _centre(block, shift)
    if exponent.any():
        z, v = z * like(np.ldexp(1.0, -exponent[:p]), z), v * like(np.ldexp(1.0, -exponent[p:]), v)
    joint = xp.concat([v, ones(z.shape[0], z)[:, None]], axis=1)
    left, below = (z, joint) if block.weight is None else (block.weight[:, None] * z, block.weight[:, None] * joint)
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is detected, and the sums are recomputed or rejected
        return cross(left, z), xp.matmul(below.T, z), xp.matmul(below.T, joint)
