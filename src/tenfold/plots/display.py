"""The base of all displays: data that need no matplotlib, and the axes after `plot`."""

from dataclasses import dataclass, field, fields
from typing import Any

from tenfold.plots.axes import plain


@dataclass
class Display:
    """Data of a plot, and its axes once `plot` was called.

    Attributes
    ----------
    ax_, figure_ : matplotlib's, after `plot`.
    """

    ax_: Any = field(default=None, init=False, repr=False, compare=False)
    figure_: Any = field(default=None, init=False, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, for JSON."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self) if one.init}


def name_of(estimator: Any) -> str:
    """The class name of the last step of a pipeline."""
    return type(last_step(estimator)).__name__


def last_step(estimator: Any) -> Any:
    """The estimator at the end of a pipeline, or itself."""
    steps = getattr(estimator, "steps", None)
    return last_step(steps[-1][1]) if steps else estimator
