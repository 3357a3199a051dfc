"""The gap of any convex loss with any penalty: tight at the optimum, and never below the true distance to it."""

import numpy as np
import pytest
from scipy.optimize import linprog

from tenfold.data import MemoryRows
from tenfold.judge.gap_fenchel import balance_inside
from tenfold.judge.linear_models import gap
from tenfold.losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Square,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tweedie,
)
from tenfold.penalties import L2, ElasticNet, Groups
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params

N, P = 120, 4
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, P)) * [1.0, 2.0, 0.5, 1.0] + 0.5
MEANT = X @ [0.5, -0.3, 0.8, 0.0] + 0.3
WEIGHT = np.where(np.arange(N) % 7 == 0, 0.0, RNG.uniform(0.5, 2.0, N))
SIGNS = np.sign(MEANT + RNG.logistic(size=N))
NOISY = MEANT + RNG.standard_t(3, N)
POSITIVE = np.exp(MEANT) * RNG.gamma(2.0, 0.5, N)

SMOOTH = [
    (Square(), NOISY),
    (Logistic(), SIGNS),
    (SquaredHinge(), SIGNS),
    (SquaredEpsilonInsensitive(0.2), NOISY),
    (Huber(1.35), NOISY),
    (Poisson(), RNG.poisson(np.exp(MEANT)).astype(float)),
    (Gamma(), POSITIVE),
    (Tweedie(1.5), np.where(RNG.random(N) < 0.3, 0.0, POSITIVE)),
]
NONSMOOTH = [(Hinge(), SIGNS), (Quantile(0.7), NOISY), (EpsilonInsensitive(0.2), NOISY)]
MEMBER = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
PENALTIES = {
    "none": L2(0.0),
    "l2": L2(0.1),
    "l1": ElasticNet(0.05),
    "elastic net": ElasticNet(0.05, 0.1),
    "positive": ElasticNet(0.05, positive=True),
    "groups": Groups(MEMBER, np.array([0.1, 0.1])),
}
over_penalties = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=list(PENALTIES))
over_intercepts = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])


def over(losses):
    return pytest.mark.parametrize(("loss", "y"), losses, ids=[type(loss).__name__ for loss, _ in losses])


def objective(problem, y, point):
    z = X @ point[:P] + point[P]
    return np.average(problem.loss.value(y, z), weights=WEIGHT) + problem.penalty.value(point[None, :P])[0]


def optimum(problem, y):
    """Accelerated proximal steps with restarts: slow, and unlike every solver of the library."""
    A = np.column_stack([X, np.full(N, float(problem.intercept))])
    share = WEIGHT / WEIGHT.sum()
    point = np.zeros(P + 1)
    ahead, momentum, self_concordance = point, 1.0, 1.0

    def loss_at(point):
        return share @ problem.loss.value(y, A @ point)

    for count in range(3_000):
        slope = A.T @ (share * problem.loss.slope(y, A @ ahead))
        value = loss_at(ahead)
        self_concordance *= 0.7
        while True:
            new = ahead - slope / self_concordance
            new[:P] = problem.penalty.prox(new[None, :P], 1.0 / self_concordance)[0]
            move = new - ahead
            if loss_at(new) <= value + slope @ move + 0.5 * self_concordance * move @ move + 1e-15:
                break
            self_concordance *= 2.0
        if (ahead - new) @ (new - point) > 0:
            momentum = 1.0
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead, done = new + (momentum - 1.0) / later * (new - point), np.abs(new - point).max() < 1e-10
        point, momentum = new, later
        if done and count > 10:
            break
    return point


def judge_point(problem, y, point, **options):
    params = Params(point[None, :P].copy(), point[P:].copy())
    return gap(problem, MemoryRows(X, y[:, None], WEIGHT), params, **options)


