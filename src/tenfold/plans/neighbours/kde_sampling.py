"""Points drawn from a density kernel."""

from typing import Any

import numpy as np
from scipy.special import gammainc

from tenfold.arrays import Floats


def draw_from_kernel(kernel: str, power: float, size: tuple[int, int], rng: Any) -> Floats:
    """Points (n, d) with density proportional to K(|x|), K the kernel "gaussian" or "tophat" of bandwidth one and |x|
    Minkowski's norm with this power.

    A point is a length, with density ``r^(d - 1) K(r)``, times a direction by the cone measure of the norm's sphere:
    entries with density ``exp(-|t|^power)``, divided by their norm.
    """
    n, d = size
    if power == 2.0:
        points = rng.normal(size=size)
        if kernel == "gaussian":
            return points
        # a Gaussian direction; its length, by its own distribution, becomes that of a point in a ball
        squares = np.einsum("ij,ij->i", points, points)
        return points * (gammainc(0.5 * d, 0.5 * squares) ** (1.0 / d) / np.sqrt(squares))[:, None]
    length = np.sqrt(rng.chisquare(d, size=n)) if kernel == "gaussian" else rng.uniform(size=n) ** (1.0 / d)
    if np.isinf(power):
        points = rng.uniform(-1.0, 1.0, size=size)
    else:
        points = rng.gamma(1.0 / power, size=size) ** (1.0 / power) * rng.choice([-1.0, 1.0], size=size)
    return points * (length / np.linalg.norm(points, ord=power, axis=1))[:, None]
