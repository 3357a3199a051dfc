"""Protocols of evaluation, and search over estimators and pipelines.

Splits and scores are scikit-learn's; in addition there are nested cross-validation with unbiased scores, exact
shortcuts where they are valid, time limits, interruption, and sentences that say what was done.
"""

from tenfold.selection.comparing import Comparison, Difference, compare
from tenfold.selection.default_splits import splits_for
from tenfold.selection.inner_search import Candidate
from tenfold.selection.learning_curves import LearningCurve, SplitStability, learning_curve, split_stability
from tenfold.selection.model_search import Search, search
from tenfold.selection.nested_cv import Event, nested, nested_events
from tenfold.selection.refit_rules import one_standard_error
from tenfold.selection.results import Fold, Interval, Nested, Result
from tenfold.selection.shortcuts import shortcut
from tenfold.selection.splitters import (
    Protocol,
    ThreeWay,
    hold_out,
    k_fold,
    leave_one_out,
    repeated,
    three_way,
    time_ordered,
)
from tenfold.selection.winners_curse import BestOf, best_of
from tenfold.selection.wrong_cv import WrongCrossValidation, wrong_cross_validation

__all__ = [
    "BestOf",
    "Candidate",
    "Comparison",
    "Difference",
    "Event",
    "Fold",
    "Interval",
    "LearningCurve",
    "Nested",
    "Protocol",
    "Result",
    "Search",
    "SplitStability",
    "ThreeWay",
    "WrongCrossValidation",
    "best_of",
    "compare",
    "hold_out",
    "k_fold",
    "learning_curve",
    "leave_one_out",
    "nested",
    "nested_events",
    "one_standard_error",
    "repeated",
    "search",
    "shortcut",
    "split_stability",
    "splits_for",
    "three_way",
    "time_ordered",
    "wrong_cross_validation",
]