@over(SMOOTH)
@over_penalties
@over_intercepts
def test_smooth_losses(loss, y, penalty, intercept):
    """Certified at the optimum; elsewhere the gap is at least what can be gained, and a worse point is refused."""
    problem = Glm(loss, penalty, intercept)
    best = optimum(problem, y)
    least = objective(problem, y, best)
    result = judge_point(problem, y, best)
    assert result.ok, result.explain()
    assert result.objective == pytest.approx(least, rel=1e-12)
    assert result.lower_bound <= least + 1e-12
    rng = np.random.default_rng(1)
    for far in np.geomspace(1e-4, 1.0, 5):
        point = best + far * rng.standard_normal(P + 1)
        point[P] *= intercept
        if getattr(penalty, "positive", False):
            point[:P] = np.abs(point[:P])
        gained = objective(problem, y, point) - least
        certificate = judge_point(problem, y, point)
        assert certificate.value >= gained * (1.0 - 1e-9) - 1e-13
        assert not (certificate.ok and gained > 1.01 * certificate.allowed)


@over(NONSMOOTH)
@over_penalties
@over_intercepts
def test_losses_with_kinks_are_never_promised_too_much(loss, y, penalty, intercept):
    """Without a dual point the bound may be loose, but holds: between any two points, too."""
    problem = Glm(loss, penalty, intercept)
    rng = np.random.default_rng(2)
    points = rng.standard_normal((4, P + 1)) * np.geomspace(0.05, 1.0, 4)[:, None]
    points[:, P] *= intercept
    points = np.abs(points) if getattr(penalty, "positive", False) else points
    lower = max(judge_point(problem, y, point).lower_bound for point in points)
    assert all(objective(problem, y, point) >= lower - 1e-12 for point in points)


@over_intercepts
@pytest.mark.parametrize("strength", [0.0, 0.05])
def test_a_dual_point_proves_a_quantile(intercept, strength):
    """Slopes of a linear programme; wrong ones cost the proof, never the truth."""
    q, share, y = 0.7, WEIGHT / WEIGHT.sum(), NOISY
    ones = np.full((N, 1), float(intercept))
    columns = np.hstack([X, -X, ones, -ones, np.eye(N), -np.eye(N)])
    costs = np.concatenate([np.full(2 * P, strength), [0.0, 0.0], q * share, (1.0 - q) * share])
    solved = linprog(costs, A_eq=columns, b_eq=y, bounds=(0, None), method="highs")
    point = np.append(solved.x[:P] - solved.x[P : 2 * P], solved.x[2 * P] - solved.x[2 * P + 1])
    dual = np.where(share > 0, -solved.eqlin.marginals / np.where(share > 0, share, 1.0), 0.0)
    problem = Glm(Quantile(q), ElasticNet(strength) if strength else L2(0.0), intercept)
    proved = judge_point(problem, y, point, dual=dual)
    assert proved.ok
    assert proved.objective == pytest.approx(solved.fun, rel=1e-9)
    worse = judge_point(problem, y, point + 1e-3 * np.append(np.ones(P), float(intercept)), dual=dual)
    assert not worse.ok
    misled = judge_point(problem, y, point, dual=dual + 0.1 * np.random.default_rng(3).standard_normal(N))
    assert misled.lower_bound <= solved.fun + 1e-12


def test_slopes_are_balance_inside_of_their_domain():
    rng = np.random.default_rng(4)
    for loss, y in NONSMOOTH:
        u = loss.clip(y, 2.0 * rng.standard_normal(N))
        moved = balance_inside(loss, y, u, WEIGHT)
        assert abs(WEIGHT @ moved) <= 1e-13 * WEIGHT.sum()
        assert np.isfinite(loss.conjugate(y, moved)).all()


def test_note_of_a_penalty_that_leaves_no_weight():
    problem = Glm(Square(), ElasticNet(100.0), True)
    point = np.append(np.zeros(P), np.average(NOISY, weights=WEIGHT))
    assert "All weights are zero" in judge_point(problem, NOISY, point).explain()
    assert judge_point(problem, NOISY, point).ok


def test_the_scale_of_numbers_does_not_grow_with_their_offset():
    """A gap that is small beside an offset of a million proves nothing."""
    near = judge_point(Glm(Huber(1.35), L2(0.1), True), NOISY, np.zeros(P + 1)).scale
    far = judge_point(Glm(Huber(1.35), L2(0.1), True), NOISY + 1e6, np.zeros(P + 1)).scale
    assert far == pytest.approx(near, rel=1e-6)
