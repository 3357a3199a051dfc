// The loops of the library against plain sums, dense and sparse, on shapes with remainders, with the same bits for all
// numbers of threads.
#include "matrix.hpp"

#include "tenfold/loss_at_margins.hpp"
#include "tenfold/loss_derivatives.hpp"
#include "tenfold/matvec.hpp"
#include "tenfold/moments.hpp"
#include "tenfold/ridge_loo.hpp"
#include "tenfold/row_gram.hpp"

#include <bit>

using namespace tenfold;
using namespace tenfold::test;

namespace {

template <class T> struct Data : Matrix<T> {
  Data(Index rows, Index columns, Index targets, double density, unsigned seed, double mean = 0.0)
      : Matrix<T>(rows, columns, density, seed, mean), t(targets), y(normal(index(rows * targets), seed + 1)) {
    std::mt19937_64 random(seed + 2);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    for (Index i = 0; i < rows; ++i) {
      weight.push_back(unit(random) < 0.2 ? 0.0 : unit(random));
      group.push_back(static_cast<std::int32_t>(random() % 3));
      label.push_back(unit(random) < 0.5 ? -1.0 : 1.0);
    }
  }

  Index t;
  std::vector<double> y, weight, label;
  std::vector<std::int32_t> group;
};

template <class T> void compare_moments(const Data<T> &d, const Moments &m, Index groups, const std::string &what) {
  const Index p = d.p, t = d.t, c = p + t;
  for (Index g = 0; g < groups; ++g) {
    std::vector<Index> rows;
    for (Index i = 0; i < d.n; ++i)
      if (d.weight[index(i)] > 0.0 && (groups == 1 || d.group[index(i)] == g))
        rows.push_back(i);
    const auto value = [&](Index i, Index j) {
      return static_cast<long double>(j < p ? static_cast<double>(d.values[index(i * p + j)])
                                            : d.y[index(i * t + j - p)]);
    };
    long double total = 0;
    for (const Index i : rows)
      total += d.weight[index(i)];
    check(m.count[index(g)] == static_cast<std::int64_t>(rows.size()), what + ": count");
    check_close(m.weight[index(g)], static_cast<double>(total), 1e-12 * static_cast<double>(total), what + ": weight");
    if (rows.empty())
      continue;
    std::vector<long double> mean(index(c));
    for (Index j = 0; j < c; ++j) {
      for (const Index i : rows)
        mean[index(j)] += d.weight[index(i)] * value(i, j) / total;
      const double got = m.shift[index(j)] + m.offset[index(g * c + j)];
      check_close(got, static_cast<double>(mean[index(j)]), 1e-12, what + ": mean");
    }
    const auto product = [&](Index a, Index b) {
      long double sum = 0;
      for (const Index i : rows)
        sum += d.weight[index(i)] * (value(i, a) - mean[index(a)]) * (value(i, b) - mean[index(b)]);
      return static_cast<double>(sum);
    };
    const double allowed = 1e-12 * static_cast<double>(rows.size() + 1);
    for (Index a = 0; a < p; ++a) {
      for (Index b = 0; b < p; ++b)
        check(m.XX[index((g * p + a) * p + b)] == m.XX[index((g * p + b) * p + a)], what + ": XX is symmetric");
      for (Index b = a; b < p; b += 1 + p / 40)
        check_close(m.XX[index((g * p + a) * p + b)], product(a, b), allowed, what + ": XX");
      for (Index k = 0; k < t; ++k)
        check_close(m.XY[index((g * p + a) * t + k)], product(a, p + k), allowed, what + ": XY");
    }
    for (Index k = 0; k < t; ++k)
      check_close(m.yy[index(g * t + k)], product(p + k, p + k), allowed, what + ": yy");
  }
}

bool equal_bits(const std::vector<double> &a, const std::vector<double> &b) {
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

template <class Rows, class T> void test_moments_of(const Rows &rows, const Data<T> &d, const std::string &what) {
  for (const Index groups : {1, 3}) {
    const std::span<const std::int32_t> group = groups == 1 ? std::span<const std::int32_t>{} : d.group;
    const Moments m = moments(rows, std::span(d.y), d.t, std::span(d.weight), group, groups, 2);
    compare_moments(d, m, groups, what);
    for (const int threads : {1, 4}) {
      const Moments other = moments(rows, std::span(d.y), d.t, std::span(d.weight), group, groups, threads);
      check(equal_bits(m.XX, other.XX) && equal_bits(m.XY, other.XY) && equal_bits(m.yy, other.yy) &&
                equal_bits(m.offset, other.offset),
            what + ": moments have the same bits for all threads");
    }
  }
}

template <class T> void test_moments(const std::string &isa) {
  struct Case {
    Index n, p, t;
    double density;
  };
  for (const Case &c : {Case{0, 3, 1, 1.0}, Case{1, 1, 0, 1.0}, Case{1, 1, 1, 1.0}, Case{5, 1, 0, 1.0},
                        Case{130, 7, 1, 0.5}, Case{300, 15, 2, 0.3}, Case{700, 16, 9, 0.2}, Case{1200, 101, 1, 0.05},
                        Case{260, 530, 1, 0.02}, Case{140, 530, 0, 0.4}}) {
    const Data<T> d(c.n, c.p, c.t, c.density, 31);
    const std::string what = isa + " " + std::to_string(c.n) + " x " + std::to_string(c.p);
    test_moments_of(d.dense(), d, what + " dense");
    test_moments_of(d.sparse(), d, what + " sparse");
  }
}

// Groups with several partitions, and empty groups.
void test_empty_groups(const std::string &isa) {
  Data<double> d(9000, 30, 1, 1.0, 37);
  for (std::int32_t &g : d.group)
    g = g == 0 ? 1 : 3;
  const Moments m =
      moments(d.dense(), std::span(d.y), 1, std::span(d.weight), std::span<const std::int32_t>(d.group), 5, 2);
  compare_moments(d, m, 5, isa + " empty groups");
}

// Unsorted entries, some duplicated.
void test_disordered_rows(const std::string &isa) {
  const Data<double> d(300, 60, 1, 0.05, 41);
  Data<double> mixed = d;
  mixed.data.clear();
  mixed.indices.clear();
  for (Index i = 0; i < d.n; ++i) {
    for (Index k = d.indptr[index(i + 1)] - 1; k >= d.indptr[index(i)]; --k) {
      mixed.data.push_back(0.25 * d.data[index(k)]);
      mixed.indices.push_back(d.indices[index(k)]);
    }
    for (Index k = d.indptr[index(i)]; k < d.indptr[index(i + 1)]; ++k) {
      mixed.data.push_back(0.75 * d.data[index(k)]);
      mixed.indices.push_back(d.indices[index(k)]);
    }
    mixed.indptr[index(i + 1)] = static_cast<std::int64_t>(mixed.data.size());
  }
  test_moments_of(mixed.sparse(), d, isa + " disordered rows");
}

void test_offset(const std::string &isa) {
  const Index n = 1000;
  Data<double> d(n, 3, 1, 1.0, 51);
  Data<double> far = d;
  for (double &value : far.values)
    value = std::round(value * 1024.0) / 1024.0 + 1e8;
  for (std::size_t i = 0; i < d.values.size(); ++i)
    d.values[i] = far.values[i] - 1e8;
  const Moments near = moments(d.dense(), std::span(d.y), 1, {}, {}, 1, 2);
  const Moments m = moments(far.dense(), std::span(d.y), 1, {}, {}, 1, 2);
  for (std::size_t i = 0; i < m.XX.size(); ++i)
    check_close(m.XX[i], near.XX[i], 1e-12 * near.XX[0], isa + " variance at an offset of 1e8");
  // Groups that lie far apart keep their own variances.
  for (Index i = 0; i < n; ++i)
    far.group[index(i)] = 1 - (far.group[index(i)] = static_cast<std::int32_t>(i % 2));
  for (Index i = 0; i < n; i += 2)
    for (Index j = 0; j < 3; ++j)
      far.values[index(i * 3 + j)] -= 2e8;
  const Moments apart = moments(far.dense(), std::span(d.y), 1, {}, std::span<const std::int32_t>(far.group), 2, 2);
  const Moments same = moments(d.dense(), std::span(d.y), 1, {}, std::span<const std::int32_t>(far.group), 2, 2);
  for (std::size_t i = 0; i < same.XX.size(); ++i)
    check_close(apart.XX[i], same.XX[i], 1e-12 * same.XX[0], isa + " groups far apart");
}

void test_exponents(const std::string &isa) {
  const Index n = 200;
  const Data<double> plain(n, 7, 1, 1.0, 61);
  const double scale[7] = {1.0, 1e150, 1e-150, 1e200, 1e-200, 1e300, 1e-300};
  Data<double> scaled = plain;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < 7; ++j)
      scaled.values[index(i * 7 + j)] *= scale[j];
  const Moments a = moments(plain.dense(), std::span(plain.y), 1, {}, {}, 1, 2);
  const Moments b = moments(scaled.dense(), std::span(plain.y), 1, {}, {}, 1, 2);
  check(b.exponent[0] == 0 && b.exponent[7] == 0, isa + " ordinary columns keep the exponent zero");
  for (Index i = 0; i < 7; ++i)
    for (Index j = 0; j < 7; ++j) {
      const double unit =
          std::ldexp(1.0 / scale[i], b.exponent[index(i)]) * std::ldexp(1.0 / scale[j], b.exponent[index(j)]);
      check_close(b.XX[index(i * 7 + j)] * unit, a.XX[index(i * 7 + j)], 1e-11 * a.XX[0],
                  isa + " moments with exponents");
    }
}

template <class Rows, class T>
void test_derivatives_of(const Rows &rows, const Data<T> &d, bool shifted, const std::string &what) {
  const Index n = d.n, p = d.p;
  for (const Index t : {0, 1, 3}) {
    const auto coef = normal(index(t * p), 71), intercept = normal(index(t), 72), shift = normal(index(p), 73);
    std::vector<double> y;
    for (Index i = 0; i < n; ++i)
      for (Index k = 0; k < t; ++k)
        y.push_back(k % 2 == 0 ? d.label[index(i)] : -d.label[index(i)]);
    const auto minus = [&](Index j) { return shifted ? shift[index(j)] : 0.0; };
    const auto x = [&](Index i, Index j) { return static_cast<double>(d.values[index(i * p + j)]) - minus(j); };
    const std::span<const double> by = shifted ? std::span<const double>(shift) : std::span<const double>{};
    for (const Loss loss : {Loss::square, Loss::logistic})
      for (int order = 0; order <= (t == 1 ? 2 : 1); ++order) {
        const Point<Rows> point{rows, y, d.weight, coef, intercept, by, loss, 0.0};
        const Derivatives got = derivatives(point, order, 2);
        std::vector<double> value(index(t)), slope(index(t)), gradient(index(t * p)), hessian(index((p + 1) * (p + 1)));
        for (Index i = 0; i < n; ++i)
          for (Index k = 0; k < t; ++k) {
            double z = intercept[index(k)];
            for (Index j = 0; j < p; ++j)
              z += x(i, j) * coef[index(k * p + j)];
            const double w = d.weight[index(i)], label = y[index(i * t + k)], other = 1.0 / (1.0 + std::exp(label * z));
            const bool square = loss == Loss::square;
            const double first = w * (square ? z - label : -label * other),
                         second = w * (square ? 1.0 : other * (1.0 - other));
            value[index(k)] += w * (square ? 0.5 * (z - label) * (z - label)
                                           : std::max(0.0, -label * z) + std::log1p(std::exp(-std::abs(z))));
            slope[index(k)] += first;
            for (Index j = 0; j < p; ++j)
              gradient[index(k * p + j)] += first * x(i, j);
            for (Index a = 0; order == 2 && a <= p; ++a)
              for (Index b = a; b <= p; ++b)
                hessian[index(a * (p + 1) + b)] += second * (a < p ? x(i, a) : 1.0) * (b < p ? x(i, b) : 1.0);
          }
        const double allowed = 1e-11 * static_cast<double>(n + 1) * static_cast<double>(p + 1);
        for (Index k = 0; k < t; ++k) {
          check_close(got.value[index(k)], value[index(k)], allowed, what + ": value");
          check_close(got.slope[index(k)], slope[index(k)], allowed, what + ": slope");
        }
        for (Index e = 0; order >= 1 && e < t * p; ++e)
          check_close(got.gradient[index(e)], gradient[index(e)], allowed, what + ": gradient");
        for (Index a = 0; order == 2 && a <= p; ++a)
          for (Index b = a; b <= p; ++b) {
            check_close(got.hessian[index(a * (p + 1) + b)], hessian[index(a * (p + 1) + b)], allowed,
                        what + ": hessian");
            check(got.hessian[index(b * (p + 1) + a)] == got.hessian[index(a * (p + 1) + b)], what + ": symmetric");
          }
        for (const int threads : {1, 4}) {
          const Derivatives again = derivatives(point, order, threads);
          check(equal_bits(got.value, again.value) && equal_bits(got.gradient, again.gradient) &&
                    equal_bits(got.hessian, again.hessian),
                what + ": derivatives have the same bits for all threads");
        }
      }
  }
}

template <class T> void test_derivatives(const std::string &isa) {
  struct Case {
    Index n, p;
    double density;
  };
  for (const Case &c : {Case{0, 2, 1.0}, Case{1, 1, 1.0}, Case{50, 9, 0.5}, Case{1000, 37, 0.1}, Case{30, 520, 0.02}}) {
    const Data<T> d(c.n, c.p, 1, c.density, 81);
    const std::string what = isa + " " + std::to_string(c.n) + " x " + std::to_string(c.p);
    test_derivatives_of(d.dense(), d, false, what + " dense");
    test_derivatives_of(d.dense(), d, true, what + " dense, shifted");
    test_derivatives_of(d.sparse(), d, false, what + " sparse");
  }
}

template <class T> void test_sums_and_inner_products(const std::string &isa) {
  for (const auto &[n, p] : {std::pair<Index, Index>{0, 3}, {1, 1}, {50, 9}, {1000, 37}, {30, 520}, {700, 130}}) {
    const Data<T> d(n, p, 1, 1.0, 95);
    const std::string what = isa + " " + std::to_string(n) + " x " + std::to_string(p);
    const auto shift = normal(index(p), 96);
    std::vector<double> weight = normal(index(n), 97);
    for (double &w : weight)
      w = std::abs(w);
    const auto away = [&](Index i, Index j) {
      return static_cast<double>(d.values[index(i * p + j)]) - shift[index(j)];
    };
    const auto other = normal(index(n), 98);
    const std::vector<double> sums = column_sums(d.dense(), weight, other, shift, 2);
    check(equal_bits(sums, column_sums(d.dense(), weight, other, shift, 1)), what + ": sums, same bits");
    for (Index j = 0; j < p; ++j) {
      double expected[3] = {};
      for (Index i = 0; i < n; ++i) {
        expected[0] += weight[index(i)] * away(i, j);
        expected[1] += weight[index(i)] * away(i, j) * away(i, j);
        expected[2] += other[index(i)] * away(i, j);
      }
      for (Index k = 0; k < 3; ++k)
        check_close(sums[index(k * p + j)], expected[k], 1e-12 * static_cast<double>(n + 1), what + ": sums");
    }
    const std::vector<std::int64_t> some = {p - 1, 0};
    const std::vector<double> centre = {shift[index(p - 1)], shift[0]};
    std::vector<double> picked(index(2 * n));
    gather_columns(d.dense(), some, centre, weight, 2, picked);
    for (Index i = 0; i < n; ++i) {
      check_close(picked[index(i)], weight[index(i)] * away(i, p - 1), 1e-15, what + ": some columns");
      check_close(picked[index(n + i)], weight[index(i)] * away(i, 0), 1e-15, what + ": some columns");
    }
    std::vector<double> K(index(n * n)), again(index(n * n));
    row_gram(d.dense(), shift, weight, 2, K);
    row_gram(d.dense(), shift, weight, 1, again);
    check(equal_bits(K, again), what + ": inner products, same bits");
    for (Index i = 0; i < n; i += 7)
      for (Index k = 0; k < n; k += 3) {
        double expected = 0.0;
        for (Index j = 0; j < p; ++j)
          expected += weight[index(i)] * weight[index(k)] * away(i, j) * away(k, j);
        check_close(K[index(i * n + k)], expected, 1e-11 * static_cast<double>(p + 1), what + ": inner products");
      }
  }
}

template <class Rows, class T> void test_times_of(const Rows &rows, const Data<T> &d, const std::string &what) {
  const Index n = d.n, p = d.p;
  for (const Index t : {0, 1, 5}) {
    const auto coef = normal(index(t * p), 91), intercept = normal(index(t), 92), u = normal(index(n * t), 93);
    std::vector<double> z(index(n * t)), again(index(n * t));
    matvec(rows, coef, intercept, {}, 2, z);
    matvec(rows, coef, intercept, {}, 1, again);
    check(equal_bits(z, again), what + ": matvec has the same bits for all threads");
    const std::vector<double> g = matvec_t(rows, u, t, {}, 2);
    check(equal_bits(g, matvec_t(rows, u, t, {}, 1)), what + ": matvec_t has the same bits for all threads");
    for (Index k = 0; k < t; ++k) {
      for (Index i = 0; i < n; ++i) {
        double expected = intercept[index(k)];
        for (Index j = 0; j < p; ++j)
          expected += static_cast<double>(d.values[index(i * p + j)]) * coef[index(k * p + j)];
        check_close(z[index(i * t + k)], expected, 1e-12 * static_cast<double>(p + 1), what + ": times");
      }
      for (Index j = 0; j < p; ++j) {
        double expected = 0.0;
        for (Index i = 0; i < n; ++i)
          expected += u[index(i * t + k)] * static_cast<double>(d.values[index(i * p + j)]);
        check_close(g[index(k * p + j)], expected, 1e-12 * static_cast<double>(n + 1), what + ": matvec_t");
      }
    }
  }
}

template <class T> void test_times(const std::string &isa) {
  for (const Index n : {0, 1, 17, 3000})
    for (const Index p : {1, 8, 45}) {
      const Data<T> d(n, p, 0, 0.3, 95);
      test_times_of(d.dense(), d, isa + " dense");
      test_times_of(d.sparse(), d, isa + " sparse");
    }
}

void test_bad_index() {
  Data<double> d(40, 6, 1, 0.5, 97);
  d.indices[d.indices.size() - 1] = 6;
  bool raised = false;
  try {
    moments(d.sparse(), std::span(d.y), 1, {}, {}, 1, 2);
  } catch (const std::invalid_argument &) {
    raised = true;
  }
  check(raised, "a column index outside the matrix is raised");
}

void plain_dgemm(char *transa, char *, int *m, int *n, int *k, double *, double *a, int *lda, double *b, int *ldb,
                 double *, double *c, int *ldc) {
  for (Index i = 0; i < *m; ++i)
    for (Index j = 0; j < *n; ++j) {
      double sum = 0.0;
      for (Index l = 0; l < *k; ++l)
        sum += (*transa == 'N' ? a[i + l * *lda] : a[l + i * *lda]) * b[l + j * *ldb];
      c[i + j * *ldc] = sum;
    }
}

void test_loo(const std::string &isa) {
  for (const Index n : {0, 1, 300})
    for (const Index t : {1, 2}) {
      const Index p = 6, r = 4, A = 5;
      const Data<double> d(n, p, t, 1.0, 99);
      const Dense<double> x = d.dense();
      const auto centre = normal(index(p), 1), mean = normal(index(t), 2), V = normal(index(p * r), 3);
      auto D = normal(index(A * r), 4);
      const auto C = normal(index(t * A * r), 5);
      for (double &value : D)
        value = 1e-3 * std::abs(value);
      const Rotation<double> rotation{x, d.y, d.weight, centre, mean, V, D, C, r, A, 0.01};
      std::vector<double> errors(index(n * t * A)), sums(index(t * A)), largest(index(A));
      const LeaveOneOut got = leave_one_out(rotation, Blas{plain_dgemm}, 2, errors);
      const LeaveOneOut again = leave_one_out(rotation, Blas{plain_dgemm}, 1, {});
      check(equal_bits(got.sums, again.sums), isa + " loo has the same bits for all threads");
      check(got.finite, isa + " loo is finite");
      for (Index i = 0; i < n; ++i) {
        std::vector<double> z(index(r));
        for (Index k = 0; k < r; ++k)
          for (Index j = 0; j < p; ++j)
            z[index(k)] += (d.values[index(i * p + j)] - centre[index(j)]) * V[index(j * r + k)];
        for (Index a = 0; a < A; ++a) {
          double spread = 0.01;
          for (Index k = 0; k < r; ++k)
            spread += z[index(k)] * z[index(k)] * D[index(a * r + k)];
          const double h = d.weight[index(i)] * spread;
          largest[index(a)] = std::max(largest[index(a)], h);
          for (Index s = 0; s < t; ++s) {
            double e = d.y[index(i * t + s)] - mean[index(s)];
            for (Index k = 0; k < r; ++k)
              e -= z[index(k)] * C[index((s * A + a) * r + k)];
            e /= 1.0 - h;
            sums[index(s * A + a)] += d.weight[index(i)] * e * e;
            check_close(errors[index((i * t + s) * A + a)], e, 1e-11, isa + " loo error");
          }
        }
      }
      for (std::size_t e = 0; e < sums.size(); ++e)
        check_close(got.sums[e], sums[e], 1e-10 * (1.0 + sums[e]), isa + " loo sums");
      for (std::size_t a = 0; a < largest.size(); ++a)
        check_close(got.largest_leverage[a], largest[a], 1e-12, isa + " loo leverage");
    }
}

// The square loss at margins and along a line, by its formulas; the same bits for all numbers of threads.
void test_losses_at_margins(const std::string &what) {
  for (const Index n : {1, 255, 257, 50000}) {
    const std::vector<double> y = normal(index(n), 1), z = normal(index(n), 2), d = normal(index(n), 3);
    std::vector<double> weight = normal(index(n), 4);
    double value = 0.0, slope = 0.0, bend = 0.0, first = 0.0, second = 0.0, there = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      weight[i] = i % 5 == 0 ? 0.0 : std::abs(weight[i]);
      const double r = z[i] - y[i], w = weight[i], moved = r + 0.3 * d[i];
      value += 0.5 * w * r * r, slope += w * r, bend += w;
      first += w * moved * d[i], second += w * d[i] * d[i], there += w * moved;
    }
    const LossMargins m{y, z, weight, Loss::square, 0.0};
    std::vector<double> u(y.size()), c(y.size()), u2 = u, c2 = c;
    const auto at = loss_at_margins(m, 1, u, c);
    const double allowed = 1e-11 * static_cast<double>(n);
    check_close(at[0], value, allowed, what + ": value");
    check_close(at[1], slope, allowed, what + ": slope");
    check_close(at[2], bend, allowed, what + ": bend");
    for (std::size_t i = 0; i < y.size(); ++i)
      check(std::abs(u[i] - weight[i] * (z[i] - y[i])) < 1e-14 && c[i] == weight[i], what + ": a row");
    const auto along = loss_along_line(m, d, 0.3, 1);
    check_close(along[0], first, allowed, what + ": first derivative");
    check_close(along[1], second, allowed, what + ": second derivative");
    check_close(along[2], there, allowed, what + ": slope along the line");
    check_close(along[3], bend, allowed, what + ": bend along the line");
    check(loss_at_margins(m, 3, u2, c2) == at && u2 == u && c2 == c && loss_along_line(m, d, 0.3, 3) == along,
          what + ": threads");
  }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    test_moments<float>(isa);
    test_moments<double>(isa);
    test_empty_groups(isa);
    test_disordered_rows(isa);
    test_offset(isa);
    test_exponents(isa);
    test_derivatives<float>(isa);
    test_derivatives<double>(isa);
    test_times<float>(isa);
    test_times<double>(isa);
    test_sums_and_inner_products<float>(isa);
    test_sums_and_inner_products<double>(isa);
    test_loo(isa);
    test_losses_at_margins(isa);
  });
  test_bad_index();
  return result();
}
