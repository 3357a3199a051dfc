"""Certificates of principal components: they are eigenvectors, and no larger eigenvalue is missing.

The judge takes the components V and the stored arrays, and computes Rayleigh quotients r = v'Sv / v'v from two products
of the rows, the residuals ||S v - r v||, the deviation from orthonormality, and the distances of stored values,
variances and ratios from r. Stored values must descend, or belong to the requested indices. A proof that the deflated S
has no eigenvalue above the smallest r comes from one of:

trace       The remaining eigenvalues sum to trace S - sum r. If that is at most the smallest r, none is larger.
inertia     mu I - (S - V'RV) has a Cholesky factor, with mu just above the smallest r, if and only if all remaining
            eigenvalues are below mu. An S that the plan formed is first compared with the rows, by products with random
            vectors; for few columns one is formed here.
random      Otherwise a Lanczos process from random vectors either finds a larger eigenvalue, or excludes it up to a
            probability that the note states; see largest_eigenvalue.py. Where it does not decide, S is formed, or the
            components are not certified.

Wide sparse rows, A = W^(1/2) (X - 1 m') with fewer rows than columns, are multiplied by vectors of length n: outside
orthonormal components V, S has the eigenvalues of A (I - V'V) A' = A A' - (A V')(A V')'.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any

import numpy as np
from scipy.special import gammaln

from tenfold.arrays import EPS, Floats, is_sparse, unit_roundoff, wide
from tenfold.data import MemoryRows, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.eigenvectors import NORMAL_BOUND, NORMAL_PROBES, TINY, distance, slant
from tenfold.judge.largest_eigenvalue import ERROR_PROBABILITY, Proof, finish, proof
from tenfold.linear_algebra import cholesky, eigenvalues
from tenfold.machine import require_memory
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, adjoint, forward
from tenfold.stats.moments import Moments
from tenfold.stats.scatter import ScatterAbout, scatter_about
from tenfold.stats.transposed import ByColumns

PROBES = 4  # vectors of random signs that probe a matrix
FORMED_FEATURES = 512  # up to which the judge forms second moments of its own

# Components from which on a scatter that was handed over is multiplied instead of the rows, where they are at least
# half of all (PCA of all components: 60k x 16 nine tenths of the time, 15k x 250 a third).
MANY_COMPONENTS = 12

MAX_FORMED = 4096  # columns or rows up to which a Gram matrix is formed where random vectors do not decide

PROBABLE = (
    f"That no component with a larger variance was left out holds with probability 1 - {ERROR_PROBABILITY:.0e}: random "
    "vectors of the judge's own would else have shown it."
)
NOT_PROVED = "That no component with a larger variance was left out is not proved."
FROM_PARTS = "Judged from the moments of the parts: their rows are gone."
LEFT_OUT = "A direction outside the components has a larger variance than the smallest of them."
UNORDERED = "The stored values do not descend."
WRONG_COUNT = "The number of components is not the one that the parameters ask for."
WRONG_NUMBERS = "The components are not those whose numbers were asked for."
FAILURES = (NOT_PROVED, LEFT_OUT, UNORDERED, WRONG_COUNT, WRONG_NUMBERS)


@dataclass(frozen=True)
class Derived:
    """Stored quantities derived from components and values, each optional: explained variances and their ratios (k,);
    the mean variance along the `others` remaining directions; the variances of the columns (p,); pairs of plain
    numbers that must be equal; and whether variances are divided by the weight, and not by one less (`by_weight`).
    """

    variances: Floats | None = None
    shares: Floats | None = None
    noise: float | None = None
    others: int = 0
    column_variances: Floats | None = None
    equal: tuple[tuple[Any, Any], ...] = ()
    by_weight: bool = False


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
    """Certificate of components (k, p) with eigenvalues (k,) of the scatter: by the rows, or by moments (rows None).

    `count` is the requested number: an integer, a fraction of the variance, "mle", or None for any; `numbers` are the
    indices of the components to keep, where these are not the leading ones. `beside` are approximate next eigenvectors
    (m, p), or (m, n) for wide sparse rows.
    """
    tol = RULES["spectral"].tol if tol is None else tol
    claim = _Claim(components, values, numbers is None, tol, 16.0 * unit_roundoff(dtype), beside)
    if rows is not None:
        witness = _Witness.of_rows(rows, mean, claim, about_mean, scatter)
    else:
        assert moments is not None
        witness = _Witness.of_moments(moments, claim, about_mean)
    captured = witness.captured
    top, floor = captured.top, claim.floor(captured, witness.total)
    allowed = max(tol, floor)
    residual = float(captured.residuals.max(initial=0.0)) / top
    skew = slant(components) if len(components) else 0.0
    # eigenvalues below the rounding of the trace are compared in its units
    least = (64.0 * EPS + claim.rounded**2) * max(witness.total, TINY)
    size = np.maximum(captured.values, least / allowed)
    parts = [
        residual,
        skew,
        witness.away(mean),
        distance(values, captured.values, size),
        *_compare_derived(derived, witness, captured, size, least / allowed),
    ]
    parts = [part if isfinite(part) else np.inf for part in parts]
    value, note = max(*parts, floor), ""
    if value <= allowed < 1.0:  # the proof is needed only where all distances are allowed
        note = _check_order(values, claim.rounded, least) if numbers is None else ""
        note = note or _check_numbers(rows, witness, count, numbers, allowed) or _check_leading(rows, witness, claim)
        value = np.inf if note in FAILURES else value
    return Certificate(
        "spectral",
        value,
        1.0,
        tol,
        floor,
        -captured.sum,
        lower_bound=-witness.total,
        status=status,
        parts=tuple(parts),
        note=" ".join(filter(None, (witness.note, note))),
    )


def _check_order(values: Floats, rounded: float, least: float) -> str:
    before, after = values[:-1], values[1:]
    return UNORDERED if (after - before > rounded * np.abs(before) + least).any() else ""


def _check_numbers(
    rows: Rows | None,
    witness: "_Witness",
    count: int | float | str | None,
    numbers: Sequence[int] | None,
    allowed: float,
) -> str:
    """A note where the number of components or their indices are not the requested ones, else ""."""
    captured, spectrum = witness.captured, np.zeros(0)
    if count == "mle" or numbers is not None:
        spectrum = _spectrum(rows, witness)
    if not _is_count(count, witness, spectrum, allowed):
        return WRONG_COUNT
    if numbers is None:
        return ""
    expected = spectrum[np.asarray(numbers, dtype=np.intp)]
    return WRONG_NUMBERS if distance(captured.values, expected, captured.top) > allowed else ""


def _compare_derived(
    derived: Derived, witness: "_Witness", captured: "_Captured", size: Floats, least: float
) -> list[float]:
    """Distances of derived quantities from those of the Rayleigh quotients."""
    weight, parts = witness.weight, []
    freedom = max(weight - 1.0 if witness.about_mean and not derived.by_weight else weight, TINY)
    varied = captured.values  # variances of the scores, times the weight
    if not witness.about_mean:
        varied = np.maximum(varied - weight * captured.means**2, 0.0)
    if derived.variances is not None:
        parts.append(distance(derived.variances * freedom, varied, size))
    if derived.shares is not None:
        total = witness.varied
        if total > 0.0:
            parts.append(distance(derived.shares * total, varied, size))
        else:
            parts.append(0.0 if np.isnan(derived.shares).all() else np.inf)
    if derived.noise is not None:
        left = max(witness.total - captured.sum, 0.0) if derived.others > 0 else 0.0
        actual = left / freedom / max(derived.others, 1)
        away = abs(derived.noise - actual) / max(actual, least / freedom)
        parts.append(away if isfinite(away) else np.inf)
        parts.append(np.inf if derived.others <= 0 and derived.noise != 0.0 else 0.0)
    if derived.column_variances is not None:
        squares = witness.spread**2
        parts.append(distance(derived.column_variances * weight, squares, np.where(squares > 0.0, squares, 1.0)))
    parts.append(0.0 if all(stored == actual for stored, actual in derived.equal) else np.inf)
    return parts


def _is_count(count: int | float | str | None, witness: "_Witness", spectrum: Floats, slack: float) -> bool:
    """Whether the number of components is the requested one."""
    captured = witness.captured
    k = len(captured.values)
    if count is None:
        return True
    if isinstance(count, str):
        return _is_most_probable(k, spectrum, witness.weight)
    if isinstance(count, float):  # the smallest number that explains more than a fraction
        if not witness.total > 0.0:
            return k == 1
        explained = np.append(0.0, np.cumsum(captured.values)) / witness.total
        return k >= 1 and bool(explained[k - 1] <= count + slack and explained[k] >= count - slack)
    return k == count


def _is_most_probable(k: int, values: Floats, weight: float) -> bool:
    """Whether no other number of components has a larger evidence than k (Minka 2000, equation 77), up to rounding.

    With noise v_k the mean of the eigenvalues after the k-th, and l the eigenvalues with those after the k-th replaced
    by v_k, the volume term is the sum over i < k and j > i of log((l_i - l_j)(1 / v - 1 / l_i) n).
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
    """All eigenvalues of the scatter in descending order, padded with zeros where there are fewer rows than columns."""
    p = len(witness.mean)
    S = _form_scatter(rows, witness)
    spectrum = np.zeros(max(len(S), p))
    spectrum[: len(S)] = np.maximum(eigenvalues(S)[::-1], 0.0)
    return spectrum[:p]


