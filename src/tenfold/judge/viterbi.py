"""Certificates of kind count for sequences: wrong tags of the best paths, by an independent Viterbi recursion.

Sequences are batched, the longest first. Where no tag is wrong in float64, sequences whose true tags are not better
than all others by more than the rounding of scores are decided by the same recursion in exact integers, so that zero
mistakes are proved.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, Integers, unit_roundoff
from tenfold.data import Sequences
from tenfold.judge.certificate import RULES, Certificate
from tenfold.problems import length
from tenfold.stats.viterbi import TagWeights

STEP, SCORES = 1 << 15, 1 << 22  # scores of one step, and of all steps, in memory at a time

DIGITS = 53  # bits of a float64 mantissa

Numbers = NDArray[Any]
"""float64, or Python integers."""


def count_tags(sequences: Sequences, weights: TagWeights, *, status: str) -> Certificate:
    """Certificate of the number of wrong tags of best paths, on sequences of positive weight."""
    assert sequences.tags is not None
    wrong = np.zeros(len(sequences.tags), dtype=bool)
    margin, inside = np.inf, sequences.counted
    for batch in _batches(sequences, weights, inside):
        best = batch.best(weights)
        true = sequences.tags[batch.tokens]
        wrong[batch.tokens] = best.path != true
        missed = batch.any_of(best.path != true)
        if missed.any():
            margin = min(margin, float(np.min((batch.score_of(weights, true) - best.score)[missed])))
    if not wrong.any():
        margin = _verify_margins(sequences, weights, inside, wrong)
    size = length(*weights)
    note = (
        f"{np.count_nonzero(_any(sequences, wrong))} of {len(inside)} sequences have a wrong tag. The smallest margin "
        f"is {margin / size if size > 0.0 else 0.0:.3g} (score of the true tags over the best others, |w| = 1)."
    )
    return _certificate(sequences, weights, wrong, status, note)


def _certificate(
    sequences: Sequences, weights: TagWeights, wrong: NDArray[np.bool_], status: str, note: str
) -> Certificate:
    assert sequences.tags is not None
    each = np.ones(len(sequences.lengths)) if sequences.weight is None else sequences.weight
    of_tokens = np.repeat(each, sequences.lengths)
    total = float(np.sum(of_tokens))
    parts = np.bincount(sequences.tags[wrong], minlength=len(weights.start)).astype(np.float64)
    return Certificate(
        "count",
        float(np.sum(parts)),
        float(max(int(np.count_nonzero(of_tokens > 0.0)), 1)),
        RULES["count"].tol,
        0.0,
        float(np.sum(of_tokens[wrong])) / total if total > 0.0 else 0.0,
        status=status,
        parts=tuple(parts.tolist()),
        note=note,
    )


def _any(sequences: Sequences, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which sequences have a wrong tag."""
    sums = np.append(0, np.cumsum(wrong))
    return np.asarray(sums[sequences.offsets[1:]] > sums[sequences.offsets[:-1]])


@dataclass(frozen=True)
class _Best:
    """The best tags of all tokens, and the score of each sequence."""

    path: Integers
    score: Numbers


