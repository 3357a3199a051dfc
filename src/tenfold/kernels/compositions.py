"""Kernels made of kernels: sums, products, powers, exponentials, scaling, normalisation, feature maps.

All but `Composed` work tile by tile on the values of the kernels within, and pass gradients down by the chain rule:
the weights W of a sum sum_ij W_ij dk_ij/dtheta are multiplied by the derivative of the outer function.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tenfold.arrays import Array, is_array_api, namespace
from tenfold.kernels.constants import Constant
from tenfold.kernels.evaluation import Image, PairForm, Tile, as_samples, inner_product
from tenfold.kernels.kernel import FREE, OPERATORS, Bounds, Kernel


class _Pair(Kernel):
    """Two kernels of the same samples."""

    k1: Kernel
    k2: Kernel

    def is_stationary(self) -> bool:
        return self.k1.is_stationary() and self.k2.is_stationary()

    @property
    def requires_vector_input(self) -> bool:
        return self.k1.requires_vector_input or self.k2.requires_vector_input

    def _image(self, X: Array) -> Image:
        return self.k1._image(X), self.k2._image(X)


class Sum(_Pair):
    """k(x, z) = k1(x, z) + k2(x, z)."""

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2

    def _pair_form(self) -> PairForm | None:
        a, b = self.k1._pair_form(), self.k2._pair_form()
        if a is None or b is None or (a.function is not None and b.function is not None):
            return None
        main, other = (b, a) if a.function is None else (a, b)
        return replace(main, constant=main.constant + other.constant, noise=main.noise + other.noise)

    def _values(self, tile: Tile) -> Array:
        values = self.k1._values(tile.part(0))
        values += self.k2._values(tile.part(1))
        return values

    def _gradients(self, tile: Tile) -> list[Array]:
        return self.k1._gradients(tile.part(0)) + self.k2._gradients(tile.part(1))

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        return self.k1._contract(tile.part(0), W) + self.k2._contract(tile.part(1), W)

    def _diagonal(self, image: Image) -> Array:
        return self.k1._diagonal(image[0]) + self.k2._diagonal(image[1])

    def __repr__(self) -> str:
        second = repr(self.k2)
        return f"{self.k1!r} + {f'({second})' if isinstance(self.k2, Sum) else second}"


class Product(_Pair):
    """k(x, z) = k1(x, z) k2(x, z)."""

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2

    def _pair_form(self) -> PairForm | None:
        a, b = self.k1._pair_form(), self.k2._pair_form()
        if a is None or b is None:
            return None
        for factor, other in ((a, b), (b, a)):
            if factor.function is None and not factor.noise:
                return _multiply_form(other, factor.constant)
        return None

    def _values(self, tile: Tile) -> Array:
        first, second = (self.k2, self.k1) if isinstance(self.k1, Constant) else (self.k1, self.k2)
        i = 1 if first is self.k2 else 0
        values = first._values(tile.part(i))
        values *= float(second.constant_value) if isinstance(second, Constant) else second._values(tile.part(1 - i))
        return values

    def _gradients(self, tile: Tile) -> list[Array]:
        one, other = self.k1._values(tile.part(0)), self.k2._values(tile.part(1))
        first = [gradient * other for gradient in self.k1._gradients(tile.part(0))]
        return first + [gradient * one for gradient in self.k2._gradients(tile.part(1))]

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        result: list[float] = []
        for i, (kernel, other) in enumerate(((self.k1, self.k2), (self.k2, self.k1))):
            if not kernel.n_dims:
                continue
            if isinstance(other, Constant):
                result += [float(other.constant_value) * value for value in kernel._contract(tile.part(i), W)]
            else:
                result += kernel._contract(tile.part(i), W * other._values(tile.part(1 - i)))
        return result

    def _diagonal(self, image: Image) -> Array:
        return self.k1._diagonal(image[0]) * self.k2._diagonal(image[1])

    def __repr__(self) -> str:
        first, second = repr(self.k1), repr(self.k2)
        first = f"({first})" if isinstance(self.k1, Sum) else first
        return f"{first} * {f'({second})' if isinstance(self.k2, (Sum, Product)) else second}"


def _multiply_form(form: PairForm, factor: float) -> PairForm:
    function = form.function
    if function is not None:
        function = replace(function, scale=factor * function.scale)
    return replace(form, function=function, constant=factor * form.constant, noise=factor * form.noise)


class _Outer(Kernel):
    """An elementwise function of another kernel."""

    kernel: Kernel

    def is_stationary(self) -> bool:
        return self.kernel.is_stationary()

    @property
    def requires_vector_input(self) -> bool:
        return self.kernel.requires_vector_input

    def _image(self, X: Array) -> Image:
        return self.kernel._image(X)

    def _function(self, values: Array) -> Array:
        raise NotImplementedError

    def _derivative(self, values: Array) -> Array:
        raise NotImplementedError

    def _values(self, tile: Tile) -> Array:
        return self._function(self.kernel._values(tile))

    def _gradients(self, tile: Tile) -> list[Array]:
        slope = self._derivative(self.kernel._values(tile))
        return [slope * gradient for gradient in self.kernel._gradients(tile)]

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        if not self.kernel.n_dims:
            return []
        return self.kernel._contract(tile, W * self._derivative(self.kernel._values(tile)))

    def _diagonal(self, image: Image) -> Array:
        return self._function(self.kernel._diagonal(image))


class Exp(_Outer):
    """k(x, z) = exp(kernel(x, z)); of a multiple of the inner product it is the exponential dot product."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def _function(self, values: Array) -> Array:
        return namespace(values).exp(values)

    def _derivative(self, values: Array) -> Array:
        return namespace(values).exp(values)


