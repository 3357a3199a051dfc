"""Artificial classification data of the textbooks' figures."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Floats, Integers


def make_xor(n_samples: int = 200, *, noise: float = 0.3, random_state: Any = None) -> tuple[Floats, Integers]:
    """The four corners of a square, opposite ones of the same class: not linearly separable.

    Class 1 is about (1, 1) and (-1, -1), class 0 about (1, -1) and (-1, 1), with Gaussian noise. Four rows without
    noise are the exclusive or itself. Cookbook, chapters 21 and 22; Seeger, section 3.1.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    noise : float, default=0.3
        Standard deviation of the noise.
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
    >>> from tenfold.datasets import make_xor
    >>> X, y = make_xor(4, noise=0.0)
    >>> X.tolist(), y.tolist()
    ([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]], [1, 0, 1, 0])
    """
    random = check_random_state(random_state)
    corner = np.arange(n_samples) % 4
    centres = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    return centres[corner] + noise * random.standard_normal((n_samples, 2)), 1 - corner % 2


def make_rings(
    n_samples: int = 200, *, radii: Sequence[float] = (1.0, 4.0), noise: float = 0.1, random_state: Any = None
) -> tuple[Floats, Integers]:
    """Rings about the origin, one a class, with Gaussian noise across.

    The cookbook names no radii: a centred Gaussian kernel of width 1 tells rings apart in its first component where
    they are far from each other, as with (1, 3) or (1, 4), and not with (1, 2). Cookbook, chapter 8; CMU lecture, slide
    37.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    radii : sequence of float, default=(1.0, 4.0)
        The radius of each ring.
    noise : float, default=0.1
        Standard deviation across the rings.
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
    >>> from tenfold.datasets import make_rings
    >>> X, y = make_rings(6, radii=(1.0, 3.0), noise=0.0, random_state=0)
    >>> np.hypot(*X.T).round(12).tolist()
    [1.0, 3.0, 1.0, 3.0, 1.0, 3.0]
    """
    random = check_random_state(random_state)
    ring = np.arange(n_samples) % len(radii)
    angle = random.uniform(0.0, 2.0 * np.pi, n_samples)
    radius = np.asarray(radii, dtype=np.float64)[ring] + noise * random.standard_normal(n_samples)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), ring


def make_cigars(
    n_samples: int = 600, *, length: float = 8.0, distance: float = 6.0, random_state: Any = None
) -> tuple[Floats, Integers]:
    """Two long Gaussian clouds side by side: most of the variance is along them, all of the difference across.

    The standard deviation is `length` along and 1 across; their axes are `distance` apart. Principal components and
    k-means take the long axis, Fisher's discriminant the other. Welling, chapter 13; Seeger, figure 11.4.

    Parameters
    ----------
    n_samples : int, default=600
        Number of samples.
    length : float, default=8.0
        Standard deviation along the clouds; it is 1 across.
    distance : float, default=6.0
        Distance between their axes.
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
    >>> from tenfold.datasets import make_cigars
    >>> X, y = make_cigars(1000, random_state=0)
    >>> (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)).round(0)
    array([0., 6.])
    """
    random = check_random_state(random_state)
    which = np.arange(n_samples) % 2
    along, across = random.standard_normal((2, n_samples))
    return np.column_stack([length * along, across + distance * which]), which


def make_gaussian_classes(
    n_samples: int = 200,
    *,
    means: Any = ((-1.0, 0.0), (1.0, 0.0)),
    covariances: Any = 0.36,
    priors: Any = None,
    random_state: Any = None,
) -> tuple[Floats, Integers]:
    """Gaussian classes with shared or own covariances.

    Default: two classes about (-1, 0) and (1, 0) with the standard deviation 0.6 in both directions, whose best error
    is Phi(-1 / 0.6) = 0.0478 (Rosasco, section 1.2, figure 3). Seeger, section 6.4; Cookbook, chapters 15 and 16.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    means : array-like of shape (K, p), default=((-1.0, 0.0), (1.0, 0.0))
        Means of the classes.
    covariances : float or array-like of shape (p, p) or (K, p, p), default=0.36
        A variance, a covariance that all classes share, or one each.
    priors : array-like of shape (K,), default=None
        Probabilities of the classes; None: as many samples of each, as far as possible.
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
    >>> from tenfold.datasets import make_gaussian_classes
    >>> X, y = make_gaussian_classes(4000, priors=[0.8, 0.2], random_state=0)
    >>> bool(abs(y.mean() - 0.2) < 0.02)
    True
    """
    random = check_random_state(random_state)
    centres = np.atleast_2d(np.asarray(means, dtype=np.float64))
    k, p = centres.shape
    given = np.asarray(covariances, dtype=np.float64)
    spread = np.broadcast_to(given * np.eye(p) if given.ndim == 0 else given, (k, p, p))
    y = np.arange(n_samples) % k if priors is None else random.choice(k, n_samples, p=priors)
    roots = np.array([_root(matrix) for matrix in spread])
    return centres[y] + np.einsum("nj,nij->ni", random.standard_normal((n_samples, p)), roots[y]), y


def _root(covariance: Floats) -> Floats:
    """R with R R' the covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    if not np.allclose(covariance, covariance.T) or values[0] < -1e-10 * max(values[-1], 1.0):
        raise ValueError(f"covariances must be symmetric and positive semi-definite. Got {covariance.tolist()}.")
    return vectors * np.sqrt(np.maximum(values, 0.0))


