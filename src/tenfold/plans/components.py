"""Principal components and singular vectors of the rows, as they will be stored, and the judge."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, wide
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.pca import Derived, spectral
from tenfold.plans.pca import BLOCK, Spectrum, minka, of_moments, of_rows, share, signed
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import Moments


class Components(NamedTuple):
    """Mean (p,), components (k, p), singular values, variances along the components and their shares of the whole (k,),
    as they will be stored, in float64; and the mean variance along all other directions.
    """

    mean: Floats
    axes: Floats
    singular_values: Floats
    variances: Floats
    shares: Floats
    noise: float = 0.0


Judged = tuple[Components, Certificate]


def fit_principal(
    rows: Rows,
    count: int | None,
    asked: int | float | str,
    keep: Any,
    *,
    accurate: bool,
    tol: float,
    max_iter: int,
    random: Callable[[], Any],
    dtype: Any,
) -> Judged:
    """Of `count` leading components, or all (None), those that are `asked` for: so many, those with a share of the
    variance, the most probable number ("mle"), or those of the numbers `keep`. `random` gives the random numbers of a
    search.
    """
    most = min(rows.shape)

    def search(widest: int) -> Spectrum:
        wanted = max(tol, 1e-9)
        return of_rows(rows, count, accurate=accurate, tol=wanted, max_iter=max_iter, random=random(), widest=widest)

    def judged(found: Spectrum) -> Judged:
        kept = _which(found, asked, keep, most)
        stored = _principal(found, kept, most - len(kept), dtype)
        return stored, spectral(
            rows,
            mean=stored.mean,
            components=stored.axes,
            values=stored.singular_values**2,
            count=asked,
            numbers=None if keep is None else [int(number) for number in keep],
            derived=Derived(stored.variances, stored.shares, stored.noise, most - len(kept)),
            scatter=found.scatter,
            beside=found.beside,
            tol=max(RULES["spectral"].tol, tol),
            dtype=dtype,
            status=found.status.value,
        )

    return _certified(search, judged)


def fit_parts(moments: Moments, rows: Rows | None, count: int, asked: int | None, dtype: Any) -> tuple[Judged, Floats]:
    """`count` components of rows that came in parts, of which none are left (None) but where they came at once, and the
    variances (p,) of the columns; `asked` is None where the first part decided how many.
    """
    found = of_moments(moments, None)
    others = min(moments.count, moments.features) - count
    stored = _principal(found, slice(None, count), others, dtype)
    variances = wide(np.diag(moments.covariance()).astype(dtype))
    certificate = spectral(
        rows,
        mean=stored.mean,
        components=stored.axes,
        values=stored.singular_values**2,
        count=asked,
        derived=Derived(stored.variances, stored.shares, stored.noise, others, variances),
        moments=moments,
        scatter=None if rows is None else found.scatter,
        dtype=dtype,
    )
    return (stored, certificate), variances


def fit_truncated(rows: Rows, count: int, *, tol: float, random: Any, dtype: Any) -> Judged:
    """`count` leading singular vectors of the rows as they are; with fewer rows than that fewer."""
    n, p = rows.shape

    def search(widest: int) -> Spectrum:
        return of_rows(rows, min(count, n, p), about_mean=False, tol=max(tol, 1e-9), random=random, widest=widest)

    def judged(found: Spectrum) -> Judged:
        values, vectors = found.first(count)
        vectors = signed(vectors)
        columns: Columns = rows.fold(Columns.lift)
        total = float(np.sum(columns.spread[:p] ** 2)) / columns.weight
        # the scores of a component have the mean v.m and the mean square l / w
        along = np.maximum(values / columns.weight - (vectors @ columns.mean[:p]) ** 2, 0.0)
        kept = partial(_kept, dtype)
        stored = Components(np.zeros(p), kept(vectors), kept(np.sqrt(values)), kept(along), kept(_shares(along, total)))
        return stored, spectral(
            rows,
            mean=stored.mean,
            components=stored.axes,
            values=stored.singular_values**2,
            about_mean=False,
            count=len(vectors),
            derived=Derived(stored.variances, stored.shares),
            scatter=found.scatter,
            beside=found.beside,
            tol=max(RULES["spectral"].tol, tol),
            dtype=dtype,
            status=found.status.value,
        )

    return _certified(search, judged)


def _certified(search: Callable[[int], Spectrum], judged: Callable[[Spectrum], Judged]) -> Judged:
    """What is found in haste, with blocks of at most so many vectors; where that is not enough, with wide ones."""
    found = search(BLOCK)
    fitted = judged(found)
    return judged(search(found.vectors.shape[1])) if found.hasty and not fitted[1].ok else fitted


def _which(found: Spectrum, asked: int | float | str, keep: Any, most: int) -> Any:
    """The numbers of the components that are stored."""
    if keep is not None:
        kept = np.asarray(keep, dtype=np.intp)
        if kept.ndim != 1 or (kept.size and not 0 <= kept.min() <= kept.max() < len(found.values)):
            raise ValueError(f"keep must hold numbers of components, 0 to {most - 1}; got {keep!r}.")
        return kept
    if isinstance(asked, str):
        return np.arange(minka(found.values / _freedom(found), found.weight))
    return np.arange(share(found.values, found.total, asked) if isinstance(asked, float) else asked)


def _principal(found: Spectrum, which: Any, others: int, dtype: Any) -> Components:
    """Some components of a spectrum, and the noise along so many other directions."""
    freedom, kept = _freedom(found), partial(_kept, dtype)
    values, vectors = found.values[which], signed(found.vectors[which])
    left = max(found.total - float(np.sum(values)), 0.0)
    return Components(
        kept(found.mean),
        kept(vectors),
        kept(np.sqrt(values)),
        kept(values / freedom),
        kept(_shares(values, found.total)),
        left / freedom / others if others > 0 else 0.0,
    )


def _freedom(found: Spectrum) -> float:
    return max(found.weight - 1.0, float(np.finfo(np.float64).tiny))


def _shares(values: Floats, total: float) -> Floats:
    return values / total if total > 0.0 else np.full(len(values), np.nan)


def _kept(dtype: Any, part: Floats) -> Floats:
    return wide(part.astype(dtype, copy=False))
