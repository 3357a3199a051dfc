"""The structured perceptron: passes until no tag is wrong or a limit is met; then the count."""

from dataclasses import dataclass

import numpy as np

from tenfold.data import NotFinite, Sequences
from tenfold.judge.certificate import Certificate
from tenfold.judge.viterbi import count_tags
from tenfold.solvers.loop import Status, run
from tenfold.solvers.structured_perceptron import TagLearner, TagPass
from tenfold.stats.viterbi import TagWeights, best_tags

MOST_SEEN = 2.0**52
"""Where so many sequences were seen, one more is not noticed."""


@dataclass(frozen=True)
class TagFit:
    """Weights, what the judge says of them, and the passes."""

    weights: TagWeights
    certificate: Certificate
    trace: tuple[TagPass, ...]


def fit(
    sequences: Sequences, tags: int, *, average: bool, shuffle: bool, seed: int, passes: int, seconds: float | None
) -> TagFit:
    """At most so many passes, none begun after so many seconds."""
    learner = TagLearner(sequences, tags, shuffle, seed)
    solution = run(learner.steps(), passes, seconds)
    weights = learner.weights(average)
    # after a pass without mistakes further passes only move the mean to the last weights: they need not be looked at
    while average and solution.status is Status.CONVERGED and _wrong(sequences, weights):
        if learner.stay() > MOST_SEEN:
            break
        weights = learner.weights(average)
    if not all(np.isfinite(part).all() for part in weights):
        raise NotFinite("Weights are beyond the range of numbers: divide the features by their largest value.")
    return TagFit(weights, count_tags(sequences, weights, status=solution.status.value), tuple(learner.passes))


def _wrong(sequences: Sequences, weights: TagWeights) -> bool:
    """Whether any tag of a sequence that counts is wrong."""
    wrong = best_tags(sequences, weights) != sequences.tags
    counted = np.zeros(len(sequences.lengths), dtype=bool)
    counted[sequences.counted] = True
    return bool(np.any(wrong & np.repeat(counted, sequences.lengths)))
