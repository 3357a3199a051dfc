"""Serialisation of values to JSON and arrays.

``None``, bools, integers, finite floats, strings and lists are themselves; every other value is an object with one key,
the name of its kind. Unknown kinds raise, in both directions.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import is_array_api, is_sparse, on_host
from tenfold.persist.errors import LoadError, SaveError

MAX_DECIMAL_INT = 1 << 62  # larger integers are written in hexadecimal, in time linear in their length

SPARSE: dict[str, Any] = {
    f"{layout}_{kind}": getattr(sparse, f"{layout}_{kind}") for layout in ("csr", "csc") for kind in ("array", "matrix")
}

TYPES: dict[str, Any] = {"bool": bool, "int": int, "float": float, "str": str, "object": object}
TYPES |= {f"numpy.{name}": getattr(np, name) for name in ("bool_", "number", "integer", "floating", "str_", "object_")}
TYPES |= {f"numpy.{kind}{bits}": getattr(np, f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
TYPES |= {f"numpy.float{bits}": getattr(np, f"float{bits}") for bits in (16, 32, 64)}
TYPE_NAMES = {value: name for name, value in TYPES.items()}

MAX_UINT64 = (1 << 64) - 1
# the states of NumPy's bit generators, which C code reads unchecked
STATES: dict[str, dict[str, tuple[int, Any]]] = {
    # shape of each part (0 for a number) and the largest value of it
    "MT19937": {"key": (624, (1 << 32) - 1), "pos": (0, 624)},
    "PCG64": {"state": (0, (1 << 128) - 1), "inc": (0, (1 << 128) - 1)},
    "PCG64DXSM": {"state": (0, (1 << 128) - 1), "inc": (0, (1 << 128) - 1)},
    "Philox": {"counter": (4, MAX_UINT64), "key": (2, MAX_UINT64)},
    "SFC64": {"state": (4, MAX_UINT64)},
}


class Writer:
    """Writes values; the JSON refers to `arrays` by index."""

    def __init__(self, instance: Callable[["Writer", Any, str], Any]) -> None:
        self.arrays: list[Any] = []
        self._instance = instance
        self._open: set[int] = set()

    def write(self, value: Any, where: str) -> Any:
        """A value as JSON; `where` names it in errors."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < MAX_DECIMAL_INT else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        with self._once(value, where):
            return self._compound(value, kind, where)

    @contextmanager
    def _once(self, value: Any, where: str) -> Iterator[None]:
        if id(value) in self._open:
            raise SaveError(f"{where} contains itself, which a file of data cannot say. Store what is in it once.")
        self._open.add(id(value))
        try:
            yield
        finally:
            self._open.discard(id(value))

    def _compound(self, value: Any, kind: Any, where: str) -> Any:
        if kind is list:
            return self._all(value, where)
        if kind is tuple:
            return {"tuple": self._all(value, where)}
        if kind in (set, frozenset):  # in one order, so that equal models are equal files
            return {kind.__name__: self._all(sorted(value, key=repr), where)}
        if kind is dict:
            pairs = [[self.write(k, f"a key of {where}"), self.write(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"dict": pairs}
        if kind in (slice, range):
            return {kind.__name__: self._all((value.start, value.stop, value.step), where)}
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.dtype):
            return {"dtype": self._dtype(value, where)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if is_sparse(value):
            return self._sparse(value, where)
        if kind in (np.random.RandomState, np.random.Generator):
            return {"random": self._random(value, where)}
        if isinstance(value, type) and value in TYPE_NAMES:
            return {"type": TYPE_NAMES[value]}
        if is_array_api(value):
            return self._array(on_host(value), where)
        return self._instance(self, value, where)

    def _all(self, values: Any, where: str) -> list[Any]:
        return [self.write(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def _dtype(self, dtype: Any, where: str) -> str:
        if dtype.kind not in "biufcmMUSO" or dtype.names is not None or dtype.subdtype is not None:
            raise SaveError(f"{where} is of {dtype}, which is not kept. Use a plain type of numbers or strings.")
        return str(dtype.newbyteorder("<").str)

    def _scalar(self, value: Any, where: str) -> Any:
        return {"scalar": [self._dtype(value.dtype, where), _little(np.asarray(value)).tobytes().hex()]}

    def _array(self, value: Any, where: str) -> Any:
        value = np.asarray(value)
        if value.dtype == object:
            return {"objects": [list(value.shape), self._all(list(value.flat), where)]}
        self._dtype(value.dtype, where)
        self.arrays.append(_little(value))
        return {"array": len(self.arrays) - 1}

    def _sparse(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if SPARSE.get(name) is not type(value):
            raise SaveError(f"{where} is a {name}: only CSR and CSC are kept. Call its tocsr() before.")
        parts = [self._array(part, where)["array"] for part in (value.data, value.indices, value.indptr)]
        return {"sparse": [name, list(value.shape), *parts]}

    def _random(self, value: Any, where: str) -> Any:
        legacy = isinstance(value, np.random.RandomState)
        state: Any = value.get_state(legacy=False) if legacy else value.bit_generator.state
        name = state["bit_generator"]
        if name not in STATES:
            raise SaveError(f"{where} draws from {name}, whose state is not kept. Use a seed, or NumPy's PCG64.")
        return ["RandomState" if legacy else "Generator", name, self.write(state, where)]


def _little(array: Any) -> Any:
    """The array in little-endian byte order."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


class Reader:
    """Reads values; `array` returns an array by index, `instances` build objects of other kinds."""

    def __init__(
        self,
        array: Callable[[Any], Any],
        instances: dict[str, Callable[["Reader", Any, int], Any]],
        depth: int,
    ) -> None:
        self._array = array
        self._depth = depth
        self._kinds: dict[str, Callable[[Any, int], Any]] = {
            "int": lambda given, _: int(_string(given), 16),
            "float": lambda given, _: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[given],
            "tuple": lambda given, depth: tuple(self.all(given, depth)),
            "set": lambda given, depth: set(self.all(given, depth)),
            "frozenset": lambda given, depth: frozenset(self.all(given, depth)),
            "dict": self._dict,
            "slice": lambda given, depth: slice(*self._three(given, depth)),
            "range": lambda given, depth: range(*self._three(given, depth)),
            "scalar": lambda given, _: _scalar(*given),
            "dtype": lambda given, _: dtype_of(given),
            "array": lambda given, _: array(given),
            "objects": self._objects,
            "sparse": lambda given, _: self._sparse(*given),
            "type": lambda given, _: TYPES[given],
            "random": lambda given, depth: _random(given[0], given[1], self.read(given[2], depth)),
        }
        for name, read in instances.items():
            self._kinds[name] = lambda given, depth, read=read: read(self, given, depth)  # type: ignore[misc]

    def read(self, given: Any, depth: int = 0) -> Any:
        """A value from JSON."""
        if depth > self._depth:
            raise LoadError(f"Values lie within values more than {self._depth} deep: max_depth forbids it.")
        if type(given) is list:
            return self.all(given, depth + 1)
        if type(given) is not dict:
            return given
        if len(given) != 1:
            raise LoadError("A value of the file has no kind, or several.")
        ((kind, payload),) = given.items()
        if kind not in self._kinds:
            raise LoadError(f"A value of the file is of the kind {kind!r}, which is not known here.")
        return self._kinds[kind](payload, depth + 1)

    def all(self, given: Any, depth: int) -> list[Any]:
        if type(given) is not list:
            raise LoadError("A list was expected in the file.")
        return [self.read(value, depth) for value in given]

    def _three(self, given: Any, depth: int) -> list[Any]:
        items = self.all(given, depth)
        if len(items) != 3 or any(isinstance(value, (list, tuple, dict, np.ndarray)) for value in items):
            raise LoadError("A slice or a range of the file is damaged.")
        return items

    def _dict(self, given: Any, depth: int) -> dict[Any, Any]:
        pairs = [self.all(pair, depth) for pair in given]
        if len({key for key, _ in pairs}) != len(pairs):
            raise LoadError("A dict of the file has a key twice.")
        return dict(pairs)

    def _objects(self, given: Any, depth: int) -> Any:
        shape, values = given
        items = self.all(values, depth)
        size = 1
        for side in shape:
            size *= side if type(side) is int and side >= 0 else -1
        if size != len(items):
            raise LoadError("An array of objects in the file has another size than it claims.")
        array = np.empty(len(items), dtype=object)
        for i, value in enumerate(items):
            array[i] = value
        return array.reshape(shape)

    def _sparse(self, name: str, shape: list[int], *parts: Any) -> Any:
        data, indices, indptr = (self._array(part) for part in parts)
        if len(shape) != 2 or not all(type(side) is int and 0 <= side < 1 << 62 for side in shape):
            raise LoadError("A sparse matrix of the file has a shape that cannot be.")
        major, width = shape if name.startswith("csr") else shape[::-1]
        one_dimensional = all(part.ndim == 1 for part in (data, indices, indptr))
        integer_indices = one_dimensional and all(part.dtype in (np.int32, np.int64) for part in (indices, indptr))
        is_valid = (
            integer_indices and data.dtype.kind in "biufc" and len(data) == len(indices) and len(indptr) == major + 1
        )
        is_valid = is_valid and indptr[0] == 0 and indptr[-1] == len(data) and bool(np.all(indptr[1:] >= indptr[:-1]))
        is_valid = is_valid and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < width))
        if not is_valid:
            raise LoadError("A sparse matrix of the file has indices outside its shape, or other parts than it claims.")
        return SPARSE[name]((data, indices, indptr), shape=tuple(shape))


def _string(given: Any) -> str:
    if type(given) is not str:
        raise LoadError("A string was expected in the file.")
    return given


def dtype_of(given: Any) -> Any:
    """A plain dtype from its string."""
    dtype = np.dtype(_string(given))
    if dtype.kind not in "biufcmMUSO" or dtype.str != given:
        raise LoadError(f"The file names a type {given!r}, which no model has.")
    return dtype


def _scalar(kind: Any, payload: Any) -> Any:
    dtype, value = dtype_of(kind), bytes.fromhex(_string(payload))
    if dtype.hasobject or len(value) != dtype.itemsize:
        raise LoadError("A number of the file is damaged.")
    if (dtype.kind == "b" and value[0] > 1) or (
        dtype.kind == "U" and value and np.frombuffer(value, "<u4").max() > 0x10FFFF
    ):
        raise LoadError("A value of the file has bits that are none.")
    return np.frombuffer(value, dtype)[0] if value else dtype.type()


def _random(kind: str, name: str, state: Any) -> Any:
    """A random generator, its state checked because C code reads it unchecked."""
    parts = state["state"]
    is_valid = set(parts) == set(STATES[name]) and all(
        _is_word(parts[part], size, largest) for part, (size, largest) in STATES[name].items()
    )
    if "buffer" in state:
        is_valid = is_valid and _is_word(state["buffer"], 4, MAX_UINT64) and _is_word(state["buffer_pos"], 0, 4)
    if "has_uint32" in state:
        is_valid = is_valid and _is_word(state["has_uint32"], 0, 1) and _is_word(state["uinteger"], 0, (1 << 32) - 1)
    if not is_valid or state["bit_generator"] != name:
        raise LoadError("A source of random numbers in the file is in no state of its kind.")
    if kind == "RandomState":
        legacy = np.random.RandomState(getattr(np.random, name)())
        legacy.set_state(state)
        return legacy
    generator = getattr(np.random, name)()
    generator.state = state
    return np.random.Generator(generator)


def _is_word(value: Any, size: int, largest: int) -> bool:
    if size:
        unsigned = isinstance(value, np.ndarray) and value.shape == (size,) and value.dtype.kind == "u"
        return bool(unsigned and int(value.max()) <= largest)
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= int(value) <= largest
