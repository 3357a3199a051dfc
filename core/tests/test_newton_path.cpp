// Paths of folds along decreasing penalties: the gradient is zero at every place, for several losses and both dtypes,
// bits do not depend on threads, and passes are counted.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/newton_path.hpp"

#include <numeric>

using namespace tenfold;
using namespace tenfold::test;

namespace {

template <class T> void minima(Loss loss, bool intercept, bool weighted) {
  const Index n = 60, p = 4, A = 7;
  const Matrix<T> X(n, p, 1.0, 1, 2.0);
  const Dense<T> x = X.dense();
  Numbers y = normal(index(n), 2), weight = normal(index(n), 3), shift(index(p), intercept ? 2.0 : 0.0);
  for (double &each : y)
    each = loss == Loss::logistic ? (each > 0.0 ? 1.0 : -1.0) : std::abs(each);
  for (double &each : weight)
    each = weighted ? std::abs(each) : 1.0;
  std::vector<std::int64_t> rows(100);
  std::iota(rows.begin(), rows.begin() + 50, 10);
  std::iota(rows.begin() + 50, rows.end(), 0);
  const std::vector<std::int64_t> starts{0, 50, 100};
  const Numbers strengths{10, 1, 1, 1e-1, 1e-2, 1e-3, 1e-6, 5, 1, 0.5, 1e-1, 1e-2, 1e-3, 1e-4};
  const Folds<T> folds{x,     y,    weighted ? std::span<const double>(weight) : std::span<const double>(),
                       shift, rows, starts,
                       loss,  0.0,  intercept};
  const PathRule rule{1e-9, 1e-9, 1.0, 50};
  const NewtonPaths paths = newton_path(folds, strengths, rule, 1);
  check(paths.regular, "all Hessians are regular");
  check(paths.params == newton_path(folds, strengths, rule, 3).params, "equal bits on three threads");
  check(paths.passes[1] >= A && paths.passes[3] >= A, "a Hessian at every place");
  for (Index f = 0; f < 2; ++f) {
    FoldLoss<T> of_rows(x, y, folds.weight, shift, folds.of(f), loss, 0.0, intercept);
    for (Index a = 0; a < A; ++a) {
      const double *at = paths.params.data() + (f * A + a) * (p + 1);
      const LossAt loss_at = of_rows(Numbers(at, at + p + 1), 1);
      for (Index j = 0; j <= p; ++j) {
        const double ridge = j < p ? strengths[index(f * A + a)] * at[j] : 0.0;
        check_close(loss_at.gradient[index(j)], -ridge, 1e-9, "the gradient of a minimum");
      }
      check(intercept || at[p] == 0.0, "no intercept");
    }
  }
}

// Two columns alike, and a penalty that is nothing beside them.
void singular() {
  const Index n = 20;
  std::vector<double> X(index(n * 2)), y(index(n), 1.0), shift(2);
  for (Index i = 0; i < n; ++i) {
    X[index(2 * i)] = X[index(2 * i + 1)] = static_cast<double>(i - 9);
    y[index(i)] = i % 3 == 0 ? 1.0 : -1.0;
  }
  std::vector<std::int64_t> rows(index(n));
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<std::int64_t> starts{0, n};
  const Dense<double> x{X.data(), n, 2};
  const Folds<double> folds{x, y, {}, shift, rows, starts, Loss::logistic, 0.0, true};
  check(!newton_path(folds, Numbers{1e-20}, {1e-6, 1e-6, 1.0, 50}, 1).regular, "a singular Hessian is reported");
  check(newton_path(folds, Numbers{1e-2}, {1e-6, 1e-6, 1.0, 50}, 1).regular, "with a penalty it is regular");
}

} // namespace

int main() {
  for (const bool intercept : {true, false})
    for (const bool weighted : {true, false}) {
      minima<double>(Loss::logistic, intercept, weighted);
      minima<float>(Loss::logistic, intercept, weighted);
      minima<double>(Loss::poisson, intercept, weighted);
    }
  singular();
  return result();
}
