"""Linear support vector machines."""

from tenfold.estimators.svm.classification import LinearSVC
from tenfold.estimators.svm.regression import LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
