"""Components judged: that they are eigenvectors, and that none with a larger value was left out.

Of a model the judge takes components V and what is stored beside them; all else it computes. What a component captures
is its Rayleigh quotient r = v'Sv / v'v, from two products of the rows: the residual ||S v - r v||, how far components
are from orthonormal, and how far stored values, variances and shares are from r. Stored values must descend, or be
those with the numbers that were asked for. That none was left out needs a proof that the rest of S has no value above
the smallest r:

trace       The values left over sum to trace S - sum r. If that is at most the smallest r, none of them is larger.
inertia     mu I - (S - V'RV) has a Cholesky factor, with mu just above the smallest r, if and only if all that is left
            is below mu. An S that the plan formed is first compared with the rows, by products with random vectors; of
            few columns one is formed here.
chance      Else what is left is multiplied by random vectors: a larger value shows, and then the components are
            refused, or is excluded but for a chance that the note states; see largest_eigenvalue.py. Where neither was
            reached, S is formed after all, or the components are refused as not proved.

Wide sparse rows, A = W^(1/2) (X - 1 m') with fewer rows than columns, are met by vectors with one entry a row: outside
orthonormal components V, S has the values of A (I - V'V) A' = A A' - (A V')(A V')'.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.special import gammaln

from tenfold.arrays import Floats, is_sparse, unit_roundoff, wide
from tenfold.data import Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.largest_eigenvalue import CHANCE, Proof, finish, proof
from tenfold.linear_algebra import cholesky, eigenvalues
from tenfold.machine import one_blas_thread, require_memory
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, adjoint, forward
from tenfold.stats.moments import Moments
from tenfold.stats.scatter import ScatterAbout, scatter_about
from tenfold.stats.transposed import ByColumns

PROBES, FORMED, TOGETHER = 4, 512, 1 << 14

COUNTED = 4096
"""Up to so many columns, or rows, their products are formed where random vectors do not decide."""

EPS, TINY = unit_roundoff(np.float64), float(np.finfo(np.float64).tiny)

PROBABLE = (
    f"That no component with a larger variance was left out holds with probability 1 - {CHANCE:.0e}: random vectors of "
    "the judge's own would else have shown it."
)
NOT_PROVED = "That no component with a larger variance was left out is not proved."
FROM_PARTS = "Judged from the moments of the parts: their rows are gone."
LEFT_OUT = "A direction outside the components has a larger variance than the smallest of them."
UNORDERED = "The stored values do not descend."
WRONG_COUNT = "The number of components is not the one that the parameters ask for."
WRONG_NUMBERS = "The components are not those whose numbers were asked for."
REFUSED = (NOT_PROVED, LEFT_OUT, UNORDERED, WRONG_COUNT, WRONG_NUMBERS)


@dataclass(frozen=True)
class Derived:
    """What a model stores besides components and values, None where it does not: the variances of the scores and their
    shares of the whole, (k,); the mean variance along all other directions, which are so many; the variances of the
    columns, (p,); and plain numbers with what they must equal.
    """

    variances: Floats | None = None
    shares: Floats | None = None
    noise: float | None = None
    others: int = 0
    column_variances: Floats | None = None
    equal: tuple[tuple[Any, Any], ...] = ()


NOTHING = Derived()


def spectral(
    rows: Rows | None,
    *,
    mean: Floats,
    components: Floats,
    values: Floats,
    about_mean: bool = True,
    count: int | float | str | None = None,
    numbers: Sequence[int] | None = None,
    derived: Derived = NOTHING,
    scatter: Floats | None = None,
    moments: Moments | None = None,
    beside: Floats | None = None,
    tol: float | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """The certificate of components (k, p) with the values (k,) of the scatter: by the rows, or by the moments of parts
    that are gone (rows None).

    `count` is how many were asked for: a number, a share of the variance, "mle", or None for any; `numbers` are those
    of the components to keep, of all, where these are not the leading ones. `beside` are vectors that may come next:
    (m, p), of wide sparse rows (m, n).
    """
    tol = RULES["spectral"].tol if tol is None else tol
    said = _Said(components, values, numbers is None, tol, 16.0 * unit_roundoff(dtype), beside)
    if rows is not None:
        witness = _Witness.of_rows(rows, mean, said, about_mean, scatter)
    else:
        assert moments is not None
        witness = _Witness.of_moments(moments, said, about_mean)
    captured = witness.captured
    top, floor = captured.top, said.floor(captured, witness.total)
    allowed = max(tol, floor)
    residual = float(np.max(captured.residuals, initial=0.0)) / top
    slant = _slant(components) if len(components) else 0.0
    # what is below rounding of the whole is compared with that
    least = (64.0 * EPS + said.rounded**2) * max(witness.total, TINY)
    size = np.maximum(captured.values, least / allowed)
    parts = [
        residual,
        slant,
        witness.away(mean),
        _distance(values, captured.values, size),
        *_derived(derived, witness, captured, size, least / allowed),
    ]
    parts = [part if np.isfinite(part) else np.inf for part in parts]
    value, note = max(*parts, floor), ""
    if value <= allowed < 1.0:  # what is refused anyway need not be proved
        note = _check_order(values, said.rounded, least) if numbers is None else ""
        note = note or _check_numbers(rows, witness, count, numbers, allowed) or _leading(rows, witness, said)
        value = np.inf if note in REFUSED else value
    return Certificate(
        "spectral",
        value,
        1.0,
        tol,
        floor,
        -float(np.sum(captured.values)),
        lower_bound=-witness.total,
        status=status,
        parts=tuple(parts),
        note=" ".join(filter(None, (witness.note, note))),
    )


def _check_order(values: Floats, rounded: float, least: float) -> str:
    return UNORDERED if np.any(np.diff(values) > rounded * np.abs(values[:-1]) + least) else ""


def _check_numbers(
    rows: Rows | None,
    witness: "_Witness",
    count: int | float | str | None,
    numbers: Sequence[int] | None,
    allowed: float,
) -> str:
    """Whether there are as many components as were asked for, and those that were."""
    captured, spectrum = witness.captured, np.zeros(0)
    if count == "mle" or numbers is not None:
        spectrum = _spectrum(rows, witness)
    if not _is_count(count, witness, spectrum, allowed):
        return WRONG_COUNT
    if numbers is None:
        return ""
    expected = spectrum[np.asarray(numbers, dtype=np.intp)]
    return WRONG_NUMBERS if _distance(captured.values, expected, captured.top) > allowed else ""


def _distance(stored: Floats, again: Floats, size: Floats | float) -> float:
    """The largest distance in units of `size`; infinite where shapes differ, or a number is not finite."""
    if np.shape(stored) != np.shape(again):
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        away = float(np.max(np.abs(stored - again) / size, initial=0.0))
    return away if np.isfinite(away) else np.inf


def _derived(derived: Derived, witness: "_Witness", captured: "_Captured", size: Floats, least: float) -> list[float]:
    """How far what is stored besides is from what the components capture."""
    weight, parts = witness.weight, []
    freedom = max(weight - 1.0 if witness.about_mean else weight, TINY)
    varied = captured.values  # by the scores, about their own mean
    if not witness.about_mean:
        varied = np.maximum(varied - weight * captured.means**2, 0.0)
    if derived.variances is not None:
        parts.append(_distance(derived.variances * freedom, varied, size))
    if derived.shares is not None:
        total = witness.varied
        if total > 0.0:
            parts.append(_distance(derived.shares * total, varied, size))
        else:
            parts.append(0.0 if np.isnan(derived.shares).all() else np.inf)
    if derived.noise is not None:
        left = max(witness.total - float(np.sum(captured.values)), 0.0) if derived.others > 0 else 0.0
        again = left / freedom / max(derived.others, 1)
        parts.append(_distance(np.asarray(derived.noise), np.asarray(again), max(again, least / freedom)))
        parts.append(np.inf if derived.others <= 0 and derived.noise != 0.0 else 0.0)
    if derived.column_variances is not None:
        squares = witness.spread**2
        parts.append(_distance(derived.column_variances * weight, squares, np.where(squares > 0.0, squares, 1.0)))
    parts.append(0.0 if all(stored == again for stored, again in derived.equal) else np.inf)
    return parts


def _is_count(count: int | float | str | None, witness: "_Witness", spectrum: Floats, slack: float) -> bool:
    """Whether there are as many components as were asked for."""
    captured = witness.captured
    k = len(captured.values)
    if count is None:
        return True
    if isinstance(count, str):
        return _is_most_probable(k, spectrum, witness.weight)
    if isinstance(count, float):  # the least number that explains more than a share
        if not witness.total > 0.0:
            return k == 1
        explained = np.append(0.0, np.cumsum(captured.values)) / witness.total
        return k >= 1 and bool(explained[k - 1] <= count + slack and explained[k] >= count - slack)
    return k == count


def _is_most_probable(k: int, values: Floats, weight: float) -> bool:
    """Whether no other number of components has a larger evidence than k (Minka 2000, equation 77), but for rounding.

    For every number at once: with noise v_k the mean of the values behind k, and l the values with those behind k
    replaced by v_k, the volume term is the sum over i < k and j > i of log((l_i - l_j)(1 / v - 1 / l_i) n).
    """
    p, freedom = len(values), max(weight - 1.0, TINY)
    variances = values / freedom
    eps = np.finfo(np.float64).eps
    variances = np.where(variances > p * eps * variances[0], variances, 0.0)
    evidence = np.full(p, -np.inf)
    for number in range(1, p):
        if variances[number - 1] < eps:
            continue
        inside, outside = variances[:number], variances[number:]
        noise = max(float(np.mean(outside)), eps)
        spread = inside[:, None] - variances[None, :]
        smoothed = 1.0 / np.append(inside, np.full(p - number, noise))[None, :] - 1.0 / inside[:, None]
        later = np.arange(p)[None, :] > np.arange(number)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            volume = float(np.sum(np.log(np.where(later, spread * smoothed * weight, 1.0))))
        halves = (p - np.arange(number)) / 2.0
        size = p * number - number * (number + 1) / 2.0
        evidence[number] = (
            float(np.sum(gammaln(halves) - halves * np.log(np.pi)))
            - number * np.log(2.0)
            - 0.5 * weight * (float(np.sum(np.log(inside))) + (p - number) * np.log(noise))
            + 0.5 * (size + number) * np.log(2.0 * np.pi)
            - 0.5 * volume
            - 0.5 * number * np.log(weight)
        )
    if not 0 <= k < p:
        return False
    best = float(np.max(evidence, initial=-np.inf, where=~np.isnan(evidence)))
    if not np.isfinite(best):
        return bool(k == int(np.argmax(evidence)))
    return bool(evidence[k] >= best - 1e-9 * max(abs(best), 1.0))


def _spectrum(rows: Rows | None, witness: "_Witness") -> Floats:
    """All values of the scatter, the largest first, with zeros where there are fewer rows than columns."""
    p = len(witness.mean)
    S = _formed(rows, witness)
    found = np.zeros(max(len(S), p))
    found[: len(S)] = np.maximum(eigenvalues(S)[::-1], 0.0)
    return found[:p]


def _formed(rows: Rows | None, witness: "_Witness") -> Floats:
    """The scatter; or the products of the rows, which have the same values, where these are fewer than columns."""
    if witness.scatter is not None or rows is None:
        assert witness.scatter is not None
        return witness.scatter
    n, p = rows.shape
    size = min(n, p)
    require_memory(f"The {size} x {size} matrix of products", 24 * size**2 + 8 * n * p * (n < p), "Use fewer columns.")
    if p <= n:
        return _scatter_of(rows.fold(Moments.lift), witness.about_mean)
    turned = ByColumns.of(rows, witness.mean if witness.about_mean else None)
    if turned is not None:
        return turned.products(np.eye(n))
    A = _centred(rows, witness)
    return _inner(A, A)


def _centred(rows: Rows, witness: "_Witness") -> Floats:
    """A = W^(1/2) (X - 1 m'), dense."""
    block = rows.whole()
    X = block.X.toarray() if is_sparse(block.X) else wide(block.X)
    return np.asarray(np.sqrt(wide(weights_of(block)))[:, None] * (X - witness.place))


@dataclass(frozen=True)
class _Said:
    """What is said of the components, and how exactly it is to hold: relative to the largest value."""

    components: Floats
    values: Floats  # as stored: nothing but a guess whether the trace will suffice
    leading: bool
    tol: float
    rounded: float  # what the type of the components leaves
    beside: Floats | None

    def floor(self, captured: "_Captured", total: float) -> float:
        share = total / captured.top if captured.values.size else 1.0
        return max(64.0 * EPS * max(1.0, share), self.rounded)

    def limit(self, captured: "_Captured", total: float) -> float:
        """No value outside the components is to be above this."""
        return captured.least + max(self.tol, self.floor(captured, total)) * captured.top

    def by_trace(self, captured: "_Captured", total: float) -> bool:
        return total - float(np.sum(captured.values)) <= self.limit(captured, total)

    def needs_proof(self, captured: "_Captured", total: float) -> bool:
        """Whether the trace does not show that none was left out."""
        k, p = self.components.shape
        return self.leading and 0 < k < p and not self.by_trace(captured, total)

    def proof(self, captured: Callable[[], "_Captured"], total: float, size: int) -> Proof:
        """By chance, begun: what the components capture need not be known before the first products."""
        # drawn when the components are fixed, and otherwise for others; the same for the same
        random = np.random.default_rng(np.frombuffer(self.values.tobytes(), dtype=np.uint32))
        return proof(size, lambda: self.limit(captured(), total), 64.0 * EPS * total, random, self.beside)


@dataclass(frozen=True)
class _Captured:
    """What components capture of the scatter: their Rayleigh quotients, the lengths of S v - r v, and the means of
    their scores, where these are not about the mean; (k,) each.
    """

    values: Floats
    residuals: Floats
    means: Floats

    @classmethod
    def of(cls, components: Floats, images: Floats, mean: Floats) -> "_Captured":
        """From the products with S."""
        squares = _divisors(components)
        values = np.einsum("kp,kp->k", components, images) / squares
        left = images - values[:, None] * components
        return cls(np.maximum(values, 0.0), np.sqrt(_lengths_squared(left) / squares), components @ mean)

    @property
    def top(self) -> float:
        return max(float(np.max(self.values, initial=0.0)), TINY)

    @property
    def least(self) -> float:
        return float(np.min(self.values)) if self.values.size else 0.0


@dataclass(frozen=True)
class _Rest:
    """What is left of the scatter outside the components: its products with vectors, a proof about it that has begun,
    and the products with what that asked for first.
    """

    apply: Callable[[Floats], Floats]
    proof: Proof
    first: Floats

    def is_below(self) -> bool | None:
        return finish(self.proof, self.apply, self.first)


@dataclass(frozen=True)
class _Witness:
    """The weight and mean of the samples, the lengths of the columns about it, and about the place from which they are
    measured; what the components capture; the scatter where there is one that agrees with the products, else what is
    left of it.
    """

    weight: float
    mean: Floats
    spread: Floats
    lengths: Floats
    captured: _Captured
    scatter: Floats | None
    rest: _Rest | None = None
    note: str = ""
    about_mean: bool = True

    @classmethod
    def of_rows(cls, rows: Rows, mean: Floats, said: _Said, about_mean: bool, scatter: Floats | None) -> "_Witness":
        components = said.components
        p, k = rows.shape[1], len(components)
        origin = np.zeros(p)
        if scatter is not None:
            probes = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, p))
            vectors = np.vstack([components, probes])
            place = mean if about_mean else origin
            found: ScatterAbout = rows.fold(scatter_about(place, vectors))
            step, about = found.about_mean(vectors)
            images = about if about_mean else found.products
            if _agree(images[k:], probes, scatter):
                lengths, middle = np.sqrt(np.maximum(np.diag(scatter), 0.0)), place + step
                spread = lengths if about_mean else _spread(lengths, middle, found.weight)
                captured = _Captured.of(components, images[:k], middle)
                return cls(found.weight, middle, spread, lengths, captured, scatter, about_mean=about_mean)
        # no scatter, or one that is not that of these rows
        own: Moments | None = rows.fold(Moments.lift) if p <= FORMED else None
        columns: Columns = rows.fold(Columns.lift) if own is None else Columns.of(own)
        middle = columns.mean[:p]
        scatter = None if own is None else _scatter_of(own, about_mean)
        lengths, spread = columns.lengths(origin=not about_mean)[0], columns.spread[:p]
        asked = said if scatter is None else replace(said, leading=False)
        captured, rest = _products(rows, middle, asked, float(np.sum(lengths**2)), about_mean)
        weight = columns.weight or 1.0
        return cls(weight, middle, spread, lengths, captured, scatter, rest, about_mean=about_mean)

    @classmethod
    def of_moments(cls, moments: Moments, said: _Said, about_mean: bool) -> "_Witness":
        S = _scatter_of(moments, about_mean)
        columns = Columns.of(moments)
        p = moments.features
        captured = _Captured.of(said.components, _inner(said.components, S), columns.mean[:p])
        lengths = np.sqrt(np.maximum(np.diag(S), 0.0))
        spread = columns.spread[:p]
        return cls(moments.weight, columns.mean[:p], spread, lengths, captured, S, None, FROM_PARTS, about_mean)

    @property
    def total(self) -> float:
        return float(np.sum(self.lengths**2))

    @property
    def varied(self) -> float:
        """The scatter about the mean, in all."""
        return float(np.sum(self.spread**2))

    @property
    def place(self) -> Floats:
        """From which components are measured."""
        return self.mean if self.about_mean else np.zeros_like(self.mean)

    def away(self, mean: Floats) -> float:
        """How far a stored mean is, in units of the columns."""
        root = np.sqrt(self.weight)
        size = np.maximum(self.lengths, np.abs(self.place) * root)
        return _distance(mean * root, self.place * root, np.where(size > 0.0, size, 1.0))


