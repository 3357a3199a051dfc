"""Where the data are. Solvers see only `Rows`, so how data are stored is not an axis of the code."""

from tenfold.arrays import NotFinite
from tenfold.data.batches import BatchRows
from tenfold.data.bias_column import WithConstant, with_constant
from tenfold.data.blocks import (
    Block,
    Deferred,
    MaybeDeferred,
    Rows,
    Statistic,
    block_length,
    column_summary,
    fold_together,
    is_near,
    is_small_dense,
    resolve,
    sampling_step,
    targets_of,
    weights_of,
)
from tenfold.data.mapped import MappedRows
from tenfold.data.memory import MemoryRows
from tenfold.data.passes import BudgetSpent, limit_passes
from tenfold.data.sequences import Sequences
from tenfold.data.table import Table

__all__ = [
    "BatchRows",
    "Block",
    "BudgetSpent",
    "Deferred",
    "MappedRows",
    "MaybeDeferred",
    "MemoryRows",
    "NotFinite",
    "Rows",
    "Sequences",
    "Statistic",
    "Table",
    "WithConstant",
    "block_length",
    "column_summary",
    "fold_together",
    "is_near",
    "is_small_dense",
    "limit_passes",
    "resolve",
    "sampling_step",
    "targets_of",
    "weights_of",
    "with_constant",
]
