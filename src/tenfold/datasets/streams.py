"""Streams of samples with drift."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Floats, Integers


def make_drift(
    n_samples: int = 2000,
    n_features: int = 5,
    *,
    drift: Literal["inputs", "target", "jump", "none"] = "inputs",
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[Floats, Integers]:
    """A stream of samples of classes -1 and 1 on the two sides of a plane.

    "inputs": the mean of the samples moves and the plane stays (covariate shift), as with mail whose subjects change: a
    good learner makes no more mistakes than before. "target": the plane rotates by half a turn over the stream (concept
    drift). "jump": it is reversed at once, in the middle. A fraction `noise` of the labels is wrong. CMU lecture,
    slides 10 and 11.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of samples.
    n_features : int, default=5
        Number of features.
    drift : {"inputs", "target", "jump", "none"}, default="inputs"
        What changes along the stream.
    noise : float, default=0.05
        Share of wrong labels.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of int of shape (n_samples,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets import make_drift
    >>> X, y = make_drift(1000, drift="inputs", random_state=0)
    >>> bool(np.sum((X[:200].mean(axis=0) - X[-200:].mean(axis=0)) ** 2) > 1.0)
    True
    """
    if drift not in ("inputs", "target", "jump", "none"):
        raise ValueError(f"drift must be 'inputs', 'target', 'jump' or 'none'. Got {drift!r}.")
    if n_features < 2:
        raise ValueError(f"n_features must be at least 2, for a plane that can turn. Got {n_features!r}.")
    random = check_random_state(random_state)
    across, beside = np.linalg.qr(random.standard_normal((n_features, 2)))[0].T
    time = np.arange(n_samples) / max(n_samples - 1, 1)
    X = random.standard_normal((n_samples, n_features))
    if drift == "inputs":
        X += 4.0 * (time[:, None] - 0.5) * beside  # along the plane, so that both classes stay as likely
    angle = np.pi * (time if drift == "target" else time > 0.5 if drift == "jump" else np.zeros(n_samples))
    side = np.sum(X * (np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * beside), axis=1)
    wrong = random.uniform(size=n_samples) < noise
    return X, np.where((side > 0.0) != wrong, 1, -1)
