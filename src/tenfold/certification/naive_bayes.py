"""Certification of naive Bayes: fitted arrays against the samples."""

from typing import Any

from tenfold.arrays import Floats, numpy_dtype, wide
from tenfold.certification.class_scores import class_indices, rows_of_classes
from tenfold.estimators.class_statistics import as_class_rows, check_priors
from tenfold.estimators.naive_bayes.categorical import check_min_categories
from tenfold.estimators.naive_bayes.discrete import check_alpha
from tenfold.estimators.naive_bayes.gaussian import GaussianNB
from tenfold.estimators.naive_bayes.learned import resolve_priors
from tenfold.estimators.naive_bayes.mixed import columns_of_kinds
from tenfold.estimators.validation import validate_weights
from tenfold.judge import naive_bayes as judge
from tenfold.judge.certificate import Certificate


def gaussian(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, number = class_indices(model, X, y)
    weights = validate_weights(sample_weight, X)
    weight, prior, mean, variance = map(wide, (model.class_count_, model.class_prior_, model.theta_, model.var_))
    stored = judge.Gaussian(weight, prior, mean, variance, float(model.epsilon_), numpy_dtype(model.theta_.dtype))
    # scikit-learn smooths by the largest unweighted variance
    plain = weights is not None and not isinstance(model, GaussianNB)
    return judge.gaussian(
        as_class_rows(X, number, weights),
        stored,
        model.var_smoothing,
        priors=check_priors(model.priors, len(mean)),
        spread_of=as_class_rows(X, number, None) if plain else None,
    )


def multinomial(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    recomputed = judge.recompute_sums(rows_of_classes(model, X, y, sample_weight), len(model.class_count_))
    return judge.multinomial(recomputed, _alpha(model), _take_counts(model), priors=_priors(model))


def complement(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    recomputed = judge.recompute_sums(rows_of_classes(model, X, y, sample_weight), len(model.class_count_))
    return judge.complement(
        recomputed,
        _alpha(model),
        _take_counts(model),
        together=model.feature_all_,
        norm=model.norm,
        priors=_priors(model),
    )


def bernoulli(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    threshold = None if model.binarize is None else float(model.binarize)
    recomputed = judge.recompute_sums(rows_of_classes(model, X, y, sample_weight), len(model.class_count_), threshold)
    return judge.bernoulli(recomputed, _alpha(model), _take_counts(model), priors=_priors(model))


def categorical(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    sizes = [log_p.shape[1] for log_p in model.feature_log_prob_]
    return judge.categorical(
        judge.recompute_tables(rows_of_classes(model, X, y, sample_weight), len(model.class_count_), sizes),
        float(_alpha(model)[0]),
        weight=model.class_count_,
        tables=model.category_count_,
        sizes=model.n_categories_,
        least=check_min_categories(model.min_categories, model.n_features_in_),
        log_p=list(model.feature_log_prob_),
        log_prior=model.class_log_prior_,
        priors=_priors(model),
    )


def heterogeneous(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    sizes = [table.shape[1] for table in model.category_log_prob_]
    columns = columns_of_kinds(model.kinds, model.n_features_in_)
    return judge.heterogeneous(
        judge.recompute_by_kind(rows_of_classes(model, X, y, sample_weight), len(model.class_count_), columns, sizes),
        float(model.alpha),
        float(model.var_smoothing),
        float(model.epsilon_),
        numbers=(model.theta_, model.var_),
        marks=model.mark_log_prob_,
        tables=model.category_log_prob_,
        weight=model.class_count_,
        log_prior=model.class_log_prior_,
        priors=_priors(model),
    )


def bayes_classifier(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The priors of the classifier with known densities."""
    priors = check_priors(model.priors, len(model.priors_))
    return judge.shares(rows_of_classes(model, X, y, sample_weight), None, model.priors_, priors)


def _take_counts(model: Any) -> judge.Counted:
    return judge.Counted(model.class_count_, model.class_log_prior_, model.feature_count_, model.feature_log_prob_)


def _alpha(model: Any) -> Floats:
    return check_alpha(model.alpha, model.force_alpha, model.n_features_in_)


def _priors(model: Any) -> Floats | None:
    return resolve_priors(model.class_prior, model.fit_prior, len(model.class_count_))
