"""Artificial regression data, pairs of views, and missing values."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Floats


def make_sine(
    n_samples: int = 10,
    *,
    noise: float = 0.15,
    spaced: Literal["evenly", "uniform", "with_ends"] = "evenly",
    random_state: Any = None,
) -> tuple[Floats, Floats]:
    """sin(2 pi x) on [0, 1] with Gaussian noise.

    Ten points, evenly spaced, with the standard deviation 0.15 are those of Seeger, figure 4.3; uniform ones with 0 and
    1 among them (`spaced="with_ends"`) and the standard deviation 0.25 those of section 10.1.4. Cookbook 6.1.

    Parameters
    ----------
    n_samples : int, default=10
        Number of samples.
    noise : float, default=0.15
        Standard deviation of the noise.
    spaced : {"evenly", "uniform", "with_ends"}, default="evenly"
        Whether x is evenly spaced, drawn uniformly, or drawn with 0 and 1 among them.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        The samples.
    y : ndarray of shape (n_samples,)
        The targets.

    Examples
    --------
    >>> from tenfold.datasets import make_sine
    >>> X, y = make_sine(5, noise=0.0)
    >>> y.round(12).tolist()
    [0.0, 1.0, 0.0, -1.0, -0.0]
    """
    random = check_random_state(random_state)
    if spaced == "evenly":
        x = np.linspace(0.0, 1.0, n_samples)
    elif spaced == "uniform":
        x = random.uniform(size=n_samples)
    elif spaced == "with_ends":
        x = np.concatenate([[0.0, 1.0], random.uniform(size=max(n_samples - 2, 0))])[:n_samples]
    else:
        raise ValueError(f"spaced must be 'evenly', 'uniform' or 'with_ends'. Got {spaced!r}.")
    return x[:, None], np.sin(2.0 * np.pi * x) + noise * random.standard_normal(n_samples)


def make_cosine_with_gap(
    n_samples: int = 12, *, noise: float = 0.05, gap: tuple[float, float] = (2.0, 5.0), random_state: Any = None
) -> tuple[Floats, Floats]:
    """cos x on [0, 2 pi] with Gaussian noise, and no sample inside the `gap`, where a model should be uncertain.

    Cookbook, figures 23.1 and A.1.

    Parameters
    ----------
    n_samples : int, default=12
        Number of samples.
    noise : float, default=0.05
        Standard deviation of the noise.
    gap : tuple of float, default=(2.0, 5.0)
        Interval of x in which there is no sample.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        The samples.
    y : ndarray of shape (n_samples,)
        The targets.

    Examples
    --------
    >>> from tenfold.datasets import make_cosine_with_gap
    >>> X, y = make_cosine_with_gap(random_state=0)
    >>> bool(((X < 2) | (X > 5)).all())
    True
    """
    random = check_random_state(random_state)
    low, high = gap
    x = np.sort(random.uniform(0.0, 2.0 * np.pi - (high - low), n_samples))
    x = np.where(x < low, x, x + (high - low))
    return x[:, None], np.cos(x) + noise * random.standard_normal(n_samples)


def make_linear(
    n_samples: int = 100,
    n_features: int = 5,
    *,
    n_informative: int | None = None,
    noise: float = 1.0,
    coef: bool = False,
    random_state: Any = None,
) -> Any:
    """y = x.w + noise, with `n_informative` non-zero weights; samples are standard Gaussian.

    Rosasco, example 1 of section 1.2; the sparse ones of the cookbook, chapter 18. Returns (X, y), and the weights
    where `coef` asks for them.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples.
    n_features : int, default=5
        Number of features.
    n_informative : int, default=None
        Number of weights that are not zero; None for all.
    noise : float, default=1.0
        Standard deviation of the noise.
    coef : bool, default=False
        Whether to return the weights, too.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,)
        The targets.
    w : ndarray of shape (n_features,)
        The weights; only with `coef`.

    Examples
    --------
    >>> from tenfold.datasets import make_linear
    >>> X, y, w = make_linear(50, 10, n_informative=3, noise=0.0, coef=True, random_state=0)
    >>> int((w != 0).sum()), bool(abs(y - X @ w).max() < 1e-12)
    (3, True)
    """
    random = check_random_state(random_state)
    X = random.standard_normal((n_samples, n_features))
    informative = n_features if n_informative is None else n_informative
    w = np.zeros(n_features)
    w[random.permutation(n_features)[:informative]] = random.choice([-1.0, 1.0], informative) * random.uniform(
        0.5, 2.0, informative
    )
    y = np.einsum("ij,j->i", X, w) + noise * random.standard_normal(n_samples)
    return (X, y, w) if coef else (X, y)


def make_counts(
    n_samples: int = 200, n_features: int = 3, *, rate: float = 2.0, coef: bool = False, random_state: Any = None
) -> Any:
    """Counts with Poisson distributions of mean rate exp(x.w), x standard Gaussian and w of length 1/2.

    Seeger, section 8.1.2. Returns (X, y), and the weights where `coef` asks for them.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    n_features : int, default=3
        Number of features.
    rate : float, default=2.0
        Mean of the counts at x = 0.
    coef : bool, default=False
        Whether to return the weights, too.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,)
        The counts.
    w : ndarray of shape (n_features,)
        The weights; only with `coef`.

    Examples
    --------
    >>> from tenfold.datasets import make_counts
    >>> X, y = make_counts(1000, random_state=0)
    >>> int(y.min()), bool(1.5 < y.mean() < 3.0)
    (0, True)
    """
    random = check_random_state(random_state)
    X = random.standard_normal((n_samples, n_features))
    w = random.standard_normal(n_features)
    w *= 0.5 / np.sqrt(np.sum(w**2))
    y = random.poisson(rate * np.exp(np.einsum("ij,j->i", X, w))).astype(np.float64)
    return (X, y, w) if coef else (X, y)


def make_sine_cosine_views(
    n_samples: int = 100, *, noise: float = 0.0, random_state: Any = None
) -> tuple[Floats, Floats]:
    """Two views of an angle z, sin z and cos z: their correlation is zero, and each nearly decides the other.

    Cookbook, figures 11.1 and 11.2.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples.
    noise : float, default=0.0
        Standard deviation of the noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        The view sin z.
    Y : ndarray of shape (n_samples, 1)
        The view cos z.

    Examples
    --------
    >>> from tenfold.datasets import make_sine_cosine_views
    >>> X, Y = make_sine_cosine_views(random_state=0)
    >>> bool(abs(X**2 + Y**2 - 1).max() < 1e-12)
    True
    """
    random = check_random_state(random_state)
    z = random.uniform(0.0, 2.0 * np.pi, (n_samples, 1))
    X, Y = (part + noise * random.standard_normal((n_samples, 1)) for part in (np.sin(z), np.cos(z)))
    return X, Y


def make_two_views(
    n_samples: int = 1000,
    *,
    strength: float = 0.1,
    noise: Literal["one_direction", "isotropic"] = "one_direction",
    hidden: bool = False,
    random_state: Any = None,
) -> Any:
    """Two views with two columns each that share one hidden variable s: strength s w + (1 - strength^2) noise.

    With the noise of each view in one direction, canonical correlation finds s, however weak it is. With isotropic
    noise, as the cookbook prints it (10.3), the best correlation that exists is about strength^2, 0.01 for 0.1, and
    nothing can be found. Cookbook, figures 10.2 and 10.3. Returns (X, Y), and s where `hidden` asks for it.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    strength : float, default=0.1
        Share of the hidden variable in both views.
    noise : {"one_direction", "isotropic"}, default="one_direction"
        Whether the noise of a view is in one direction or in all.
    hidden : bool, default=False
        Whether to return the hidden variable, too.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The first view.
    Y : ndarray of shape (n_samples, 2)
        The second view.
    s : ndarray of shape (n_samples,)
        The hidden variable; only with `hidden`.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import CCA
    >>> from tenfold.datasets import make_two_views
    >>> X, Y, s = make_two_views(hidden=True, random_state=0)
    >>> bool(abs(np.corrcoef(CCA(1).fit(X, Y).transform(X)[:, 0], s)[0, 1]) > 0.999)
    True
    """
    if noise not in ("one_direction", "isotropic"):
        raise ValueError(f"noise must be 'one_direction' or 'isotropic'. Got {noise!r}.")
    random = check_random_state(random_state)
    s = random.standard_normal(n_samples)
    views = []
    for _ in range(2):
        shared = random.standard_normal(2)
        shared /= np.sqrt(np.sum(shared**2))
        directions = random.standard_normal((1, 2)) if noise == "one_direction" else np.eye(2)
        own = random.standard_normal((n_samples, len(directions))) @ directions
        views.append(strength * np.outer(s, shared) + (1.0 - strength**2) * own)
    return (*views, s) if hidden else tuple(views)


def make_missing(
    X: Any,
    *,
    rate: float = 0.2,
    pattern: Literal["at_random", "by_first_column", "saturated"] = "at_random",
    random_state: Any = None,
) -> Floats:
    """A copy of X with a share `rate` of its values missing (nan).

    "at_random": completely at random. "by_first_column": only in samples whose first feature, which is never missing,
    is above its median (missing at random given the first feature). "saturated": the largest values of each feature, as
    of a sensor that saturates (missing not at random): no imputation helps. Seeger, section 12.3.2.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples; a copy is made.
    rate : float, default=0.2
        Share of values that are missing.
    pattern : {"at_random", "by_first_column", "saturated"}, default="at_random"
        Which values are missing.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The copy, with nan where a value is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.datasets import make_missing
    >>> X = make_missing(np.arange(10.0)[:, None], pattern="saturated")
    >>> X.ravel().tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, nan, nan]
    """
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"rate must be at least 0 and less than 1. Got {rate!r}.")
    random = check_random_state(random_state)
    incomplete = np.array(X, dtype=np.float64)
    if pattern == "at_random":
        incomplete[random.uniform(size=incomplete.shape) < rate] = np.nan
    elif pattern == "by_first_column":
        selected = incomplete[:, 0] > np.median(incomplete[:, 0])
        missing_mask = (random.uniform(size=incomplete.shape) < min(2.0 * rate, 1.0)) & selected[:, None]
        missing_mask[:, 0] = False
        incomplete[missing_mask] = np.nan
    elif pattern == "saturated":
        count = round(rate * len(incomplete))
        if count:
            np.put_along_axis(incomplete, np.argsort(incomplete, axis=0)[-count:], np.nan, axis=0)
    else:
        raise ValueError(f"pattern must be 'at_random', 'by_first_column' or 'saturated'. Got {pattern!r}.")
    return incomplete
