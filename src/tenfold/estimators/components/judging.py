"""What the judge is asked of fitted components, ours and scikit-learn's alike."""

from typing import Any

import numpy as np

from tenfold.arrays import Floats, namespace, numpy_dtype, on_host, wide
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import Certificate
from tenfold.judge.components import Derived, spectral
from tenfold.stats.derivatives import Total
from tenfold.stats.moments import Moments


def judge_centred(
    model: Any,
    rows: Rows | None,
    *,
    moments: Moments | None = None,
    scatter: Floats | None = None,
    beside: Floats | None = None,
    status: str = "solved",
) -> Certificate:
    """The certificate of PCA or IncrementalPCA: by the rows, or by the moments of parts that are gone."""
    if rows is not None:
        n, p = rows.shape
    else:
        assert moments is not None
        n, p = moments.count, moments.features
    k, incremental = model.components_.shape[0], hasattr(model, "n_samples_seen_")
    if incremental and rows is not None:
        n = _count(rows) if moments is None else moments.count
    stored = [(model.n_components_, k), (model.n_samples_seen_ if incremental else model.n_samples_, n)]
    if incremental and hasattr(model, "batch_size_"):
        stored.append((model.batch_size_, 5 * p if model.batch_size is None else model.batch_size))
    rank = min(n, p)
    theirs = type(model).__module__.startswith("sklearn")
    if theirs and getattr(model, "svd_solver", None) == "covariance_eigh" and k < rank:
        rank = p  # its mean is over all values, those that are zero too
    derived = Derived(
        variances=wide(model.explained_variance_),
        shares=wide(model.explained_variance_ratio_),
        noise=float(model.noise_variance_),
        others=rank - k,
        column_variances=wide(model.var_) if incremental else None,
        equal=tuple(stored),
    )
    keep = getattr(model, "keep", None)
    return spectral(
        rows,
        mean=wide(model.mean_),
        components=wide(model.components_),
        values=wide(model.singular_values_) ** 2,
        count=_asked(model, incremental, n, p),
        numbers=None if keep is None else [int(number) for number in keep],
        derived=derived,
        moments=moments,
        scatter=scatter,
        beside=beside,
        tol=_tolerance(model),
        dtype=numpy_dtype(model.components_.dtype),
        status=status,
    )


def judge_as_they_are(
    model: Any, rows: Rows, *, scatter: Floats | None = None, beside: Floats | None = None, status: str = "solved"
) -> Certificate:
    """The certificate of TruncatedSVD, whose rows are not centred."""
    n, p = rows.shape
    k = model.components_.shape[0]
    return spectral(
        rows,
        mean=np.zeros(p),
        components=wide(model.components_),
        values=wide(model.singular_values_) ** 2,
        about_mean=False,
        # with fewer rows than that, values that are zero may be left out
        count=k if min(model.n_components, n, p) <= k <= min(model.n_components, p) else -1,
        derived=Derived(wide(model.explained_variance_), wide(model.explained_variance_ratio_)),
        scatter=scatter,
        beside=beside,
        tol=_tolerance(model),
        dtype=numpy_dtype(model.components_.dtype),
        status=status,
    )


def _count(rows: Rows) -> int:
    """How many samples have a weight that is not zero."""

    def lift(block: Block) -> Total:
        weight = weights_of(block)
        xp = namespace(weight)
        return Total(np.array([float(on_host(xp.sum(xp.astype(weight > 0.0, xp.float64))))]))

    return int(rows.fold(lift).sum[0])


def _tolerance(model: Any) -> float:
    """That of the rule, or the user's where it is larger; scikit-learn's says when ARPACK ends, not how exact it is."""
    ours = type(model).__module__.startswith("tenfold")
    return max(1e-8, float(getattr(model, "tol", 0.0))) if ours else 1e-8


def _asked(model: Any, incremental: bool, n: int, p: int) -> int | float | str | None:
    """How many components the parameters ask for; None where the first of several parts decided it."""
    asked = model.n_components
    if incremental:
        return None if asked is None else int(asked)
    if getattr(model, "keep", None) is not None:
        return len(model.keep)
    if asked is None:
        return min(n, p) - (model.svd_solver == "arpack")
    if isinstance(asked, str):
        return asked
    return float(asked) if 0 < asked < 1 else int(asked)
