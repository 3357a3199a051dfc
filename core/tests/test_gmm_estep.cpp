// The E-step of a Gaussian mixture against plain sums, with the same bits for all numbers of threads.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/gmm_estep_gemm.hpp"
#include "tenfold/logsumexp.hpp"

#include <limits>

using namespace tenfold;
using namespace tenfold::test;

namespace {

struct Given {
  std::vector<double> weight, means, factors, scales, centre, offsets;

  Gaussians at(Index p) const { return {means, factors, scales, centre, offsets, p}; }
};

// (x_i - m_k) B_k
std::vector<double> transformed(const Gaussians &g, Index k, const std::vector<double> &away) {
  const Index p = g.columns;
  std::vector<double> y(index(p));
  for (Index j = 0; j < p; ++j) {
    if (g.diagonal()) {
      y[index(j)] = away[index(j)] * g.scales[index(k * p + j)];
      continue;
    }
    const Index first = g.shared() ? 0 : k * p * p;
    for (Index l = 0; l <= j; ++l)
      y[index(j)] += away[index(l)] * g.factors[index(first + l * p + j)];
  }
  return y;
}

template <class T>
GmmSums slowly(const Matrix<T> &x, const Given &given, std::vector<double> &log_density, std::vector<double> &r) {
  const Gaussians g = given.at(x.p);
  const Index p = x.p, K = g.components();
  GmmSums sums;
  sums.count.resize(index(K)), sums.sums.resize(index(K * p));
  sums.squares.resize(index(g.diagonal() ? K * p : g.triangles() * p * p));
  for (Index i = 0; i < x.n; ++i) {
    const double w = given.weight.empty() ? 1.0 : given.weight[index(i)];
    std::vector<double> z, away;
    double largest = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (Index k = 0; k < K; ++k) {
      std::vector<double> d;
      for (Index j = 0; j < p; ++j)
        d.push_back(x(i, j) - g.means[index(k * p + j)]);
      double length = 0.0;
      for (const double y : transformed(g, k, d))
        length += y * y;
      z.push_back(g.offsets[index(k)] - 0.5 * length);
      largest = std::max(largest, z.back());
      away.insert(away.end(), d.begin(), d.end());
    }
    for (const double zk : z)
      total += std::exp(zk - largest);
    log_density.push_back(largest + std::log(total));
    sums.weight += w;
    sums.value += w * log_density.back();
    for (Index k = 0; k < K; ++k) {
      const double posterior = std::exp(z[index(k)] - log_density.back());
      r.push_back(posterior);
      sums.count[index(k)] += w * posterior;
      for (Index a = 0; a < p; ++a) {
        const double da = away[index(k * p + a)];
        sums.sums[index(k * p + a)] += w * posterior * da;
        if (g.diagonal())
          sums.squares[index(k * p + a)] += w * posterior * da * da;
        else if (!g.shared())
          for (Index b = 0; b < p; ++b)
            sums.squares[index((k * p + a) * p + b)] += w * posterior * da * away[index(k * p + b)];
      }
    }
    for (Index a = 0; a < p && g.shared(); ++a)
      for (Index b = 0; b < p; ++b)
        sums.squares[index(a * p + b)] += w * (x(i, a) - g.centre[index(a)]) * (x(i, b) - g.centre[index(b)]);
  }
  return sums;
}

void check_all(const std::vector<double> &got, const std::vector<double> &expected, double allowed,
               const std::string &what) {
  check(got.size() == expected.size(), what + ": size");
  for (std::size_t e = 0; e < expected.size(); ++e)
    check_close(got[e], expected[e], allowed, what);
}

template <class T> void compare(const Matrix<T> &x, const Given &given, const std::string &what) {
  const Dense<T> rows = x.dense();
  const Gaussians g = given.at(x.p);
  std::vector<double> log_density, r;
  const GmmSums expected = slowly(x, given, log_density, r);
  const double allowed = 1e-9 * static_cast<double>(x.n + 1);
  const GmmSums got = gmm_estep(rows, given.weight, g, 2);
  check_close(got.weight, expected.weight, allowed, what + ": weight");
  check_close(got.value, expected.value, allowed, what + ": value");
  check_all(got.count, expected.count, allowed, what + ": count");
  check_all(got.sums, expected.sums, allowed, what + ": sums");
  check_all(got.squares, expected.squares, allowed, what + ": squares");
  for (const int threads : {1, 5}) {
    const GmmSums again = gmm_estep(rows, given.weight, g, threads);
    check(again.value == got.value && again.count == got.count && again.sums == got.sums &&
              again.squares == got.squares,
          what + ": bits of " + std::to_string(threads) + " threads");
  }
  std::vector<double> computed(index(x.n)), posteriors(index(x.n * g.components()));
  gmm_responsibilities(rows, g, 3, computed, posteriors);
  check_all(computed, log_density, 1e-9, what + ": log density");
  check_all(posteriors, r, 1e-9, what + ": responsibilities");
}

template <class T> void try_all(Index n, Index p, Index K, unsigned seed, const std::string &isa) {
  const Matrix<T> x(n, p, 1.0, seed);
  const auto doubles = [&](Index count, unsigned more) { return normal(index(count), seed + more); };
  const std::string what =
      isa + ", " + std::to_string(n) + " x " + std::to_string(p) + ", " + std::to_string(K) + " components";
  for (const bool weighted : {false, true}) {
    Given given{{}, doubles(K * p, 100), doubles(K * p * p, 200), {}, {}, doubles(K, 300)};
    for (Index i = 0; i < n && weighted; ++i)
      given.weight.push_back(static_cast<double>(i % 3));
    compare(x, given, what + ", triangles");
    given.factors.resize(index(p * p));
    given.centre = doubles(p, 400);
    compare(x, given, what + ", one triangle");
    given.factors.clear(), given.centre.clear();
    given.scales = doubles(K * p, 500);
    compare(x, given, what + ", scales");
  }
}

// Quadratic forms, densities and feature moments, sample by sample.
template <class T> void try_features(Index n, Index p, Index K, unsigned seed, bool weighted, const std::string &isa) {
  const std::string what =
      isa + ", features of " + std::to_string(n) + " x " + std::to_string(p) + ", " + std::to_string(K) + " components";
  const Matrix<T> x(n, p, 1.0, seed);
  const Index size = feature_count(p);
  std::vector<double> centre = normal(index(p), seed + 1), scale, coef = normal(index(K * size), seed + 2), weight;
  for (Index j = 0; j < p; ++j)
    scale.push_back(0.5 + 0.1 * static_cast<double>(j));
  for (Index i = 0; i < n && weighted; ++i)
    weight.push_back(static_cast<double>(i % 3));
  double total = 0.0, value = 0.0;
  std::vector<double> moments(index(K * size)), sq_distances, densities, posteriors(index(K * n)), ones(index(n), 1.0);
  for (Index i = 0; i < n; ++i) {
    const double w = weighted ? weight[index(i)] : 1.0;
    const auto a = [&](Index j) { return (x(i, j) - centre[index(j)]) * scale[index(j)]; };
    std::vector<double> f{1.0}, z;
    for (Index j = 0; j < p; ++j)
      f.push_back(a(j));
    for (Index j = 0; j < p; ++j)
      for (Index k = j; k < p; ++k)
        f.push_back(a(j) * a(k));
    double largest = -std::numeric_limits<double>::infinity(), parts = 0.0;
    for (Index k = 0; k < K; ++k) {
      double form = 0.0;
      for (Index e = 0; e < size; ++e)
        form += coef[index(k * size + e)] * f[index(e)];
      sq_distances.push_back(form);
      z.push_back(-0.5 * form);
      largest = std::max(largest, z.back());
    }
    for (const double zk : z)
      parts += std::exp(zk - largest);
    densities.push_back(largest + std::log(parts));
    total += w;
    value += w * densities.back();
    for (Index k = 0; k < K; ++k) {
      const double posterior = std::exp(z[index(k)] - densities.back());
      posteriors[index(k * n + i)] = w * posterior;
      for (Index e = 0; e < size; ++e)
        moments[index(k * size + e)] += w * posterior * f[index(e)];
    }
  }
  const double allowed = 1e-10 * static_cast<double>((n + 1) * size);
  const GmmFeatureMoments got = gmm_estep_gemm(x.dense(), weight, centre, scale, coef, K, 2);
  check_close(got.weight, total, allowed, what + ": weight");
  check_close(got.value, value, allowed, what + ": value");
  check_all(got.moments, moments, allowed, what + ": moments");
  const GmmFeatureMoments again = gmm_estep_gemm(x.dense(), weight, centre, scale, coef, K, 1);
  check(again.value == got.value && again.moments == got.moments, what + ": the same bits for all threads");
  std::vector<double> log_density(index(n)), posterior(index(K * n)), none(index(K));
  logsumexp(sq_distances, none, weighted ? weight : ones, 2, log_density, posterior);
  check_all(log_density, densities, 1e-11 * static_cast<double>(size), what + ": log of sums");
  check_all(posterior, posteriors, 1e-11 * static_cast<double>(size), what + ": shares of terms");
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    unsigned seed = 0;
    for (const Index n : {1, 33, 257})
      for (const Index p : {1, 3, 4, 13})
        for (const Index K : {1, 3}) {
          try_all<double>(n, p, K, ++seed, isa);
          try_all<float>(n, p, K, ++seed, isa);
        }
    try_all<double>(5000, 5, 2, ++seed, isa);
    for (const Index n : {1, 33, 700})
      for (const Index p : {1, 4, 13})
        for (const Index K : {1, 2, 7, 16}) {
          try_features<double>(n, p, K, ++seed, false, isa);
          try_features<float>(n, p, K, ++seed, true, isa);
        }
    try_features<double>(9000, 9, 9, ++seed, true, isa);
  });
  return result();
}