def _form_scatter(rows: Rows | None, witness: "_Witness") -> Floats:
    """The scatter, or the Gram matrix of fewer rows than columns, which has the same nonzero eigenvalues."""
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
    A = _center_rows(rows, witness)
    return _inner(A, A)


def _center_rows(rows: Rows, witness: "_Witness") -> Floats:
    """A = W^(1/2) (X - 1 m'), dense."""
    block = rows.whole()
    X = block.X.toarray() if is_sparse(block.X) else wide(block.X)
    return np.asarray(np.sqrt(wide(weights_of(block)))[:, None] * (X - witness.place))


@dataclass(frozen=True)
class _Claim:
    """The claim to be judged: components and values, with a tolerance relative to the largest value."""

    components: Floats
    values: Floats  # as stored: only used to guess whether the trace suffices
    leading: bool
    tol: float
    rounded: float  # of the dtype of the components
    beside: Floats | None

    def floor(self, captured: "_Captured", total: float) -> float:
        share = total / captured.top if captured.values.size else 1.0
        return max(64.0 * EPS * max(1.0, share), self.rounded)

    def limit(self, captured: "_Captured", total: float) -> float:
        """The bound that no eigenvalue outside the components may exceed."""
        return captured.least + max(self.tol, self.floor(captured, total)) * captured.top

    def by_trace(self, captured: "_Captured", total: float) -> bool:
        return total - captured.sum <= self.limit(captured, total)

    def needs_proof(self, captured: "_Captured", total: float) -> bool:
        """Whether the trace does not prove that no larger eigenvalue is missing."""
        k, p = self.components.shape
        return self.leading and 0 < k < p and not self.by_trace(captured, total)

    def proof(self, captured: Callable[[], "_Captured"], total: float, size: int) -> Proof:
        """A randomised proof; `captured` is evaluated after its first products."""
        # seeded by the stored values, so that vectors are independent of the components and reproducible
        random = np.random.default_rng(np.frombuffer(self.values.tobytes(), dtype=np.uint32))
        return proof(size, lambda: self.limit(captured(), total), 64.0 * EPS * total, random, self.beside)


