"""What a fitted model of a class must be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tenfold.persist.checks import Check, mapping, names, text, whole

Rule = Callable[[Any], bool]


@dataclass(frozen=True)
class Schema:
    """What a fitted model of a class must be.

    Attributes
    ----------
    attributes : the check of each attribute, in the order in which they are made.
    rules : what must hold of several attributes together, each in words.
    derived : attributes that are not in the file, and how they are made from the others.
    """

    attributes: Mapping[str, Check]
    rules: Mapping[str, Rule] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


ANY = {
    "n_features_in_": whole(0, size="p"),
    "feature_names_in_": names("p"),
    "_sklearn_output_config": mapping(text(), text()),
}
"""What every estimator may have."""
