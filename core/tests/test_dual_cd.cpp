// Dual coordinate descent ends where the optimality conditions hold, in both storages; w belongs to the dual point.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/crammer_singer_cd.hpp"
#include "tenfold/dual_cd.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

constexpr Index epochs = 5000;

// Hinge (curvature 0) or squared hinge, targets -1 and +1; with a tube, real targets.
template <class Rows, class T>
void test_dual(const Matrix<T> &x, const Rows &rows, double curvature, double epsilon, Index run,
               const std::string &what) {
  const double far = curvature > 0.0 ? std::numeric_limits<double>::infinity() : 0.3;
  DualCd s;
  s.unit = 0.5, s.epsilon = epsilon, s.run = run;
  s.target = normal(index(x.n), 7);
  s.curvature.assign(index(x.n), curvature);
  for (double &t : s.target) {
    t = epsilon > 0.0 ? t : (t > 0.0 ? 1.0 : -1.0);
    s.low.push_back(epsilon > 0.0 || t < 0.0 ? -far : 0.0);
    s.high.push_back(epsilon > 0.0 || t > 0.0 ? far : 0.0);
  }
  begin(rows, s);
  double violation = 1.0;
  for (Index k = 0; k < epochs && !(violation <= 1e-10 && s.active == s.rows()); ++k) {
    violation = epoch(rows, s);
    if (violation <= 1e-10 && s.active < s.rows())
      s.unshrink(), violation = 1.0;
  }
  check(violation <= 1e-10, what + ": ends");
  check(1.0 < s.relaxation && s.relaxation < 2.0, what + ": goes past the minimum along a row");
  check(0.0 <= s.gap && s.gap <= 1e-8, what + ": no gap is left");
  for (Index j = 0; j <= x.p; ++j) {
    double sum = 0.0;
    for (Index i = 0; i < x.n; ++i)
      sum += s.b[index(i)] * (j < x.p ? x(i, j) : s.unit);
    check_close(s.w[index(j)], sum, 1e-9, what + ": weights");
  }
  for (Index i = 0; i < x.n; ++i) {
    const std::size_t at = index(i);
    double g = s.w.back() * s.unit - s.target[at] + curvature * s.b[at];
    for (Index j = 0; j < x.p; ++j)
      g += s.w[index(j)] * x(i, j);
    // no feasible direction decreases the objective
    const double right = g + (s.b[at] >= 0.0 ? epsilon : -epsilon), left = g + (s.b[at] > 0.0 ? epsilon : -epsilon);
    check(s.low[at] <= s.b[at] && s.b[at] <= s.high[at], what + ": inside");
    check(s.b[at] == s.high[at] || right >= -1e-8, what + ": not upwards");
    check(s.b[at] == s.low[at] || left <= 1e-8, what + ": not downwards");
  }
}

template <class Rows, class T> void test_crammer_singer(const Matrix<T> &x, const Rows &rows, const std::string &what) {
  constexpr Index K = 3;
  CrammerSingerCd s;
  s.classes = K, s.unit = 1.0;
  s.cost.assign(index(x.n), 0.2), s.offset = {0.1, -0.2, 0.0};
  for (Index i = 0; i < x.n; ++i)
    s.label.push_back(static_cast<std::int32_t>(i % K));
  begin(rows, s);
  double violation = 1.0;
  for (Index k = 0; k < epochs && !(violation <= 1e-9); ++k) {
    violation = epoch(rows, s);
    if (violation <= 1e-9 && s.active < s.rows())
      s.unshrink(), violation = 1.0;
  }
  check(violation <= 1e-9, what + ": ends");
  for (Index k = 0; k < K; ++k)
    for (Index j = 0; j <= x.p; ++j) {
      double sum = 0.0;
      for (Index i = 0; i < x.n; ++i)
        sum += s.cost[index(i)] * ((s.label[index(i)] == k ? 1.0 : 0.0) - s.dual[index(i * K + k)]) *
               (j < x.p ? x(i, j) : s.unit);
      check_close(s.w[index(j * K + k)], sum, 1e-9, what + ": weights");
    }
  for (Index i = 0; i < x.n; ++i) {
    double total = 0.0, high = -1e300, z[K];
    for (Index k = 0; k < K; ++k) {
      z[k] = s.offset[index(k)] + s.w[index(x.p * K + k)] * s.unit + (s.label[index(i)] == k ? 0.0 : 1.0);
      for (Index j = 0; j < x.p; ++j)
        z[k] += x(i, j) * s.w[index(j * K + k)];
      high = std::max(high, z[k]), total += s.dual[index(i * K + k)];
    }
    check_close(total, 1.0, 1e-12, what + ": shares sum to one");
    for (Index k = 0; k < K; ++k)
      check(s.dual[index(i * K + k)] == 0.0 || z[k] >= high - 1e-7, what + ": shares where the loss is");
  }
}

// Over-relaxation stops at bounds and at the kink of the tube; a faster decrease does not lower the factor.
void test_over_relax() {
  constexpr double far = std::numeric_limits<double>::infinity();
  check(over_relax(2.0, 1.0, 1.4, 0.0, far, 0.0) == 2.4, "past the minimum");
  check(over_relax(2.0, 1.0, 1.4, 0.0, 2.2, 0.0) == 2.2, "not over an end");
  check(over_relax(0.5, 3.0, 1.4, -far, far, 0.1) == 0.0, "not over the kink from above");
  check(over_relax(-0.5, -3.0, 1.4, -far, far, 0.1) == 0.0, "not over the kink from below");
  check(over_relax(0.0, 3.0, 1.4, -far, far, 0.1) == 0.0, "the kink itself");
  check_close(over_relax(1.0, -1.0, 1.4, -far, far, 0.1), 1.8, 1e-12, "from the other side of the kink");
  DualCd s;
  s.gap = 0.01, s.update_relaxation(1.0); // a rate of 0.1 has the radius sqrt(0.1)
  check_close(s.relaxation, 2.0 / (1.0 + std::sqrt(0.9)), 1e-12, "the best factor");
  const double once = s.relaxation;
  s.gap = 1e-6, s.update_relaxation(1.0);
  check(s.relaxation == once, "no less");
  s.gap = 2.0, s.update_relaxation(1.0);
  check(s.relaxation == once, "a gap that grew says nothing");
  s.gap = 0.9, s.update_relaxation(1.0);
  check(s.relaxation == 1.4, "no more than pays");
}

template <class T> void test_all(const std::string &isa) {
  const Matrix<T> x(60, 7, 0.5, 3);
  for (const auto &[curvature, epsilon] : {std::pair{0.0, 0.0}, {0.5, 0.0}, {0.0, 0.2}, {0.5, 0.2}}) {
    const std::string what = isa + " curvature " + std::to_string(curvature) + " tube " + std::to_string(epsilon);
    test_dual(x, x.dense(), curvature, epsilon, 1, what + " dense");
    test_dual(x, x.sparse(), curvature, epsilon, 1, what + " sparse");
    test_dual(x, x.sparse(), curvature, epsilon, 3, what + " sparse, in runs");
  }
  test_crammer_singer(x, x.dense(), isa + " Crammer-Singer dense");
  test_crammer_singer(x, x.sparse(), isa + " Crammer-Singer sparse");
}

} // namespace

int main() {
  test_over_relax();
  for_each_isa([](const std::string &isa) {
    test_all<double>(isa);
    test_all<float>(isa);
  });
  return result();
}