def _spread(lengths: Floats, mean: Floats, weight: float) -> Floats:
    """Lengths about the mean, from those about the origin."""
    squares = lengths**2 - weight * mean**2
    return np.sqrt(np.where(squares > 64.0 * EPS * lengths**2, squares, 0.0))


def _lengths_squared(A: Floats) -> Floats:
    return np.asarray(np.einsum("kp,kp->k", A, A))


def _divisors(V: Floats) -> Floats:
    """Squared lengths of components; those without a length are refused, as not orthonormal."""
    squares = _lengths_squared(V)
    return np.where(squares > 0.0, squares, 1.0)


def _inner(A: Floats, B: Floats) -> Floats:
    """A B', by our threads and no others."""
    return np.ascontiguousarray(forward(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _slant(V: Floats) -> float:
    """How far vectors are from orthonormal: some columns at a time, for they may be long."""
    products = -np.eye(len(V))
    with one_blas_thread:
        for begin in range(0, V.shape[1], TOGETHER):
            some = V[:, begin : begin + TOGETHER].T
            products += blas.dgemm(1.0, some, some, trans_a=1)
    return float(np.max(np.abs(products)))


def _scatter_of(moments: Moments, about_mean: bool) -> Floats:
    e = moments.exponent[: moments.features]
    return np.ldexp(moments.about(not about_mean)[0], e[:, None] + e)


def _agree(products: Floats, probes: Floats, S: Floats) -> bool:
    """Whether a matrix has the products of the rows with random vectors."""
    rounding = 1e-9 * float(np.max(np.diag(S), initial=0.0)) * len(S)
    return bool(np.max(np.abs(products - _inner(probes, S))) <= rounding)


def _products(
    rows: Rows, middle: Floats, said: _Said, total: float, about_mean: bool
) -> tuple[_Captured, _Rest | None]:
    """What the components capture, and what is left of the scatter: what the proof first asks for is multiplied in the
    same pass as they are.
    """
    V, k = said.components, len(said.components)
    place = middle if about_mean else np.zeros_like(middle)
    turned = ByColumns.of(rows, place if about_mean else None)
    if turned is not None:
        captured, scores = _captured_by_columns(turned, V, middle)

        def other_side(u: Floats) -> Floats:
            return turned.products(u) - adjoint(scores, _inner(scores, u))

        if not said.needs_proof(captured, total):
            return captured, None
        begun = said.proof(lambda: captured, total, rows.shape[0])
        return captured, _Rest(other_side, begun, other_side(next(begun)))

    def products(v: Floats) -> Floats:
        return rows.fold(scatter_about(place, v)).products

    def project(v: Floats) -> Floats:
        return v - adjoint(V, _inner(V, v)) if k else v

    def rest(v: Floats) -> Floats:
        return project(products(project(v)))

    known: list[_Captured] = []
    begun, first = said.proof(lambda: known[0], total, rows.shape[1]), np.zeros((0, rows.shape[1]))
    if said.needs_proof(_Captured(said.values, said.values, said.values), total):  # as it seems
        first = project(next(begun))
    images = products(np.vstack([V, first]))
    known.append(_Captured.of(V, images[:k], middle))
    if not said.needs_proof(known[0], total):
        return known[0], None
    return known[0], _Rest(rest, begun, project(images[k:]) if len(first) else rest(next(begun)))


def _captured_by_columns(turned: ByColumns, V: Floats, middle: Floats) -> tuple[_Captured, Floats]:
    """What components capture, some columns at a time, and their scores (k, n)."""
    scores, squares = turned.scores(V), _divisors(V)
    values = np.einsum("kn,kn->k", scores, scores) / squares
    left = np.zeros(len(V))
    for columns, part in turned.parts():
        some = part.back(scores) - values[:, None] * V[:, columns]
        left += np.einsum("kp,kp->k", some, some)
    return _Captured(values, np.sqrt(left / squares), V @ middle), scores


def _leading(rows: Rows | None, witness: _Witness, said: _Said) -> str:
    """What is known of the values of the rest: nothing to say where none exceeds the limit."""
    captured, total, V = witness.captured, witness.total, said.components
    if not said.needs_proof(captured, total):
        return ""
    if witness.scatter is None:
        assert witness.rest is not None
        below = witness.rest.is_below()
        if below is not None or rows is None or min(rows.shape) > COUNTED or rows.distributed:
            return {True: PROBABLE, None: NOT_PROVED, False: LEFT_OUT}[below]
    S = _formed(rows, witness)
    # V as the vectors of S, or of the products of the rows, in which they are the scores
    scaled = V * np.sqrt(captured.values)[:, None]
    if len(S) != V.shape[1]:
        assert rows is not None
        scaled = _scores(rows, V, witness)
    rest = said.limit(captured, total) * np.eye(len(S)) - S
    rest += adjoint(scaled, np.ascontiguousarray(scaled))
    return "" if cholesky(rest.T) is not None else LEFT_OUT


def _scores(rows: Rows, V: Floats, witness: _Witness) -> Floats:
    """V A', (k, n)."""
    turned = ByColumns.of(rows, witness.mean if witness.about_mean else None)
    return _inner(V, _centred(rows, witness)) if turned is None else turned.scores(V)