@dataclass(frozen=True)
class _Captured:
    """Rayleigh quotients of the components, norms of S v - r v, and means of scores of uncentred rows; (k,) each."""

    values: Floats
    residuals: Floats
    means: Floats

    @classmethod
    def of(cls, components: Floats, images: Floats, mean: Floats) -> "_Captured":
        """From the products `images` with S."""
        squares = _divisors(components)
        values = np.einsum("kp,kp->k", components, images) / squares
        left = images - values[:, None] * components
        return cls(np.maximum(values, 0.0), np.sqrt(_lengths_squared(left) / squares), components @ mean)

    @cached_property
    def top(self) -> float:
        return max(float(self.values.max(initial=0.0)), TINY)

    @cached_property
    def least(self) -> float:
        return float(self.values.min()) if self.values.size else 0.0

    @cached_property
    def sum(self) -> float:
        return float(self.values.sum())


@dataclass(frozen=True)
class _Rest:
    """The scatter deflated by the components: its products with vectors, a running proof about it, and the products
    with the first vectors of the proof.
    """

    apply: Callable[[Floats], Floats]
    proof: Proof
    first: Floats | None = None  # None: not multiplied yet

    def is_below(self) -> bool | None:
        return finish(self.proof, self.apply, self.apply(next(self.proof)) if self.first is None else self.first)


