"""The loop: how it ends, what it remembers, and that an interrupted fit is a fit."""

import time

import numpy as np
import pytest

from tenfold.solvers.loop import Record, Status, Step, run
from tenfold.stats.derivatives import Params


def step(k, measure):
    return Step(Params(np.full((1, 1), float(k)), np.zeros(1)), 10.0 - k, measure)


def falling(last=100):
    """Measures 2^(3 - k): at most one from the step 3 on."""
    for k in range(last):
        yield step(k, 2.0 ** (3 - k))


def position(solution):
    return solution.params.coef[0, 0]


def test_converges_when_the_measure_is_at_most_one():
    solution = run(falling(), max_iter=50)
    assert solution.status is Status.CONVERGED
    assert position(solution) == 3.0
    assert solution.iterations == 3


def test_the_start_may_already_be_good_enough():
    solution = run(iter([step(0, 0.5)]), max_iter=50)
    assert solution.status is Status.CONVERGED
    assert solution.iterations == 0


def test_the_trace_has_a_line_for_the_start_and_each_step():
    solution = run(falling(), max_iter=50)
    assert [record.objective for record in solution.trace] == [10.0, 9.0, 8.0, 7.0]
    assert [record.measure for record in solution.trace] == [8.0, 4.0, 2.0, 1.0]
    seconds = [record.seconds for record in solution.trace]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0.0


@pytest.mark.parametrize("limit", [1, 2])
def test_the_iteration_limit(limit):
    solution = run(falling(), max_iter=limit)
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == limit
    assert position(solution) == limit


def test_converged_at_the_last_allowed_step():
    assert run(falling(), max_iter=3).status is Status.CONVERGED


def test_a_solver_that_ends_by_itself_has_stalled():
    solution = run(falling(last=2), max_iter=50)
    assert solution.status is Status.STALLED
    assert position(solution) == 1.0


def test_the_time_limit():
    def slow():
        for k in range(1000):
            time.sleep(0.02)
            yield step(k, 100.0)

    begin = time.perf_counter()
    solution = run(slow(), max_iter=10_000, time_limit=0.1)
    assert solution.status is Status.TIME_LIMIT
    assert time.perf_counter() - begin < 5.0
    assert 1 <= len(solution.trace) <= 20


def test_an_interrupted_run_keeps_the_last_complete_step():
    def interrupt():
        yield step(0, 8.0)
        yield step(1, 4.0)
        raise KeyboardInterrupt

    solution = run(interrupt(), max_iter=50)
    assert solution.status is Status.INTERRUPTED
    assert position(solution) == 1.0
    assert len(solution.trace) == 2


def test_an_interrupt_before_the_first_step_goes_through():
    def interrupt():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        run(interrupt(), max_iter=50)


def test_other_errors_go_through():
    def broken():
        yield step(0, 8.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken(), max_iter=50)


def test_no_step_at_all_is_an_error():
    with pytest.raises(RuntimeError, match="no step"):
        run(iter([]), max_iter=50)


def test_callback_sees_every_step_after_the_start_and_may_stop():
    seen = []

    def callback(record, params):
        assert isinstance(record, Record)
        seen.append((record.objective, params.coef[0, 0]))
        return len(seen) == 2

    solution = run(falling(), max_iter=50, callback=callback)
    assert solution.status is Status.STOPPED
    assert seen == [(9.0, 1.0), (8.0, 2.0)]
    assert position(solution) == 2.0


def test_callback_that_returns_false_changes_nothing():
    report_steps = run(falling(), max_iter=50, callback=lambda record, params: False)
    assert (report_steps.status, report_steps.iterations) == (Status.CONVERGED, 3)


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_sentence(status):
    assert status.message.endswith(".")
    assert len(status.message) > 20


@pytest.mark.parametrize(
    "status", [Status.MAX_ITER, Status.TIME_LIMIT, Status.NO_MAXIMUM, Status.STALLED, Status.INTERRUPTED]
)
def test_explanations_of_failures_have_advice(status):
    assert any(word in status.message for word in ("increase", "Allow", "Use", "Scale", "Fit again"))
