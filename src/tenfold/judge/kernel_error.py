"""The kernel error of feature maps, measured on a sample: |k(x, y) - z(x).z(y)|.

Two theorems speak of it, both by Hoeffding's inequality (`tenfold.bounds`). Random Fourier features: with probability
`DRAW` no pair of the sample is further from k than a bound, or the weights are no draw from the spectrum: then the map
is refused. Features of given samples: the mean error over all pairs of independent samples is at most the mean over
disjoint pairs of the sample plus a bound, with probability `MEAN`, where no error exceeds `largest`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, on_host
from tenfold.bounds import hoeffding, random_features_error
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.linear_algebra import product

DRAW = 1.0 - 1e-9  # a fit in a billion is refused although its weights were drawn as they should be
MEAN = 0.99
SAMPLE = 256  # samples whose pairs are compared


@dataclass(frozen=True)
class KernelError:
    """Errors on a sample: the mean over disjoint pairs, the largest of all pairs, and a bound; infinite: none holds."""

    mean: float
    largest: float
    bound: float
    words: str

    def extend(self, certificate: Certificate) -> Certificate:
        """The certificate with the mean and the bound as its last parts, and a sentence on them."""
        note = f"{certificate.note} {self.words}".lstrip()
        return replace(certificate, parts=(*certificate.parts, self.mean, self.bound), note=note)


def _errors(kernel: Kernel, X: Array, Z: Array) -> tuple[Floats, float, float]:
    """The errors of all pairs (s, s), the mean of disjoint pairs, the largest."""
    Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else on_host(Z), dtype=np.float64)
    errors = np.abs(np.asarray(on_host(kernel.block(X))) - product(Z, np.ascontiguousarray(Z.T)))
    half = len(errors) // 2
    apart = errors[np.arange(half), np.arange(half) + half] if half else errors.ravel()
    return errors, float(np.mean(apart)), float(np.max(errors))


def of_random_features(kernel: Kernel, X: Array, Z: Array, *, block: int = 1) -> tuple[KernelError, bool]:
    """The error of random Fourier features Z (s, K) of samples X (s, p), and whether it is within Hoeffding's bound."""
    errors, mean, largest = _errors(kernel, X, Z)
    s = len(errors)
    bound = random_features_error(Z.shape[1], s * (s + 1) // 2, DRAW, block=block)
    words = (
        f"On {s} samples the features give the kernel with a mean error of {mean:.2g} and a largest of {largest:.2g}; "
        f"by Hoeffding's inequality a draw from the spectrum stays below {bound:.2g} with probability 1 - 1e-9."
    )
    return KernelError(mean, largest, bound, words), largest <= bound + 1e-6


def of_samples(kernel: Kernel, X: Array, Z: Array, reach: float | None) -> KernelError:
    """The error of features that are no random draw, on samples that are; reach: what no error exceeds, or None."""
    errors, mean, largest = _errors(kernel, X, Z)
    half = len(errors) // 2
    words = (
        f"On {len(errors)} samples the features give the kernel with a mean error of {mean:.2g}, at most {largest:.2g}"
    )
    if reach is None or not half:
        return KernelError(mean, largest, np.inf, f"{words}.")
    bound = mean + hoeffding(np.full(half, reach / half), MEAN)
    words += f"; over all pairs of such samples the mean is below {bound:.2g} with probability 0.99 (Hoeffding)."
    return KernelError(mean, largest, bound, words)


def fail(certificate: Certificate, words: str) -> Certificate:
    """A certificate that is not ok, with its reason."""
    return replace(certificate, value=np.inf, note=f"{words} {certificate.note}".rstrip())


def sample_rows(n: int, seed: int = 0) -> Any:
    """The numbers of at most `SAMPLE` samples, drawn by a seed of the judge's own."""
    return np.random.default_rng(seed).permutation(n)[:SAMPLE]
