"""Certification of perceptrons: the mistakes of the fitted model."""

from dataclasses import replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats, contiguous, is_sparse, numpy_dtype, unit_roundoff, wide
from tenfold.certification.models import check_known_classes, fit_status, take_params, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.data import Rows
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.perceptron.mistake_driven import problem_of, weights_of_rows
from tenfold.estimators.perceptron.voted import voters_of
from tenfold.estimators.validation import as_rows, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.judge.mistakes import count, count_votes
from tenfold.problems import Separation
from tenfold.stats.perceptron_votes import Voters


def linear(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    problem, rows = _make_rows(model, X, y, sample_weight)
    fitted, dtype = take_params(model, problem.targets)
    return count(problem, rows, fitted, status=fit_status(model), dtype=dtype)


def votes(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of the public voters; private ones used by predictions must be equal."""
    problem, rows = _make_rows(model, X, y, sample_weight)
    return count_votes(problem, rows, _public(model), status=fit_status(model))


def _public(model: Any) -> Voters:
    return replace(voters_of(model), X=model.support_vectors_, votes=model.votes_)


def check_votes(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Voters that predict, beside those that were judged, and the weights of the last of them."""
    voters, own = _public(model), voters_of(model)
    if not np.array_equal(own.votes, voters.votes) or own.X.shape != voters.X.shape or np.any((own.X != voters.X).data):
        return "votes_ or support_vectors_ are not those that predict."
    moves = _moves(voters)
    ones = np.full((voters.X.shape[0], 1), float(voters.intercept))
    X = np.hstack([voters.X.toarray() if is_sparse(voters.X) else voters.X, ones]).astype(np.float64)
    stored = np.hstack([np.atleast_2d(wide(model.coef_)), np.reshape(wide(model.intercept_), (-1, 1))])
    unit = (len(voters.step) + 16.0) * unit_roundoff(np.float64) + 4.0 * unit_roundoff(numpy_dtype(model.coef_.dtype))
    if stored.shape != (len(moves), X.shape[1]) or np.any(
        np.abs(stored - moves @ X) > unit * (np.abs(moves) @ np.abs(X))
    ):
        return "coef_ and intercept_ are not the weights of the last voter."
    return ""


def _moves(voters: Voters) -> Floats:
    """How often each support vector was added to the weights of each class, (classes, m), or to those of two."""
    moves = np.zeros((1 if voters.classes == 2 else voters.classes, voters.X.shape[0]))
    if voters.classes == 2:
        np.add.at(moves[0], voters.row, voters.step)
    else:
        np.add.at(moves, (voters.up, voters.row), voters.step)
        np.subtract.at(moves, (voters.down, voters.row), voters.step)
    return moves


def vote_outputs(model: Any, X: Any) -> list[Output | Labels]:
    """Expected vote shares; a voter whose score is within rounding of zero may vote either way."""
    voters = _public(model)
    products = _products(X, voters.X) + float(voters.intercept)
    sizes = _products(abs(X), abs(voters.X)) + float(voters.intercept)
    terms = products[:, voters.row] * voters.step
    rounding = (X.shape[1] + len(voters.step) + 16.0) * unit_roundoff(np.float64)
    unit = rounding * np.cumsum(sizes[:, voters.row] * np.abs(voters.step), axis=1)
    total = max(float(voters.votes.sum()), 1e-300)
    if voters.classes == 2:
        scores = np.cumsum(terms, axis=1)
        unsure = (np.abs(scores) <= unit) @ voters.votes / total
        return [Output("decision_function", np.sign(scores) @ voters.votes / total, 2.0 * unsure + 1e-12)]
    each = np.zeros((voters.classes, *terms.shape))
    for k, (up, down) in enumerate(zip(voters.up, voters.down, strict=True)):
        each[up, :, k] += terms[:, k]
        each[down, :, k] -= terms[:, k]
    scores = np.cumsum(each, axis=2)
    first, second = np.sort(scores, axis=0)[[-1, -2]]
    unsure = ((first - second <= 2.0 * unit) @ voters.votes / total)[:, None]
    winner = np.argmax(scores, axis=0)
    shares = np.stack([(winner == c) @ voters.votes for c in range(voters.classes)], axis=1) / total
    return [Output("decision_function", shares, unsure + 1e-12)]


def _products(X: Any, Z: Any) -> Floats:
    X, Z = (part.toarray() if is_sparse(part) else np.asarray(part) for part in (X, Z))
    return X.astype(np.float64) @ Z.astype(np.float64).T


def _make_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Separation, Rows]:
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    label = label_indices(model.classes_, y, X)
    weight = weights_of_rows(model, label, validate_weights(sample_weight, X))
    return problem_of(model), as_rows(contiguous(X) if isinstance(X, np.ndarray) else X, label, weight)
