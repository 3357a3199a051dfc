"""The one way to matplotlib, which is imported when something is drawn and not before."""

from typing import Any


def axes_of(ax: Any) -> tuple[Any, Any]:
    """The axes that are given, or new ones, and their figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Pictures are drawn with matplotlib, which is not installed: pip install 'tenfold[plots]'. The numbers of "
            "a display are its attributes, which need nothing."
        ) from None
    if ax is None:
        _, ax = plt.subplots()
    return ax, ax.figure


def colours(count: int) -> Any:
    """As many colours, those of matplotlib's lines."""
    from matplotlib.colors import ListedColormap

    return ListedColormap([f"C{k % 10}" for k in range(count)])


def label(ax: Any, x: str, y: str, title: str = "") -> None:
    ax.set(xlabel=x, ylabel=y)
    if title:
        ax.set_title(title)


def plain(values: Any) -> Any:
    """Arrays as lists, for JSON."""
    return values.tolist() if hasattr(values, "tolist") else values
