"""Certification of feature maps: what was drawn is drawn again, and the kernel error is measured on a sample."""

import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from tenfold.arrays import Array, is_array_api, is_dask, is_sparse, numpy_dtype, on_host, take_rows, unit_roundoff, wide
from tenfold.certification.outputs import Output, take_samples
from tenfold.data import Table
from tenfold.estimators.kernel_approximation.chi_squared import interval_of
from tenfold.estimators.kernel_approximation.fourier import read_gamma, spectrum_of
from tenfold.estimators.kernel_approximation.nystroem import kernel_of
from tenfold.estimators.validation import as_rows_without_target, validate_rows
from tenfold.judge import kernel_error
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import exact
from tenfold.kernels import Polynomial
from tenfold.kernels.nystroem_map import NystroemMap
from tenfold.kernels.random_features import ChiSquaredSteps, Cosines, CountSketch, LogCosines, draw_sech
from tenfold.kernels.skewed import SkewedChi2
from tenfold.plans.nystroem import certify as certify_map

UNKNOWN_DRAW = "random_state is no number, so the draw was not repeated."


def fourier(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Of RBFSampler: its weights drawn again, and Hoeffding's bound on the kernel error of a sample."""
    X, some = _validate(model, X)
    spectrum = spectrum_of(model, read_gamma(model, X))
    W, b = wide(model.random_weights_), wide(model.random_offset_)
    certificate = _again(model, lambda random: spectrum.draw(X.shape[1], int(model.n_components), random))
    block = X.shape[1] if spectrum.orthogonal else 1
    return _measure(certificate, spectrum.exact(), some, Cosines(W, b)(some), block=block)


def log_cosines(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Of SkewedChi2Sampler, likewise."""
    X, some = _validate(model, X)
    certificate = _again(model, lambda random: draw_sech(X.shape[1], int(model.n_components), random))
    features = LogCosines(Cosines(wide(model.random_weights_), wide(model.random_offset_)), float(model.skewedness))
    return _measure(certificate, SkewedChi2(float(model.skewedness)), some, features(some))


def count_sketch(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Of PolynomialCountSketch: its hash functions drawn again; no bound is known for a single draw."""
    X, some = _validate(model, X)
    places, signs = np.asarray(on_host(model.indexHash_)), np.asarray(on_host(model.bitHash_))
    shape, count = (int(model.degree), X.shape[1] + (model.coef0 != 0.0)), int(model.n_components)

    def draw(random: Any) -> tuple[Array, Array]:
        return random.randint(0, high=count, size=shape), random.choice(a=[-1, 1], size=shape)

    stored = {"indexHash_": places, "bitHash_": signs}
    certificate = _compare(model, stored, draw)
    valid = (
        places.shape == shape == signs.shape and np.all((places >= 0) & (places < count)) and np.all(abs(signs) == 1)
    )
    if not valid:
        return kernel_error.fail(certificate, "indexHash_ and bitHash_ are no hash functions of these features.")
    kernel = Polynomial(float(model.degree), float(model.gamma), float(model.coef0))
    features = CountSketch(places, signs, count, float(model.gamma), float(model.coef0))
    return kernel_error.of_samples(kernel, some, features(some), None).extend(certificate)


def chi_squared(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Of AdditiveChi2Sampler, which learns nothing: the kernel error."""
    _, some = _validate(model, X)
    steps = ChiSquaredSteps(int(model.sample_steps), interval_of(model))
    certificate = exact({}, floor=0.0, note="Nothing is learned.")
    return kernel_error.of_samples(steps.exact(), some, steps(some), None).extend(certificate)


def nystroem(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Of Nystroem: N by its identities, the centres, and the kernel error on a sample."""
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    N, index = np.asarray(on_host(model.normalization_)), getattr(model, "component_indices_", None)
    kernel, m = kernel_of(model, model.components_), min(int(model.n_components), X.shape[0])
    index = None if index is None else np.asarray(on_host(index))
    certificate = exact({}, floor=0.0)
    if N.shape != (m, m) or model.components_.shape != (m, X.shape[1]):
        return kernel_error.fail(certificate, "components_ and normalization_ have not the shape of the parameters.")
    drawn = getattr(model, "centres", "uniform") != "kmeans"
    if drawn and not isinstance(X, Table) and not is_dask(X):
        known = index is not None and index.shape == (m,) and len(np.unique(index)) == m
        if index is None or not known or not (index.min() >= 0 and index.max() < X.shape[0]):
            return kernel_error.fail(certificate, "component_indices_ are not the numbers of different samples.")
    rows = as_rows_without_target(X, None)
    dtype = np.float32 if N.dtype == np.float32 else np.float64
    if not drawn and index is not None:
        return kernel_error.fail(certificate, "Centres that are means are no samples of these numbers.")
    return certify_map(rows, kernel, model.components_, index, N, dtype)


def nystroem_features(model: Any, X: Array) -> list[Output]:
    """The features in float64, and their rounding: of the kernel, times N."""
    N: Any = wide(model.normalization_)
    centres = model.component_indices_ if model.kernel == "precomputed" else model.components_
    where = NystroemMap(kernel_of(model, model.components_), on_host(centres) if is_array_api(centres) else centres, N)
    K = where.similarities(X.astype(np.float64))
    u = unit_roundoff(np.result_type(X.dtype, numpy_dtype(model.normalization_.dtype)))
    values = X.data if is_sparse(X) else X
    spread = 1.0 + float(np.max(np.abs(values), initial=0.0)) ** 2 / (np.max(np.abs(K), initial=1.0) or 1.0)
    size = np.maximum(np.abs(K), np.abs(K).max(axis=1, keepdims=True)) @ np.abs(N)
    return [Output("transform", K @ N.T, 64.0 * u * (len(N) + X.shape[1]) * spread * size)]


def features(model: Any, X: Array) -> list[Output]:
    """The features by the formula in float64, and their rounding in the dtype of the model."""
    kind = type(model).__name__
    drawn: Any = getattr(model, "random_weights_", X)
    u = unit_roundoff(np.result_type(X.dtype, drawn.dtype))
    X = X.astype(np.float64)
    if kind == "AdditiveChi2Sampler":
        Z = ChiSquaredSteps(int(model.sample_steps), interval_of(model))(X)
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        turns = model.sample_steps * interval_of(model) * (1.0 + np.abs(np.log(np.where(Z != 0.0, np.abs(Z), 1.0))))
        return [Output("transform", Z, 64.0 * u * turns * np.maximum(np.abs(Z), np.abs(Z).max(axis=1, keepdims=True)))]
    if kind == "PolynomialCountSketch":
        sketch = CountSketch(model.indexHash_, model.bitHash_, int(model.n_components), model.gamma, model.coef0)
        Z = sketch(X)
        lengths = np.asarray(model.gamma * abs(X).sum(axis=1) ** 2 + model.coef0).reshape(-1, 1)
        return [Output("transform", Z, 64.0 * np.log2(2.0 + sketch.count) * u * lengths ** (0.5 * model.degree))]
    W, b = wide(model.random_weights_), wide(model.random_offset_)
    if kind == "SkewedChi2Sampler":
        X = np.log(X + float(model.skewedness))
    size = np.asarray(abs(X) @ np.abs(W)) + np.abs(b)
    rounding = u * (X.shape[1] + 16.0) * (1.0 + size) * np.sqrt(2.0 / len(b))
    return [Output("transform", Cosines(W, b)(X), rounding)]


def _validate(model: Any, X: Any) -> tuple[Array, Array]:
    """The samples, and some of them in the memory of this machine, in float64."""
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    here = not isinstance(X, Table) and not is_dask(X)
    some = take_rows(X, kernel_error.sample_rows(X.shape[0])) if here else take_samples(X)
    some = on_host(some) if is_array_api(some) else some
    return X, some.astype(np.float64)


def _again(model: Any, draw: Any) -> Certificate:
    stored = {"random_weights_": wide(model.random_weights_), "random_offset_": wide(model.random_offset_)}
    return _compare(model, stored, draw)


def _compare(model: Any, stored: dict[str, Any], draw: Any) -> Certificate:
    """The certificate of what was drawn, by another draw with the same seed."""
    seed = model.random_state
    u = max(unit_roundoff(np.float32), 0.0) if _is_single(model) else unit_roundoff(np.float64)
    if not isinstance(seed, numbers.Integral):
        shapes = [np.shape(part) for part in draw(np.random.RandomState(0))]
        certificate = exact({}, floor=0.0, note=UNKNOWN_DRAW)
        same = shapes == [np.shape(part) for part in stored.values()]
        return certificate if same else kernel_error.fail(certificate, "The shapes are not those of the parameters.")
    drawn = draw(check_random_state(int(seed)))
    pairs = {
        name: (values, again, float(np.max(np.abs(again), initial=0.0)) or 1.0)
        for (name, values), again in zip(stored.items(), drawn, strict=True)
    }
    return exact(pairs, floor=4.0 * u)


def _is_single(model: Any) -> bool:
    return np.asarray(on_host(getattr(model, "random_weights_", np.zeros(1)))).dtype == np.float32


def _measure(certificate: Certificate, kernel: Any, X: Array, Z: Array, *, block: int = 1) -> Certificate:
    error, within = kernel_error.of_random_features(kernel, X, Z, block=block)
    certificate = error.extend(certificate)
    if within:
        return certificate
    return kernel_error.fail(certificate, "The kernel error is beyond Hoeffding's bound: no draw from this spectrum.")