class Power(_Outer):
    """k(x, z) = kernel(x, z)^exponent; positive semidefinite for whole exponents."""

    def __init__(self, kernel: Kernel, exponent: float) -> None:
        self.kernel = kernel
        self.exponent = exponent

    @property
    def certainly_psd(self) -> bool:
        whole = float(self.exponent) == int(self.exponent) and self.exponent >= 0
        return whole and self.kernel.certainly_psd

    def _function(self, values: Array) -> Array:
        return values**self.exponent

    def _derivative(self, values: Array) -> Array:
        return self.exponent * values ** (self.exponent - 1)

    def __repr__(self) -> str:
        inner = repr(self.kernel)
        return f"{f'({inner})' if isinstance(self.kernel, (Sum, Product, Power)) else inner} ** {self.exponent!r}"


class Scaled(_Outer):
    """k(x, z) = constant_value kernel(x, z)."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("constant_value",)

    def __init__(self, kernel: Kernel, constant_value: float = 1.0, constant_value_bounds: Bounds = FREE) -> None:
        self.kernel = kernel
        self.constant_value = constant_value
        self.constant_value_bounds = constant_value_bounds

    @property
    def certainly_psd(self) -> bool:
        return bool(self.constant_value >= 0.0) and self.kernel.certainly_psd

    def _pair_form(self) -> PairForm | None:
        form = self.kernel._pair_form()
        return None if form is None else _multiply_form(form, float(self.constant_value))

    def _function(self, values: Array) -> Array:
        return float(self.constant_value) * values

    def _gradients(self, tile: Tile) -> list[Array]:
        own = [] if isinstance(self.constant_value_bounds, str) else [self._values(tile)]
        return own + [float(self.constant_value) * gradient for gradient in self.kernel._gradients(tile)]

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        factor = float(self.constant_value)
        free = not isinstance(self.constant_value_bounds, str)
        own = [factor * inner_product(W, self.kernel._values(tile))] if free else []
        return own + [factor * value for value in self.kernel._contract(tile, W)]


class Normalised(_Outer):
    """k(x, z) = kernel(x, z) / sqrt(kernel(x, x) kernel(z, z)), with ones on the diagonal; zero where a diagonal is
    zero.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def _image(self, X: Array) -> Image:
        """The image of the kernel within, and 1 / sqrt(kernel(x, x))."""
        inner = self.kernel._image(X)
        diagonal = self.kernel._diagonal(inner)
        xp = namespace(diagonal)
        positive = diagonal > 0.0
        return inner, xp.where(positive, xp.where(positive, diagonal, 1.0 + 0.0 * diagonal) ** -0.5, 0.0 * diagonal)

    def _values(self, tile: Tile) -> Array:
        values = self.kernel._values(tile.part(0))
        values *= tile.x[1][:, None]
        values *= tile.z[1][None, :]
        if tile.same:
            _set_diagonal(values, tile)
        return values

    def _gradients(self, tile: Tile) -> list[Array]:
        # dk = d(kernel) / sqrt(.) - k / 2 (d log kernel(x, x) + d log kernel(z, z))
        values, weight = self._values(tile), tile.x[1][:, None] * tile.z[1][None, :]
        inner = [weight * gradient for gradient in self.kernel._gradients(tile.part(0))]
        xs, zs = (self._log_gradients(part) for part in (tile.x, tile.z))
        return [g - 0.5 * values * (x[:, None] + z[None, :]) for g, x, z in zip(inner, xs, zs, strict=True)]

    def _log_gradients(self, image: Image) -> list[Array]:
        """d log kernel(x_i, x_i) / dtheta, each (m,)."""
        return [gradient * image[1] ** 2 for gradient in self.kernel._diagonal_gradients(image[0])]

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        return [inner_product(W, gradient) for gradient in self._gradients(tile)]

    def _diagonal(self, image: Image) -> Array:
        return namespace(image[1]).where(image[1] > 0.0, 1.0 + 0.0 * image[1], 0.0 * image[1])


def _set_diagonal(values: Array, tile: Tile) -> None:
    """Exact ones where a sample meets itself."""
    if is_array_api(values):
        return
    rows = np.arange(tile.shape[0])
    values[rows, rows + (tile.row - tile.column)] = np.where(tile.x[1] > 0.0, 1.0, 0.0)


class Composed(Kernel):
    """k(x, z) = kernel(function(x), function(z)) for a feature map, a function of samples (n, p) to samples (n, q)."""

    def __init__(self, kernel: Kernel, function: Callable[[Any], Any]) -> None:
        self.kernel = kernel
        self.function = function

    @property
    def requires_vector_input(self) -> bool:
        return False

    @property
    def reads_strings(self) -> bool:
        return False

    def _map(self, X: Array) -> Array:
        return as_samples(self.kernel, self.function(X))

    def _pair_form(self) -> PairForm | None:
        form = self.kernel._pair_form()
        if form is None or form.image is None:
            return form
        inner = form.image
        return replace(form, image=lambda X: inner(self._map(X)))

    def _image(self, X: Array) -> Image:
        return self.kernel._image(self._map(X))

    def _values(self, tile: Tile) -> Array:
        return self.kernel._values(tile)

    def _gradients(self, tile: Tile) -> list[Array]:
        return self.kernel._gradients(tile)

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        return self.kernel._contract(tile, W)

    def _diagonal(self, image: Image) -> Array:
        return self.kernel._diagonal(image)


OPERATORS |= {"Sum": Sum, "Product": Product, "Power": Power}
