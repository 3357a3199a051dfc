"""Certification of sequence labelling: the wrong tags of the fitted model."""

from typing import Any

import numpy as np

from tenfold.certification.class_scores import check_classes
from tenfold.certification.models import fit_status
from tenfold.certification.outputs import MAX_SAMPLES
from tenfold.estimators.structured import flat_tags, numbers_of, tokens_of, weights_of, weights_of_sequences
from tenfold.judge.certificate import Certificate
from tenfold.judge.viterbi import count_tags


def tagger(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    check_classes(model)
    tokens = tokens_of(model, X)
    number = numbers_of(model, flat_tags(y, tokens))
    sequences = tokens.with_tags(number, weights_of_sequences(sample_weight, tokens))
    return count_tags(sequences, weights_of(model), status=fit_status(model))


def check_tags(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Check the tags that the model predicts, which must be right where the judge finds no wrong one."""
    tokens = tokens_of(model, X)
    some = tokens.with_tags(
        numbers_of(model, flat_tags(y, tokens)), weights_of_sequences(sample_weight, tokens)
    ).counted
    own = model.predict([X[i] for i in some[:MAX_SAMPLES]])
    same = all(np.array_equal(tags, np.asarray(y[i])) for i, tags in zip(some[:MAX_SAMPLES], own, strict=True))
    return "" if same else "StructuredPerceptron.predict does not return the best tags of the fitted arrays."
