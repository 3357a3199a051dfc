"""Joint distributions of finitely many variables with finitely many values each."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Floats


@dataclass(frozen=True)
class JointTable:
    """A joint distribution P(A, B, ...) as a table of probabilities.

    Parameters
    ----------
    variables : dict of str to sequence
        The values of each variable by its name, in the order of the axes.
    probabilities : array-like
        The table, one axis a variable; not negative, with sum one.

    Attributes
    ----------
    names : tuple of str
        The variables.

    Examples
    --------
    A red box has two apples and six oranges, a blue box three apples and one orange; the red box is taken in four of
    ten cases. An orange was drawn: which box was it from?

    >>> from tenfold.distributions import JointTable
    >>> boxes = JointTable({"box": ("red", "blue")}, [0.4, 0.6])
    >>> fruit = boxes.extend("fruit", ("apple", "orange"), [[1 / 4, 3 / 4], [3 / 4, 1 / 4]])
    >>> round(fruit.probability(fruit="orange"), 3)
    0.45
    >>> fruit.condition(fruit="orange").probabilities.round(3)
    array([0.667, 0.333])
    """

    variables: Mapping[str, Sequence[Hashable]]
    probabilities: Floats

    def __post_init__(self) -> None:
        table = np.asarray(self.probabilities, dtype=np.float64)
        object.__setattr__(self, "probabilities", table)
        shape = tuple(len(values) for values in self.variables.values())
        if table.shape != shape:
            raise ValueError(f"The table must have the shape {shape} of the variables, got {table.shape}.")
        for name, values in self.variables.items():
            if len(set(values)) != len(values):
                raise ValueError(f"The values of {name!r} are not distinct.")
        if not np.all(table >= 0.0) or not abs(float(np.sum(table)) - 1.0) <= 1e-9:
            raise ValueError(f"Probabilities must not be negative, and their sum one; it is {np.sum(table):.9g}.")

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in the order of the axes."""
        return tuple(self.variables)

    @classmethod
    def of_counts(cls, variables: Mapping[str, Sequence[Hashable]], counts: Any) -> "JointTable":
        """The relative frequencies of a table of `counts` of these `variables`."""
        counts = np.asarray(counts, dtype=np.float64)
        total = float(np.sum(counts))
        if not total > 0.0 or not np.all(counts >= 0.0):
            raise ValueError("Counts must not be negative, and some positive.")
        return cls(variables, counts / total)

    def extend(self, name: str, values: Sequence[Hashable], conditional: Any) -> "JointTable":
        """The product rule: with one more variable of this `name` and these `values`, whose probabilities given all
        others are `conditional`, an axis longer than the table.
        """
        if name in self.variables:
            raise ValueError(f"The table has a variable {name!r} already.")
        conditional = np.broadcast_to(
            np.asarray(conditional, dtype=np.float64), (*self.probabilities.shape, len(values))
        )
        if not np.allclose(np.sum(conditional, axis=-1), 1.0, atol=1e-9) or np.any(conditional < 0.0):
            raise ValueError(f"The probabilities of {name!r} must sum to one for all values of the others.")
        return JointTable({**self.variables, name: tuple(values)}, self.probabilities[..., None] * conditional)

    def _axis(self, name: str) -> int:
        if name not in self.variables:
            raise ValueError(f"The table has no variable {name!r}; it has {', '.join(self.names)}.")
        return self.names.index(name)

    def marginal(self, *names: str) -> "JointTable":
        """The sum rule: the distribution of the variables of these `names`, in this order."""
        axes = [self._axis(name) for name in names]
        others = tuple(axis for axis in range(len(self.names)) if axis not in axes)
        table = np.transpose(np.sum(self.probabilities, axis=others), np.argsort(np.argsort(axes)))
        return JointTable({name: self.variables[name] for name in names}, table)

    def _slice(self, evidence: Mapping[str, Any]) -> Floats:
        place: list[Any] = [slice(None)] * len(self.names)
        for name, value in evidence.items():
            axis = self._axis(name)
            if value not in self.variables[name]:
                raise ValueError(
                    f"{name!r} has no value {value!r}; it has {', '.join(map(str, self.variables[name]))}."
                )
            place[axis] = list(self.variables[name]).index(value)
        return self.probabilities[tuple(place)]

    def probability(self, **evidence: Any) -> float:
        """The probability that variables have these values, `evidence` by name."""
        return float(np.sum(self._slice(evidence)))

    def condition(self, **evidence: Any) -> "JointTable":
        """Bayes' rule: the distribution of the other variables given these values, `evidence` by name."""
        part = self._slice(evidence)
        total = float(np.sum(part))
        if total == 0.0:
            raise ValueError(f"The condition {evidence} has probability zero.")
        return JointTable({name: self.variables[name] for name in self.names if name not in evidence}, part / total)

    def mutual_information(self, one: str, other: str, given: Sequence[str] = ()) -> float:
        """I(one; other | given) in nats: zero where both are independent given the variables `given`."""
        table = self.marginal(*given, one, other).probabilities
        axes = table.ndim
        whole = np.sum(table, axis=(axes - 2, axes - 1), keepdims=True)
        sides = np.sum(table, axis=-1, keepdims=True) * np.sum(table, axis=-2, keepdims=True)
        inside = table > 0.0
        ratio = (table * whole)[inside] / np.broadcast_to(sides, table.shape)[inside]
        return max(0.0, float(np.sum(table[inside] * np.log(ratio))))

    def is_independent(self, one: str, other: str, given: Sequence[str] = (), *, tol: float = 1e-9) -> bool:
        """Whether P(one, other | given) = P(one | given) P(other | given), up to `tol` in each probability."""
        table = self.marginal(*given, one, other).probabilities
        whole = np.sum(table, axis=(-2, -1), keepdims=True)
        sides = np.sum(table, axis=-1, keepdims=True) * np.sum(table, axis=-2, keepdims=True)
        return bool(np.all(np.abs(table * whole - sides) <= tol))

    def entropy(self) -> float:
        """-sum p log p in nats."""
        p = self.probabilities[self.probabilities > 0.0]
        return float(-np.sum(p * np.log(p)))

    def mode(self) -> dict[str, Any]:
        """The most probable values by name; of several the first."""
        place = np.unravel_index(int(np.argmax(self.probabilities)), self.probabilities.shape)
        return {name: self.variables[name][int(i)] for name, i in zip(self.names, place, strict=True)}

    def sample(self, n_samples: int = 1, random_state: Any = None) -> list[tuple[Any, ...]]:
        """`n_samples` draws, tuples of the values; `random_state` is the seed."""
        random = check_random_state(random_state)
        flat = random.choice(self.probabilities.size, size=n_samples, p=self.probabilities.ravel())
        places = np.unravel_index(flat, self.probabilities.shape)
        axes = [[self.variables[name][int(i)] for i in place] for name, place in zip(self.names, places, strict=True)]
        return list(zip(*axes, strict=True))
