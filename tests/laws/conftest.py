"""Makes the strategies of `block_strategies` importable by the laws beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
