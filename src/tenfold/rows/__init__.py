"""Where the data are. Solvers see only `Rows`, so how data are stored is not an axis of the code."""

from tenfold.rows.blocks import Block, NotFinite, Rows, Statistic, block_length
from tenfold.rows.memory import MemoryRows

__all__ = ["Block", "MemoryRows", "NotFinite", "Rows", "Statistic", "block_length"]
