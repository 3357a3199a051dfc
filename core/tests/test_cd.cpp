// Coordinate descent: the Newton step and its reused Cholesky factor, the line search, dual values of extrapolated
// residuals, and the CSC solver against the Gram solver.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/cd_csc.hpp"
#include "tenfold/cd_dense.hpp"
#include "tenfold/cd_gram.hpp"
#include "tenfold/csr_select_columns.hpp"
#include "tenfold/matvec.hpp"

#include <numeric>

using namespace tenfold;
using namespace tenfold::test;

namespace {

using Numbers = std::vector<double>;

// The five BLAS and LAPACK routines by their definitions, in Fortran order, factors in the upper
// triangle.
double entry(char transposed, const double *a, int step, int i, int j) {
  return transposed == 'T' ? a[i * step + j] : a[j * step + i];
}

void dgemm(char *ta, char *tb, int *m, int *n, int *k, double *alpha, double *a, int *lda, double *b, int *ldb,
           double *beta, double *c, int *ldc) {
  for (int i = 0; i < *m; ++i)
    for (int j = 0; j < *n; ++j) {
      double sum = 0.0;
      for (int l = 0; l < *k; ++l)
        sum += entry(*ta, a, *lda, i, l) * entry(*tb, b, *ldb, l, j);
      double &to = c[j * *ldc + i];
      to = *alpha * sum + (*beta == 0.0 ? 0.0 : *beta * to);
    }
}

void dtrsv(char *, char *transposed, char *, int *n, double *a, int *lda, double *x, int *) {
  const bool forth = *transposed == 'T';
  for (int step = 0; step < *n; ++step) {
    const int i = forth ? step : *n - 1 - step;
    for (int j = forth ? 0 : i + 1; j < (forth ? i : *n); ++j)
      x[i] -= entry(*transposed, a, *lda, i, j) * x[j];
    x[i] /= a[i * *lda + i];
  }
}

void dtrsm(char *, char *upper, char *transposed, char *whole, int *m, int *n, double *, double *a, int *lda, double *b,
           int *ldb) {
  int one = 1;
  for (int j = 0; j < *n; ++j)
    dtrsv(upper, transposed, whole, m, a, lda, b + j * *ldb, &one);
}

int factors = 0; // that were made

void dpotrf(char *, int *n, double *a, int *lda, int *info) {
  ++factors;
  *info = 0;
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i <= j; ++i) {
      double sum = a[j * *lda + i];
      for (int k = 0; k < i; ++k)
        sum -= a[i * *lda + k] * a[j * *lda + k];
      if (i == j && !(sum > 0.0)) {
        *info = j + 1;
        return;
      }
      a[j * *lda + i] = i == j ? std::sqrt(sum) : sum / a[i * *lda + i];
    }
}

void dpotrs(char *upper, int *n, int *sides, double *a, int *lda, double *b, int *ldb, int *info) {
  char back = 'T', forth = 'N', whole = 'N', left = 'L';
  double one = 1.0;
  dtrsm(&left, upper, &back, &whole, n, sides, &one, a, lda, b, ldb);
  dtrsm(&left, upper, &forth, &whole, n, sides, &one, a, lda, b, ldb);
  *info = 0;
}

const Blas blas{.dgemm = dgemm, .dtrsm = dtrsm, .dtrsv = dtrsv, .dpotrf = dpotrf, .dpotrs = dpotrs};

// Dense columns (n x p) correlated by `alike`, targets from some of them, and their Gram matrix.
struct Problem {
  Problem(Index n_, Index p_, double alike, unsigned seed)
      : n(n_), p(p_), X(normal(index(n * p), seed)), y(normal(index(n), seed + 1)), S(index(p * p)), C(index(p)),
        unit(index(p), 1.0) {
    const Numbers common = normal(index(n), seed + 2);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < p; ++j) {
        X[index(i * p + j)] += alike * common[index(i)];
        y[index(i)] += j % 3 == 0 ? X[index(i * p + j)] : 0.0;
      }
    for (Index i = 0; i < n; ++i) {
      yy += y[index(i)] * y[index(i)];
      for (Index a = 0; a < p; ++a) {
        C[index(a)] += X[index(i * p + a)] * y[index(i)];
        for (Index b = 0; b < p; ++b)
          S[index(a * p + b)] += X[index(i * p + a)] * X[index(i * p + b)];
      }
    }
  }
  Numbers correlations(const Numbers &w) const {
    Numbers q = C;
    for (Index a = 0; a < p; ++a)
      for (Index b = 0; b < p; ++b)
        q[index(a)] -= S[index(a * p + b)] * w[index(b)];
    return q;
  }
  DualityGap bounds(const ElasticNet &penalty, const Numbers &w, double &squares) const {
    const Numbers q = correlations(w);
    DualityGap sum(penalty);
    squares = yy;
    for (Index j = 0; j < p; ++j) {
      sum.add(&q[index(j)], 1, &w[index(j)], 1, 1, S[index(j * p + j)], 1.0);
      squares -= w[index(j)] * (C[index(j)] + q[index(j)]);
    }
    return sum;
  }
  GramStorage storage(const Numbers &w) const {
    GramStorage solved(1, yy);
    std::vector<Index> all(index(p));
    std::iota(all.begin(), all.end(), Index{0});
    solved.set_members(S, p, p, all);
    std::copy(C.begin(), C.end(), solved.xty().begin());
    solved.reset(w);
    return solved;
  }

  Index n, p;
  Numbers X, y, S, C, unit;
  double yy = 0.0;
};

