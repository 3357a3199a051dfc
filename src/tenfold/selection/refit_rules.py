"""Which setting is refitted: the best, or the simplest within one standard error of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tenfold.arrays import Floats

# parameters of which larger (+1) or smaller (-1) values make a simpler model
SIMPLER_SIGN = {
    "C": -1,
    "alpha": 1,
    "bandwidth": 1,
    "degree": -1,
    "gamma": -1,
    "k": -1,
    "max_depth": -1,
    "max_features": -1,
    "max_leaf_nodes": -1,
    "min_samples_leaf": 1,
    "n_components": -1,
    "n_neighbors": 1,
    "n_nonzero_coefs": -1,
    "shrink_threshold": 1,
    "shrinkage": 1,
    "var_smoothing": 1,
}

Simplicity = Callable[[Mapping[str, Any]], Any] | str | Sequence[str] | None


def one_standard_error(results: Any, simplicity: Simplicity = None) -> int:
    """The number of the simplest setting whose mean score is within one standard error of the best.

    Parameters
    ----------
    results : array-like of shape (n_settings, n_folds) or dict
        Scores, larger is better; or `cv_results_` of a search, ours or scikit-learn's. A setting with nan is never
        taken; of a search, folds that no setting was scored in do not count.
    simplicity : str, list of str, callable or None, default=None
        Of a search, names of parameters, the most important first: larger values are simpler, with a minus sign smaller
        ones; None as a value is larger than any number. Or a function of a setting, a dict, larger is simpler. None
        takes the names that are known. An array takes None alone: its rows are in order, the simplest first.

    Returns
    -------
    int
        Index of the setting, from 0; of equally simple ones that with the largest mean score.

    Raises
    ------
    ValueError
        Where no setting has a score in every fold; where scores are no table; where `simplicity` is given for an array,
        or names a parameter that no setting has; and where it is None and settings differ in a parameter that is not
        known.

    Notes
    -----
    The standard error is that of the best setting's mean: the standard deviation over folds (n - 1) over the root of
    their number, zero of a single fold. Larger is simpler for `alpha`, `bandwidth`, `min_samples_leaf`, `n_neighbors`,
    `shrink_threshold`, `shrinkage` and `var_smoothing`; smaller is simpler for `C`, `degree`, `gamma`, `k`,
    `max_depth`, `max_features`, `max_leaf_nodes`, `n_components` and `n_nonzero_coefs`; in pipelines, too. Nothing is
    fitted: one pass over the table of scores. Seeger, section 10.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.selection import one_standard_error
    >>> scores = np.array([[0.5, 0.6, 0.5], [0.8, 0.7, 0.9], [0.8, 0.7, 1.0]])  # from simple to complex
    >>> one_standard_error(scores)
    1
    """
    scores, settings = _table(results)
    mean = scores.mean(axis=1)
    if np.isnan(mean).all():
        raise ValueError("No setting has a score in every fold.")
    best = int(np.nanargmax(mean))
    folds = scores.shape[1]
    error = float(np.std(scores[best], ddof=1) / np.sqrt(folds)) if folds > 1 else 0.0
    near_best = np.flatnonzero(mean >= mean[best] - error)
    if settings is None and simplicity is None:
        return int(near_best[0])
    if settings is None:
        raise ValueError("An array of scores has no parameters: put its rows in order, the simplest first.")
    order = _order(settings, simplicity)
    return int(max(near_best, key=lambda place: (order(settings[place]), mean[place])))


def _table(results: Any) -> tuple[Floats, list[Mapping[str, Any]] | None]:
    if isinstance(results, Mapping):
        names = [name for name in results if name.startswith("split") and name.endswith("_test_score")]
        table = np.stack([np.asarray(results[name], dtype=np.float64) for name in names], axis=1)
        abandoned = np.asarray(results.get("abandoned_after", np.zeros(len(table))))
        # a search that ran out of time has folds in which not all settings were scored
        whole = np.isfinite(table[abandoned == 0]).any(axis=0)
        return table[:, whole], list(results["params"])
    scores = np.asarray(results, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(f"Scores have a row for each setting and a column for each fold, got shape {scores.shape}.")
    return scores, None


def _order(settings: list[Mapping[str, Any]], simplicity: Simplicity) -> Callable[[Mapping[str, Any]], Any]:
    """How simple a setting is, larger is simpler."""
    if callable(simplicity):
        return simplicity
    if simplicity is None:
        names = _parameter_signs(settings)
    else:
        given = [simplicity] if isinstance(simplicity, str) else list(simplicity)
        names = [(name.removeprefix("-"), -1 if name.startswith("-") else 1) for name in given]
        unknown = sorted({name for name, _ in names} - {name for setting in settings for name in setting})
        if unknown:
            raise ValueError(f"simplicity names {', '.join(unknown)}, which no setting has.")
    return lambda setting: tuple(_rank(setting.get(name), sign) for name, sign in names)


def _parameter_signs(settings: list[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """The parameters that differ between settings, with the sign of simplicity."""
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    varied = [name for name in names if len({repr(setting.get(name)) for setting in settings}) > 1]
    unknown = [name for name in varied if name.rpartition("__")[2] not in SIMPLER_SIGN]
    if unknown:
        raise ValueError(
            f"It is not known which values of {', '.join(unknown)} are simpler: say so by simplicity, a list of names, "
            "larger is simpler, with a minus sign smaller; or a function of the setting."
        )
    return [(name, SIMPLER_SIGN[name.rpartition("__")[2]]) for name in varied]


def _rank(value: Any, sign: int) -> float:
    """None is no limit: the largest number."""
    return sign * (np.inf if value is None else float(value))