@dataclass(frozen=True)
class _Witness:
    """Weight and mean of the samples, norms of the columns about the mean (`spread`) and about the origin in use
    (`lengths`); what the components capture; the scatter where it is known and agrees with the products, else the
    deflated scatter.
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
    def of_rows(cls, rows: Rows, mean: Floats, claim: _Claim, about_mean: bool, scatter: Floats | None) -> "_Witness":
        p = rows.shape[1]
        if scatter is not None and scatter.shape == (p, p):
            many = len(claim.components) >= MANY_COMPONENTS and 2 * len(claim.components) >= p
            witness = cls._of_scatter(rows, mean, claim, about_mean, scatter, many)
            if witness is None and many:
                witness = cls._of_scatter(rows, mean, claim, about_mean, scatter, False)
            if witness is not None:
                return witness
        # no scatter was given, or not that of these rows
        own: Moments | None = rows.fold(Moments.lift) if p <= FORMED_FEATURES else None
        columns: Columns = rows.fold(Columns.lift) if own is None else Columns.of(own)
        middle = columns.mean[:p]
        scatter = None if own is None else _scatter_of(own, about_mean)
        lengths, spread = columns.lengths(origin=not about_mean)[0], columns.spread[:p]
        claim_to_prove = claim if scatter is None else replace(claim, leading=False)
        captured, rest = _products(rows, middle, claim_to_prove, float(np.sum(lengths**2)), about_mean)
        weight = columns.weight or 1.0
        return cls(weight, middle, spread, lengths, captured, scatter, rest, about_mean=about_mean)

    @classmethod
    def _of_scatter(
        cls, rows: Rows, mean: Floats, claim: _Claim, about_mean: bool, scatter: Floats, many: bool
    ) -> "_Witness | None":
        """From a scatter that was handed over, where it has the products of the rows with random vectors; else None.
        The products with components are those of the rows too, or those of the scatter (`many`), with the bound on its
        error added to the residuals.
        """
        components, k = claim.components, len(claim.components)
        probes = _normal_vectors(len(mean)) if many else _signs(len(mean))
        vectors = probes if many else np.concatenate([components, probes])
        place = mean if about_mean else np.zeros(len(mean))
        sums: ScatterAbout = rows.fold(scatter_about(place, vectors))
        step, about = sums.about_mean(vectors)
        images, middle = about if about_mean else sums.products, place + step
        if many:
            captured = _Captured.of(components, _inner(components, scatter), middle)
            error = NORMAL_BOUND * float(np.linalg.norm(images - _inner(probes, scatter)))
            if not error <= 0.1 * claim.tol * captured.least:
                return None
            captured = replace(captured, residuals=captured.residuals + error)
        elif _agree(images[k:], probes, scatter):
            captured = _Captured.of(components, images[:k], middle)
        else:
            return None
        lengths = np.sqrt(np.maximum(scatter.diagonal(), 0.0))
        spread = lengths if about_mean else _spread(lengths, middle, sums.weight)
        return cls(sums.weight, middle, spread, lengths, captured, scatter, about_mean=about_mean)

    @classmethod
    def of_moments(cls, moments: Moments, claim: _Claim, about_mean: bool) -> "_Witness":
        S = _scatter_of(moments, about_mean)
        columns = Columns.of(moments)
        p = moments.features
        captured = _Captured.of(claim.components, _inner(claim.components, S), columns.mean[:p])
        lengths = np.sqrt(np.maximum(np.diag(S), 0.0))
        spread = columns.spread[:p]
        return cls(moments.weight, columns.mean[:p], spread, lengths, captured, S, None, FROM_PARTS, about_mean)

    @cached_property
    def total(self) -> float:
        return float((self.lengths**2).sum())

    @cached_property
    def varied(self) -> float:
        """The trace of the scatter about the mean."""
        return float((self.spread**2).sum())

    @property
    def place(self) -> Floats:
        """The origin in use: the mean, or zero for uncentred rows."""
        return self.mean if self.about_mean else np.zeros_like(self.mean)

    def away(self, mean: Floats) -> float:
        """The distance of a stored mean, in units of the columns."""
        root, place = self.weight**0.5, self.place
        size = np.maximum(self.lengths, np.abs(place) * root)
        size[size == 0.0] = 1.0
        return distance(mean * root, place * root, size)


def _spread(lengths: Floats, mean: Floats, weight: float) -> Floats:
    """Norms about the mean, from those about the origin."""
    squares = lengths**2 - weight * mean**2
    return np.sqrt(np.where(squares > 64.0 * EPS * lengths**2, squares, 0.0))


def _lengths_squared(A: Floats) -> Floats:
    return np.asarray(np.einsum("kp,kp->k", A, A))


def _divisors(V: Floats) -> Floats:
    """Squared norms of components; 1 for zero vectors, which fail as not orthonormal."""
    squares = _lengths_squared(V)
    return np.where(squares > 0.0, squares, 1.0)


def _inner(A: Floats, B: Floats) -> Floats:
    """A B', by the threads of the compiled core."""
    return np.ascontiguousarray(forward(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _scatter_of(moments: Moments, about_mean: bool) -> Floats:
    e = moments.exponent[: moments.features]
    return np.ldexp(moments.about(not about_mean)[0], e[:, None] + e)


@lru_cache(maxsize=16)
def _signs(p: int) -> Floats:
    """Random vectors of signs, (PROBES, p)."""
    return np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, p))


