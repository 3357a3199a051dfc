"""The random attack on every kind, a fixed number of problems; `python -m tests.certificates.attack` runs more.

The attack must be able to find what it looks for: certificates that are made too good are seen.
"""

import os
from dataclasses import replace

import attack
import numpy as np
import pytest
import references as ref
from attack import FAMILIES, RECOMPUTED, Case
from references import Problem, Smooth

SEED = 17
TIMES = int(os.environ.get("TENFOLD_ATTACK", "1"))
"""How many times the usual number of problems."""


@pytest.mark.parametrize("problems", [3, pytest.param(10 * TIMES, marks=pytest.mark.product)])
@pytest.mark.parametrize("family", [*FAMILIES, *RECOMPUTED])
def test_no_certificate_contradicts_the_reference(family, problems):
    report = attack.run(problems, SEED, family, loud=False)
    seen = [f"--seed {SEED} --only {family} --index {one.index}: {one.what} {one.detail}" for one in report.violations]
    assert not seen + report.crashes
    assert sum(tally.tampered for tally in report.tallies.values()) > 3 * problems
    assert sum(tally.ok for tally in report.tallies.values()) > 0


def finds_violation(family):
    """Whether one of a few problems of a family shows a violation; those after it are not tried."""
    return any(attack.run(1, SEED, family, index=index, loud=False).violations for index in range(5))


EARLIER_DEFECTS = [("multi_task", 406, 18373, 3)]
"""Defects that a long run detected, by family, seed, index and tampered solutions of each problem."""


@pytest.mark.parametrize(("family", "seed", "index", "tampers"), EARLIER_DEFECTS)
def test_earlier_defects_stay_mended(family, seed, index, tampers):
    _, violations, _ = attack.attack(family, seed, index, tampers)
    assert not violations


CONVEX = [name for name in FAMILIES if name != "least_squares"]


@pytest.mark.parametrize("family", CONVEX)
def test_detects_a_gap_that_is_too_small(family, monkeypatch):
    """Gaps of tampered solutions, divided by 1e6: they contradict the reference."""
    right = Case.certify

    def certify(self, model):
        result = right(self, model)
        parts = tuple(1e-6 * part for part in result.parts)
        return replace(result, value=1e-6 * result.value, parts=parts, floor=0.0, status="judged")

    monkeypatch.setattr(Case, "certify", certify)
    assert finds_violation(family)


@pytest.mark.parametrize("family", [name for name in FAMILIES if not name.startswith("sgd")])
def test_detects_an_ok_for_anything(family, monkeypatch):
    right = Case.certify

    def certify(self, model):
        result = right(self, model)
        kept = {"parts": (), "status": "judged", "radius": None, "lower_bound": None}
        return replace(result, value=0.5 * result.tol * result.scale, floor=0.0, **kept)

    monkeypatch.setattr(Case, "certify", certify)
    assert finds_violation(family)


@pytest.mark.parametrize("family", list(RECOMPUTED))
def test_detects_an_ok_for_a_recomputed_result(family, monkeypatch):
    from attack_recomputed import Recomputed

    right = Recomputed.certify

    def certify(self, model):
        result = right(self, model)
        scale = max(result.scale, 1e-300)
        return replace(result, value=0.0, floor=0.0, scale=scale, tol=1e-12, status="judged", note="")

    monkeypatch.setattr(Recomputed, "certify", certify)
    assert finds_violation(family)


def test_references_are_optimal_on_small_problems():
    """No random direction leads further down from what a reference has found, by more than long double rounds."""
    rng = np.random.default_rng(0)
    n, p = 30, 3
    X, y, share = rng.standard_normal((n, p)), rng.standard_normal(n), np.full(n, 1.0 / n)
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    problems = [
        Problem(X, y, share, Smooth(ref.square), l1=0.05, l2=0.01),
        Problem(X, y, share, ref.huber(0.3), groups=[(0.05, np.array([0, 1]))]),
        Problem(X, y, share, ref.quantile(0.3), l1=0.01),
        Problem(X, y, share, ref.tube(0.1), l2=0.01, ties=(0.0, 0.01)),
        Problem(X, sign, share, Smooth(ref.logistic), l1=0.01),
        Problem(X, sign, share, ref.Piecewise(ref.hinge_pieces), l2=0.1),
        Problem(X, rng.integers(0, 3, n), share, ref.Softmax(), 3, l2=0.01),
        Problem(X, rng.integers(0, 3, n), share, ref.CrammerSinger(), 3, l2=0.1, ties=(0.0, 0.1)),
    ]
    for problem in problems:
        best = ref.solve(problem)
        assert problem.objective(best.coef, best.intercept) - best.value <= 1e-17
        for size in 10.0 ** np.arange(-9.0, 1.0):
            for _ in range(10):
                coef = best.coef + size * rng.standard_normal(best.coef.shape)
                intercept = best.intercept + size * rng.standard_normal(best.intercept.shape)
                assert problem.objective(coef, intercept) >= best.value - 1e-17
