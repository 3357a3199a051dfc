"""Principal components and their kin."""

from tenfold.estimators.components.angles import principal_angles
from tenfold.estimators.components.incremental import IncrementalPCA
from tenfold.estimators.components.principal import PCA
from tenfold.estimators.components.truncated import TruncatedSVD

__all__ = ["PCA", "IncrementalPCA", "TruncatedSVD", "principal_angles"]
