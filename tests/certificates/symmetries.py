"""Symmetries of fitted models: moves of several arrays at once after which a model is as good as before.

The sign of a component with all its partners; one permutation of clusters or mixture components over all arrays; a
rotation inside equal eigenvalues; a common shift of the weights of a softmax that are not penalised.
"""

import copy
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

import tenfold


class Symmetry(NamedTuple):
    """A class, its data, what moves each of its arrays, and what is not to be moved alone: where it is not given, each
    of the arrays.
    """

    make: Callable[[], Any]
    data: Callable[[], tuple[Any, Any]]
    moves: dict[str, Callable[[Any], Any]]
    alone: dict[str, Callable[[Any], Any]] | None = None


def _flip_row(a: Any) -> Any:
    a = a.copy()
    a[0] *= -1.0
    return a


def _flip_column(a: Any) -> Any:
    a = a.copy()
    a[:, 0] *= -1.0
    return a


ORDER = np.array([2, 0, 1])


def _permute(a: Any) -> Any:
    return a[ORDER]


def _rename(labels: Any) -> Any:
    return np.argsort(ORDER)[labels].astype(labels.dtype)


def _turn(components: Any) -> Any:
    c, s = np.cos(0.7), np.sin(0.7)
    return np.concatenate([np.array([[c, s], [-s, c]]) @ components[:2], components[2:]])


def _shift(a: Any) -> Any:
    return a + 0.5


def _shift_one(a: Any) -> Any:
    a = a.copy()
    a[0] += 0.5
    return a


def _cloud() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.standard_normal((80, 4)) * [5.0, 3.0, 2.0, 1.0] + rng.standard_normal(4), None


def _blocks() -> tuple[Any, Any]:
    X, _ = _cloud()
    rng = np.random.default_rng(4)
    return X, X[:, :3] @ rng.standard_normal((3, 3)) + rng.standard_normal((80, 3))


def _groups() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 9.0]])
    return np.repeat(centres, [20, 30, 50], axis=0) + rng.standard_normal((100, 2)), None


def _even() -> tuple[Any, Any]:
    """Three axes of equal variance, and one of less."""
    eye = np.diag([1.0, 1.0, 1.0, 0.5])
    return np.concatenate([eye, -eye]), None


def _classes() -> tuple[Any, Any]:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((90, 3))
    return X, np.argmax(X + 2.0 * rng.gumbel(size=(90, 3)), axis=1)


PAIRS = ("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_", "y_rotations_")
SCORES = ("_x_scores", "_y_scores", "x_scores_", "y_scores_")
COMPONENTS = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")

SYMMETRIES = {
    "PCA, sign": Symmetry(lambda: tenfold.PCA(3), _cloud, {"components_": _flip_row}),
    "TruncatedSVD, sign": Symmetry(lambda: tenfold.TruncatedSVD(3), _cloud, {"components_": _flip_row}),
    "IncrementalPCA, sign": Symmetry(lambda: tenfold.IncrementalPCA(3), _cloud, {"components_": _flip_row}),
    "PCA, rotation": Symmetry(lambda: tenfold.PCA(3), _even, {"components_": _turn}),
    "CCA, sign": Symmetry(lambda: tenfold.CCA(2), _blocks, dict.fromkeys((*PAIRS, *SCORES), _flip_column)),
    "PLSCanonical, sign": Symmetry(
        lambda: tenfold.PLSCanonical(2), _blocks, dict.fromkeys((*PAIRS, *SCORES), _flip_column)
    ),
    "PLSRegression, sign": Symmetry(
        lambda: tenfold.PLSRegression(2), _blocks, dict.fromkeys((*PAIRS, *SCORES), _flip_column)
    ),
    "PLSSVD, sign": Symmetry(
        lambda: tenfold.PLSSVD(2), _blocks, dict.fromkeys(("x_weights_", "y_weights_"), _flip_column)
    ),
    "KMeans, order": Symmetry(
        lambda: tenfold.KMeans(3, random_state=0), _groups, {"cluster_centers_": _permute, "labels_": _rename}
    ),
    "GaussianMixture, order": Symmetry(
        lambda: tenfold.GaussianMixture(3, tol=1e-8, max_iter=500, random_state=0),
        _groups,
        dict.fromkeys(COMPONENTS, _permute),
    ),
    "LogisticRegression, shift of all classes": Symmetry(
        lambda: tenfold.LogisticRegression(C=np.inf),
        _classes,
        {"coef_": _shift, "intercept_": _shift},
        {"coef_": _shift_one, "intercept_": _shift_one},
    ),
}


def move(model: Any, moves: dict[str, Callable[[Any], Any]]) -> Any:
    """A copy in which arrays are moved; names that a model does not have are left out."""
    moved = copy.deepcopy(model)
    for name, change in moves.items():
        if name in vars(model):
            setattr(moved, name, change(getattr(model, name)))
    return moved


def move_alone(model: Any, symmetry: Symmetry) -> Iterator[tuple[str, Any]]:
    """Copies in which one array of several is moved."""
    moves = symmetry.moves if symmetry.alone is None else symmetry.alone
    there = [name for name in moves if name in vars(model) and name not in SCORES]
    for name in there if len(there) > 1 else ():
        yield name, move(model, {name: moves[name]})


def is_permuted(model: Any, worse: Any) -> bool:
    """Whether a mixture is another one with its components in another order."""
    names = [name for name in COMPONENTS if np.ndim(getattr(model, name)) and _per_component(model, name)]
    return any(
        all(np.allclose(getattr(model, name)[list(order)], getattr(worse, name), rtol=1e-9) for name in names)
        for order in permutations(range(len(model.weights_)))
    )


def is_isometric(model: Any, worse: Any) -> bool:
    """Whether the points of an embedding were moved, turned or reflected as a whole."""
    return bool(np.allclose(pdist(model.embedding_), pdist(worse.embedding_), rtol=1e-9))


def _per_component(model: Any, name: str) -> bool:
    return name in ("weights_", "means_") or model.covariance_type != "tied"
