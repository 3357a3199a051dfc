"""Whether the selection of cross-validation is the best by the stored errors."""

from tenfold.arrays import Floats

ROUNDING = 1e-12  # relative difference of means that may be due to another order of summation


def is_first_best(errors: Floats, taken: int) -> bool:
    """Whether the mean of the errors (candidates, folds) of one candidate is the smallest, and no candidate before it
    has the very same errors. Folds without any error do not count.
    """
    errors = errors[:, (errors == errors).any(axis=0)]
    mean = errors.mean(axis=1)
    best = bool(mean[taken] <= mean.min() * (1.0 + ROUNDING))
    return best and not (errors[:taken] == errors[taken]).all(axis=1).any()
