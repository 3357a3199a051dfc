"""Plans of PCA and truncated SVD: components in the precision of storage, and their certificates."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, wide
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.pca import Derived, spectral
from tenfold.plans.pca import MAX_BLOCK, Spectrum, count_by_evidence, count_explaining, fix_signs, of_moments, of_rows
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import Moments


class Components(NamedTuple):
    """Mean (p,), components (k, p), singular values, explained variances and their ratios (k,), rounded to the
    precision of storage, in float64; and the mean variance along all other directions.
    """

    mean: Floats
    axes: Floats
    singular_values: Floats
    variances: Floats
    shares: Floats
    noise: float = 0.0


FittedComponents = tuple[Components, Certificate]


def fit_principal(
    rows: Rows,
    count: int | None,
    requested: int | float | str,
    keep: Any,
    *,
    accurate: bool,
    tol: float,
    max_iter: int,
    random: Callable[[], Any],
    dtype: Any,
    power: bool = False,
) -> FittedComponents:
    """Compute `count` leading components, or all (None), by the `power` method where asked for, and select the
    `requested` ones: a number, a fraction of the variance, the number of largest evidence ("mle"), or the indices
    `keep`. `random` is the generator of a search.
    """
    most = min(rows.shape)

    def search(widest: int) -> Spectrum:
        wanted = max(tol, 1e-9)
        chosen = partial(of_rows, rows, count, accurate=accurate, power=power)
        return chosen(tol=wanted, max_iter=max_iter, random=random(), widest=widest)

    def fit_and_judge(spectrum: Spectrum) -> FittedComponents:
        kept = _select(spectrum, requested, keep, most)
        stored = _principal(spectrum, kept, most - len(kept), dtype)
        return stored, spectral(
            rows,
            mean=stored.mean,
            components=stored.axes,
            values=stored.singular_values**2,
            count=requested,
            numbers=None if keep is None else [int(number) for number in keep],
            derived=Derived(stored.variances, stored.shares, stored.noise, most - len(kept)),
            scatter=spectrum.scatter,
            beside=spectrum.extra,
            tol=max(RULES["spectral"].tol, tol),
            dtype=dtype,
            status=spectrum.status.value,
        )

    return _search_until_certified(search, fit_and_judge)


def fit_parts(
    moments: Moments, rows: Rows | None, count: int, requested: int | None, dtype: Any
) -> tuple[FittedComponents, Floats]:
    """`count` components from the moments of parts, and the variances (p,) of the columns; `rows` is None unless all
    came at once, `requested` is None where the first part determines the number.
    """
    spectrum = of_moments(moments, None)
    others = min(moments.count, moments.features) - count
    stored = _principal(spectrum, slice(None, count), others, dtype)
    variances = wide(np.diag(moments.covariance()).astype(dtype))
    certificate = spectral(
        rows,
        mean=stored.mean,
        components=stored.axes,
        values=stored.singular_values**2,
        count=requested,
        derived=Derived(stored.variances, stored.shares, stored.noise, others, variances),
        moments=moments,
        scatter=None if rows is None else spectrum.scatter,
        dtype=dtype,
    )
    return (stored, certificate), variances


def fit_truncated(
    rows: Rows, count: int, *, tol: float, steps: int | None, oversampling: int, random: Any, dtype: Any
) -> FittedComponents:
    """At most `count` leading singular vectors of the uncentred rows: by a search with that many `steps` from blocks
    with `oversampling` vectors more than `count`, or one until they are certified (None).
    """
    n, p = rows.shape

    def search(widest: int) -> Spectrum:
        wanted = partial(of_rows, rows, min(count, n, p), about_mean=False, tol=max(tol, 1e-9), random=random)
        return wanted(widest=widest) if steps is None else wanted(max_iter=steps, oversampling=oversampling)

    def fit_and_judge(spectrum: Spectrum) -> FittedComponents:
        values, vectors = spectrum.first(count)
        vectors = fix_signs(vectors)
        columns: Columns = rows.fold(Columns.lift)
        total = float(np.sum(columns.spread[:p] ** 2)) / columns.weight
        # the scores of a component have mean v.m and mean square l / w
        along = np.maximum(values / columns.weight - (vectors @ columns.mean[:p]) ** 2, 0.0)
        kept = partial(_convert, dtype)
        stored = Components(np.zeros(p), kept(vectors), kept(np.sqrt(values)), kept(along), kept(_shares(along, total)))
        return stored, spectral(
            rows,
            mean=stored.mean,
            components=stored.axes,
            values=stored.singular_values**2,
            about_mean=False,
            count=len(vectors),
            derived=Derived(stored.variances, stored.shares),
            scatter=spectrum.scatter,
            beside=spectrum.extra,
            tol=max(RULES["spectral"].tol, tol),
            dtype=dtype,
            status=spectrum.status.value,
        )

    return _search_until_certified(search, fit_and_judge)


def _search_until_certified(
    search: Callable[[int], Spectrum], fit_and_judge: Callable[[Spectrum], FittedComponents]
) -> FittedComponents:
    """Search with narrow blocks, and with wide ones where the result is not certified."""
    spectrum = search(MAX_BLOCK)
    fitted = fit_and_judge(spectrum)
    return fit_and_judge(search(spectrum.vectors.shape[1])) if spectrum.is_approximate and not fitted[1].ok else fitted


def _select(spectrum: Spectrum, requested: int | float | str, keep: Any, most: int) -> Any:
    """The indices of the components that are stored."""
    if keep is not None:
        kept = np.asarray(keep, dtype=np.intp)
        if kept.ndim != 1 or (kept.size and not 0 <= kept.min() <= kept.max() < len(spectrum.values)):
            raise ValueError(f"keep must hold numbers of components, 0 to {most - 1}; got {keep!r}.")
        return kept
    if isinstance(requested, str):
        return np.arange(count_by_evidence(spectrum.values / _freedom(spectrum), spectrum.weight))
    return np.arange(
        count_explaining(spectrum.values, spectrum.total, requested) if isinstance(requested, float) else requested
    )


def _principal(spectrum: Spectrum, which: Any, others: int, dtype: Any) -> Components:
    """Selected components of a spectrum, and the noise along `others` directions."""
    freedom, kept = _freedom(spectrum), partial(_convert, dtype)
    values, vectors = spectrum.values[which], fix_signs(spectrum.vectors[which])
    left = max(spectrum.total - float(np.sum(values)), 0.0)
    return Components(
        kept(spectrum.mean),
        kept(vectors),
        kept(np.sqrt(values)),
        kept(values / freedom),
        kept(_shares(values, spectrum.total)),
        left / freedom / others if others > 0 else 0.0,
    )


def _freedom(spectrum: Spectrum) -> float:
    return max(spectrum.weight - 1.0, float(np.finfo(np.float64).tiny))


def _shares(values: Floats, total: float) -> Floats:
    return values / total if total > 0.0 else np.full(len(values), np.nan)


def _convert(dtype: Any, part: Floats) -> Floats:
    return part if part.dtype == dtype else wide(part.astype(dtype))
