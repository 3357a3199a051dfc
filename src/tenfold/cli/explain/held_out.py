"""The best model fitted again without some samples: what importance and the learning curve are measured on."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Integers
from tenfold.cli.load_table import Prepared
from tenfold.selection import Candidate, Protocol, Result, splits_for
from tenfold.selection.fitting import Data
from tenfold.selection.learning_curves import fit_part, growing_order
from tenfold.selection.scoring import Scoring

MARGIN = 0.6
"""The share of the time that is left which a fit to a part of the samples is meant to take."""


@dataclass(frozen=True)
class HeldOut:
    """A model, the numbers of the samples that it was fitted without, and how many it was fitted to."""

    model: Any
    rows: Integers
    trained: int


@dataclass(frozen=True)
class Refit:
    """The best candidate with its data and outer folds, to be fitted to growing parts of their training samples.

    Attributes
    ----------
    seconds : of a fit to the training samples of a fold, as measured on the board.
    """

    candidate: Candidate
    data: Data
    protocol: Protocol
    scoring: Scoring
    seconds: float
    seed: int

    @classmethod
    def of(cls, candidate: Candidate, result: Result, table: Prepared, scorer: str, seed: int) -> "Refit":
        data = Data.of(table.frame, table.y, table.weight)
        protocol = result.protocol
        if protocol.kind == "leave-one-out":  # single samples have no score of their own
            protocol = splits_for(table.frame, table.y, cv=min(5, len(table.y) // 2), random_state=seed)
        scoring = Scoring(scorer, result.classes)
        return cls(candidate, data, protocol, scoring, float(np.mean([f.fit_seconds for f in result.folds])), seed)

    def fit(self, split: int, share: float, deadline: float) -> HeldOut:
        """The candidate on this share of the training samples of a fold, hyper-parameters chosen anew."""
        train, test = self.protocol.pairs[split]
        order = growing_order(self.protocol, train, self.seed + split)
        rows = np.sort(order[: max(2, round(share * len(order)))])
        part = self.data.part(rows)
        choice = fit_part(self.candidate, part, self.protocol, rows, self.scoring, seed=self.seed, deadline=deadline)
        return HeldOut(choice.model, test, len(rows))

    def fit_folds(self, samples: int, deadline: float) -> Iterator[HeldOut]:
        """Fold by fold until `samples` are held out; where time is short, one model of a part of the samples."""
        held_out = 0
        for split in range(len(self.protocol) // max(1, self.protocol.repeats)):
            left = deadline - time.perf_counter()
            share = 1.0 if self.seconds <= left else MARGIN * left / self.seconds
            if held_out and share < 1.0:
                return
            yield self.fit(split, share, deadline)
            held_out += len(self.protocol.pairs[split][1])
            if held_out >= samples:
                return
