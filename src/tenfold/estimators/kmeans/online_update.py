"""The base of mini-batch and online k-means."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, contiguous, wide
from tenfold.data import Rows, Table
from tenfold.estimators.kmeans.centroid_model import CentroidModel, require_rows
from tenfold.estimators.parameters import check_parameters
from tenfold.estimators.validation import as_rows_without_target, convert_like, validate_more_rows, validate_weights
from tenfold.plans import kmeans
from tenfold.plans import minibatch_kmeans as plan

REPORT_ONLY = {
    "counts_": "the weight of the samples that each centre has had on its way; partial_fit goes on with it",
    "n_iter_": "how often as many samples as there are were seen",
    "n_steps_": "how many batches were seen",
}


class OnlineKMeansBase(CentroidModel):
    """A model with centres and the weight of the samples that each has had, `counts_` (k,)."""

    counts_: Any

    def _more(self, X: Any, sample_weight: Any) -> tuple[bool, Array, Any]:
        """Whether the samples of `partial_fit` are the first, the samples, and their weights."""
        check_parameters(self, self._constraints)
        first = not hasattr(self, "cluster_centers_")
        X = validate_more_rows(self, X, first=first)
        weight = validate_weights(sample_weight, X)
        if first:
            require_rows(X, self.n_clusters, weight)
        return first, X, weight

    def _rows(self, X: Array, weight: Any) -> Rows:
        return as_rows_without_target(X if isinstance(X, Table) else contiguous(X), weight)

    def _start_from(self, start: Any) -> plan.Centres:
        """Centres that have had no samples."""
        return plan.Centres(np.ascontiguousarray(start, dtype=np.float64), np.zeros(self.n_clusters))

    def _current(self) -> plan.Centres:
        return plan.Centres(wide(self.cluster_centers_), self.counts_)

    def _store(self, result: plan.Centres, rows: Rows, X: Array, weight: Any, what: str, labels: bool = True) -> None:
        """Set centres and counts, and with `labels` the nearest centre of each sample and the energy; `what` they
        follow is the reason why they are not judged.
        """
        self.cluster_centers_, self.counts_ = convert_like(result.values, X), result.counts
        if labels:
            self.labels_, self.inertia_ = kmeans.label_samples(rows, weight, wide(self.cluster_centers_))
        self.certificate_ = plan.leave_unjudged(what)
