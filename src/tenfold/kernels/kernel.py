"""A kernel as a value: its parameters, its hyper-parameters on a log scale, and the operators.

The interface is that of the kernels of scikit-learn's Gaussian processes, so that a kernel serves there and here:
parameters by name, ``theta`` the logarithms of the hyper-parameters whose bounds are not "fixed", ``bounds`` theirs.
How a kernel is evaluated is in `tenfold.kernels.evaluation`.
"""

import copy
import inspect
import warnings
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import sklearn.gaussian_process.kernels
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Hyperparameter

from tenfold.arrays import Array, Floats, namespace
from tenfold.kernels import evaluation
from tenfold.kernels.evaluation import Image, PairForm, Tile
from tenfold.kernels.string_codes import encode_strings

Bounds = tuple[float, float] | str | Any
"""Lower and upper bound of a hyper-parameter, one pair for all its entries or one pair each; or "fixed"."""

DIAGONAL_SAMPLES = 64  # gradients of a diagonal are those of square tiles of so many samples
FREE = (1e-5, 1e5)  # the default bounds, as in scikit-learn


class Kernel:
    """A function k(x, z) of two samples that is symmetric; positive semidefinite unless its class says otherwise.

    A subclass has its parameters as arguments of ``__init__``, which only assigns, and names its hyper-parameters.
    """

    hyperparameter_names: ClassVar[tuple[str, ...]] = ()
    psd: ClassVar[bool] = True

    # evaluation ------------------------------------------------------------------------------------------------------

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The block k(X, Y); Y None: k(X, X), exactly symmetric. Two samples (p,) give a number.

        With eval_gradient (Y None only) also dk(X, X)/dtheta, (n, n, n_dims).
        """
        if eval_gradient:
            if Y is not None:
                raise ValueError("The gradient of a kernel is evaluated for Y=None only.")
            gradient = evaluation.evaluate_gradient(self, X)
            return self.block(X), gradient
        if isinstance(X, str) and isinstance(Y, str):
            return float(self.block([X], [Y])[0, 0])
        if Y is not None and np.ndim(X) == 1 and np.ndim(Y) == 1 and np.asarray(X).dtype.kind not in "OUT":
            return float(self.block(np.reshape(X, (1, -1)), np.reshape(Y, (1, -1)))[0, 0])
        return self.block(X, Y)

    def block(self, X: Any, Y: Any = None, *, dtype: Any = None) -> Array:
        """The block k(X, Y), (m, n), where X is; Y None: k(X, X), exactly symmetric. dtype: float64, or float32 on
        request.
        """
        return evaluation.evaluate_block(self, X, Y, np.dtype(np.float64 if dtype is None else dtype))

    def multiply(self, X: Any, Z: Any, V: Array) -> Array:
        """k(X, Z) V by tiles, for V (n,) or (n, t); k(X, Z) is never in memory as a whole."""
        return evaluation.multiply(self, X, Z, V)

    def diag(self, X: Any) -> Array:
        """k(x_i, x_i), (n,)."""
        return self._diagonal(self._image(evaluation.as_samples(self, X)))

    def weighted_gradient(self, X: Any, A: Array) -> Floats:
        """sum_ij A_ij dk(x_i, x_j)/dtheta, (n_dims,), for a symmetric A (n, n); by tiles."""
        return evaluation.weighted_gradient(self, X, A)

    def multiply_gradient(self, X: Any, V: Array) -> Floats:
        """(dk(X, X)/dtheta_j) V for each j, (n_dims, n, t), for V (n, t) of NumPy; by tiles."""
        return evaluation.multiply_gradient(self, X, V)

    def _image(self, X: Array) -> Image:
        """The samples as the tiles of this kernel read them: an array of as many rows, or a tuple of such."""
        return X

    def _values(self, tile: Tile) -> Array:
        """The values of a tile, (m, n), an array that the caller may change."""
        raise NotImplementedError

    def _gradients(self, tile: Tile) -> list[Array]:
        """The derivatives of the values of a tile in the free hyper-parameters."""
        raise NotImplementedError

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        """sum_ij W_ij dk_ij/dtheta over a tile."""
        return [evaluation.inner_product(W, gradient) for gradient in self._gradients(tile)]

    def _pair_form(self) -> PairForm | None:
        """This kernel as one function of pairs, a constant and noise, where it is that."""
        return None

    def _diagonal(self, image: Image) -> Array:
        """k(x_i, x_i) from the image of the samples."""
        raise NotImplementedError

    def _diagonal_gradients(self, image: Image) -> list[Array]:
        """The derivatives of k(x_i, x_i) in the free hyper-parameters, each (n,), by square tiles."""
        parts = []
        for start in range(0, evaluation.count(image), DIAGONAL_SAMPLES):
            some = evaluation.take(image, start, start + DIAGONAL_SAMPLES)
            squares = self._gradients(Tile(some, some, start, start, True))
            parts.append([1.0 * namespace(square).linalg.diagonal(square) for square in squares])
        return [namespace(column[0]).concat(list(column)) for column in zip(*parts, strict=True)]

    def is_stationary(self) -> bool:
        """Whether k(x, z) is a function of x - z."""
        return False

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are vectors of numbers."""
        return True

    @property
    def reads_strings(self) -> bool:
        """Whether samples are strings."""
        return any(child.reads_strings for child in self._children())

    def encode_samples(self, X: Any) -> Any:
        """Samples as estimators keep them: strings as a CSR matrix of code points, all others as they are."""
        if not self.reads_strings:
            return X
        if self.requires_vector_input:
            raise ValueError(f"{self!r} is made of kernels of strings and of kernels of vectors: samples are either.")
        return encode_strings(X)

    @property
    def certainly_psd(self) -> bool:
        """Whether every matrix of this kernel is known to be positive semidefinite."""
        return self.psd and all(child.certainly_psd for child in self._children())

    # parameters ------------------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; deep: those of the kernels within, too, as ``k1__length_scale``."""
        result: dict[str, Any] = {}
        for name in parameter_names(type(self)):
            value = result[name] = getattr(self, name)
            if deep and isinstance(value, Kernel):
                result |= {f"{name}__{key}": part for key, part in value.get_params().items()}
        return result

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of kernels within by ``k1__length_scale``."""
        valid = self.get_params(deep=False)
        for key, value in sorted(params.items(), key=lambda item: item[0].count("__")):
            name, _, rest = key.partition("__")
            if name not in valid or (rest and not hasattr(getattr(self, name), "set_params")):
                raise ValueError(
                    f"Invalid parameter {key!r} for kernel {type(self).__name__}. Valid parameters are: "
                    f"{sorted(self.get_params())}."
                )
            if rest:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def _children(self) -> list["Kernel"]:
        """The kernels that this one is made of."""
        values = (getattr(self, name) for name in parameter_names(type(self)))
        return [value for value in values if isinstance(value, Kernel)]

    # hyper-parameters on a log scale ---------------------------------------------------------------------------------

    def _free_names(self) -> list[str]:
        """The names of its own hyper-parameters whose bounds are not "fixed"."""
        return [name for name in self.hyperparameter_names if not isinstance(getattr(self, f"{name}_bounds"), str)]

    @property
    def own_hyperparameters(self) -> list[Any]:
        """The hyper-parameters of this kernel without those of the kernels within."""
        return [
            Hyperparameter(name, "numeric", getattr(self, f"{name}_bounds"), max(1, np.size(getattr(self, name))))
            for name in self.hyperparameter_names
        ]

    @property
    def hyperparameters(self) -> list[Any]:
        """The hyper-parameters with their bounds, in the order of theta: its own, then those of the kernels within."""
        result = self.own_hyperparameters
        for name in parameter_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Kernel):
                result += [Hyperparameter(f"{name}__{h.name}", *h[1:]) for h in value.hyperparameters]
        return result

    @property
    def theta(self) -> Floats:
        """The logarithms of the free hyper-parameters, (n_dims,)."""
        parts = [np.log(np.ravel(np.asarray(getattr(self, name), dtype=np.float64))) for name in self._free_names()]
        return np.concatenate([np.zeros(0), *parts, *(child.theta for child in self._children())])

    @theta.setter
    def theta(self, theta: Any) -> None:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != (self.n_dims,):
            raise ValueError(f"theta must have {self.n_dims} entries, got an array of shape {theta.shape}.")
        start = 0
        for name in self._free_names():
            value = getattr(self, name)
            values = np.exp(theta[start : (start := start + max(1, np.size(value)))])
            setattr(self, name, values if np.ndim(value) else float(values[0]))
        for child in self._children():
            child.theta = theta[start : (start := start + child.n_dims)]

    @property
    def n_dims(self) -> int:
        """The number of free hyper-parameters, entries of vectors counted."""
        own = sum(max(1, np.size(getattr(self, name))) for name in self._free_names())
        return own + sum(child.n_dims for child in self._children())

    @property
    def bounds(self) -> Floats:
        """The logarithms of the bounds of the free hyper-parameters, (n_dims, 2)."""
        parts = [h.bounds for h in self.hyperparameters if not h.fixed]
        with np.errstate(divide="ignore"):
            return np.log(np.vstack([np.ones((0, 2)), *parts]))

    def clone_with_theta(self, theta: Any) -> Self:
        """A copy with these hyper-parameters."""
        result = self._copy()
        result.theta = theta
        return result

    def _copy(self) -> Self:
        """A copy whose kernels within are copies, and whose other parameters are shared."""
        result = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Kernel):
                setattr(result, name, value._copy())
        return result

    def _check_bounds_params(self) -> None:
        """Warn of hyper-parameters at a bound; scikit-learn's Gaussian processes call this after a fit."""
        names = [(h.name, i) for h in self.hyperparameters if not h.fixed for i in range(h.n_elements)]
        for (name, i), value, limits in zip(names, self.theta, self.bounds, strict=True):
            for side, limit, advice in zip(("lower", "upper"), limits, ("Decrease", "Increase"), strict=True):
                if np.isclose(value, limit):
                    message = f"Entry {i} of {name} is at its {side} bound {np.exp(limit):.3g}. {advice} the bound."
                    warnings.warn(message, ConvergenceWarning, stacklevel=3)

    # values ----------------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel) or type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_are_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        cls: Any = type(self)  # mypy: a class whose objects have no hash has one
        defaults = _signature(cls).parameters
        shown = [
            f"{name}={_show(value)}"
            for name, value in self.get_params(deep=False).items()
            if not _are_equal(value, defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __add__(self, other: Any) -> "Kernel":
        return operator("Sum", self, other)

    def __radd__(self, other: Any) -> "Kernel":
        return operator("Sum", other, self)

    def __mul__(self, other: Any) -> "Kernel":
        return operator("Product", self, other)

    def __rmul__(self, other: Any) -> "Kernel":
        return operator("Product", other, self)

    def __pow__(self, exponent: float) -> "Kernel":
        return OPERATORS["Power"](self, exponent)


OPERATORS: dict[str, Any] = {}
"""The classes of the operators, which are defined above this module and register themselves."""


def operator(name: str, one: Any, other: Any) -> Kernel:
    """The sum or product of two kernels or a kernel and a number."""
    return OPERATORS[name](*(part if isinstance(part, Kernel) else OPERATORS["convert"](part) for part in (one, other)))


@cache
def _signature(cls: type) -> inspect.Signature:
    return inspect.signature(cls)


def parameter_names(cls: type) -> tuple[str, ...]:
    """The names of the parameters of a class of kernels, in the order of its constructor."""
    return tuple(_signature(cls).parameters)


def _are_equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Kernel) or isinstance(other, Kernel):
        return bool(one == other)
    try:
        return bool(np.array_equal(one, other))
    except (TypeError, ValueError):
        return bool(one == other)


def _show(value: Any) -> str:
    """A value as Python text that evaluates to it."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    value = value.item() if isinstance(value, np.generic) else value
    return f"float({str(value)!r})" if isinstance(value, float) and not np.isfinite(value) else repr(value)


sklearn.gaussian_process.kernels.Kernel.register(Kernel)
