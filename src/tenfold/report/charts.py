"""The charts of a run, from its record, each with a caption."""

from collections.abc import Callable, Mapping
from typing import Any

from tenfold.report.formatting import format_number, format_share
from tenfold.report.svg import Chart, Mark

Record = Mapping[str, Any]


def pictures(record: Record) -> list[dict[str, str]]:
    """All charts whose data are in the record, in the order of `DRAWN`."""
    held: Record = record.get("pictures", {})
    drawn = []
    for name, (draw, caption) in DRAWN.items():
        if held.get(name):
            chart = draw(held[name])
            drawn.append({"title": chart.title, "svg": chart.svg(), "caption": held[name].get("caption") or caption})
    return drawn


def draw_predicted(held: Record, target: str) -> Chart:
    """The true target against the predicted one."""
    true = [p + r for p, r in zip(held["predicted"], held["residual"], strict=True)]
    ends = (min(*held["predicted"], *true), max(*held["predicted"], *true))
    rows = held.get("rows") or [None] * len(true)
    hints = [
        f"{'' if row is None else f'row {row:,}: '}{format_number(t)}, predicted {format_number(p)}"
        for row, t, p in zip(rows, true, held["predicted"], strict=True)
    ]
    marks = [Mark("points", held["predicted"], true, hints=hints), Mark("dashes", ends, ends)]
    words = f"True {target} against predicted, {len(true):,} held-out samples; on the dashed line both are equal."
    return Chart(f"{target}: predicted and true", "predicted", "true", marks, words)


def draw_score_histogram(held: Record) -> Chart:
    """The scores of the two classes."""
    marks = [
        Mark("bars", held["edges"], shares, label=f"{name} ({count:,})", tone=tone)
        for tone, (name, shares, count) in enumerate(zip(held["classes"], held["shares"], held["counts"], strict=True))
    ]
    words = f"Distribution of the {held['x_name']} on held-out samples, one histogram for each true class."
    return Chart("How well the classes separate", held["x_name"], "share of the class", marks, words)


def draw_map(held: Record) -> Chart:
    """The samples in the plane of the first two components, coloured by cluster."""
    cluster = held.get("cluster") or [0] * len(held["x"])
    marks = []
    for tone, name in enumerate(sorted(set(cluster))):
        own = [i for i, label in enumerate(cluster) if label == name]
        hints = [f"row {held['rows'][i]:,}" for i in own]
        label = f"cluster {name}" if held.get("cluster") else ""
        x, y = [held["x"][i] for i in own], [held["y"][i] for i in own]
        marks.append(Mark("points", x, y, label=label, tone=tone, hints=hints))
    first, second = (format_share(share) for share in held["shares"])
    words = f"{len(cluster):,} samples by their first two components, coloured by cluster."
    return Chart("Map of the samples", f"component 1 ({first})", f"component 2 ({second})", marks, words)


def draw_curve(held: Record, metric: Record) -> Chart:
    """Scores by numbers of training samples, and the extrapolation to twice as many."""
    sign = -1.0 if metric["better"] == "smaller" else 1.0
    end = held["scores"][-1]
    beyond = [end + sign * gain for gain in held["gains"]]
    folds = [Mark("line", held["sizes"], fold, tone=7) for fold in held["of_folds"] if len(held["of_folds"]) > 1]
    marks = [*folds, Mark("line", held["sizes"], held["scores"]), Mark("points", held["sizes"], held["scores"])]
    marks.append(Mark("dashes", held["beyond"], beyond))
    shown = "; ".join(f"{n:,.0f}: {format_number(s)}" for n, s in zip(held["sizes"], held["scores"], strict=True))
    words = f"{metric['words']} by training samples: {shown}. Dashed: extrapolated."
    return Chart("Learning curve", "training samples", metric["words"], marks, words, log_x=True)


def _roc(held: Record) -> Chart:
    multiple = len(held["curves"]) > 1
    marks = [
        Mark("dashes", (0, 1), (0, 1)),
        *(
            Mark("line", curve["x"], curve["y"], label=curve["label"] if multiple else "", tone=k if multiple else None)
            for k, curve in enumerate(held["curves"])
        ),
    ]
    words = "True positive rate against false positive rate; the diagonal is guessing."
    return Chart("ROC curve", "false positive rate", "true positive rate", marks, words, square=True)


def _precision_recall(held: Record) -> Chart:
    share = held["prevalence"]
    marks = [Mark("dashes", (0, 1), (share, share)), Mark("line", held["recall"], held["precision"])]
    words = f"Precision against recall of {held['class']}; the dashed line is its share, {format_share(share)}."
    return Chart("Precision and recall", "recall", "precision", marks, words, square=True)


