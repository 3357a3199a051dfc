// Quadratic models with absolute values: slopes at the minimum balance their limits, whatever the start, the
// instruction set and the threads; margins of the few columns that have a coefficient.
#include "check.hpp"

#include "tenfold/feature_sign.hpp"
#include "tenfold/loss_derivatives.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

void test_feature_sign(Index q, const std::string &isa) {
  constexpr Index m = 12;
  const Index n = 2 * q;
  const std::vector<double> a = normal(at(m * n * q), 1), g = normal(at(m * q), 2), x = normal(at(m * q), 3);
  std::vector<double> H(at(m * q * q)), limit(at(m * q)), u(at(m * q));
  for (Index k = 0; k < m; ++k)
    for (Index j = 0; j < q; ++j) {
      limit[at(k * q + j)] = j + 1 == q ? 0.0 : 0.02 * static_cast<double>(1 + k * k);
      u[at(k * q + j)] = (j + k) % 3 == 0 ? 0.0 : x[at(k * q + j)];
      for (Index l = 0; l < q; ++l)
        for (Index i = 0; i < n; ++i)
          H[at((k * q + j) * q + l)] +=
              a[at((k * n + i) * q + j)] * a[at((k * n + i) * q + l)] / static_cast<double>(n);
    }
  const std::vector<double> start = u;
  std::vector<double> other = u;
  feature_sign(H, g, limit, q, 1, u);
  feature_sign(H, g, limit, q, 3, other);
  check(u == other, isa + ": signs have the same bits for all threads");
  for (Index k = 0; k < m; ++k)
    for (Index j = 0; j < q; ++j) {
      double slope = g[at(k * q + j)];
      for (Index l = 0; l < q; ++l)
        slope += H[at((k * q + j) * q + l)] * (u[at(k * q + l)] - start[at(k * q + l)]);
      const double w = u[at(k * q + j)], bound = limit[at(k * q + j)];
      if (w != 0.0)
        check_close(slope, w > 0.0 ? -bound : bound, 1e-8, isa + ": the slope of a weight");
      else
        check(std::abs(slope) <= bound + 1e-8, isa + ": a weight that is zero is held back");
    }
}

void test_few_columns(const std::string &isa) {
  constexpr Index n = 21, p = 64, t = 2;
  const std::vector<double> x = normal(at(n * p), 4), shift = normal(at(p), 5), intercept = {0.5, -1.0};
  std::vector<double> coef(at(t * p));
  coef[3] = 1.5, coef[at(p + 3)] = -0.5, coef[at(p + 60)] = 2.0;
  const ActiveColumns few(coef, t, shift);
  check(few.is_worthwhile(), isa + ": two of 64 columns are few");
  std::vector<double> z(at(t * n));
  few.matvec(Dense<double>{x.data(), n, p}, 0, n, intercept.data(), z.data(), n);
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < t; ++k) {
      double sum = intercept[at(k)];
      for (Index j = 0; j < p; ++j)
        sum += (x[at(i * p + j)] - shift[at(j)]) * coef[at(k * p + j)];
      check_close(z[at(k * n + i)], sum, 1e-12, isa + ": margins of few columns");
    }
  coef.assign(coef.size(), 1.0);
  check(!ActiveColumns(coef, t, {}).is_worthwhile(), isa + ": all columns are not few");
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const Index q : {1, 2, 7, 33})
      test_feature_sign(q, isa);
    test_few_columns(isa);
  });
  return result();
}
