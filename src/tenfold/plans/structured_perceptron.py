"""The plan of the structured perceptron: passes until no tag is wrong or a limit; then wrong tags are counted."""

from dataclasses import dataclass

import numpy as np

from tenfold.data import NotFinite, Sequences
from tenfold.judge.certificate import Certificate
from tenfold.judge.viterbi import count_tags
from tenfold.solvers.loop import Status, run
from tenfold.solvers.structured_perceptron import TagLearner, TagPass
from tenfold.stats.viterbi import TagWeights, best_tags

MAX_SEEN = 2.0**52  # sequences seen beyond which a count in float64 is not exact


@dataclass(frozen=True)
class TagFit:
    """Weights, their certificate, and the trace of passes."""

    weights: TagWeights
    certificate: Certificate
    trace: tuple[TagPass, ...]


def fit(
    sequences: Sequences, tags: int, *, average: bool, shuffle: bool, seed: int, passes: int, seconds: float | None
) -> TagFit:
    """Fit by at most `passes` passes; none begins after `seconds`."""
    learner = TagLearner(sequences, tags, shuffle, seed)
    solution = run(learner.steps(), passes, seconds)
    weights = learner.weights(average)
    # after a pass without mistakes further passes only move the mean towards the last weights, without reading
    while average and solution.status is Status.CONVERGED and _has_wrong_tag(sequences, weights):
        if learner.stay() > MAX_SEEN:
            break
        weights = learner.weights(average)
    if not all(np.isfinite(part).all() for part in weights):
        raise NotFinite("Weights are beyond the range of numbers: divide the features by their largest value.")
    return TagFit(weights, count_tags(sequences, weights, status=solution.status.value), tuple(learner.passes))


def _has_wrong_tag(sequences: Sequences, weights: TagWeights) -> bool:
    """Whether any tag of a sequence of positive weight is wrong."""
    wrong = best_tags(sequences, weights) != sequences.tags
    counted = np.zeros(len(sequences.lengths), dtype=bool)
    counted[sequences.counted] = True
    return bool(np.any(wrong & np.repeat(counted, sequences.lengths)))
