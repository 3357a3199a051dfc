"""Files that were changed in any way: a LoadError, or a model that answers or raises, and never a crash.

A crash ends the process, and so the test. `make sanitize-python` runs these on an extension that tells more.
"""

import copy
import warnings
import zlib
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenfold
from saved import METHODS, MODELS, PIPELINES, Contents
from tenfold.persist import LoadError

CHANGED = [
    *("KNeighborsClassifier(weights=distance,metric=manhattan,n_neighbors=3)", "KNeighborsClassifier, sparse rows"),
    *("KNeighborsClassifier, two targets", "RadiusNeighborsRegressor(radius=3.0)", "VotedPerceptron, sparse rows"),
    *("KernelDensity(kernel=linear,bandwidth=3.0)", "Histogram(bins=3)", "PrototypeClassifier(n_prototypes=3,"),
    *("BisectingKMeans", "MiniBatchKMeans", "GaussianMixture(tol=1e-08,max_iter=500)", "StructuredPerceptron"),
    *("RidgeCV()", "LogisticRegression(), 3 classes", "LogisticRegression, sparse rows", "CategoricalNB()"),
    *("MixedNB(kinds", "GaussianNB()", "QuadraticDiscriminantAnalysis(reg_param", "PCA(n_components=2)"),
    *("PLSRegression(", "AveragedPerceptron(), 3", "SGDClassifier, sparse", "IncrementalPCA(", "LinearRegression()"),
    "NearestCentroid(metric=mahalanobis)",
]
"""Models whose predictions are compiled, or that have numbers of rows, classes and children in them."""

KEPT = [next(kept for kept in MODELS if kept.id.startswith(name)) for name in CHANGED] + PIPELINES


@cache
def written(number: int, folder: Any) -> tuple[bytes, Contents, Any]:
    """The file of a model, its contents, and queries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X = KEPT[number].make()
    path = folder / f"{number}.tenfold"
    tenfold.save(model, path)
    return path.read_bytes(), Contents(path.read_bytes()), X


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("files")


def use(folder: Any, file: bytes, X: Any) -> None:
    """Load and ask: whatever is refused is refused by an error of Python's."""
    path = folder / "changed.tenfold"
    path.write_bytes(file)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = tenfold.load(path, max_bytes=1 << 28)
        except LoadError:
            return
        for name in METHODS:
            try:
                getattr(model, name)(X)
            except SystemError:  # what Python says where compiled code was wrong
                raise
            except Exception:
                continue


def times(factor: int) -> settings:
    """So many times the examples of other laws; of thorough runs some thousands."""
    return settings(max_examples=min(factor * settings().max_examples, 3000))


drawn = st.integers(0, (1 << 32) - 1)


def pick(number: int, count: int) -> int:
    """One of so many, all alike: drawn numbers themselves are mostly small."""
    return zlib.crc32(number.to_bytes(4, "little")) % count


models = drawn.map(lambda number: pick(number, len(KEPT)))


@given(number=models, places=st.lists(st.tuples(drawn, st.integers(1, 255)), max_size=4))
@times(3)
def test_bytes_that_were_changed(number, places, folder):
    file, _, X = written(number, folder)
    changed = bytearray(file)
    for place, bits in places:
        changed[pick(place, len(changed))] ^= bits
    use(folder, bytes(changed), X)


@given(number=models, start=st.floats(0, 1), end=st.floats(0, 1), middle=st.binary(max_size=40))
def test_bytes_that_were_cut_out(number, start, end, middle, folder):
    file, _, X = written(number, folder)
    first, last = sorted((int(start * len(file)), int(end * len(file))))
    use(folder, file[:first] + middle + file[last:], X)


def places_of(value: Any, result: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """All places in JSON: what contains a value, and under which name."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        result.append((value, key))
        places_of(value[key], result)
    return result


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([-(1 << 63), -(1 << 31), 1 << 31, 1 << 63, 1 << 70]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([{"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": []}, [], {}, {"int": "-0x1"}]),
    st.sampled_from(["", "uniform", "euclidean", "precomputed", "haversine", "a" * 50]),
)


@given(number=models, changes=st.lists(st.tuples(drawn, SCALARS, st.booleans()), min_size=1, max_size=2))
@times(6)
def test_values_that_were_changed(number, changes, folder):
    _, contents, X = written(number, folder)
    changed = contents.copy()
    for place, value, alike in changes:
        places = places_of(changed.json["model"], [])
        if alike:  # a value for one of its type, which most checks let through
            places = [(inside, key) for inside, key in places if type(inside[key]) is type(value)] or places
        container, key = places[pick(place, len(places))]
        container[key] = copy.deepcopy(value)
    use(folder, changed.file(), X)


@given(number=models, one=drawn, other=drawn)
@times(2)
def test_values_stored_out_of_line(number, one, other, folder):
    _, contents, X = written(number, folder)
    changed = contents.copy()
    places = places_of(changed.json["model"], [])
    (a, i), (b, j) = places[pick(one, len(places))], places[pick(other, len(places))]
    a[i], b[j] = copy.deepcopy(b[j]), copy.deepcopy(a[i])
    use(folder, changed.file(), X)


EXTREMES = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1.0, 2.0, 7.0, 1e300, -1e300, 2.0**31, -(2.0**31), 2.0**62]
SHAPES = ["flat", "column", "row", "transposed", "shorter", "longer", "empty", "deeper", "other type", "same"]


def reshape(array: Any, shape: str, dtype: str) -> Any:
    flat = array.ravel()
    if shape == "other type":
        return array.astype(dtype) if array.dtype.kind in "biuf" else array
    return {
        "flat": flat,
        "column": flat[:, None],
        "row": flat[None],
        "transposed": array.T.copy(),
        "shorter": array[:-1] if array.ndim else flat,
        "longer": np.concatenate([array, array]) if array.ndim else flat,
        "empty": array[:0] if array.ndim else flat[:0],
        "deeper": array[None],
        "same": array,
    }[shape]


@given(
    number=models,
    which=drawn,
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(["f4", "f8", "i1", "i4", "i8", "u8", "?"]),
    value=st.sampled_from(EXTREMES),
    place=drawn,
    everywhere=st.booleans(),
)
@times(8)
def test_arrays_that_were_changed(number, which, shape, dtype, value, place, everywhere, folder):
    _, contents, X = written(number, folder)
    changed = contents.copy()
    chosen = pick(which, len(changed.entries))
    array = changed.array(chosen).copy()
    if array.size and array.dtype.kind in "biuf":
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            value = int(np.clip(np.nan_to_num(value, nan=-1.0), limits.min, limits.max - 1023))
        with np.errstate(all="ignore"):
            array[... if everywhere else np.unravel_index(pick(place, array.size), array.shape)] = value
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed.put(chosen, reshape(array, shape, dtype))
    use(folder, changed.file(), X)


@given(number=models, one=drawn, other=drawn)
@times(2)
def test_arrays_that_were_exchanged(number, one, other, folder):
    _, contents, X = written(number, folder)
    changed = contents.copy()
    names = sorted(changed.entries)
    a, b = names[pick(one, len(names))], names[pick(other, len(names))]
    changed.entries[a], changed.entries[b] = changed.entries[b], changed.entries[a]
    use(folder, changed.file(), X)


@given(number=models, which=drawn)
def test_names_that_are_missing(number, which, folder):
    _, contents, X = written(number, folder)
    changed = contents.copy()
    places = [(inside, key) for inside, key in places_of(changed.json["model"], []) if isinstance(inside, dict)]
    container, key = places[pick(which, len(places))]
    del container[key]
    use(folder, changed.file(), X)
