"""Mixin of classes with cross-validation: the splits, and the routing of metadata to the splitter."""

import numbers
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from tenfold.arrays import Array, is_array_api, on_host
from tenfold.cross_validation.ridge_kfold import Split
from tenfold.data import MemoryRows, Rows
from tenfold.estimators.validation import check_no_extra_params


class ByFolds:
    """A class with a parameter `cv`."""

    cv: Any

    def _splits(self, rows: Rows, y: Array, params: dict[str, Any]) -> list[Split]:
        """The splits of the samples; `params` are for the splitter."""
        if not get_config()["enable_metadata_routing"]:
            check_no_extra_params(self, params)
        routed = process_routing(self, "fit", **params).splitter.split if params else {}
        if is_array_api(y):
            # folds of consecutive or shuffled samples need no more than their number
            blind = self.cv is None or isinstance(self.cv, (numbers.Integral, KFold))
            y = None if blind else on_host(y)
        given = check_cv(self.cv, y, classifier=False).split(_as_given(rows), y, **routed)
        return [Split.of(train, test, rows.shape[0]) for train, test in given]

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata for `fit` and for the splitter."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )


def _as_given(rows: Rows) -> Array:
    """X for a splitter: splitters count its samples, and few look at more."""
    return rows.whole().X if isinstance(rows, MemoryRows) and not rows.on_device else np.zeros((rows.shape[0], 1))
