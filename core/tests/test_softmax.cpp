// The softmax loss against plain sums, dense and sparse, in double and single precision, with the same bits for all
// numbers of threads.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/softmax_at_margins.hpp"
#include "tenfold/softmax_float32.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

struct Sums {
  double value = 0.0, weight = 0.0;
  std::vector<double> slope, gradient;
};

struct Given {
  std::vector<double> y, weight, coef, intercept, shift;
};

template <class T> Sums slowly(const Matrix<T> &x, const Given &g) {
  const Index K = static_cast<Index>(g.intercept.size());
  Sums sums;
  sums.slope.resize(index(K)), sums.gradient.resize(index(K * x.p));
  for (Index i = 0; i < x.n; ++i) {
    const double w = g.weight[index(i)];
    const auto entry = [&](Index j) { return x(i, j) - (g.shift.empty() ? 0.0 : g.shift[index(j)]); };
    std::vector<double> z(g.intercept);
    double total = 0.0;
    for (Index k = 0; k < K; ++k) {
      for (Index j = 0; j < x.p; ++j)
        z[index(k)] += entry(j) * g.coef[index(k * x.p + j)];
      total += std::exp(z[index(k)]);
    }
    sums.weight += w;
    sums.value += w * (std::log(total) - z[index(static_cast<Index>(g.y[index(i)]))]);
    for (Index k = 0; k < K; ++k) {
      const double u = w * (std::exp(z[index(k)]) / total - (static_cast<Index>(g.y[index(i)]) == k ? 1.0 : 0.0));
      sums.slope[index(k)] += u;
      for (Index j = 0; j < x.p; ++j)
        sums.gradient[index(k * x.p + j)] += u * entry(j);
    }
  }
  return sums;
}

template <class Rows> void compare(const Rows &rows, const Given &g, const Sums &expected, const std::string &what) {
  const SoftmaxPoint<Rows> point{rows, g.y, g.weight, g.coef, g.intercept, g.shift};
  for (const int order : {0, 1}) {
    const SoftmaxSums got = softmax(point, order, 2);
    const double allowed = 1e-11 * static_cast<double>(rows.rows + 1);
    check_close(got.value, expected.value, allowed, what + ": value");
    check_close(got.weight, expected.weight, allowed, what + ": weight");
    for (std::size_t k = 0; k < expected.slope.size(); ++k)
      check_close(got.slope[k], expected.slope[k], allowed, what + ": slope");
    check(got.gradient.size() == (order == 0 ? 0 : expected.gradient.size()), what + ": size of the gradient");
    for (std::size_t e = 0; e < got.gradient.size(); ++e)
      check_close(got.gradient[e], expected.gradient[e], allowed, what + ": gradient");
    for (const int threads : {1, 5}) {
      const SoftmaxSums again = softmax(point, order, threads);
      check(again.value == got.value && again.slope == got.slope && again.gradient == got.gradient,
            what + ": the same bits for all threads");
    }
  }
}

// Seven digits of every sample's contribution.
template <class T>
void compare_rough(const Dense<T> &rows, const Given &g, const Sums &expected, const std::string &what) {
  const SoftmaxPoint<Dense<T>> point{rows, g.y, g.weight, g.coef, g.intercept, g.shift};
  const SoftmaxSums got = softmax_float32(point, 2), again = softmax_float32(point, 5);
  const double allowed = 1e-5 * static_cast<double>(rows.rows + 1);
  check_close(got.value, expected.value, allowed, what + ": rough value");
  check_close(got.weight, expected.weight, 1e-9, what + ": rough weight");
  for (std::size_t k = 0; k < expected.slope.size(); ++k)
    check_close(got.slope[k], expected.slope[k], allowed, what + ": rough slope");
  for (std::size_t e = 0; e < expected.gradient.size(); ++e)
    check_close(got.gradient[e], expected.gradient[e], allowed, what + ": rough gradient");
  check(again.value == got.value && again.slope == got.slope && again.gradient == got.gradient,
        what + ": the same rough bits for all threads");
}

// Weighted Gram matrices of the rows extended by a one, with the weights and with twice the weights.
template <class T> void compare_grams(const Matrix<T> &x, const Given &g, const std::string &what) {
  const Index q = x.p + 1, K = 2;
  std::vector<double> share, got(index(K * q * q)), again(got.size());
  for (const double w : g.weight)
    share.insert(share.end(), {w, 2.0 * w});
  class_grams(x.dense(), share, g.shift, K, 2, got);
  class_grams(x.dense(), share, g.shift, K, 5, again);
  check(got == again, what + ": the same Gram bits for all threads");
  const auto entry = [&](Index i, Index j) {
    return j == x.p ? 1.0 : x(i, j) - (g.shift.empty() ? 0.0 : g.shift[index(j)]);
  };
  const double largest = got.empty() ? 0.0 : *std::max_element(got.begin(), got.end());
  for (Index k = 0; k < K; ++k)
    for (Index a = 0; a < q; ++a)
      for (Index b = 0; b < q; ++b) {
        double sum = 0.0;
        for (Index i = 0; i < x.n; ++i)
          sum += share[index(i * K + k)] * entry(i, a) * entry(i, b);
        check_close(got[index((k * q + a) * q + b)], sum, 3e-6 * largest, what + ": Gram");
      }
}

