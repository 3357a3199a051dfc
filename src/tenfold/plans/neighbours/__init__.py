"""Neighbours: an index of the rows, searches in it, what neighbours say of a query, and sums of windows."""

from tenfold.plans.neighbours.aggregate import means, votes, weighed
from tenfold.plans.neighbours.array_api import is_possible
from tenfold.plans.neighbours.index import Index, Near, built, from_graph
from tenfold.plans.neighbours.judged import judged_density, judged_index, judged_means, log_density, sampled
from tenfold.plans.neighbours.kde import (
    Tolerance,
    bandwidths_to_try,
    likelihoods_left_out,
    log_volume,
    rule_of_thumb,
    tree_of,
    window_sums,
)
from tenfold.plans.neighbours.kde_fold import KeptWindows, WindowsAbout, WindowSum
from tenfold.plans.neighbours.kde_sampling import drawn_from
from tenfold.plans.neighbours.out_of_core import (
    AllWithin,
    Form,
    Kept,
    Question,
    Searching,
    Source,
    TheNearest,
    kept_where_they_are,
    numbered,
    rows_at,
)
from tenfold.plans.neighbours.prototypes import fit_prototypes

__all__ = [
    "AllWithin",
    "Form",
    "Index",
    "Kept",
    "KeptWindows",
    "Near",
    "Question",
    "Searching",
    "Source",
    "TheNearest",
    "Tolerance",
    "WindowSum",
    "WindowsAbout",
    "bandwidths_to_try",
    "built",
    "drawn_from",
    "fit_prototypes",
    "from_graph",
    "is_possible",
    "judged_density",
    "judged_index",
    "judged_means",
    "kept_where_they_are",
    "likelihoods_left_out",
    "log_density",
    "log_volume",
    "means",
    "numbered",
    "rows_at",
    "rule_of_thumb",
    "sampled",
    "tree_of",
    "votes",
    "weighed",
    "window_sums",
]
