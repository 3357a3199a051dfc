"""Classical scaling: coordinates whose inner products are those of given distances."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Precomputed
from tenfold.plans.kernel_pca import fit_components


@dataclass(frozen=True)
class Scaling:
    """Coordinates (n, k), the eigenvalues (k,) and vectors (n, k) of -1/2 H D^2 H, and their certificate."""

    embedding: Floats
    values: Floats
    vectors: Floats
    certificate: Certificate


def fit_scaling(D: Floats, count: int, random: Callable[[], Any]) -> Scaling:
    """`count` leading coordinates of distances D (n, n)."""
    fitted = fit_components(
        Precomputed(),
        inner_products(D),
        count,
        center=True,
        drop_zero=False,
        solver="auto",
        tol=0.0,
        max_iter=None,
        random=random,
        dtype=np.float64,
    )
    return Scaling(fitted.vectors * np.sqrt(fitted.values), fitted.values, fitted.vectors, fitted.certificate)


def inner_products(D: Floats) -> Floats:
    """-1/2 D^2, which centred has the inner products of points at distances D."""
    G = np.asarray(D, dtype=np.float64) ** 2
    G *= -0.5
    return G
