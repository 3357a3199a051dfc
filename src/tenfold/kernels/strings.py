"""Kernels of strings: common substrings, common subsequences with gaps, and substrings up to mismatches.

They read a list or a one-dimensional array of strings, of any characters. `Normalised` divides by the lengths of the
strings in the feature space, and makes values of strings of different lengths comparable. The loops are compiled and
run on all threads; values of `Spectrum` and `Mismatch` are sums of whole numbers.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers
from tenfold.kernels.evaluation import Image, Tile, take
from tenfold.kernels.kernel import Bounds, Kernel
from tenfold.machine import threads
from tenfold.pairwise import mirror
from tenfold.string_codes import encode_strings, split_strings

SQUARE = 64  # strings of the squares at the diagonal, where pairs are evaluated twice: 3 % of 2 000 strings
UNICODE = 0x110000
"""The number of characters that there are."""


class StringKernel(Kernel):
    """A kernel of two strings."""

    @property
    def requires_vector_input(self) -> bool:
        return False

    @property
    def reads_strings(self) -> bool:
        return True

    def _image(self, X: Any) -> Image:
        return encode_strings(X)

    def _gradients(self, tile: Tile) -> list[Array]:
        return []


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_length(kernel: Any) -> int:
    """The length of substrings, a positive whole number."""
    if not _is_whole(kernel.length) or kernel.length < 1:
        raise ValueError(f"length of {type(kernel).__name__} must be a positive whole number, got {kernel.length!r}.")
    return int(kernel.length)


def _arguments(tile: Tile) -> tuple[Floats, Integers, Floats, Integers]:
    return *split_strings(tile.x), *split_strings(tile.z)


def _spectrum(tile: Tile, length: int, places: Sequence[int]) -> Floats:
    """The spectrum kernel by the characters at some places of each window."""
    work = tile.x.nnz * tile.shape[1] + tile.z.nnz * tile.shape[0]
    return np.asarray(_core.spectrum_kernel(*_arguments(tile), length, np.array(places, dtype=np.int64), threads(work)))


def _spectrum_diagonal(image: Image, length: int, places: Sequence[int]) -> Floats:
    count = threads(image.nnz)
    return np.asarray(_core.spectrum_diagonal(*split_strings(image), length, np.array(places, dtype=np.int64), count))


class Spectrum(StringKernel):
    """k(s, t) = sum over substrings u of ``length`` characters of (occurrences of u in s) (occurrences of u in t).

    The p-spectrum kernel: the inner product of the counts of substrings. Substrings are numbered by a hash table that
    compares characters; a pair costs O(|s| + |t|). A string shorter than ``length`` has no substring: all its
    values are zero.

    Parameters
    ----------
    length : int, default=3
        The number of characters of a substring.

    Notes
    -----
    Leslie, Eskin and Noble 2002, "The spectrum kernel". CMU, S34 and S58; Seeger, section 9.2.3.

    Examples
    --------
    >>> from tenfold.kernels import Spectrum
    >>> Spectrum(2)(["statistics", "computation"])
    array([[13.,  4.],
           [ 4., 10.]])
    """

    def __init__(self, length: int = 3) -> None:
        self.length = length

    def _values(self, tile: Tile) -> Array:
        length = _check_length(self)
        return _spectrum(tile, length, range(length))

    def _diagonal(self, image: Image) -> Array:
        length = _check_length(self)
        return _spectrum_diagonal(image, length, range(length))


class Subsequence(StringKernel):
    """k(s, t) = sum over common subsequences u of ``length`` characters, at places i in s and j in t, of
    decay^(span of i + span of j), where the span is last place - first place + 1.

    The gappy string subsequence kernel: a subsequence need not be contiguous, and weighs less the more it spreads. By
    dynamic programming, O(length |s| |t|) a pair, for many strings t at once in the lanes of the processor.

    Parameters
    ----------
    length : int, default=3
        The number of characters of a subsequence.
    decay : float, default=0.5
        Weight of each place that a subsequence spans, in (0, 1]. With 1 gaps cost nothing.
    decay_bounds : tuple of float or "fixed", default=(1e-3, 1.0)
        Bounds of ``decay`` as a hyper-parameter.

    Notes
    -----
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins 2002, "Text classification using string kernels". CMU, S34
    and S58; Seeger, section 9.2.3.

    Examples
    --------
    >>> from tenfold.kernels import Normalised, Subsequence
    >>> Subsequence(2, decay=0.5)("cat", "car")  # "ca" alone: 0.5^4
    0.0625
    >>> Normalised(Subsequence(2, decay=0.5))(["cat", "car", "bat"]).round(3)
    array([[1.   , 0.444, 0.444],
           [0.444, 1.   , 0.   ],
           [0.444, 0.   , 1.   ]])
    """

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("decay",)

    def __init__(self, length: int = 3, decay: float = 0.5, decay_bounds: Bounds = (1e-3, 1.0)) -> None:
        self.length = length
        self.decay = decay
        self.decay_bounds = decay_bounds

    def _check(self) -> tuple[int, float]:
        if not 0.0 < self.decay <= 1.0:
            raise ValueError(f"decay of Subsequence must be in (0, 1], got {self.decay!r}.")
        return _check_length(self), float(self.decay)

    def _evaluate(self, tile: Tile, slopes: bool) -> tuple[Array, Array]:
        length, decay = self._check()
        count = threads(length * tile.x.nnz * tile.z.nnz)
        return _core.subsequence_kernel(*_arguments(tile), length, decay, slopes, count)

    def _values(self, tile: Tile) -> Array:
        return _half(tile, lambda part: self._evaluate(part, False)[0])

    def _gradients(self, tile: Tile) -> list[Array]:
        return [_half(tile, lambda part: self._evaluate(part, True)[1])] if self.n_dims else []

    def _diagonal(self, image: Image) -> Array:
        return self._diagonal_of(image, False)

    def _diagonal_of(self, image: Image, slopes: bool) -> Array:
        length, decay = self._check()
        lengths = np.diff(image.indptr).astype(np.float64)
        count = threads(int(min(2.0**62, length * float(lengths @ lengths))))
        return _core.subsequence_diagonal(*split_strings(image), length, decay, slopes, count)

    def _diagonal_gradients(self, image: Image) -> list[Array]:
        return [self._diagonal_of(image, True)] if self.n_dims else []


def _half(tile: Tile, evaluate: Callable[[Tile], Array]) -> Array:
    """The values of a tile; of a tile that begins at the diagonal those of each pair once, but for small squares."""
    if not tile.same or tile.row != tile.column:
        return evaluate(tile)
    m, n = tile.shape
    out = np.empty((m, n))
    for a in range(0, m, SQUARE):
        b = min(a + SQUARE, m)
        out[a:b, a:] = evaluate(Tile(take(tile.x, a, b), take(tile.z, a, n), tile.row + a, tile.column + a, True))
        mirror(out[:m, :m], a, b)
    return out


class Mismatch(StringKernel):
    """k(s, t) = sum over words w of ``length`` characters of phi_w(s) phi_w(t), where phi_w(s) is the number of places
    of s at which a word stands that differs from w in at most ``mismatches`` characters.

    The (k, m)-mismatch kernel. Words are over an alphabet of ``alphabet_size`` characters, of which the strings may use
    any. With N_d pairs of places at which substrings differ in d characters, the kernel is sum_d N_d I(d), I(d) the
    number of words near both of two that differ in d. The N_d follow from spectrum kernels of the characters at
    ``length - q`` of the places, for all such choices and q up to 2 ``mismatches``: sixteen of them for 5 characters
    and 1 mismatch, O(|s| + |t|) a pair each, however large the alphabet.

    Parameters
    ----------
    length : int, default=4
        The number of characters of a word.
    mismatches : int, default=1
        How many characters of a word may differ, fewer than ``length``. With 0 this is `Spectrum`.
    alphabet_size : int, default=None
        The number of characters of the alphabet: 4 for DNA, 20 for proteins; at least those that the strings use. None:
        all of Unicode, 1 114 112.

    Notes
    -----
    Leslie, Eskin, Cohen, Weston and Noble 2004, "Mismatch string kernels for discriminative protein classification",
    who walk a trie of all words; the values are the same whole numbers. CMU, S34 and S58.

    Examples
    --------
    >>> from tenfold.kernels import Mismatch
    >>> Mismatch(3, 1, alphabet_size=4)(["ACG", "ACT", "TGT"])
    array([[10.,  4.,  0.],
           [ 4., 10.,  2.],
           [ 0.,  2., 10.]])
    """

    def __init__(self, length: int = 4, mismatches: int = 1, alphabet_size: int | None = None) -> None:
        self.length = length
        self.mismatches = mismatches
        self.alphabet_size = alphabet_size

    def _check(self, *images: Image) -> tuple[int, int, int]:
        length = _check_length(self)
        if not _is_whole(self.mismatches) or not 0 <= self.mismatches < length:
            raise ValueError(
                f"mismatches of Mismatch must be a whole number below its length {length}, got {self.mismatches!r}."
            )
        size = UNICODE if self.alphabet_size is None else self.alphabet_size
        if not _is_whole(size) or size < 1:
            raise ValueError(f"alphabet_size of Mismatch must be a positive whole number, got {size!r}.")
        used = len(np.unique(np.concatenate([image.data for image in images])))
        if used > size:
            raise ValueError(f"The strings use {used} characters, alphabet_size is {size}: it counts all of them.")
        return length, int(self.mismatches), int(size)

    def _values(self, tile: Tile) -> Array:
        return self._combine(lambda length, places: _spectrum(tile, length, places), tile.x, tile.z)

    def _diagonal(self, image: Image) -> Array:
        return self._combine(lambda length, places: _spectrum_diagonal(image, length, places), image)

    def _combine(self, evaluate: Callable[[int, Sequence[int]], Floats], *images: Image) -> Floats:
        """sum_d N_d I(d), from M_q, the sums of spectrum kernels of length - q places: M_q = sum_(d <= q)
        C(length - d, q - d) N_d. All are whole numbers.
        """
        length, mismatches, alphabet = self._check(*images)
        pairs: list[Floats] = []
        for q in range(min(2 * mismatches, length) + 1):
            total = sum(evaluate(length, places) for places in combinations(range(length), length - q))
            for d, before in enumerate(pairs):
                total = total - comb(length - d, q - d) * before
            pairs.append(np.asarray(total))
        weights = [float(_count_common(d, length, mismatches, alphabet)) for d in range(len(pairs))]
        return np.asarray(sum(weight * part for weight, part in zip(weights, pairs, strict=True)))


def _count_common(d: int, length: int, mismatches: int, alphabet: int) -> int:
    """The number of words that differ in at most `mismatches` characters from each of two that differ in d."""
    total = 0
    for same in range(length - d + 1):  # changed where the two agree
        for one in range(d + 1):  # equal to the first, or to the second, where they do not
            for other in range(d - one + 1):
                if same + d - one <= mismatches and same + d - other <= mismatches:
                    changed = comb(length - d, same) * (alphabet - 1) ** same
                    total += changed * comb(d, one) * comb(d - one, other) * (alphabet - 2) ** (d - one - other)
    return total
