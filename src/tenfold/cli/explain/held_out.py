"""Refits of the best model without some samples, for permutation importance and the learning curve."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Integers
from tenfold.cli.load_table import LoadedTable
from tenfold.selection import Candidate, Protocol, Result, splits_for
from tenfold.selection.fitting import Data
from tenfold.selection.learning_curves import fit_part, growing_order
from tenfold.selection.scoring import Scoring

TIME_FRACTION = 0.6  # fraction of the remaining time that a fit to a part of the samples should take


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
    def of(cls, candidate: Candidate, result: Result, table: LoadedTable, scorer: str, seed: int) -> "Refit":
        data = Data.of(table.frame, table.y, table.weight)
        protocol = result.protocol
        if protocol.kind == "leave-one-out":  # single samples have no score of their own
            protocol = splits_for(table.frame, table.y, cv=min(5, len(table.y) // 2), random_state=seed)
        scoring = Scoring(scorer, result.classes)
        return cls(candidate, data, protocol, scoring, float(np.mean([f.fit_seconds for f in result.folds])), seed)

    def fit(self, split: int, fraction: float, deadline: float) -> HeldOut:
        """Fit the candidate to a fraction of the training samples of a fold, hyper-parameters selected again."""
        train, test = self.protocol.pairs[split]
        order = growing_order(self.protocol, train, self.seed + split)
        rows = np.sort(order[: max(2, round(fraction * len(order)))])
        part = self.data.part(rows)
        choice = fit_part(self.candidate, part, self.protocol, rows, self.scoring, seed=self.seed, deadline=deadline)
        return HeldOut(choice.model, test, len(rows))

    def fit_folds(self, samples: int, deadline: float) -> Iterator[HeldOut]:
        """Fit fold by fold until `samples` are held out; where time is short, one model of a part of the samples."""
        held_out = 0
        for split in range(len(self.protocol) // max(1, self.protocol.repeats)):
            remaining = deadline - time.perf_counter()
            fraction = 1.0 if self.seconds <= remaining else TIME_FRACTION * remaining / self.seconds
            if held_out and fraction < 1.0:
                return
            yield self.fit(split, fraction, deadline)
            held_out += len(self.protocol.pairs[split][1])
            if held_out >= samples:
                return
