"""Makes the strategies of `rows_of_numbers` importable by the laws beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
