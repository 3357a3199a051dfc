"""Seeger, sections 5.1, 6.2, 6.3, 7.3 and 10.2.1, and Welling, chapter 3: tables, densities, priors, codes."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import logsumexp

import tenfold
from tenfold.distributions import (
    BetaBernoulli,
    DirichletCategorical,
    Gaussian,
    GaussianWishart,
    JointTable,
    Transformed,
    cross_entropy,
    divergence,
    entropy,
)
from tenfold.selection.criteria import aic, bic, code_length, log_evidence

BOXES = JointTable({"box": ("red", "blue")}, [2 / 5, 3 / 5])
GIVEN = [[1 / 4, 3 / 4], [3 / 4, 1 / 4]]
FRUIT = ("apple", "orange")


def test_boxes_and_fruit():
    """Seeger, figure 5.1."""
    table = BOXES.extend("fruit", FRUIT, GIVEN)
    np.testing.assert_allclose(table.probabilities, [[1 / 10, 3 / 10], [9 / 20, 3 / 20]])
    np.testing.assert_allclose(table.marginal("fruit").probabilities, [11 / 20, 9 / 20])
    np.testing.assert_allclose(table.condition(fruit="orange").probabilities, [2 / 3, 1 / 3])
    assert table.marginal("fruit", "box").probability(box="blue", fruit="apple") == pytest.approx(9 / 20)
    assert table.mode() == {"box": "blue", "fruit": "apple"}
    draws = table.sample(4000, random_state=0)
    assert np.mean([draw == ("red", "orange") for draw in draws]) == pytest.approx(0.3, abs=0.03)


def test_two_fruits_are_independent_given_the_box_alone():
    """Seeger, section 5.1.1: P(F2 = o | F1 = o) = 7/12, not 9/20."""
    both = BOXES.extend("first", FRUIT, GIVEN).extend("second", FRUIT, np.array(GIVEN)[:, None, :])
    assert both.condition(first="orange").probability(second="orange") == pytest.approx(7 / 12)
    assert both.probability(second="orange") == pytest.approx(9 / 20)
    assert both.is_independent("first", "second", ("box",))
    assert not both.is_independent("first", "second")
    assert both.mutual_information("first", "second", ("box",)) == pytest.approx(0.0, abs=1e-12)
    assert both.mutual_information("first", "second") > 0.01


def test_two_dice_depend_on_each_other_given_their_sum():
    """Seeger, section 5.1.1."""
    sums = np.zeros((6, 6, 11))
    for i in range(6):
        for j in range(6):
            sums[i, j, i + j] = 1.0
    faces = tuple(range(1, 7))
    dice = JointTable({"x": faces, "y": faces}, np.full((6, 6), 1 / 36)).extend("z", tuple(range(2, 13)), sums)
    assert dice.is_independent("x", "y")
    assert not dice.is_independent("x", "y", ("z",))
    assert dice.probability(z=7) == pytest.approx(1 / 6)
    assert dice.condition(z=7, x=2).probability(y=5) == pytest.approx(1.0)


def test_an_unbounded_density():
    """Seeger, section 5.1.2: pi^(-1/2) x^(-1/2) e^(-x) integrates to one; its square root is half-normal."""
    gamma = scipy.stats.gamma(0.5)
    x = np.array([1e-6, 0.1, 1.0, 3.0])
    np.testing.assert_allclose(gamma.pdf(x), np.exp(-x) / np.sqrt(np.pi * x), rtol=1e-12)
    root = Transformed(gamma, np.sqrt, np.square, lambda y: 2.0 * y)
    np.testing.assert_allclose(root.pdf(x), 2.0 / np.sqrt(np.pi) * np.exp(-(x**2)), rtol=1e-9)
    assert quad(lambda y: float(root.pdf(y)), 0.0, np.inf)[0] == pytest.approx(1.0)
    assert float(root.cdf(1.0)) == pytest.approx(gamma.cdf(1.0))
    assert root.rvs(2000, random_state=0).mean() == pytest.approx(1.0 / np.sqrt(np.pi), abs=0.02)


def test_thumbtack_with_a_beta_prior():
    """Seeger, sections 6.2 and 7.3: mean, mode, and the MAP estimate between the prior's mode and the frequency."""
    prior = BetaBernoulli(4.0, 3.0)
    posterior = prior.update(30, 70)
    assert (posterior.a, posterior.b) == (34.0, 73.0)
    kappa = 5.0 / 105.0
    assert posterior.mode == pytest.approx(kappa * prior.mode + (1.0 - kappa) * 0.3)
    assert posterior.mean == pytest.approx(posterior.distribution.mean())
    assert BetaBernoulli().update(30, 70).mode == pytest.approx(0.3)
    grid = np.linspace(0.1, 0.9, 9)
    share, weight = prior.mode, 5.0
    wanted = [weight * divergence([share, 1 - share], [q, 1 - q]) for q in grid]
    np.testing.assert_allclose(np.diff(-prior.distribution.logpdf(grid)), np.diff(wanted), rtol=1e-9)
    integral = quad(lambda q: q**3 * (1 - q) ** 2 * prior.distribution.pdf(q), 0.0, 1.0)[0]
    assert prior.log_evidence(3, 2) == pytest.approx(np.log(integral))
    with pytest.raises(ValueError, match="mode"):
        _ = BetaBernoulli(0.5, 2.0).mode