@dataclass(frozen=True)
class _Batch:
    """A batch of sequences, the longest first: `tokens` are all first tokens, then all second ones, ...; those of step
    t are from cuts[t] to cuts[t + 1], and `scores` (n, k) are their emission scores.
    """

    numbers: Integers
    tokens: Integers
    cuts: Integers
    scores: Numbers

    def steps(self) -> Iterator[tuple[int, slice, int]]:
        """For each step after the first: its number, the slice of its tokens, and their number."""
        for t in range(1, len(self.cuts) - 1):
            yield t, slice(self.cuts[t], self.cuts[t + 1]), int(self.cuts[t + 1] - self.cuts[t])

    def any_of(self, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which sequences have any marked token."""
        result = wrong[: self.cuts[1]].copy()
        for _, here, alive in self.steps():
            result[:alive] |= wrong[here]
        return result

    def sums(self, values: Floats) -> Floats:
        """The sum over the tokens of each sequence."""
        totals = values[: self.cuts[1]].copy()
        for _, here, alive in self.steps():
            totals[:alive] += values[here]
        return totals

    def best(self, weights: TagWeights) -> _Best:
        """Viterbi's recursion; of equal paths the one with the earliest tags, compared from the end."""
        now = self.scores[: self.cuts[1]] + weights.start
        reached = [now.copy()]
        for _, here, alive in self.steps():
            now[:alive] = _step_scores(now[:alive], weights.transition) + self.scores[here]
            reached.append(now[:alive].copy())
        now = now + weights.end
        tag = np.argmax(now, axis=1)
        score = np.take_along_axis(now, tag[:, None], axis=1)[:, 0]
        path = np.empty(len(self.tokens), dtype=np.intp)
        for t, here, alive in reversed(list(self.steps())):
            path[here] = tag[:alive]
            tag[:alive] = np.argmax(reached[t - 1][:alive] + weights.transition.T[tag[:alive]], axis=1)
        path[: self.cuts[1]] = tag
        return _Best(path, score)

    def score_of(self, weights: TagWeights, path: Integers) -> Numbers:
        """The score of given tags, of each sequence."""
        own = np.take_along_axis(self.scores, path[:, None], axis=1)[:, 0]
        total, before = own[: self.cuts[1]] + weights.start[path[: self.cuts[1]]], path[: self.cuts[1]].copy()
        for _, here, alive in self.steps():
            total[:alive] += weights.transition[before[:alive], path[here]] + own[here]
            before[:alive] = path[here]
        return np.asarray(total + weights.end[before])

    def margins(self, weights: TagWeights, true: Integers) -> Floats:
        """The margin of the true tags of each sequence over the best others."""
        first = slice(0, self.cuts[1])
        own, before = np.take_along_axis(self.scores, true[:, None], axis=1)[:, 0], true[first].copy()
        total = own[first] + weights.start[before]
        # the best score of paths that differ from the true one somewhere
        other = self.scores[first] + weights.start
        np.put_along_axis(other, before[:, None], -np.inf, axis=1)
        for _, here, alive in self.steps():
            left = total[:alive, None] + weights.transition[before[:alive]]
            np.put_along_axis(left, true[here][:, None], -np.inf, axis=1)
            other[:alive] = np.maximum(_step_scores(other[:alive], weights.transition), left) + self.scores[here]
            total[:alive] += weights.transition[before[:alive], true[here]] + own[here]
            before[:alive] = true[here]
        return np.asarray(total + weights.end[before] - np.max(other + weights.end, axis=1))


def _step_scores(now: Numbers, transition: Numbers) -> Numbers:
    """The best score of each tag after a transition, (m, k): max_a now_a + transition[a, b]."""
    if len(now) < len(transition):
        return np.asarray(np.max(now[:, :, None] + transition, axis=1))
    best, value = now[:, :1] + transition[0], np.empty_like(now)
    for a in range(1, len(transition)):
        np.add(now[:, a : a + 1], transition[a], out=value)
        np.maximum(best, value, out=best)
    return best


def _batches(sequences: Sequences, weights: TagWeights, some: Integers) -> Iterator[_Batch]:
    """Batches of `some` sequences, the longest first, with their emission scores."""
    tags = len(weights.start)
    some = some[np.argsort(-sequences.lengths[some], kind="stable")]
    while len(some):
        longest = int(sequences.lengths[some[0]])
        most = max(1, min(STEP // tags, SCORES // (tags * longest)))
        tokens, cuts = _by_steps(sequences, some[:most])
        yield _Batch(some[:most], tokens, cuts, np.asarray(sequences.X[tokens] @ weights.emission))
        some = some[most:]


def _by_steps(sequences: Sequences, some: Integers) -> tuple[Integers, Integers]:
    """Tokens by step of sequences ordered by length, and the offsets of the steps."""
    lengths = sequences.lengths[some]
    alive = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
    cuts = np.append(0, np.cumsum(alive))
    step = np.repeat(np.arange(len(alive)), alive)
    return sequences.offsets[some][np.arange(cuts[-1]) - cuts[step]] + step, cuts


def _verify_margins(sequences: Sequences, weights: TagWeights, inside: Integers, wrong: NDArray[np.bool_]) -> float:
    """The smallest margin where no tag is wrong in float64; marks tags that are wrong in exact arithmetic."""
    assert sequences.tags is not None
    smallest = np.inf
    for batch in _batches(sequences, weights, inside):
        margins = batch.margins(weights, sequences.tags[batch.tokens])
        smallest = min(smallest, float(np.min(margins)))
        for s in batch.numbers[~(margins > _noise(sequences, weights, batch))]:
            one, whole = _in_whole_numbers(sequences, weights, int(s))
            wrong[one.tokens] = one.best(whole).path != sequences.tags[one.tokens]
    return smallest


def _noise(sequences: Sequences, weights: TagWeights, batch: _Batch) -> Floats:
    """Rounding bound of the difference of two scores of a sequence: twice the classical n u sum |terms|."""
    X = sequences.X[batch.tokens]
    moves, start, end = (float(np.max(np.abs(part))) for part in weights[1:])
    sizes = batch.sums(np.max(abs(X) @ np.abs(weights.emission), axis=1, initial=0.0) + moves)
    terms = batch.sums(np.diff(X.indptr) + 2.0) + 2.0
    return 4.0 * unit_roundoff(np.float64) * terms * (sizes + start + end)


def _in_whole_numbers(sequences: Sequences, weights: TagWeights, number: int) -> tuple[_Batch, TagWeights]:
    """One sequence and the weights in exact integers: all scores times the same power of two."""
    tokens, cuts = _by_steps(sequences, np.array([number]))
    X = sequences.X[tokens]
    used = np.unique(X.indices)
    (x, low), (emission, down) = _whole(X.data), _whole(weights.emission[used])
    (transition, start, end), other = _whole_together(weights[1:])
    unit = min(low + down, other)
    scores = np.zeros((len(tokens), len(start)), dtype=object)
    for token, entry in enumerate(np.split(np.arange(len(x)), X.indptr[1:-1])):
        for e in entry:
            scores[token] += x[e] * emission[np.searchsorted(used, X.indices[e])] << (low + down - unit)
    shifted: list[Numbers] = [part << (other - unit) for part in (transition, start, end)]
    return _Batch(np.array([number]), tokens, cuts, scores), TagWeights(emission, *shifted)


def _whole(values: Floats) -> tuple[Numbers, int]:
    """Numbers as integer multiples of a power of two, and its exponent."""
    mantissa, exponent = np.frexp(values)
    low = int(np.min(exponent, initial=0, where=values != 0.0)) - DIGITS
    multiples = np.ldexp(mantissa, DIGITS).astype(np.int64).astype(object)
    shift = np.where(values != 0.0, exponent - DIGITS - low, 0).astype(object)
    return np.asarray(multiples << shift, dtype=object), low


def _whole_together(parts: tuple[Floats, ...]) -> tuple[list[Numbers], int]:
    whole, low = _whole(np.concatenate([part.ravel() for part in parts]))
    cut = np.split(whole, np.cumsum([part.size for part in parts])[:-1])
    return [one.reshape(part.shape) for one, part in zip(cut, parts, strict=True)], low
