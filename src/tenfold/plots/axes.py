"""Access to matplotlib, which is imported when something is plotted."""

from typing import Any


def get_axes(ax: Any) -> tuple[Any, Any]:
    """The given axes, or new ones, and their figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'tenfold[plots]'. The data of a display are "
            "its attributes, which need no matplotlib."
        ) from None
    if ax is None:
        _, ax = plt.subplots()
    return ax, ax.figure


def colours(count: int) -> Any:
    """A colour map with the colours of matplotlib's lines."""
    from matplotlib.colors import ListedColormap

    return ListedColormap([f"C{k % 10}" for k in range(count)])


def label(ax: Any, x: str, y: str, title: str = "") -> None:
    ax.set(xlabel=x, ylabel=y)
    if title:
        ax.set_title(title)


def plain(values: Any) -> Any:
    """Arrays as lists, for JSON."""
    return values.tolist() if hasattr(values, "tolist") else values