// After the Newton step every correlation on the active set equals the subgradient of the penalty.
void check_step(const Problem &g, const ElasticNet &penalty, const Numbers &w, const Numbers &step,
                const std::string &what) {
  Numbers there = w;
  for (std::size_t j = 0; j < w.size(); ++j)
    there[j] += step[j];
  const Numbers q = g.correlations(there);
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (w[j] == 0.0)
      check(step[j] == 0.0, what + ": other weights stay");
    else
      check_close(q[j] - penalty.l2 * there[j], std::copysign(penalty.l1, w[j]), 1e-8, what);
  }
}

void test_bordered_factor() {
  for (const double l2 : {0.0, 0.7}) {
    const Problem g(80, 30, 0.8, 5);
    const ElasticNet penalty{2.0, l2, false};
    ActiveSetSolver support(blas);
    Numbers w(index(g.p)), step(index(g.p));
    const auto solved = [&] {
      GramStorage storage = g.storage(w);
      support.select_active(storage, w, l2);
      return support.solve(storage, penalty, g.unit, w, step);
    };
    for (Index j = 0; j < 20; ++j)
      w[index(j)] = j % 2 == 0 ? 0.5 : -0.25;
    factors = 0;
    check(solved(), "the first factor");
    check_step(g, penalty, w, step, "a factor of the set itself");
    check(factors == 1, "one factor");
    w[index(25)] = 1.0, w[index(29)] = -1.0;
    check(solved(), "columns join");
    check_step(g, penalty, w, step, "columns that joined");
    w[index(3)] = w[index(11)] = w[index(0)] = 0.0;
    check(solved(), "columns leave");
    check_step(g, penalty, w, step, "columns that joined and some that left");
    w[index(25)] = 0.0, w[index(3)] = 0.1, w[index(22)] = -2.0;
    check(solved(), "columns come and go");
    check_step(g, penalty, w, step, "columns that came back and others that left again");
    check(factors == 1, "the first factor served them all");
    support.discard_factor();
    check(solved(), "a new factor");
    check_step(g, penalty, w, step, "the same set by a factor of its own");
    check(factors == 2, "one more factor");
    check(support.cost(g.storage(w)) > 0.0, "a cost");
  }
}

void test_piecewise_quadratic() {
  PiecewiseQuadratic line;
  check_close(line.minimise(-2.0, 1.0, false), 2.0, 1e-15, "a parabola");
  check(line.minimise(1.0, 1.0, false) == 0.0, "a line that rises");
  line.add(1.5, 0.25);
  check_close(line.minimise(-2.0, 1.0, false), 1.75, 1e-15, "beyond a breakpoint");
  line.add(0.5, 5.0);
  check_close(line.minimise(-2.0, 1.0, false), 0.5, 1e-15, "at a breakpoint");
  check(line.breakpoints_before(1.0) == 1 && line.breakpoints_before(2.0) == 2, "breakpoints are counted");
}

// Gram entries of prohibitive cost: no Newton steps.
struct Expensive : GramStorage {
  double gram_entry_work() const { return 1e300; }
};

