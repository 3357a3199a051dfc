"""What tests share: the table of estimators, hypothesis repeats itself, equivalence rotates by the day."""

import os
import signal
import sys
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

settings.register_profile(
    "default", derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough", derandomize=True, max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("TENFOLD_HYPOTHESIS", "default"))

ROTATION = "TENFOLD_ROTATION"
"""The fifth (0 to 4) of the equivalence tests that a default run takes, or "all"; by the day of the year if not set."""


def pytest_configure(config):
    # in the environment, so that parallel workers take the same fifth
    os.environ.setdefault(ROTATION, str(time.localtime().tm_yday % 5))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells have it for what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


def expected(item):
    """How a warning begins that the estimator of this test may give, or nothing."""
    from estimators import TABLE

    given = getattr(item, "callspec", None)
    row, estimator = (given.params.get(name) if given else None for name in ("row", "estimator"))
    if estimator is not None:
        row = next((row for row in TABLE if row.name == type(estimator).__name__), None)
    return getattr(row, "warns", "")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if beginning := expected(item):
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{beginning}"))
    turn = os.environ[ROTATION]
    if turn == "all":
        return
    for item in items:
        inside = (HERE / "equivalence") in item.path.parents
        if inside and zlib.crc32(item.nodeid.encode()) % 5 != int(turn) % 5:
            item.add_marker(pytest.mark.slow)
