"""Tables of mixed types: reading, inference of column types, encoding as numbers, and checks of data."""

from tenfold.data.errors import Decision, TableError
from tenfold.features.categorical import Levels, TargetMeans
from tenfold.features.check import Finding, TableCheck, check_table
from tenfold.features.column_encoders import CountBins, DateParts, Numbers, Ranks
from tenfold.features.encoder import TableEncoder
from tenfold.features.profiles import profile
from tenfold.features.schema import ColumnType, Schema, infer_schema
from tenfold.features.sentinels import find_sentinels
from tenfold.features.table_reader import Reading, read_table
from tenfold.features.target import Target, infer_task, split_target
from tenfold.features.target_leakage import Suspect, suspects
from tenfold.features.text import Texts, count_vocabulary, text_vectoriser
from tenfold.features.vectorisers import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from tenfold.features.words import share_counts

__all__ = [
    "ColumnType",
    "CountBins",
    "CountVectorizer",
    "DateParts",
    "Decision",
    "Finding",
    "HashingVectorizer",
    "Levels",
    "Numbers",
    "Ranks",
    "Reading",
    "Schema",
    "Suspect",
    "TableCheck",
    "TableEncoder",
    "TableError",
    "Target",
    "TargetMeans",
    "Texts",
    "TfidfTransformer",
    "TfidfVectorizer",
    "check_table",
    "count_vocabulary",
    "find_sentinels",
    "infer_schema",
    "infer_task",
    "profile",
    "read_table",
    "share_counts",
    "split_target",
    "suspects",
    "text_vectoriser",
]