// A few sweeps without Newton steps: the dual value that is kept is the best of the residuals of all
// sweeps, below the optimum, and above these once residuals have been extrapolated.
void test_dual_extrapolation() {
  int above = 0;
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u}) {
    const Problem g(60, 30, 1.0, seed);
    const ElasticNet penalty{5.0, 0.0, false};
    CoordinateOrder order;
    CdGram exact(blas, g.S, g.p, g.C, g.yy, g.unit, Numbers(index(g.p)));
    exact.run(penalty, 1e-10 * g.yy, 100000, order);
    double squares = 0.0;
    const Numbers best(exact.weights().begin(), exact.weights().end());
    const double optimum = g.bounds(penalty, best, squares).primal(squares);
    const auto swept = [&](Numbers &w, Index most) {
      Expensive storage{g.storage(w)};
      ActiveSetSolver support(blas);
      CoordinateDescent<Expensive> descent(storage, support, g.unit, w);
      descent.run(penalty, 0.0, g.yy, most, false, order);
      return descent.dual();
    };
    Numbers begun(index(g.p)); // not far from the end, where sweeps shrink what is left by one factor
    for (int sweep = 0; sweep < 40; ++sweep)
      swept(begun, 1);
    Numbers plain = begun;
    double best_plain = -1e300;
    for (Index most = 1; most <= 6; ++most) { // weights are remembered, and combined behind the sixth sweep
      Numbers w = begun;
      const double kept = swept(w, most);
      best_plain = std::max(best_plain, swept(plain, 1));
      check(kept <= optimum + 1e-9 * g.yy, "a dual value is below the optimum");
      check(kept >= best_plain - 1e-12 * g.yy, "the best dual value is kept");
      check(most == 6 || kept <= best_plain + 1e-12 * g.yy, "there is no other before");
      above += most == 6 && kept > best_plain + 1e-6 * g.yy;
    }
  }
  check(above == 5, "extrapolated residuals prove more");
}

struct Sparsely : Matrix<double> {
  Sparsely(Index rows, Index columns, unsigned seed)
      : Matrix<double>(rows, columns, 0.1, seed, 1.0), root(normal(index(rows), seed + 1)), means(index(columns)),
        y(normal(index(rows), seed + 2)) {
    double total = 0.0, mean = 0.0;
    for (double &value : root)
      value = std::abs(value) + 0.1, total += value * value;
    for (double &value : root)
      value /= std::sqrt(total);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j)
        means[index(j)] += root[index(i)] * root[index(i)] * (*this)(i, j);
      y[index(i)] += 2.0 * (*this)(i, 0) - (*this)(i, 1);
      mean += root[index(i)] * root[index(i)] * y[index(i)];
    }
    for (Index i = 0; i < rows; ++i)
      y[index(i)] = root[index(i)] * (y[index(i)] - mean);
  }
  double column(Index i, Index j, bool centred) const {
    return root[index(i)] * ((*this)(i, j) - (centred ? means[index(j)] : 0.0));
  }

  Numbers root, means, y;
};

void test_gather_columns() {
  for (const Index n : {1, 40, 5000}) {
    const Sparsely d(n, 30, 7);
    const std::vector<std::int64_t> selected{17, 3, 29, 0};
    const auto one = gather_columns(d.sparse(), selected, d.root, 1);
    for (std::size_t k = 0; k < selected.size(); ++k) {
      Numbers got(index(n));
      std::int64_t last = -1;
      for (std::int64_t e = one.indptr[k]; e < one.indptr[k + 1]; ++e) {
        const std::int64_t row = one.indices[index(e)];
        check(row > last, "rows in order");
        last = row;
        got[index(row)] = one.data[index(e)];
      }
      for (Index i = 0; i < n; ++i)
        check(got[index(i)] == d.column(i, selected[k], false), "a chosen column");
    }
    const auto four = gather_columns(d.sparse(), selected, d.root, 4);
    check(four.data == one.data && four.indices == one.indices && four.indptr == one.indptr, "threads do not matter");
    check(gather_columns(d.sparse(), {}, {}, 2).indptr.size() == 1, "no column at all");
  }
  Sparsely bad(40, 30, 7);
  bad.indices[5] = 30;
  bool raised = false;
  try {
    gather_columns(bad.sparse(), std::vector<std::int64_t>{1}, {}, 1);
  } catch (const std::invalid_argument &) {
    raised = true;
  }
  check(raised, "a column that is not there");
}

void test_column_sums(const std::string &isa) {
  for (const Index n : {1, 37, 6000}) {
    Sparsely d(n, 50, 11);
    if (!d.data.empty())
      d.data[0] = d.values[index(d.indices[0])] = 0.0; // an entry that is kept, and zero
    const SparseColumnSums got = column_sums(d.sparse(), d.root, d.y, 2);
    double min_abs = 1e300, max_abs = 0.0;
    for (Index j = 0; j < d.p; ++j) {
      double sums[3] = {};
      for (Index i = 0; i < n; ++i) {
        const double x = d(i, j);
        sums[0] += d.root[index(i)] * x, sums[1] += d.root[index(i)] * x * x, sums[2] += d.y[index(i)] * x;
        min_abs = x != 0.0 ? std::min(min_abs, std::abs(x)) : min_abs;
        max_abs = std::max(max_abs, std::abs(x));
      }
      for (Index k = 0; k < 3; ++k)
        check_close(got.sums[index(k * d.p + j)], sums[k], 1e-11, isa + ": sums of columns");
    }
    check(d.data.size() < 2 || (got.min_abs == min_abs && got.max_abs == max_abs), isa + ": extremes");
    check(column_sums(d.sparse(), d.root, d.y, 1).sums == got.sums, isa + ": threads do not matter");
    const SparseColumnSums two = column_sums(d.sparse(), d.root, {}, 1);
    for (Index j = 0; j < 2 * d.p; ++j)
      check(two.sums[index(j)] == got.sums[index(j)], isa + ": without products");
  }
}

