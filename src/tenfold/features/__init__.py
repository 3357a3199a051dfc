"""Tables of mixed types: reading them, what their columns are, and their encoding as numbers."""

from tenfold.features.blocks import CountBins, DateParts, Levels, Numbers, Ranks, TargetMeans
from tenfold.features.encoder import TableEncoder
from tenfold.features.faults import Decision, TableError
from tenfold.features.kinds import ColumnType, Schema, infer_schema
from tenfold.features.reading import Reading, read_table
from tenfold.features.task import Target, infer_task, split_target
from tenfold.features.text import Texts, text_vectoriser

__all__ = [
    "ColumnType",
    "CountBins",
    "DateParts",
    "Decision",
    "Levels",
    "Numbers",
    "Ranks",
    "Reading",
    "Schema",
    "TableEncoder",
    "TableError",
    "Target",
    "TargetMeans",
    "Texts",
    "infer_schema",
    "infer_task",
    "read_table",
    "split_target",
    "text_vectoriser",
]
