"""Certificates of bigram models: one exact step of EM, with expectations of all gaps of a length by matrices."""

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import Certificate
from tenfold.machine import spend
from tenfold.stats.bigrams import BigramCounts, Bigrams, propagate


def em_step(
    counts: BigramCounts,
    params: Bigrams,
    alpha: float,
    *,
    tol: float,
    bound: float | None = None,
    status: str = "solved",
) -> Certificate:
    """The certificate of start and transition probabilities, and of a stored bound."""
    tol = max(tol, 1e-9)
    wrong = _complain(params)
    if wrong:
        return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.nan, status=status, note=wrong)
    starts, bigrams, value = _expect(params, counts)
    now = _objective(params, counts, value, alpha)
    top = counts.bigrams + bigrams + alpha
    below = np.sum(top, axis=1, keepdims=True)
    first = counts.starts + starts + alpha
    updated = Bigrams(
        first / np.sum(first), np.where(below > 0.0, top / np.where(below > 0.0, below, 1.0), params.transition)
    )
    then = _objective(updated, counts, _expect(updated, counts)[2], alpha)
    # what the step gains, a divergence between the probabilities before and after it
    gain = (_entropic(first, params.start, updated.start) + _entropic(top, params.transition, updated.transition)) / (
        counts.sequences
    )
    floor = 256.0 * EPS * (1.0 + abs(now))
    parts: tuple[float, ...] = (abs(then - now), abs(gain))
    note = ""
    if bound is not None and bound > now + max(tol, abs(then - now)) + floor:
        parts, note = (
            (*parts, np.inf),
            f"The stored lower bound is {bound:.9g}, above the mean log-likelihood {now:.9g}.",
        )
    value = max(*parts, floor)
    value = value if np.isfinite(value) else np.inf
    return Certificate("fixed point", value, 1.0, tol, floor, -now, status=status, parts=parts, note=note)


def _entropic(counts: Floats, before: Floats, after: Floats) -> float:
    inside = counts > 0.0
    with np.errstate(divide="ignore"):
        return float(np.sum(counts[inside] * (np.log(after[inside]) - np.log(before[inside]))))


def _objective(params: Bigrams, counts: BigramCounts, gaps: float, alpha: float) -> float:
    total = gaps
    for number, probability in ((counts.starts, params.start), (counts.bigrams, params.transition)):
        weight = number + alpha
        inside = weight > 0.0
        with np.errstate(divide="ignore"):
            total += float(np.sum(weight[inside] * np.log(probability[inside])))
    return total / counts.sequences


def _expect(params: Bigrams, counts: BigramCounts) -> tuple[Floats, Floats, float]:
    """Expected starts and bigrams in the gaps, and their log probability."""
    P = params.transition
    starts, bigrams, value = np.zeros(len(P)), np.zeros_like(P), 0.0
    for rows, forward, last, scale in propagate(params, counts.gaps):
        weight, left = counts.weight[rows], counts.gaps[rows, 0]
        with np.errstate(divide="ignore"):
            value += float(np.sum(weight * (scale + np.log(np.einsum("gi,gi->g", forward[-1], last)))))
        backward = last
        for t in range(len(forward) - 1, -1, -1):
            spend(3.0 * float(len(rows)) * len(P) ** 2)
            joint = forward[t] * backward
            posterior = weight[:, None] * joint / np.sum(joint, axis=1, keepdims=True)
            if t == len(forward) - 1:
                np.add.at(bigrams.T, counts.gaps[rows, 2], posterior)
            if t == 0:
                starts += np.sum(posterior[left < 0], axis=0)
                np.add.at(bigrams, left[left >= 0], posterior[left >= 0])
                break
            z = np.einsum("gi,ij,gj->g", forward[t - 1], P, backward, optimize=True)
            bigrams += P * np.einsum("gi,gj->ij", forward[t - 1] * (weight / z)[:, None], backward, optimize=True)
            backward = np.einsum("ij,gj->gi", P, backward, optimize=True)
    return starts, bigrams, value


def _complain(params: Bigrams) -> str:
    for rows in (params.start[None], params.transition):
        if not np.all(rows >= 0.0):
            return "A probability is negative."
        if not np.all(np.abs(np.sum(rows, axis=1) - 1.0) <= 64.0 * EPS * (8.0 + rows.shape[1])):
            return "The probabilities after a word do not sum to one."
    return ""
