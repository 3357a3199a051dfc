"""What the fitted attributes of our estimators must be: one table by name; a class may say otherwise.

Sizes: p columns, k classes, t targets or rows of `coef_`, c components or clusters, n rows that are kept, q columns of
a second block.
"""

from typing import Any

import numpy as np

from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import (
    ANY,
    Check,
    Rule,
    Schema,
    anything,
    array,
    flag,
    floats,
    integers,
    labels,
    many,
    mapping,
    nothing,
    number,
    text,
    whole,
)
from tenfold.persist.records import STATISTICS, real, record
from tenfold.persist.schema_kernels import kernel

reported = floats("...", nan=True, inf=True) | integers("...") | real | many(floats("...", nan=True, inf=True) | real)
"""Reported values, which no prediction is computed from."""
columns = integers("*", low=0, high="p")
logs = {"high": 1e-6, "inf": True}
shares = {"low": 0.0, "high": 1.0 + 1e-6}

# what an attribute of this name is, unless its class says otherwise
ATTRIBUTES: dict[str, Check] = {
    **ANY,
    "certificate_": record("Certificate"),
    "classes_": labels("k") | many(labels("*")),
    # linear models
    "coef_": floats("p") | floats("t p", sparse=True),
    "intercept_": number() | floats("1") | floats("t"),
    "offset_": floats("1"),
    "moments_": record("Moments"),
    "_inference": many(record("LeastSquaresInference", "LikelihoodInference")) | text() | nothing(),
    "_jackknife": many(record("JackknifePlus")) | text() | nothing(),
    "_last": record("Params"),
    "_memory": record("Memory"),
    "_average": record("Memory", "Params") | nothing(),
    "_standard": record("Params") | nothing(),
    "_voters": record("Voters"),
    "_several": flag(),
    "_flat": flag(),
    "separating_direction_": floats("p", "t p", "t p+1") | nothing(),
    # classes by their statistics
    "_sums": record(*STATISTICS),
    "class_count_": floats("k", low=0.0),
    "class_prior_": floats("k", **shares),
    "class_log_prior_": floats("k", **logs),
    "feature_count_": floats("k p", low=0.0),
    "feature_all_": floats("p", low=0.0),
    "feature_log_prob_": floats("k p", inf=True) | many(floats("k *", **logs), "p"),
    "category_count_": many(floats("k *", low=0.0), "p"),
    "n_categories_": integers("p", low=0),
    "theta_": floats("k *"),
    "var_": floats("k *", low=0.0) | floats("p", low=0.0),
    "epsilon_": number(0.0),
    "mark_log_prob_": floats("k *", inf=True),
    "category_log_prob_": many(floats("k *", **logs)),
    "priors_": floats("k", **shares),
    "means_": floats("k p"),
    "covariance_": floats("p p") | floats("k p p") | many(floats("p p"), "k"),
    "scalings_": floats("p *") | many(floats("*", low=0.0), "k"),
    "rotations_": many(floats("p *"), "k"),
    "xbar_": floats("p"),
    # how covariances were regularised, which files of discriminants had until it was left to their plans
    "_amounts": floats("k", low=0.0) | nothing(),
    "_given": floats("...") | many(floats("...") | nothing()) | number() | nothing(),
    "_given_total": floats("...") | number() | nothing(),
    "_total_amount": number() | nothing(),
    "_max_components": whole(),
    "_n_features_out": whole(),
    "centroids_": floats("k p"),
    "deviations_": floats("k p"),
    "within_class_std_dev_": floats("p", low=0.0),
    "whitener_": floats("p p"),
    # components
    "components_": floats("c p"),
    "mean_": floats("p"),
    "explained_variance_": floats("c", low=0.0),
    "explained_variance_ratio_": reported,
    "singular_values_": floats("c", low=0.0),
    "noise_variance_": real,
    "n_components_": whole(),
    # two blocks and several views
    "_x_mean": floats("p"),
    "_x_std": floats("p", low=0.0),
    "_y_mean": floats("q"),
    "_y_std": floats("q", low=0.0),
    "_predict_1d": flag(),
    **dict.fromkeys(("x_weights_", "x_loadings_", "x_rotations_"), floats("p c")),
    **dict.fromkeys(("y_weights_", "y_loadings_", "y_rotations_"), floats("q c")),
    "x_scores_": floats("n c"),
    "y_scores_": floats("n c"),
    "widths_": many(whole(1)),
    "values_": floats("c"),
    "correlations_": reported,
    # clusters and mixtures
    "cluster_centers_": floats("c p"),
    "labels_": integers("*", low=0, high="c"),
    "counts_": floats("c", low=0.0),
    "_nodes": floats("m p"),
    "_tree": many(many(whole(-1), "2"), "m"),
    "_leaves": many(whole(0, "m"), "c"),
    "_random": anything(),
    "_since": whole(),
    "weights_": floats("c", **shares),
    "precisions_": floats("..."),
    "precisions_cholesky_": floats("..."),
    "covariances_": floats("c p p", "p p", "c p", "c"),
    # rows that are kept
    "_fit_X": floats("n p", sparse=True, nan=True),
    "n_samples_fit_": whole(1, size="n"),
    "_votes": floats("n", low=0.0) | nothing(),
    "_kept": integers("*", low=0, high="n") | nothing(),
    "_y": integers("n") | integers("n *") | floats("n") | floats("n *"),
    "outputs_2d_": flag(),
    "effective_metric_": text(),
    "effective_metric_params_": mapping(text(), anything()),
    "outlier_label_": anything(),
    "_residuals": floats("n *"),
    "_rows": floats("n p"),
    "_weight": floats("n", low=0.0) | nothing(),
    "_targets": floats("n *"),
    "bandwidth_": number(0.0),
    "n_neighbors_": whole(1),
    "bin_edges_": many(floats("*"), "p"),
    "density_": floats("...", low=0.0),
    "prototypes_": floats("m p"),
    "kernel_": kernel,
    "kernels_": many(kernel),
    # sequences
    "transition_": floats("k k"),
    "start_": floats("k"),
    "end_": floats("k"),
    "vectorizer_": anything(),
    "path_": columns | many(columns | whole(0, "p")),
    "active_": columns | many(columns | whole(0, "p") | many(whole(0, "p"))),
    "subsets_": array("b", "...") | many(array("b", "...")),
    "outliers_": array("b", "*"),
    "support_vectors_": floats("* p", sparse=True),
    "votes_": floats("*", low=0.0),
    "n_iter_": anything(),
    "trace_": many(record("Record", "Pass", "TagPass") | real),
    "restarted_": anything(),
    **dict.fromkeys(("status_", "method_", "solver_", "cv_method_"), text()),
    **dict.fromkeys(("scores_", "cv_results_", "cost_", "mistakes_", "coefs_paths_"), anything()),
    **dict.fromkeys(("converged_",), flag()),
    **dict.fromkeys(
        (
            *("rank_", "n_mistakes_", "n_nodes_", "n_nonzero_coefs_", "n_samples_", "n_samples_seen_", "n_steps_"),
            *("batch_size_", "passes_", "t_", "_seen"),
        ),
        number(0.0) | reported,
    ),
    **dict.fromkeys(
        (
            *("alpha_", "alphas_", "l1_ratio_", "l1_ratios_", "C_", "Cs_", "best_score_", "cv_errors_", "cv_alphas_"),
            *("coef_path_", "criterion_", "mse_path_", "rss_path_", "singular_", "dual_gap_", "eps_", "inertia_"),
            *("lower_bound_", "lower_bounds_", "candidates_", "risks_", "likelihoods_", "scale_"),
        ),
        reported,
    ),
}


def _of_classes(model: Any) -> bool:
    """A linear model of k classes has k rows of weights, of two classes one."""
    if not isinstance(getattr(model, "classes_", None), np.ndarray) or getattr(model, "coef_", None) is None:
        return True
    k, rows = len(model.classes_), 1 if model.coef_.ndim == 1 else model.coef_.shape[0]
    return rows == k or (rows == 1 and k <= 2)


RULES: dict[str, Rule] = {"coef_ must have a row for each class": _of_classes}


def schema_of_class(registration: Registration | None) -> Schema:
    """What a fitted model of a class must be: the attributes by their names, but for what the class says of itself."""
    if registration is None:
        return Schema(ATTRIBUTES, RULES)
    return Schema({**ATTRIBUTES, **registration.stored}, {**RULES, **registration.rules}, registration.derived)