def make_gaussian_mixture(
    n_samples: int = 500, *, n_features: int = 2, random_state: Any = None
) -> tuple[Floats, Integers]:
    """Three Gaussian components of different weights and covariances, and the component of each sample.

    With one feature, a density of three bumps on a line. Cookbook, figures 13.1 to 13.3; Seeger, figures 12.2 and 12.3.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples.
    n_features : int, default=2
        Number of features.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    y : ndarray of int of shape (n_samples,)
        The component of each sample.

    Examples
    --------
    >>> from tenfold.datasets import make_gaussian_mixture
    >>> X, component = make_gaussian_mixture(300, random_state=0)
    >>> X.shape, sorted(set(component.tolist()))
    ((300, 2), [0, 1, 2])
    """
    weights = [0.4, 0.35, 0.25]
    if n_features == 1:
        spread = np.array([[[0.25]], [[1.0]], [[0.04]]])
        return make_gaussian_classes(
            n_samples, means=[[-2.0], [1.0], [3.5]], covariances=spread, priors=weights, random_state=random_state
        )
    if n_features != 2:
        raise ValueError(f"n_features must be 1 or 2, as in the figures of the texts. Got {n_features!r}.")
    roots = np.array([[[1.2, 0.0], [0.9, 0.5]], [[0.5, 0.0], [-0.6, 1.2]], [[1.2, 0.0], [0.0, 0.4]]])
    return make_gaussian_classes(
        n_samples,
        means=[[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]],
        covariances=np.einsum("kij,klj->kil", roots, roots),
        priors=weights,
        random_state=random_state,
    )


def make_cauchy(n_samples: int = 200, *, distance: float = 1.0, random_state: Any = None) -> tuple[Floats, Integers]:
    """Two classes on a line with Cauchy distributions, which have neither mean nor variance.

    The classes are about -`distance` and +`distance`, in units of their scale: distance = (a1 - a0) / (2 b), and the
    best error is 1/2 - arctan(distance) / pi, with the threshold in the middle. Seeger, section 5.2.3.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    distance : float, default=1.0
        Half the distance between the classes, in units of their scale.
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
    >>> from tenfold.datasets import make_cauchy
    >>> X, y = make_cauchy(20_000, distance=1.0, random_state=0)
    >>> bool(abs(((X[:, 0] > 0) != y).mean() - 0.25) < 0.01)
    True
    """
    random = check_random_state(random_state)
    y = np.arange(n_samples) % 2
    return (random.standard_cauchy(n_samples) + distance * (2.0 * y - 1.0))[:, None], y