def test_laplace_smoothing_is_the_mode_under_twos():
    """Seeger, section 7.3.1."""
    posterior = DirichletCategorical([2.0, 2.0, 2.0]).update([5, 0, 2])
    np.testing.assert_allclose(posterior.mode, np.array([6, 1, 3]) / 10)
    np.testing.assert_allclose(posterior.mean, np.array([7, 2, 4]) / 13)
    np.testing.assert_allclose(posterior.distribution.mean(), posterior.mean)
    pair = DirichletCategorical([1.5, 0.5])
    assert pair.log_evidence([3, 2]) == pytest.approx(BetaBernoulli(1.5, 0.5).log_evidence(3, 2))
    with pytest.raises(ValueError, match="negative"):
        pair.update([-1, 2])


def test_gaussian_wishart_by_prediction_one_by_one():
    """The product of predictive densities is the evidence."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 2)) + np.array([1.0, 2.0])
    prior = GaussianWishart([0.0, 1.0], 0.5, 3.0, [[1.0, 0.2], [0.2, 2.0]])
    total, state = 0.0, prior
    for x in X:
        total += float(state.predictive.logpdf(x))
        state = state.update(x[None])
    assert prior.log_evidence(X) == pytest.approx(total)
    whole = prior.update(X)
    np.testing.assert_allclose(state.scale, whole.scale)
    np.testing.assert_allclose(prior.update(X, np.full(6, 2.0)).scale, prior.update(np.vstack([X, X])).scale)
    precision = whole.mode[1]
    np.testing.assert_allclose(precision, (whole.degrees - 2.0) * np.linalg.inv(whole.scale))
    np.testing.assert_allclose(whole.wishart.mean(), whole.degrees * np.linalg.inv(whole.scale))


def test_gaussian_rules():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((4, 4))
    joint = Gaussian(rng.standard_normal(4), A @ A.T)
    given = joint.condition({1: 0.3, 3: -1.0})
    x = np.array([0.2, 0.3, 0.7, -1.0])
    left = joint.distribution.logpdf(x) - joint.marginal([1, 3]).distribution.logpdf(x[[1, 3]])
    assert given.distribution.logpdf(x[[0, 2]]) == pytest.approx(left)
    B, noise, y = rng.standard_normal((2, 4)), 0.5 * np.eye(2), np.array([1.0, -1.0])
    after = joint.posterior(B, noise, y)
    precision = np.linalg.inv(joint.covariance) + B.T @ B / 0.5
    np.testing.assert_allclose(np.linalg.inv(after.covariance), precision, rtol=1e-6)
    seen = joint.transform(B, 1.0, noise)
    np.testing.assert_allclose(seen.mean, B @ joint.mean + 1.0)
    assert joint.entropy() == pytest.approx(joint.distribution.entropy())
    other = Gaussian(np.zeros(4), np.eye(4))
    samples = joint.distribution.rvs(200_000, random_state=0)
    gap = np.mean(joint.distribution.logpdf(samples) - other.distribution.logpdf(samples))
    assert joint.divergence(other) == pytest.approx(gap, rel=0.02)
    with pytest.raises(ValueError, match="negative eigenvalue"):
        Gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])


def test_information_inequality():
    p, q = [0.2, 0.3, 0.5], [0.5, 0.25, 0.25]
    assert divergence(p, q) == pytest.approx(scipy.stats.entropy(p, q))
    assert divergence(p, p) == 0.0
    assert cross_entropy(p, q) >= entropy(p)
    assert cross_entropy([0.5, 0.5], [1.0, 0.0]) == np.inf
    cauchy = scipy.stats.cauchy(0.0, 1.0), scipy.stats.cauchy(1.0, 2.0)
    # Chyzak and Nielsen (2019): log ((s + t)^2 + (a - b)^2) / (4 s t)
    assert divergence(*cauchy) == pytest.approx(np.log((9.0 + 1.0) / 8.0), abs=1e-6)


def test_evidence_is_the_marginal_density_of_the_targets():
    """Seeger, section 10.2.1: t ~ N(0, sigma^2 I + X X' / beta)."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((15, 3)), rng.standard_normal(15)
    wanted = scipy.stats.multivariate_normal(np.zeros(15), 0.3 * np.eye(15) + X @ X.T / 2.0).logpdf(y)
    assert log_evidence(X, y, noise=0.3, prior=2.0) == pytest.approx(float(wanted))
    with pytest.raises(ValueError, match="positive"):
        log_evidence(X, y, noise=0.0, prior=1.0)


def test_two_part_codes_stop_at_the_right_degree():
    """Welling, chapter 3: bits of the rules and bits of the corrections."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.0, 1.0, 200)
    y = 1.0 - 2.0 * x + 3.0 * x**2 + 0.1 * rng.standard_normal(200)
    lengths, criteria = [], []
    for degree in range(8):
        X = x[:, None] ** np.arange(degree + 1)
        residual = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        log_likelihood = float(-100.0 * (np.log(2.0 * np.pi * np.mean(residual**2)) + 1.0))
        lengths.append(code_length(log_likelihood, degree + 2, 200))
        criteria.append((aic(log_likelihood, degree + 2), bic(log_likelihood, degree + 2, 200)))
    assert int(np.argmin(lengths)) == 2
    np.testing.assert_allclose(lengths, np.array(criteria)[:, 1] / (2.0 * np.log(2.0)))
    assert int(np.argmin(np.array(criteria)[:, 0])) >= 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JointTable({"a": (0, 1)}, [0.5, 0.6]), "sum one"),
        (lambda: JointTable({"a": (0, 1)}, [[1.0]]), "shape"),
        (lambda: BOXES.condition(box="green"), "no value"),
        (lambda: BOXES.marginal("fruit"), "no variable"),
        (lambda: JointTable.of_counts({"a": (0, 1)}, [-1, 2]), "negative"),
        (lambda: BOXES.extend("fruit", FRUIT, [[0.5, 0.4], [1.0, 0.0]]), "sum to one"),
        (lambda: JointTable({"a": (0, 1)}, [1.0, 0.0]).condition(a=1), "probability zero"),
        (lambda: BetaBernoulli(0.0, 1.0), "positive"),
        (lambda: DirichletCategorical([1.0, -1.0]), "positive"),
        (lambda: GaussianWishart([0.0], 1.0, -0.5, [[1.0]]), "degrees"),
        (lambda: bic(0.0, 1, 0), "samples"),
        (lambda: code_length(0.0, 1, 0), "samples"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_plug_in_with_unit_covariance_is_the_nearest_mean():
    """Seeger, section 6.6: classes N(m_c, I) of equal priors."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 150)
    X = rng.standard_normal((150, 2)) * [1.0, 3.0] + 3.0 * np.eye(3)[y, :2]
    model = tenfold.GaussianPlugIn("unit", priors=[1 / 3, 1 / 3, 1 / 3]).fit(X, y)
    nearest = np.argmin(((X[:, None] - model.means_) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(model.predict(X), nearest)
    np.testing.assert_array_equal(model.covariance_, np.eye(2))
    assert model.certificate_.ok
    with pytest.raises(ValueError, match="wishart"):
        tenfold.GaussianPlugIn("unit", wishart=1.0).fit(X, y)


@dataclass
class Assigned:
    """Sums of the samples that are nearest to each mean, and their distances."""

    count: np.ndarray
    sums: np.ndarray
    value: float

    def merge(self, other):
        return Assigned(self.count + other.count, self.sums + other.sums, self.value + other.value)


class HardSteps:
    """Hard EM for Gaussians with unit covariances and equal weights."""

    def expect(self, params, block):
        squares = ((block.X[:, None] - params) ** 2).sum(axis=2)
        nearest = np.eye(len(params))[np.argmin(squares, axis=1)]
        return Assigned(nearest.sum(axis=0), nearest.T @ block.X, -squares.min(axis=1).sum())

    def maximise(self, statistic):
        return statistic.sums / statistic.count[:, None]

    def bound(self, params, statistic):
        return statistic.value


def test_hard_em_is_k_means():
    """Seeger, sections 12.2 and 12.2.1: the same steps from the same start, on the one driver of EM."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 2)) + 4.0 * rng.integers(0, 3, (200, 1))
    start = X[:3]
    result = tenfold.em(HardSteps(), X, start, tol=1e-12, max_iter=500)
    model = tenfold.KMeans(3, init=start, n_init=1, tol=0.0).fit(X)
    np.testing.assert_allclose(result.params, model.cluster_centers_, rtol=1e-9)
    assert -result.bounds[-1] == pytest.approx(model.inertia_)


def test_mixture_by_gradient_reaches_the_fixed_point_of_em():
    """Seeger, section 12.3.3: the same maximum by L-BFGS on weights by a softmax and log variances."""
    rng = np.random.default_rng(6)
    X = np.concatenate([rng.standard_normal(80) - 2.0, 0.5 * rng.standard_normal(60) + 2.0])[:, None]
    model = tenfold.GaussianMixture(2, tol=1e-12, max_iter=3000, reg_covar=0.0, random_state=0).fit(X)

    def objective(u):
        logits, mean, log_variance = u[:2], u[2:4], u[4:]
        log_weights = logits - logsumexp(logits)
        away = X - mean
        z = log_weights - 0.5 * (np.log(2.0 * np.pi) + log_variance + away**2 * np.exp(-log_variance))
        r = np.exp(z - logsumexp(z, axis=1, keepdims=True))
        slopes = r - np.exp(log_weights), r * away * np.exp(-log_variance)
        third = 0.5 * r * (away**2 * np.exp(-log_variance) - 1.0)
        gradient = np.concatenate([part.mean(axis=0) for part in (*slopes, third)])
        return -logsumexp(z, axis=1).mean(), -gradient

    best = minimize(objective, [0.0, 0.0, -1.0, 1.0, 0.0, 0.0], jac=True, tol=1e-12)
    assert -best.fun == pytest.approx(model.score(X), abs=1e-9)
    order = np.argsort(model.means_[:, 0])
    np.testing.assert_allclose(best.x[2:4], model.means_[order, 0], atol=1e-4)


def test_likelihood_of_the_thumbtack():
    """Seeger, section 6.2 and figure 6.3: the log-likelihood knows n and n1 / n alone, and is largest at n1 / n."""
    grid = np.linspace(0.01, 0.99, 99)
    for n, heads in ((20, 3), (20, 10), (100, 30)):
        tosses = np.arange(n) < heads
        curve = np.array([np.sum(scipy.stats.bernoulli(p).logpmf(tosses)) for p in grid])
        share = heads / n
        np.testing.assert_allclose(curve, -n * np.array([cross_entropy([share, 1 - share], [p, 1 - p]) for p in grid]))
        assert grid[np.argmax(curve)] == pytest.approx(share)
        assert BetaBernoulli(1.0, 1.0).update(heads, n - heads).mode == pytest.approx(share)


def test_moments_of_linear_maps():
    """Seeger, section 5.1.3: E[Ax] = A E[x], Cov[Ax] = A Cov[x] A'; of a sum the covariance counts twice."""
    rng = np.random.default_rng(7)
    A, x = rng.standard_normal((2, 3)), rng.standard_gamma(2.0, (500, 3))
    x[:, 1] += x[:, 0]
    C = tenfold.EmpiricalCovariance().fit(x)
    mapped = tenfold.EmpiricalCovariance().fit(x @ A.T)
    np.testing.assert_allclose(mapped.location_, A @ C.location_)
    np.testing.assert_allclose(mapped.covariance_, A @ C.covariance_ @ A.T)
    both = np.var(x[:, 0] + x[:, 1])
    assert both == pytest.approx(C.covariance_[0, 0] + C.covariance_[1, 1] + 2.0 * C.covariance_[0, 1])
    # uncorrelated is not independent
    u = np.linspace(-1.0, 1.0, 201)
    assert np.cov(u, u**2)[0, 1] == pytest.approx(0.0, abs=1e-12)


def test_the_mean_of_a_cauchy_sample_does_not_settle():
    """Seeger, section 5.1.3: means of n are spread as single values are, those of a Gaussian by 1 / sqrt(n)."""
    rng = np.random.default_rng(8)
    place, scale = 1.0, 2.0
    cauchy = scipy.stats.cauchy(place, scale)
    means = cauchy.rvs((2000, 200), random_state=rng).mean(axis=1)
    low, high = np.quantile(means, [0.25, 0.75])
    assert high - low == pytest.approx(2.0 * scale, rel=0.15)
    assert np.median(means) == pytest.approx(place, abs=0.3)
    low, high = np.quantile(rng.standard_normal((2000, 200)).mean(axis=1), [0.25, 0.75])
    assert (high - low) * np.sqrt(200) == pytest.approx(2.0 * scipy.stats.norm.ppf(0.75), rel=0.15)


def test_densities_after_a_transformation():
    """Seeger, sections 6.3.2 and 6.3.3: p((x - mu) / sigma) / sigma, and p_t(L^-1 (x - mu)) / |det L|."""
    x = np.array([-1.0, 0.3, 2.5])
    moved = Transformed(scipy.stats.cauchy(), lambda t: 1.0 + 2.0 * t, lambda y: (y - 1.0) / 2.0, lambda y: 0.5)
    np.testing.assert_allclose(moved.pdf(x), scipy.stats.cauchy(1.0, 2.0).pdf(x))
    rng = np.random.default_rng(9)
    L, mean = np.tril(rng.standard_normal((3, 3))), rng.standard_normal(3)
    whole = Gaussian(np.zeros(3), np.eye(3)).transform(L, mean)
    inside = scipy.stats.multivariate_normal(np.zeros(3), np.eye(3)).logpdf(np.linalg.solve(L, x - mean))
    logarithm = np.sum(np.log(np.abs(np.diag(L))))
    assert whole.distribution.logpdf(x) == pytest.approx(inside - logarithm)
    # section 6.3.1: log |Sigma| from the Cholesky factor
    assert np.linalg.slogdet(whole.covariance)[1] == pytest.approx(2.0 * logarithm)


def test_three_words_under_a_dirichlet_prior():
    """Seeger, section 7.3.1 and figure 7.5: the sum of alpha says how near draws are to the mean alpha / sum alpha."""
    rng = np.random.default_rng(10)
    for total in (1.5, 6.0, 60.0):
        alpha = total * np.array([0.5, 0.3, 0.2])
        prior = DirichletCategorical(alpha)
        np.testing.assert_allclose(prior.mean, alpha / total)
        drawn = prior.distribution.rvs(20_000, random_state=rng)
        np.testing.assert_allclose(drawn.var(axis=0), prior.mean * (1.0 - prior.mean) / (total + 1.0), rtol=0.06)
    counts = np.array([8, 1, 1])
    posterior = DirichletCategorical([4.0, 4.0, 4.0]).update(counts)
    kappa = 9.0 / 19.0  # the prior is worth sum (alpha - 1) words
    np.testing.assert_allclose(posterior.mode, kappa / 3.0 + (1.0 - kappa) * counts / 10.0)


def test_the_logarithm_is_below_its_tangent():
    """Seeger, figure 6.9: log x <= x - 1, so that sum q log p is largest at p = q."""
    x = np.geomspace(1e-6, 1e6, 200)
    assert np.all(np.log(x) <= x - 1.0)
    q = np.array([0.2, 0.3, 0.5])
    for p in np.random.default_rng(11).dirichlet(np.ones(3), 50):
        assert 0.0 <= divergence(q, p) <= np.sum(q * (q / p - 1.0)) + 1e-12
        assert divergence(q, p) == pytest.approx(cross_entropy(q, p) - entropy(q))


def test_the_best_code_grows_with_the_data():
    """Welling, chapter 3: with few samples the short rules win, with more of them those of the curve."""
    degrees = []
    for n in (8, 40, 2000):
        rng = np.random.default_rng(12)
        x = rng.uniform(-1.0, 1.0, n)
        y = np.sin(4.0 * x) + 0.3 * rng.standard_normal(n)
        lengths = []
        for degree in range(6):
            X = x[:, None] ** np.arange(degree + 1)
            residual = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
            lengths.append(code_length(scipy.stats.norm(0.0, 0.3).logpdf(residual).sum(), degree + 1, n))
        degrees.append(int(np.argmin(lengths)))
    assert degrees == sorted(degrees)
    assert degrees[0] < degrees[-1]


def test_an_image_of_one_rule_and_two_corrections():
    """Welling, chapter 3: 256 pixels of one colour but for 103 and 245 cost less as a rule and two places."""
    image = np.ones(256, dtype=int)
    image[[103, 245]] = 0
    by_rule = 1.0 + 2 * np.log2(256)
    assert by_rule < len(image)
    # a code for the frequencies is shorter than the image, too, and no code helps with white noise
    share = [2 / 256, 254 / 256]
    assert 256 * entropy(share) / np.log(2.0) < 20.0
    noise = np.random.default_rng(13).integers(0, 2, 256)
    share = [np.mean(noise == 0), np.mean(noise == 1)]
    assert code_length(-256 * entropy(share), 1, 256) > 256.0


def test_flexible_models_vary_and_restricted_ones_are_off():
    """Welling, chapter 3: ten data sets of equal size, fitted by both; spread and mean error at one place."""
    at, truth, fits = np.array([0.35]), np.sin(4.0 * 0.35), {1: [], 9: []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1.0, 1.0, 25)
        y = np.sin(4.0 * x) + 0.3 * rng.standard_normal(25)
        for degree, values in fits.items():
            values.append(float(np.polynomial.Chebyshev.fit(x, y, degree, domain=[-1, 1])(at)[0]))
    bias = {degree: abs(np.mean(values) - truth) for degree, values in fits.items()}
    assert bias[9] < 0.2 < bias[1]
    assert np.std(fits[9]) > 1.2 * np.std(fits[1])
