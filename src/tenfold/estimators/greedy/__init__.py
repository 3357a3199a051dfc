"""The family of greedy selection."""

from tenfold.estimators.greedy.functions import orthogonal_mp, orthogonal_mp_gram
from tenfold.estimators.greedy.pursuit import ForwardSelection, OrthogonalMatchingPursuit
from tenfold.estimators.greedy.pursuit_cv import OrthogonalMatchingPursuitCV

__all__ = [
    "ForwardSelection",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "orthogonal_mp",
    "orthogonal_mp_gram",
]