def make_separable(
    n_samples: int = 100, n_features: int = 2, *, margin: float = 0.1, random_state: Any = None
) -> tuple[Floats, Integers]:
    """Samples in the unit ball, of classes -1 and 1, separated by a plane through the origin with margin `margin`.

    A perceptron makes at most 1 / margin^2 mistakes on them. CMU lecture, slides 15 to 18; Seeger, section 2.3.3.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples.
    n_features : int, default=2
        Number of features.
    margin : float, default=0.1
        The least distance of a sample from the plane.
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
    >>> from tenfold import separability
    >>> from tenfold.datasets import make_separable
    >>> X, y = make_separable(50, margin=0.2, random_state=0)
    >>> bool(separability(X, y, fit_intercept=False).upper >= 0.2)
    True
    """
    if not 0.0 <= margin < 1.0:
        raise ValueError(f"margin must be at least 0 and less than 1, the radius of the ball. Got {margin!r}.")
    random = check_random_state(random_state)
    normal = random.standard_normal(n_features)
    normal /= np.sqrt(np.sum(normal**2))
    y = 2 * (np.arange(n_samples) % 2) - 1
    X = random.standard_normal((n_samples, n_features))
    X -= np.sum(X * normal, axis=1)[:, None] * normal
    # along the normal from the margin on, across as far as the ball allows
    along = random.uniform(margin, 1.0, n_samples)
    length = np.sqrt(np.sum(X**2, axis=1))
    reach = np.sqrt(1.0 - along**2) * random.uniform(size=n_samples) ** (1.0 / max(n_features - 1, 1))
    X *= (reach / np.where(length > 0.0, length, 1.0))[:, None]
    return X + (y * along)[:, None] * normal, y


def make_chessboard(
    n_samples: int = 400, *, squares: int = 4, flipped: float = 0.0, random_state: Any = None
) -> tuple[Floats, Integers]:
    """Uniform samples on a chessboard of `squares` by `squares`; a fraction `flipped` has the wrong class.

    Two squares make the exclusive or of uniform rows, whose first and second moments are alike in both classes.

    Parameters
    ----------
    n_samples : int, default=400
        Number of samples.
    squares : int, default=4
        Squares along each side of the board.
    flipped : float, default=0.0
        Share of samples with the wrong colour.
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
    >>> from tenfold.datasets import make_chessboard
    >>> X, y = make_chessboard(1000, random_state=0)
    >>> bool(((X.astype(int).sum(axis=1) % 2) == y).all())
    True
    """
    random = check_random_state(random_state)
    X = random.uniform(0.0, squares, (n_samples, 2))
    y = np.floor(X).astype(np.intp).sum(axis=1) % 2
    return X, np.where(random.uniform(size=n_samples) < flipped, 1 - y, y)


def make_informative_and_noise(
    n_samples: int = 400, *, n_informative: int = 2, n_noise: int = 98, random_state: Any = None
) -> tuple[Floats, Integers]:
    """A few informative features and many of noise: classes -1 and 1 by the sign of the sum of the informative ones.

    All features have the same distribution, so that distances are dominated by noise. Welling, chapter 5.

    Parameters
    ----------
    n_samples : int, default=400
        Number of samples.
    n_informative : int, default=2
        Number of features that decide the class.
    n_noise : int, default=98
        Number of features that have nothing to do with it.
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
    >>> from tenfold.datasets import make_informative_and_noise
    >>> X, y = make_informative_and_noise(random_state=0)
    >>> X.shape, bool(((X[:, 0] + X[:, 1] > 0) == (y > 0)).all())
    ((400, 100), True)
    """
    random = check_random_state(random_state)
    X = random.standard_normal((n_samples, n_informative + n_noise))
    return X, np.where(np.sum(X[:, :n_informative], axis=1) > 0.0, 1, -1)