@lru_cache(maxsize=16)
def _normal_vectors(p: int) -> Floats:
    """Random vectors of normal numbers, (NORMAL_PROBES, p)."""
    return np.random.default_rng(0).standard_normal((NORMAL_PROBES, p))


def _agree(products: Floats, probes: Floats, S: Floats) -> bool:
    """Whether a matrix has the products of the rows with random vectors."""
    rounding = 1e-9 * float(S.diagonal().max(initial=0.0)) * len(S)
    return bool(np.abs(products - _inner(probes, S)).max() <= rounding)


def _products(
    rows: Rows, middle: Floats, claim: _Claim, total: float, about_mean: bool
) -> tuple[_Captured, _Rest | None]:
    """What the components capture, and the deflated scatter; the first vectors of the proof are multiplied in the same
    pass as the components.
    """
    V, k = claim.components, len(claim.components)
    place = middle if about_mean else np.zeros_like(middle)
    turned = ByColumns.of(rows, place if about_mean else None)
    if turned is not None:
        captured, scores = _capture_by_columns(turned, V, middle)

        def other_side(u: Floats) -> Floats:
            return turned.products(u) - adjoint(scores, _inner(scores, u))

        if not claim.needs_proof(captured, total):
            return captured, None
        return captured, _Rest(other_side, claim.proof(lambda: captured, total, rows.shape[0]))

    def products(v: Floats) -> Floats:
        return rows.fold(scatter_about(place, v)).products

    def project(v: Floats) -> Floats:
        return v - adjoint(V, _inner(V, v)) if k else v

    def rest(v: Floats) -> Floats:
        return project(products(project(v)))

    known: list[_Captured] = []
    begun, first = claim.proof(lambda: known[0], total, rows.shape[1]), np.zeros((0, rows.shape[1]))
    cheap_pass = rows.sparse and isinstance(rows, MemoryRows)  # products with more vectors cost more than a pass saves
    if not cheap_pass and claim.needs_proof(_Captured(claim.values, claim.values, claim.values), total):
        first = project(next(begun))  # guessed by the stored values
    images = products(np.vstack([V, first]))
    known.append(_Captured.of(V, images[:k], middle))
    if not claim.needs_proof(known[0], total):
        return known[0], None
    return known[0], _Rest(rest, begun, project(images[k:]) if len(first) else None)


def _capture_by_columns(turned: ByColumns, V: Floats, middle: Floats) -> tuple[_Captured, Floats]:
    """What the components capture, by slices of columns, and their scores (k, n)."""
    scores, squares = turned.scores(V), _divisors(V)
    values = np.einsum("kn,kn->k", scores, scores) / squares
    left = np.zeros(len(V))
    for columns, part in turned.parts():
        some = part.back(scores) - values[:, None] * V[:, columns]
        left += np.einsum("kp,kp->k", some, some)
    return _Captured(values, np.sqrt(left / squares), V @ middle), scores


def _check_leading(rows: Rows | None, witness: _Witness, claim: _Claim) -> str:
    """The note about the remaining eigenvalues; "" where it is proved that none exceeds the limit."""
    captured, total, V = witness.captured, witness.total, claim.components
    if not claim.needs_proof(captured, total):
        return ""
    if witness.scatter is None:
        assert witness.rest is not None
        below = witness.rest.is_below()
        if below is not None or rows is None or min(rows.shape) > MAX_FORMED or rows.distributed:
            return {True: PROBABLE, None: NOT_PROVED, False: LEFT_OUT}[below]
    S = _form_scatter(rows, witness)
    # eigenvectors of S are the components, those of the Gram matrix their scores
    scaled = V * np.sqrt(captured.values)[:, None]
    if len(S) != V.shape[1]:
        assert rows is not None
        scaled = _scores(rows, V, witness)
    rest = claim.limit(captured, total) * np.eye(len(S)) - S
    rest += adjoint(scaled, np.ascontiguousarray(scaled))
    return "" if cholesky(rest.T) is not None else LEFT_OUT


def _scores(rows: Rows, V: Floats, witness: _Witness) -> Floats:
    """V A', (k, n)."""
    turned = ByColumns.of(rows, witness.mean if witness.about_mean else None)
    return _inner(V, _center_rows(rows, witness)) if turned is None else turned.scores(V)
