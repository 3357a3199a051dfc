"""Certification of bigram models: one exact step of EM from the stored probabilities."""

from typing import Any

import numpy as np

from tenfold.certification.models import contradict
from tenfold.estimators.bigram import as_sequences, check_labels, estimate_priors, read_counts, read_params, weights_for
from tenfold.judge.bigrams import em_step
from tenfold.judge.certificate import Certificate
from tenfold.stats.bigrams import Bigrams


def model(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether the probabilities are a fixed point of EM, and what `score_samples` reads."""
    counts = read_counts(as_sequences(X), model.vocabulary_, "error", sample_weight)
    tol, bound = float(model.tol), float(model.lower_bound_)
    return em_step(counts, read_params(model), float(model.alpha), tol=tol, bound=bound, status="judged")


def classifier(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The same of each class, and the priors."""
    X = as_sequences(X)
    labels, weight = check_labels(y, len(X)), weights_for(sample_weight, len(X))
    certificates = []
    for label, s, P in zip(model.classes_, model.start_log_prob_, model.transition_log_prob_, strict=True):
        counts = read_counts(X, model.vocabulary_, "error", np.where(labels == label, weight, 0.0))
        params = Bigrams(np.exp(s), np.ascontiguousarray(np.exp(P)))
        certificates.append(em_step(counts, params, float(model.alpha), tol=float(model.tol), status="judged"))
    worst = max(certificates, key=lambda one: one.value / one.allowed)
    priors = estimate_priors(labels, weight, model.classes_, model.fit_prior)
    if not np.allclose(np.exp(model.class_log_prior_), priors, rtol=1e-9, atol=0.0):
        return contradict(worst, "The priors are not those of the classes.")
    return worst
