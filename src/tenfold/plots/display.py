"""What all displays share: numbers that are there without matplotlib, and the axes after a picture was drawn."""

from dataclasses import dataclass, field, fields
from typing import Any

from tenfold.plots.axes import plain


@dataclass
class Display:
    """Numbers, and the picture of them once `plot` was called.

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
    """The class at the end of a pipeline."""
    return type(last_of(estimator)).__name__


def last_of(estimator: Any) -> Any:
    """The estimator at the end of a pipeline, or itself."""
    steps = getattr(estimator, "steps", None)
    return last_of(steps[-1][1]) if steps else estimator
