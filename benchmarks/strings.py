"""Gram matrices of strings by the kernels of Tenfold, in the shape of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.kernels import Mismatch, Spectrum, Subsequence

KERNELS = {
    "spectrum": lambda length: Spectrum(length),
    "subsequence": lambda length: Subsequence(length, decay=0.5),
    "mismatch": lambda length: Mismatch(length, 1),
}


class StringGram:
    """The kernel matrix of all pairs of strings."""

    def __init__(self, *, kernel: str, length: int) -> None:
        self.kernel = KERNELS[kernel](length)

    def fit(self, X: Any, y: Any) -> StringGram:
        self.gram_ = np.asarray(self.kernel(X))
        return self