def _reliability(held: Record) -> Chart:
    marks = [
        Mark("dashes", (0, 1), (0, 1)),
        Mark("intervals", held["said"], held["low"], held["high"]),
        Mark("points", held["said"], held["seen"]),
    ]
    words = "Observed share against predicted probability, with exact intervals; the diagonal is perfect."
    return Chart("Calibration", "predicted probability", "observed share", marks, words, square=True)


def _residuals(held: Record) -> Chart:
    ends = (min(held["predicted"]), max(held["predicted"]))
    marks = [Mark("points", held["predicted"], held["residual"]), Mark("dashes", ends, (0, 0))]
    words = f"Residuals of {len(held['predicted']):,} held-out samples against the prediction."
    return Chart("Residuals", "predicted", "true minus predicted", marks, words)


def _errors(held: Record) -> Chart:
    marks = [Mark("line", held["x"], held["y"])]
    if held.get("chosen") is not None:
        marks.append(Mark("dashes", (held["chosen"],) * 2, (min(held["y"]), max(held["y"]))))
    words = f"{held['y_name']} for every {held['x_name']} tried; the dashed line is the one chosen."
    return Chart(held["title"], held["x_name"], held["y_name"], marks, words, log_x=held["log"])


def _kernel_plane(held: Record) -> Chart:
    marks = [Mark("points", held["x"], held["y"])]
    words = f"{len(held['x']):,} samples by their first two components in the feature space of a kernel."
    return Chart("Kernel components", "component 1", "component 2", marks, words)


def _path(held: Record) -> Chart:
    marks = [Mark("line", held["x"], curve, tone=k) for k, curve in enumerate(held["curves"])]
    words = f"Weights of the {len(held['curves'])} largest features along the penalty."
    return Chart("Path of the weights", held["x_name"], "weight", marks, words, log_x=True)


def _plane(held: Record) -> Chart:
    marks = []
    for tone, (name, x, y) in enumerate(held["classes"]):
        marks.append(Mark("points", x, y, label=name, tone=tone))
    for tone, (name, x, y) in enumerate(held["support"], 2):
        marks.append(Mark("rings", x, y, label=f"{name} ({len(x):,})", tone=tone))
    for level, (x, y) in enumerate(held["lines"]):
        marks.append(Mark("pieces", x, y, tone=7 if level else None))
    words = f"{held['y_name']} against {held['x_name']}, with the boundary, the margins and the support vectors."
    return Chart("Boundary and support vectors", held["x_name"], held["y_name"], marks, words)


def _learning(held: Record) -> Chart:
    words = f"The loss over {held['x'][-1]:,} epochs or iterations of the fit."
    return Chart("Learning curve", "epoch", "loss", [Mark("line", held["x"], held["y"])], words)


def _spectrum(held: Record) -> Chart:
    marks = [Mark("line", held["x"], held["y"]), Mark("points", held["x"], held["y"])]
    return Chart(held["title"], held["x_name"], held["y_name"], marks, held.get("caption", ""))


def _dendrogram(held: Record) -> Chart:
    x = [held["x"][i][j + end] for i in range(len(held["x"])) for j in range(3) for end in range(2)]
    y = [held["y"][i][j + end] for i in range(len(held["y"])) for j in range(3) for end in range(2)]
    marks = [Mark("pieces", x, y)]
    if held["cut"] is not None and x:
        marks.append(Mark("dashes", (min(x), max(x)), (held["cut"],) * 2))
    words = "The tree of merged clusters: a bracket joins two of them at their distance."
    return Chart("Dendrogram", "clusters of rows, side by side", "distance", marks, words)


DRAWN: dict[str, tuple[Callable[[Record], Chart], str]] = {
    "roc": (_roc, "True positives for false positives, on held-out samples. The diagonal is guessing."),
    "precision_recall": (_precision_recall, "On held-out samples. The dashed line is guessing."),
    "reliability": (_reliability, "Predicted probabilities and how often they came true, with exact intervals."),
    "residuals": (_residuals, "Held-out samples. A trend or a funnel means that something is left to explain."),
    "errors": (_errors, "Error of every value tried; the dashed line is the one chosen."),
    "eigenvalues": (_errors, "Eigenvalues of the Laplacian of the neighbours; the dashed line is before the gap."),
    "parts": (_errors, "Variance held by sums of so many non-negative parts; the dashed line is the number chosen."),
    "dendrogram": (_dendrogram, "Clusters that are merged, and their distances; the dashed line leaves the clusters."),
    "criterion": (_errors, "The criterion of every value tried; the dashed line is the one chosen."),
    "path": (_path, "How the weights of standardised features shrink as the penalty grows."),
    "learning": (
        _learning,
        "The loss on the samples of the fit, epoch by epoch; a curve that still falls has not converged.",
    ),
    "plane": (_plane, "The boundary, the margins beside it, and the samples that carry it: free ones are on a margin."),
    "kernel_plane": (_kernel_plane, "The first two components in the feature space of a Gaussian kernel."),
    "spectrum": (_spectrum, "Variance by direction."),
}
