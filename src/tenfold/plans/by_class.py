"""What the plans of classifiers share that are read off sums of the rows of each class."""

PARTS = "Judged from the sums of the parts: their rows are gone."
"""The note of a certificate of sums that came in parts."""


class TooFewRows(ValueError):
    """Some class has too few rows for an estimate."""
