"""Mergeable statistics of rows: lifted from a block, merged in any number, asked many questions.

Each is a commutative monoid. A compiled loop lifts NumPy and CSR blocks; the same lift in the Array API serves every
other namespace, and the tests run both.
"""

from tenfold.stats.by_columns import ByColumns
from tenfold.stats.classes import (
    ClassColumns,
    ClassErrors,
    ClassProducts,
    ClassSums,
    class_columns,
    class_errors,
    class_products,
    class_sums,
    fourth_powers,
    groups_of,
    marks,
    memberships,
    pooled_products,
    quadratics,
    scaled_distances,
)
from tenfold.stats.clusters import Assigned, Assigner, Farthest, assigned, assigner, distances_to, farthest, nearest
from tenfold.stats.columns import Aligned, Columns, squares_of_columns
from tenfold.stats.constants import Constant, best_constant, mean_loss, mean_over_targets
from tenfold.stats.decisions import decide_linear, decide_scaled, decide_whole, undecided
from tenfold.stats.derivatives import (
    AtMargins,
    Derivatives,
    Level,
    Params,
    Total,
    along,
    back_times,
    curvatures,
    derivatives,
    losses_along,
    losses_at,
    predictions,
    times,
    total_weight,
)
from tenfold.stats.extremes import Extremes, of_columns, of_predictions, of_recession, of_weights
from tenfold.stats.gaussians import KINDS, Mixture, Singular
from tenfold.stats.gram import BATCH, Gram, GramByColumns, WholeGram, cross_products, moments_of
from tenfold.stats.joint import JointScatter, both_moments, degrees_of_freedom, joint_products
from tenfold.stats.mixtures import Gathered, MixtureSums, known_columns, mixture_sums, posterior
from tenfold.stats.models import ModelSums, of_models
from tenfold.stats.moments import GroupedMoments, Moments, all_but_one
from tenfold.stats.rfactor import RFactor
from tenfold.stats.scaled import Scaled, scaled
from tenfold.stats.scatter import Scattered, scattered
from tenfold.stats.scores import GroupedScores, gram_of, grouped_scores, score_products
from tenfold.stats.several import Several, together
from tenfold.stats.softmax import (
    class_curvatures,
    class_hessian,
    noticed_hessian,
    of_right_margins,
    rough_softmax,
    softmax,
    softmax_along,
    softmax_at,
)
from tenfold.stats.tables import (
    ClassTables,
    NegativeCategory,
    NotACategory,
    class_tables,
    observed_columns,
    some_missing,
)
from tenfold.stats.tags import TagWeights, best_tags
from tenfold.stats.votes import Voters
from tenfold.stats.within import WithinForms, WithinMoments, within_forms, within_moments

__all__ = [
    "BATCH",
    "KINDS",
    "Aligned",
    "Assigned",
    "Assigner",
    "AtMargins",
    "ByColumns",
    "ClassColumns",
    "ClassErrors",
    "ClassProducts",
    "ClassSums",
    "ClassTables",
    "Columns",
    "Constant",
    "Derivatives",
    "Extremes",
    "Farthest",
    "Gathered",
    "Gram",
    "GramByColumns",
    "GroupedMoments",
    "GroupedScores",
    "JointScatter",
    "Level",
    "Mixture",
    "MixtureSums",
    "ModelSums",
    "Moments",
    "NegativeCategory",
    "NotACategory",
    "Params",
    "RFactor",
    "Scaled",
    "Scattered",
    "Several",
    "Singular",
    "TagWeights",
    "Total",
    "Voters",
    "WholeGram",
    "WithinForms",
    "WithinMoments",
    "all_but_one",
    "along",
    "assigned",
    "assigner",
    "back_times",
    "best_constant",
    "best_tags",
    "both_moments",
    "class_columns",
    "class_curvatures",
    "class_errors",
    "class_hessian",
    "class_products",
    "class_sums",
    "class_tables",
    "cross_products",
    "curvatures",
    "decide_linear",
    "decide_scaled",
    "decide_whole",
    "degrees_of_freedom",
    "derivatives",
    "distances_to",
    "farthest",
    "fourth_powers",
    "gram_of",
    "grouped_scores",
    "groups_of",
    "joint_products",
    "known_columns",
    "losses_along",
    "losses_at",
    "marks",
    "mean_loss",
    "mean_over_targets",
    "memberships",
    "mixture_sums",
    "moments_of",
    "nearest",
    "noticed_hessian",
    "observed_columns",
    "of_columns",
    "of_models",
    "of_predictions",
    "of_recession",
    "of_right_margins",
    "of_weights",
    "pooled_products",
    "posterior",
    "predictions",
    "quadratics",
    "rough_softmax",
    "scaled",
    "scaled_distances",
    "scattered",
    "score_products",
    "softmax",
    "softmax_along",
    "softmax_at",
    "some_missing",
    "squares_of_columns",
    "times",
    "together",
    "total_weight",
    "undecided",
    "within_forms",
    "within_moments",
]
