"""Whether two multi-layer perceptrons are the same function because their weights are symmetric."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats, Integers, wide
from tenfold.estimators.mlp.training import count_units
from tenfold.objectives.network import Layer


@dataclass(frozen=True)
class NetworkMatch:
    """How the hidden units of two networks belong together; true where the weights are then equal.

    Attributes
    ----------
    difference : float
        The largest difference of a weight of the matched networks, in units of the largest weight of its layer;
        infinite where the shapes or the functions differ.
    permutations : tuple of ndarray of int
        For each hidden layer, the unit of the second network that is unit j of the first.
    factors : tuple of ndarray of float
        For each hidden layer, the factor of the values of these units: -1 for a flipped sign, positive for a rescaled
        unit, 1 else.
    """

    same: bool
    difference: float
    permutations: tuple[Integers, ...] = ()
    factors: tuple[Floats, ...] = ()

    def __bool__(self) -> bool:
        return self.same


def same_network(a: Any, b: Any, *, tol: float = 1e-6) -> NetworkMatch:
    """Whether two fitted multi-layer perceptrons are one network up to the symmetries of its weights.

    Hidden units may be permuted. A unit of an odd function (tanh, identity) may have its sign flipped, as may one of
    the logistic function, where 1 / (1 + exp(a)) = 1 - 1 / (1 + exp(-a)) moves the biases of the next layer; a unit of
    relu (and of the identity) may be scaled by a positive factor, by which its outgoing weights are divided. A layer of
    h tanh units so has h! 2^h equal forms.

    Parameters
    ----------
    a, b : fitted MLPClassifier or MLPRegressor
        Of this library or of scikit-learn.
    tol : float, default=1e-6
        The largest difference of matched weights, in units of the largest weight of their layer.

    Returns
    -------
    NetworkMatch
        True in conditions where the networks are the same; with the permutations and factors.

    Notes
    -----
    Units are matched layer by layer by their incoming weights, by the assignment of least total distance, so that units
    with equal incoming weights may be matched wrongly: False proves nothing for these. Other equal functions, as of
    units that are never active, are not recognised. Seeger, section 3.4; Chen, Lu and Hecht-Nielsen (1993).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor, same_network
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> model = MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs", random_state=0)
    >>> one, other = model.fit(X, X[:, 0] ** 2), MLPRegressor(hidden_layer_sizes=(4,), activation="tanh")
    >>> other = other.set_params(solver="lbfgs", random_state=0).fit(X, X[:, 0] ** 2)
    >>> other.coefs_[0], other.intercepts_[0] = -one.coefs_[0][:, ::-1], -one.intercepts_[0][::-1]
    >>> other.coefs_[1] = -one.coefs_[1][::-1]
    >>> match = same_network(one, other)
    >>> bool(match), match.permutations[0].tolist(), match.factors[0].tolist()
    (True, [3, 2, 1, 0], [-1.0, -1.0, -1.0, -1.0])
    """
    for model in (a, b):
        check_is_fitted(model, "coefs_")
    functions = [(model.activation, model.out_activation_) for model in (a, b)]
    if count_units(a.coefs_) != count_units(b.coefs_) or functions[0] != functions[1]:
        return NetworkMatch(False, np.inf)
    first, second = ([Layer(wide(w), wide(c)) for w, c in zip(m.coefs_, m.intercepts_, strict=True)] for m in (a, b))
    permutations, factors = [], []
    for number in range(len(first) - 1):
        outgoing = number + 2 == len(first)  # the last layer has no permutation of its own
        order, factor = _match(first, second, number, a.activation, outgoing)
        _move(second, number, order, factor, a.activation)
        permutations.append(order)
        factors.append(factor)
    difference = 0.0
    for one, other in zip(first, second, strict=True):
        size = max(float(np.max(np.abs(part), initial=0.0)) for part in (*one, *other)) or 1.0
        largest = max(float(np.max(np.abs(x - y), initial=0.0)) for x, y in zip(one, other, strict=True))
        difference = max(difference, largest / size)
    return NetworkMatch(bool(difference <= tol), difference, tuple(permutations), tuple(factors))


def _match(
    first: list[Layer], second: list[Layer], number: int, hidden: str, outgoing: bool
) -> tuple[Integers, Floats]:
    """The units of the second network that are those of the first, and their factors."""
    one, other = (np.column_stack([layers[number].weights.T, layers[number].biases]) for layers in (first, second))
    scale = np.ones((len(one), len(other)))
    if hidden in ("relu", "identity"):
        lengths = [np.linalg.norm(part, axis=1) for part in (one, other)]
        known = (lengths[0][:, None] > 0.0) & (lengths[1][None, :] > 0.0)
        scale = np.where(known, lengths[0][:, None] / np.where(known, lengths[1][None, :], 1.0), 1.0)
    signs = (1.0,) if hidden == "relu" else (1.0, -1.0)
    distances = []
    for sign in signs:
        factor = sign * scale
        distance = np.linalg.norm(one[:, None, :] - factor[:, :, None] * other[None], axis=2)
        if outgoing:
            below, above = first[number + 1].weights, second[number + 1].weights
            distance = distance + np.linalg.norm(below[:, None, :] - above[None] / factor[:, :, None], axis=2)
        distances.append(distance)
    best = np.argmin(distances, axis=0)
    _, order = linear_sum_assignment(np.min(distances, axis=0))
    rows = np.arange(len(order))
    return order, np.array(signs)[best[rows, order]] * scale[rows, order]


def _move(layers: list[Layer], number: int, order: Integers, factor: Floats, hidden: str) -> None:
    """Reorder and scale the units of a layer, and what the next layer makes of them."""
    here, above = layers[number], layers[number + 1]
    weights, biases = here.weights[:, order] * factor, here.biases[order] * factor
    outgoing, shift = above.weights[order], above.biases
    if hidden == "logistic":
        flipped = factor < 0.0
        shift = shift + outgoing[flipped].sum(axis=0)
        outgoing = np.where(flipped[:, None], -outgoing, outgoing)
    else:
        outgoing = outgoing / factor[:, None]
    layers[number], layers[number + 1] = Layer(weights, biases), Layer(outgoing, shift)