// At given margins: derivatives against finite differences of the value.
void test_margins(const std::string &isa) {
  const Index n = 300, K = 4;
  const std::vector<double> z = normal(index(n * K), 1), dz = normal(index(n * K), 2);
  std::vector<double> y, weight, u(z.size());
  for (Index i = 0; i < n; ++i) {
    y.push_back(static_cast<double>(i % K));
    weight.push_back(i % 5 == 0 ? 0.0 : 0.5 + static_cast<double>(i % 3));
  }
  const auto value = [&](double length) {
    std::vector<double> at(z), out(z.size());
    for (std::size_t e = 0; e < z.size(); ++e)
      at[e] += length * dz[e];
    return softmax_at_margins({y, at, weight, K}, 2, out)[0];
  };
  const Margins margins{y, z, weight, K};
  const Buffer sums = softmax_at_margins(margins, 2, u);
  for (Index k = 0; k < K; ++k) {
    double slope = 0.0, bend = 0.0;
    for (Index i = 0; i < n; ++i) {
      const double w = weight[index(i)], part = u[index(i * K + k)], own = i % K == k ? 1.0 : 0.0;
      const double p = w > 0.0 ? part / w + own : 0.0;
      slope += part;
      bend += w * p * (1.0 - p);
    }
    check_close(sums[1 + k], slope, 1e-10, isa + " slope at margins");
    check_close(sums[1 + K + k], bend, 1e-10, isa + " bend at margins");
  }
  const double h = 1e-3;
  const Buffer along = softmax_along_line(margins, dz, 0.5, 2);
  check_close(along[0], (value(0.5 + h) - value(0.5 - h)) / (2.0 * h), 1e-2, isa + " first derivative");
  check_close(along[1], (value(0.5 + h) - 2.0 * value(0.5) + value(0.5 - h)) / (h * h), 1e-2, isa + " second");
}

template <class T> void test_sums(const std::string &isa) {
  for (const auto &[n, p] : {std::pair<Index, Index>{0, 2}, {1, 1}, {50, 9}, {1000, 37}, {2100, 3}})
    for (const Index K : {3, 7}) {
      const Matrix<T> x(n, p, 0.4, 5);
      Given g{{}, {}, normal(index(K * p), 6), normal(index(K), 7), {}};
      std::mt19937_64 random(8);
      for (Index i = 0; i < n; ++i) {
        g.y.push_back(static_cast<double>(random() % static_cast<std::uint64_t>(K)));
        g.weight.push_back(i % 5 == 0 ? 0.0 : 0.5 + static_cast<double>(i % 3));
      }
      const std::string what = isa + " " + std::to_string(n) + " x " + std::to_string(p) + " K " + std::to_string(K);
      compare(x.dense(), g, slowly(x, g), what + " dense");
      compare(x.sparse(), g, slowly(x, g), what + " sparse");
      g.shift = normal(index(p), 9);
      compare(x.dense(), g, slowly(x, g), what + " dense, shifted");
      compare_rough(x.dense(), g, slowly(x, g), what);
      compare_grams(x, g, what);
    }
}

// Extreme scores: nothing overflows, and a loss near zero keeps its digits.
void test_scores_far_apart(const std::string &isa) {
  const Matrix<double> x(1, 1, 1.0, 1);
  const Given g{{1.0}, {1.0}, {0.0, 0.0, 0.0}, {-700.0, 900.0, 860.0}, {}};
  const Dense<double> rows = x.dense();
  const SoftmaxPoint<Dense<double>> point{rows, g.y, g.weight, g.coef, g.intercept, {}};
  const SoftmaxSums got = softmax(point, 1, 1);
  check_close(got.value, std::exp(-40.0), 1e-15 * std::exp(-40.0), isa + " a small loss");
  check_close(got.slope[1], -std::exp(-40.0), 1e-14 * std::exp(-40.0), isa + " a small slope");
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    test_sums<double>(isa);
    test_sums<float>(isa);
    test_scores_far_apart(isa);
    test_margins(isa);
  });
  return result();
}
