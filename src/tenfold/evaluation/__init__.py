"""How good predictions are: figures of merit with confidence intervals, and learners that are tried as rows come."""

from tenfold.evaluation.entry import evaluate
from tenfold.evaluation.figures import Curve, Evaluation, Figure, Reliability
from tenfold.evaluation.intervals import clopper_pearson
from tenfold.evaluation.online import DriftDetection, OnlineEvaluation, PageHinkley, evaluate_online

__all__ = [
    "Curve",
    "DriftDetection",
    "Evaluation",
    "Figure",
    "OnlineEvaluation",
    "PageHinkley",
    "Reliability",
    "clopper_pearson",
    "evaluate",
    "evaluate_online",
]
