"""What tests share: hypothesis that repeats itself, and which cases the default run takes."""

import os
import signal
import sys
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# Idle threads of OpenMP and OpenBLAS sleep at once instead of spinning for milliseconds: with a process on each core
# spinning is half of the CPU time. Set before these libraries are loaded; worker processes inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

settings.register_profile(
    "default", derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough", derandomize=True, max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("TENFOLD_HYPOTHESIS", "default"))


def pytest_configure():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells have it for what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_protocol(item, nextitem):
    """Report the call of a test, and of its setup and teardown failures alone: a report costs a millisecond to send."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def warning_of(item):
    """How a warning begins that the estimator of this test may give, or nothing."""
    from estimators import row_of

    given = getattr(item, "callspec", None)
    row, estimator = (given.params.get(name) if given else None for name in ("row", "estimator"))
    if estimator is not None:
        row = row_of(type(estimator).__name__)
    return getattr(row, "warns", "")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    from design import first_of_each_class, is_possible, select_covering

    items[:] = [item for item in items if is_possible(item)]
    for item in items:
        if beginning := warning_of(item):
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{beginning}"))
    tests = {}
    for item in filter(is_product, items):
        tests.setdefault((item.path, item.originalname), []).append(item)
    for cases in tests.values():
        once = cases[0].get_closest_marker("once_a_class") is not None
        default = select_covering(first_of_each_class(cases) if once else cases)
        for item in cases:
            if item not in default:
                item.add_marker(pytest.mark.product)


def is_product(item):
    """Whether a test is asked of many rows in many ways: the tests of equivalence, and those that say so."""
    if not hasattr(item, "callspec") or item.get_closest_marker("slow") is not None:
        return False
    marked = any(item.get_closest_marker(name) for name in ("covering", "once_a_class"))
    return marked or item.path.parent == HERE / "equivalence"
