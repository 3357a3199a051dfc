"""Tagged sequences of tokens, the samples of sequence labelling."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers


@dataclass(frozen=True)
class Sequences:
    """The tokens of all sequences as one matrix; sequence s has the rows from offsets[s] to offsets[s + 1].

    Attributes
    ----------
    X : CSR matrix (n, p) in float64 with indices in int32, without repeated entries.
    offsets : (m + 1,) in int64.
    tags : the index of each token's tag (n,), in int32; None where they are not known.
    weight : of each sequence (m,), or None.
    """

    X: Array
    offsets: Integers
    tags: Integers | None = None
    weight: Floats | None = None

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """The arguments of a compiled loop: CSR arrays of the tokens, and the offsets."""
        return self.X.data, self.X.indices, self.X.indptr, self.offsets

    @property
    def lengths(self) -> Integers:
        """The number of tokens of each sequence."""
        return np.diff(self.offsets)

    @property
    def counted(self) -> Integers:
        """The indices of the sequences that have tokens and a positive weight."""
        inside = self.lengths > 0
        return np.flatnonzero(inside if self.weight is None else inside & (self.weight > 0.0)).astype(np.int64)

    def with_tags(self, tags: Integers, weight: Floats | None = None) -> "Sequences":
        """The same tokens with other tags and weights."""
        return replace(self, tags=np.ascontiguousarray(tags, dtype=np.int32), weight=weight)
