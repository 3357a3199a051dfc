"""How good predictions are: figures of merit with confidence intervals, and learners that are tried as rows come."""

from tenfold.evaluation.entry import evaluate
from tenfold.evaluation.figures import Curve, Evaluation, Figure, Reliability
from tenfold.evaluation.intervals import clopper_pearson

__all__ = ["Curve", "Evaluation", "Figure", "Reliability", "clopper_pearson", "evaluate"]
