"""What a class says of itself, once.

The public names of the package, `certify`, files of models, leaderboards, the tables of the documentation and the tests
are made from the one `_registration` of each class: a new method is entered in no other list.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, get_args

import tenfold
from tenfold.arrays import is_array_api, is_dask, is_sparse
from tenfold.data import Table
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.schema import Check, Rule

Source = Literal["arrays", "sparse", "files", "Dask", "devices"]
Reads = Literal["one pass", "two passes", "three passes", "a pass a step", "in order", "random batches", "in memory"]
Kind = Literal["residual", "gap", "stationarity", "exact", "spectral", "fixed point", "count"]

SOURCES: dict[Source, str] = {
    "arrays": "NumPy arrays and memory maps",
    "sparse": "SciPy's sparse matrices and arrays",
    "files": "Parquet, CSV, Arrow and .npy files, frames, iterables (`tenfold.rows`)",
    "Dask": "Dask arrays and data frames",
    "devices": "torch (CPU and CUDA), CuPy, and every library of the Array API",
}
"""Where samples may be."""


def source_of(X: Any) -> Source:
    """Where these samples are."""
    if is_dask(X):
        return "Dask"
    if is_array_api(X):
        return "devices"
    if isinstance(X, Table):
        return "files"
    return "sparse" if is_sparse(X) else "arrays"


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What a class says of itself.

    Attributes
    ----------
    method : the method in words
    texts : sections of the texts, by their letter and number; none for what completes a family
    peer : the module of scikit-learn that has the class of the same name; empty where there is none
    reads : how `fit` reads the samples; two where the shape of the data decides
    where : where the samples may be
    instead : what to do with samples that are elsewhere, in a sentence
    certificate : the kind of the certificate; two where the parameters decide, none where nothing is minimised
    judged : whether `fit` has the result judged; else `certify` does, on demand
    judge : the function that judges a fitted model, as "module.function" of `tenfold.certification`
    outputs : likewise, what the methods of a model return, from its judged arrays; empty where the judge asks for them
    choice : likewise, why what a model has chosen is not the best of its scores; empty where nothing is chosen
    offset : whether `fit` takes a known part of the raw predictions
    report_only : fitted attributes that are not judged, as no method reads them, each with the reason
    peer_report_only : those that only scikit-learn's class has
    stored : what fitted attributes must be in a file, where that is not what `persist.ours` says of their names
    rules : what must hold of several attributes of a file together, each in words
    derived : attributes that are not in a file, and how they are made from the others
    board : how the class enters leaderboards; None where it does not
    """

    method: str
    texts: tuple[str, ...]
    peer: str = ""
    reads: tuple[Reads, ...]
    where: tuple[Source, ...] = get_args(Source)
    instead: str = ""
    certificate: tuple[Kind, ...]
    judged: bool = True
    judge: str
    outputs: str = ""
    choice: str = ""
    offset: bool = False
    report_only: Mapping[str, str] = field(default_factory=dict)
    peer_report_only: Mapping[str, str] = field(default_factory=dict)
    stored: Mapping[str, Check] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    board: Entry | None = None

    def peer_class(self, name: str) -> Any:
        """scikit-learn's class of this name, or None."""
        return getattr(import_module(self.peer), name) if self.peer else None

    def refuse(self, name: str, X: Any) -> None:
        """Refuse samples that are where the class does not read them."""
        source = source_of(X)
        if source not in self.where:
            read = ", ".join(SOURCES[where] for where in self.where)
            raise TypeError(f"{name} does not read {SOURCES[source]}; it reads {read}. {self.instead}".rstrip())


def registration_of(cls: type) -> Registration | None:
    """What a class says of itself; None of one that says nothing, such as a subclass of a class that does."""
    return vars(cls).get("_registration")


def registered() -> dict[str, Any]:
    """All public estimators by their names; each is imported."""
    return {name: getattr(tenfold, name) for name in tenfold.ESTIMATORS}
