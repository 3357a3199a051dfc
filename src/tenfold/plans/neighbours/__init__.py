"""Plans of neighbours and kernel density: predictions from neighbours, bandwidths, prototypes, certificates."""

from tenfold.pairwise import log_volume
from tenfold.plans.neighbours.aggregate import average_targets, choose_classes, count_votes, weigh_neighbours
from tenfold.plans.neighbours.certificates import (
    certify_density,
    certify_means,
    certify_neighbours,
    log_density,
    sample_queries,
)
from tenfold.plans.neighbours.kde import list_bandwidths, loo_log_likelihoods, rule_of_thumb
from tenfold.plans.neighbours.kde_sampling import draw_from_kernel
from tenfold.plans.neighbours.prototypes import fit_prototypes

__all__ = [
    "average_targets",
    "certify_density",
    "certify_means",
    "certify_neighbours",
    "choose_classes",
    "count_votes",
    "draw_from_kernel",
    "fit_prototypes",
    "list_bandwidths",
    "log_density",
    "log_volume",
    "loo_log_likelihoods",
    "rule_of_thumb",
    "sample_queries",
    "weigh_neighbours",
]
