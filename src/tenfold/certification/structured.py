"""Tags of sequences: the wrong ones of the fitted model, counted again."""

from typing import Any

from tenfold.certification.models import status
from tenfold.estimators.structured import flat_tags, numbers_of, weights_of, weights_of_sequences
from tenfold.judge import Certificate, count_tags


def tagger(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    tokens = model._known(X)
    number = numbers_of(model, flat_tags(y, tokens))
    sequences = tokens.tagged(number, weights_of_sequences(sample_weight, tokens))
    return count_tags(sequences, weights_of(model), status=status(model))


JUDGES = {"StructuredPerceptron": tagger}
