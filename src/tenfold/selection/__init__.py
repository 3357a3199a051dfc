"""Protocols of evaluation, and search over estimators and pipelines.

Splits and scores are scikit-learn's; what is added is what is wanted of an honest comparison: nested folds in which
every set of rows keeps its role, exact shortcuts where they are honest and only there, time limits, interruption, and
sentences that say what was done.
"""

from tenfold.selection.choosing import Candidate
from tenfold.selection.nesting import Event, nested, nested_events
from tenfold.selection.protocols import (
    Protocol,
    ThreeWay,
    hold_out,
    k_fold,
    leave_one_out,
    repeated,
    splits_for,
    three_way,
    time_ordered,
)
from tenfold.selection.results import Fold, Interval, Nested, Result
from tenfold.selection.shortcuts import shortcut

__all__ = [
    "Candidate",
    "Event",
    "Fold",
    "Interval",
    "Nested",
    "Protocol",
    "Result",
    "ThreeWay",
    "hold_out",
    "k_fold",
    "leave_one_out",
    "nested",
    "nested_events",
    "repeated",
    "shortcut",
    "splits_for",
    "three_way",
    "time_ordered",
]
