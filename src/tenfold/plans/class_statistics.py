"""The note and the error that plans of class statistics share: naive Bayes, discriminants, nearest centroids."""

PARTS_NOTE = "Judged from the sums of the parts: their rows are gone."  # of certificates after a partial_fit


class TooFewSamples(ValueError):
    """Some class has too few samples for an estimate."""
