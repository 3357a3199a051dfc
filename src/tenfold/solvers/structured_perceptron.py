"""The structured perceptron (Collins 2002): sequences one after the other; where the best tags are not the true ones,
the features of the true tags are added to the weights and those of the best ones subtracted.

The loop over the sequences is compiled (core/include/tenfold/viterbi.hpp, with the formulas); here are the passes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tenfold import _core
from tenfold.data import NotFinite, Sequences
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params
from tenfold.stats.viterbi import TagWeights

WITHIN = Params(np.zeros((0, 0)), np.zeros(0))
"""Placeholder parameters of a step: the learner keeps its many weights."""


@dataclass(frozen=True)
class TagPass:
    """A line of the trace: tokens with a wrong tag in a pass, and sequences with any."""

    mistakes: int
    sequences: int


@dataclass
class TagLearner:
    """The state of one fit of `tags` tags, each pass in a random order of its own with `shuffle`."""

    sequences: Sequences
    tags: int
    shuffle: bool
    seed: int
    passes: list[TagPass] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tagger = _core.Tagger(self.sequences.X.shape[1], self.tags)
        self._looked = self.sequences.counted

    def weights(self, average: bool) -> TagWeights:
        """The mean of the weights after each sequence, or the last weights."""
        last = TagWeights(*self._tagger.weights)
        if not (average and self._tagger.seen):
            return last
        return TagWeights(*(w - s / self._tagger.seen for w, s in zip(last, self._tagger.sums, strict=True)))

    def stay(self) -> float:
        """Add as many sequences without a mistake as there were: only the mean changes. Returns the number of all."""
        self._tagger.skip(max(self._tagger.seen, 1.0))
        return self._tagger.seen

    def steps(self) -> Iterator[Step]:
        """The start, then a step for each pass; measure 0 after one without mistakes."""
        yield Step(WITHIN, np.inf, np.inf)
        assert self.sequences.tags is not None
        while True:
            order = self._looked
            if self.shuffle:
                seed = np.random.SeedSequence([self.seed, len(self.passes)]).generate_state(1, np.uint64)[0]
                order = order[_core.permutation(len(order), int(seed))]
            given = (*self.sequences.arrays, self.sequences.tags, self.sequences.weight, order)
            self.passes.append(TagPass(*self._tagger.learn(*given)))
            if not self._tagger.finite:
                raise NotFinite("Scores are beyond the range of numbers: divide the features by their largest value.")
            mistakes = self.passes[-1].mistakes
            yield Step(WITHIN, float(mistakes), np.inf if mistakes else 0.0)
