"""The family of greedy selection."""

from tenfold.estimators.greedy.functions import orthogonal_mp, orthogonal_mp_gram
from tenfold.estimators.greedy.lars import Lars
from tenfold.estimators.greedy.lars_cv import LarsCV, LassoLarsCV
from tenfold.estimators.greedy.lars_functions import lars_path, lars_path_gram
from tenfold.estimators.greedy.lasso_lars import LassoLars, LassoLarsIC
from tenfold.estimators.greedy.matching import MatchingPursuit
from tenfold.estimators.greedy.pursuit import ForwardSelection, OrthogonalMatchingPursuit
from tenfold.estimators.greedy.pursuit_cv import OrthogonalMatchingPursuitCV
from tenfold.estimators.greedy.subset import BestSubset

__all__ = [
    "BestSubset",
    "ForwardSelection",
    "Lars",
    "LarsCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
    "MatchingPursuit",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "lars_path",
    "lars_path_gram",
    "orthogonal_mp",
    "orthogonal_mp_gram",
]
