"""The duality gap is a bound: at random weights, row weights and class splits never below the truth, and tight.

The optimum is known to about 1e-18 from a Newton iteration in extended precision that shares nothing with the judge.
"""

import numpy as np
import pytest
from slow_formulas import LONG, logistic_objective, logistic_optimum

from tenfold.data import MemoryRows
from tenfold.judge.linear_models import gap
from tenfold.losses import Logistic, Square
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params


class Case:
    """One random problem, its optimum, and its judge."""

    def __init__(self, seed, penalised=True):
        rng = np.random.default_rng(seed)
        self.rng = rng
        n, p = int(rng.integers(6, 31)), int(rng.integers(1, 5))
        if not penalised:
            n += 20
        self.X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-1, 1, p) + rng.choice([0.0, 3.0])
        share = rng.choice([0.5, 0.2, 1.0 / n])
        self.y = np.where(rng.random(n) < share, 1.0, -1.0)
        self.weight = [np.ones(n), rng.uniform(0.1, 3.0, n), rng.integers(0, 4, n).astype(float)][rng.integers(3)]
        # both classes are there, with weight
        self.y[:2], self.weight[:2] = [1.0, -1.0], np.maximum(self.weight[:2], 1.0)
        self.strength = float(10.0 ** rng.uniform(-4, 1)) if penalised else 0.0
        self.intercept = bool(rng.random() < 0.7)
        if not penalised:
            # rows with both classes at the same place cannot be separated
            twins = self.X[: n // 2]
            self.X = np.vstack([twins, twins + 1e-3 * rng.standard_normal(twins.shape)])
            self.y = np.concatenate([self.y[: n // 2], -self.y[: n // 2]])
            self.weight = np.concatenate([self.weight[: n // 2]] * 2)
            self.weight[self.weight == 0] = 1.0
        self.best = logistic_optimum(self.X, self.y, self.weight, self.strength, self.intercept)

    def points(self, count):
        """Weights near the optimum and far from it, over ten orders of magnitude."""
        for _ in range(count):
            size = 10.0 ** self.rng.uniform(-8, 1.5)
            unit = 1.0 / np.abs(self.X).max(axis=0)
            start = 0.0 if self.rng.random() < 0.2 else self.best.w.astype(float)
            w = start + size * unit * self.rng.standard_normal(self.X.shape[1])
            b = float(self.best.b) + size * self.rng.standard_normal() if self.intercept else 0.0
            yield w, b

    def judge(self, w, b, **options):
        rows = MemoryRows(self.X, self.y[:, None].copy(), self.weight)
        problem = Glm(Logistic(), L2(self.strength), self.intercept)
        return gap(problem, rows, Params(np.asarray(w, dtype=float)[None], np.array([float(b)])), **options)

    def excess(self, w, b):
        """The true suboptimality."""
        X, y, weight = self.X.astype(LONG), self.y.astype(LONG), self.weight.astype(LONG)
        value = logistic_objective(X, y, weight, LONG(self.strength), np.asarray(w, dtype=LONG), LONG(b))
        return float(value - self.best.value)


def check_sound(seeds, points, penalised):
    counted = 0
    for seed in seeds:
        case = Case(seed, penalised)
        for w, b in case.points(points):
            counted += 1
            certificate = case.judge(w, b)
            excess = case.excess(w, b)
            where = (seed, w, b)
            assert certificate.value >= certificate.floor > 0.0, where
            assert certificate.value + certificate.floor >= excess, where
            assert excess > -1e-15, where
            if certificate.lower_bound is not None:
                assert certificate.lower_bound <= case.best.value + certificate.floor, where
            if excess > certificate.allowed + certificate.floor:
                assert not certificate.ok, where
            if certificate.radius is not None:
                away = np.linalg.norm(w - case.best.w.astype(float))
                assert away <= certificate.radius * (1 + 1e-12) + 1e-15, where
            if penalised:
                check_decided(case, certificate, w, b)
    return counted


def check_decided(case, certificate, w, b):
    """No row whose sign is called decided has another sign at the optimum."""
    probes = np.vstack([case.X, 5.0 * case.rng.standard_normal((5, case.X.shape[1]))])
    sure = certificate.decided(probes)
    assert sure.shape == (len(probes),)
    here = np.sign(probes @ w + b)
    there = np.sign(probes @ case.best.w.astype(float) + float(case.best.b))
    assert np.all(here[sure] == there[sure])


def test_a_thousand_points_penalised():
    assert check_sound(range(50), 20, penalised=True) == 1000


def test_three_hundred_points_without_penalty():
    assert check_sound(range(30), 10, penalised=False) == 300


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_points_penalised(part):
    assert check_sound(range(1000 + 50 * part, 1050 + 50 * part), 20, penalised=True) == 1000


@pytest.mark.slow
def test_two_thousand_points_without_penalty():
    assert check_sound(range(2000, 2200), 10, penalised=False) == 2000


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("penalised", [True, False], ids=["penalised", "free"])
def test_the_gap_at_the_optimum_is_rounding(seed, penalised):
    """The best possible gap at the optimum is zero, which is reported as the floor."""
    case = Case(seed, penalised)
    certificate = case.judge(case.best.w.astype(float), float(case.best.b))
    assert certificate.ok
    assert certificate.value <= 1.01 * certificate.floor + 1e-6 * certificate.scale * 1e-6
    assert certificate.floor <= 1e-13 * max(1.0, certificate.objective)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("penalised", [True, False], ids=["penalised", "free"])
def test_the_tightened_gap_near_the_optimum_is_the_suboptimality(seed, penalised):
    """With no tolerance the judge searches until its bound is within one per cent of the best possible."""
    case = Case(seed, penalised)
    unit = 1.0 / np.abs(case.X).max(axis=0)
    for size in (1e-6, 1e-4, 1e-2, 0.1):
        w = case.best.w.astype(float) + size * unit * case.rng.standard_normal(case.X.shape[1])
        b = float(case.best.b) + (size * case.rng.standard_normal() if case.intercept else 0.0)
        certificate = case.judge(w, b, tol=0.0)
        excess = case.excess(w, b)
        assert certificate.value <= 1.01 * excess + 2.0 * certificate.floor, size


@pytest.mark.parametrize("seed", range(40))
def test_optimal_model_is_certified(seed):
    """Where the true suboptimality is well inside what is allowed, the certificate is ok."""
    case = Case(seed)
    unit = 1.0 / np.abs(case.X).max(axis=0)
    good = 0
    for size in (0.0, 1e-5, 1e-4, 1e-3):
        w = case.best.w.astype(float) + size * unit * case.rng.standard_normal(case.X.shape[1])
        certificate = case.judge(w, float(case.best.b))
        if case.excess(w, float(case.best.b)) <= 0.5 * certificate.allowed:
            assert certificate.ok
            good += 1
    assert good


@pytest.mark.parametrize("seed", range(20))
def test_decided_is_not_empty_near_the_optimum(seed):
    """A bound that never decides anything is worthless: close to the optimum all but marginal rows are decided."""
    case = Case(seed)
    certificate = case.judge(case.best.w.astype(float), float(case.best.b))
    margins = case.X @ case.best.w.astype(float) + float(case.best.b)
    clear = np.abs(margins) > 1e-2 * max(np.abs(margins).max(), 1e-3)
    assert np.all(certificate.decided(case.X)[clear])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_the_square_loss_has_a_sound_gap_too(seed, intercept):
    rng = np.random.default_rng(seed)
    n, p, strength = 20, 3, 10.0 ** rng.uniform(-3, 1)
    X, y, weight = rng.standard_normal((n, p)) + 1.0, rng.standard_normal(n), rng.integers(0, 3, n).astype(float)
    D = np.column_stack([X, np.ones(n)]) if intercept else X
    R = strength * np.diag([1.0] * p + [0.0] * intercept)
    total = weight.sum()
    best = np.linalg.solve((D.T * weight) @ D / total + R, D.T @ (weight * y) / total)

    def objective(v):
        return weight @ (D @ v - y) ** 2 / (2 * total) + v @ R @ v / 2

    rows = MemoryRows(X, y[:, None].copy(), weight)
    for size in (1e-6, 1e-2, 1.0, 100.0):
        v = best + size * rng.standard_normal(len(best))
        params = Params(v[None, :p].copy(), v[p:].copy() if intercept else np.zeros(1))
        certificate = gap(Glm(Square(), L2(strength), intercept), rows, params, tol=0.0)
        excess = objective(v) - objective(best)
        assert certificate.value + certificate.floor >= excess
        assert certificate.value <= 1.01 * excess + 2 * certificate.floor


def test_rows_without_weight_do_not_count():
    """Rows of weight zero are as if they were not there, whatever they hold."""
    case = Case(3)
    w, b = 0.5 * case.best.w.astype(float), float(case.best.b)
    alone = case.judge(w, b)
    assert not alone.ok
    extra = 5
    case.X = np.vstack([case.X, 1e6 * np.ones((extra, case.X.shape[1]))])
    case.y = np.concatenate([case.y, np.ones(extra)])
    case.weight = np.concatenate([case.weight, np.zeros(extra)])
    together = case.judge(w, b)
    np.testing.assert_allclose(together.value, alone.value, rtol=1e-6)
    np.testing.assert_allclose(together.objective, alone.objective, rtol=1e-9)


def test_many_columns_say_that_the_bound_is_not_tight():
    """Beyond the columns for which the judge searches, a bound that is too large is called what it is."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 4200)), np.where(rng.random((10, 1)) < 0.5, 1.0, -1.0)
    certificate = gap(
        Glm(Logistic(), L2(1e-3), True), MemoryRows(X, y), Params(rng.standard_normal((1, 4200)), np.zeros(1))
    )
    assert not certificate.ok
    assert "not tight" in certificate.explain()


def test_separated_classes_without_a_penalty_have_no_maximum():
    X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    y = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    certificate = gap(Glm(Logistic(), L2(0.0), True), MemoryRows(X, y), Params(np.array([[5.0]]), np.zeros(1)))
    assert certificate.status == "no maximum"
    assert not certificate.ok
    assert "no maximum" in certificate.explain()