def make_noise(n_samples: int = 50, n_features: int = 5000, *, random_state: Any = None) -> tuple[Floats, Integers]:
    """Features that are independent of the class: the error of every rule is one half.

    With the 100 features of the largest correlation selected on all samples *before* cross-validation, its error is
    near 0; with the selection inside it is near 1/2. Seeger, section 10.2.1.

    Parameters
    ----------
    n_samples : int, default=50
        Number of samples.
    n_features : int, default=5000
        Number of features.
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
    >>> from tenfold.datasets import make_noise
    >>> X, y = make_noise(random_state=0)
    >>> X.shape, float(y.mean())
    ((50, 5000), 0.5)
    """
    random = check_random_state(random_state)
    return random.standard_normal((n_samples, n_features)), random.permutation(np.arange(n_samples) % 2)


def make_spurious(
    n_samples: int = 200, *, aligned: bool = True, n_features: int = 10, random_state: Any = None
) -> tuple[Floats, Integers]:
    """A spurious feature: the last one repeats the class where `aligned`, and is random where not.

    The other features have a weak signal each. Fitted on aligned samples, a model uses the spurious feature and is
    perfect on more of them; on others it is near chance. Cookbook, chapters 2 and 6.1.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples.
    aligned : bool, default=True
        Whether the last feature repeats the class.
    n_features : int, default=10
        Number of features.
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
    >>> from tenfold.datasets import make_spurious
    >>> X, y = make_spurious(100, random_state=0)
    >>> bool((X[:, -1] == y).all())
    True
    """
    random = check_random_state(random_state)
    y = np.arange(n_samples) % 2
    X = random.standard_normal((n_samples, n_features)) + 0.2 * (2.0 * y[:, None] - 1.0)
    X[:, -1] = y if aligned else random.randint(0, 2, n_samples)
    return X, y


def make_distant(n_samples: int = 128, *, n_distant: int = 8, random_state: Any = None) -> tuple[Floats, Integers]:
    """Two classes, -1 and 1, the last samples of the second far on the correct side of the boundary.

    They rotate the boundary of the squared loss, not that of the logistic loss. Seeger, section 8.1.1, figure 8.1.

    Parameters
    ----------
    n_samples : int, default=128
        Number of samples.
    n_distant : int, default=8
        Number of samples far away, among all.
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
    >>> from tenfold.datasets import make_distant
    >>> X, y = make_distant(random_state=0)
    >>> X[-8:].mean(axis=0).round(0).tolist(), y[-8:].tolist()
    ([12.0, -4.0], [1, 1, 1, 1, 1, 1, 1, 1])
    """
    random = check_random_state(random_state)
    near = n_samples - n_distant
    y = np.where(np.arange(n_samples) < near, 2 * (np.arange(n_samples) % 2) - 1, 1)
    X = random.standard_normal((n_samples, 2)) + 0.9 * y[:, None] * np.array([1.0, 0.5])
    X[near:] = np.array([12.0, -4.0]) + 0.3 * random.standard_normal((n_distant, 2))
    return X, y


def make_scores(
    n_samples: int = 400,
    *,
    kind: Literal["separated", "overlapping", "reversed"] = "separated",
    random_state: Any = None,
) -> tuple[Floats, Integers]:
    """A score that separates two classes, hardly does, or does with the wrong sign; for ROC curves.

    The cookbook (figures 5.1 and 5.2) prints no parameters: here the classes have Gaussian scores with means 3, 0.5 and
    -3 apart. Returns scores (n,) and classes.

    Parameters
    ----------
    n_samples : int, default=400
        Number of samples.
    kind : {"separated", "overlapping", "reversed"}, default="separated"
        How well the score tells the classes apart.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    score : ndarray of shape (n_samples,)
        The scores.
    y : ndarray of int of shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from tenfold import evaluate
    >>> from tenfold.datasets import make_scores
    >>> score, y = make_scores(kind="reversed", random_state=0)
    >>> bool(evaluate(y, score=score)["roc_auc"].high < 0.1)
    True
    """
    apart = {"separated": 3.0, "overlapping": 0.5, "reversed": -3.0}
    if kind not in apart:
        raise ValueError(f"kind must be one of {', '.join(map(repr, apart))}. Got {kind!r}.")
    random = check_random_state(random_state)
    y = np.arange(n_samples) % 2
    return random.standard_normal(n_samples) + apart[kind] * (y - 0.5), y