// The same problem on CSC columns, on dense columns and on the Gram matrix of the centred columns: correlations, norms
// and Gram entries agree, and so do the solutions.
void test_compressed(bool centred) {
  const Index n = 400, q = 60;
  const Sparsely d(n, q, 23);
  std::vector<std::int64_t> all(index(q));
  std::iota(all.begin(), all.end(), 0);
  const auto columns = gather_columns(d.sparse(), all, d.root, 1);
  const Numbers means = centred ? d.means : Numbers(index(q));
  const CscColumns<std::int32_t> given{columns.data, columns.indices, columns.indptr, means};
  Numbers S(index(q * q)), C(index(q)), w = normal(index(q), 3), correlation(1), x;
  for (Index a = 0; a < q; ++a)
    for (Index i = 0; i < n; ++i)
      x.push_back(d.column(i, a, centred));
  double yy = 0.0;
  for (Index i = 0; i < n; ++i) {
    yy += d.y[index(i)] * d.y[index(i)];
    for (Index a = 0; a < q; ++a) {
      C[index(a)] += d.column(i, a, centred) * d.y[index(i)];
      for (Index b = 0; b < q; ++b)
        S[index(a * q + b)] += d.column(i, a, centred) * d.column(i, b, centred);
    }
  }
  CscStorage<std::int32_t> storage(given, d.y, 1);
  storage.reset(w);
  const double change = 0.5;
  storage.update(7, &change);
  w[7] += change;
  double squares = yy;
  for (Index a = 0; a < q; ++a) {
    double expected = C[index(a)];
    for (Index b = 0; b < q; ++b) {
      expected -= S[index(a * q + b)] * w[index(b)];
      check_close(storage.gram_entry(a, b), S[index(a * q + b)], 1e-13, "a product of compressed columns");
    }
    storage.correlation(a, correlation.data());
    check_close(correlation[0], expected, 1e-12, "a correlation");
    check_close(storage.square(a), S[index(a * q + a)], 1e-13, "a square");
    squares -= w[index(a)] * (C[index(a)] + expected);
  }
  check_close(storage.squares(w), squares, 1e-11, "the squares of the residuals");
  for (const bool positive : {false, true}) {
    const ElasticNet penalty{0.02, 0.01, positive};
    const Numbers start(index(q)), unit(index(q), 1.0);
    CoordinateOrder order;
    CdColumns along(blas, CscStorage<std::int32_t>(given, d.y, 1), start);
    CdGram gram(blas, S, q, C, yy, unit, start);
    CdColumns dense(blas, DenseStorage(x, q, d.y, n), start);
    check(dense.run(penalty, 1e-12 * yy, 1000, order).gap <= 1e-12 * yy, "the gap is reached on dense columns");
    check(along.run(penalty, 1e-12 * yy, 1000, order).gap <= 1e-12 * yy, "the gap is reached");
    gram.run(penalty, 1e-12 * yy, 1000, order);
    for (Index j = 0; j < q; ++j) {
      check_close(along.weights()[index(j)], gram.weights()[index(j)], 1e-7, "weights of both storages");
      check_close(dense.weights()[index(j)], gram.weights()[index(j)], 1e-7, "weights on dense columns");
    }
  }
}

// With an intercept a constant column has norm zero and weight zero.
void test_constant_column() {
  const Index n = 50;
  Numbers root(index(n), 1.0 / std::sqrt(50.0)), y = normal(index(n), 4), data, means{0.3};
  double mean = 0.0;
  for (const double value : y)
    mean += value / 50.0;
  for (double &value : y)
    value = (value - mean) * root[0];
  std::vector<std::int32_t> rows;
  for (Index i = 0; i < n; ++i)
    data.push_back(0.3 * root[index(i)]), rows.push_back(static_cast<std::int32_t>(i));
  const std::vector<std::int64_t> indptr{0, n};
  const CscColumns<std::int32_t> column{data, rows, indptr, means};
  CdColumns along(blas, CscStorage<std::int32_t>(column, y, 1), Numbers(1));
  CoordinateOrder order;
  along.run({0.0, 0.0, false}, 0.0, 10, order);
  check(along.weights()[0] == 0.0, "a constant column has no weight");
}

} // namespace

int main() {
  test_bordered_factor();
  test_piecewise_quadratic();
  test_dual_extrapolation();
  test_gather_columns();
  for_each_isa([](const std::string &isa) { test_column_sums(isa); });
  test_compressed(false);
  test_compressed(true);
  test_constant_column();
  return result();
}
