"""The weights of a linear-chain tagger, and Viterbi decoding."""

from typing import NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.data import Sequences
from tenfold.machine import threads


class TagWeights(NamedTuple):
    """The score of tags y_1 ... y_L is start[y_1] + sum_t x_t.emission[:, y_t] + sum_t transition[y_t, y_t+1] +
    end[y_L]: emission (p, k), transition (k, k), start and end (k,).
    """

    emission: Floats
    transition: Floats
    start: Floats
    end: Floats


def best_tags(sequences: Sequences, weights: TagWeights) -> Integers:
    """The tags (n,) of the best path of each sequence, by the compiled Viterbi recursion; ties go to the smaller tag,
    compared from the end.
    """
    p, k = weights.emission.shape
    tagger = _core.Tagger(p, k)
    tagger.assign(*(np.ascontiguousarray(part, dtype=np.float64) for part in weights))
    return tagger.decode(*sequences.arrays, threads(sequences.X.shape[0] * k * k))
