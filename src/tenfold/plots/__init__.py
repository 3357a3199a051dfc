"""Pictures of models, in the form of scikit-learn's displays.

``Display.of`` computes the numbers and needs no matplotlib; ``from_estimator`` and ``from_predictions`` draw them, too.
"""

from tenfold.plots.boundary import DecisionBoundaryDisplay
from tenfold.plots.errors import LeaveOneOutDisplay
from tenfold.plots.path import PathDisplay
from tenfold.plots.reliability import ReliabilityDisplay
from tenfold.plots.residuals import ResidualDisplay
from tenfold.plots.spectrum import SpectrumDisplay
from tenfold.plots.trace import CertificateDisplay

__all__ = [
    "CertificateDisplay",
    "DecisionBoundaryDisplay",
    "LeaveOneOutDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "ResidualDisplay",
    "SpectrumDisplay",
]
