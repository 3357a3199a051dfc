// Class sums and distances from classes, with every instruction set, against plain loops.
#include "matrix.hpp"

#include "tenfold/argmax.hpp"
#include "tenfold/argmax_float32.hpp"
#include "tenfold/class_scatter_products.hpp"
#include "tenfold/class_sums.hpp"
#include "tenfold/contingency.hpp"
#include "tenfold/mahalanobis.hpp"
#include "tenfold/within_quadratic_forms.hpp"
#include "tenfold/within_scatter.hpp"

#include <limits>

using namespace tenfold;
using namespace tenfold::test;

namespace {

constexpr Index classes = 3;

struct Labels {
  explicit Labels(Index n) : weight(normal(index(n), 51)) {
    for (Index i = 0; i < n; ++i) {
      group.push_back(static_cast<std::int32_t>(i % 7 % classes));
      weight[index(i)] = i % 4 == 1 ? 0.0 : weight[index(i)] * weight[index(i)];
    }
  }
  double of(Index i, bool weighted) const { return weighted ? weight[index(i)] : 1.0; }

  std::vector<double> weight;
  std::vector<std::int32_t> group;
};

// f(value, class, column): the summand.
template <class T, class F>
void check_sums(const ClassSums &result, const Matrix<T> &m, const Labels &labels, bool weighted, F &&f,
                const std::string &what) {
  for (Index c = 0; c < classes; ++c) {
    double total = 0.0;
    for (Index i = 0; i < m.n; ++i)
      total += labels.group[index(i)] == c ? labels.of(i, weighted) : 0.0;
    check_close(result.weight[index(c)], total, 1e-12 * static_cast<double>(m.n + 1), what + ": weight");
    for (Index j = 0; j < m.p; ++j) {
      double sum = 0.0, squares = 0.0;
      for (Index i = 0; i < m.n; ++i)
        if (labels.group[index(i)] == c) {
          const double value = f(m(i, j), c, j);
          sum += labels.of(i, weighted) * value;
          squares += labels.of(i, weighted) * value * value;
        }
      const double rounding = 1e-12 * static_cast<double>(m.n + 1);
      check_close(result.sums[index(c * m.p + j)], sum, rounding, what + ": sums");
      if (!result.squares.empty())
        check_close(result.squares[index(c * m.p + j)], squares, rounding, what + ": squares");
    }
  }
}

template <class T> void test_sums(const std::string &isa, Index n, Index p, bool weighted) {
  const std::string what = isa + " " + std::to_string(n) + " x " + std::to_string(p);
  const Matrix<T> m(n, p, 0.4, 52);
  const Labels labels(n);
  const auto shift = normal(index(classes * p), 53);
  const std::span<const double> weight = weighted ? std::span<const double>(labels.weight) : std::span<const double>{};
  const auto plain = [](double value, Index, Index) { return value; };
  const auto above = [](double value, Index, Index) { return value > 0.25 ? 1.0 : 0.0; };
  const auto about = [&](double value, Index c, Index j) { return value - shift[index(c * p + j)]; };
  for (const int threads : {1, 2}) {
    check_sums(class_sums(m.dense(), weight, labels.group, classes, SumOfValues{}, threads), m, labels, weighted, plain,
               what + " values");
    check_sums(class_sums(m.sparse(), weight, labels.group, classes, SumOfValues{}, threads), m, labels, weighted,
               plain, what + " sparse values");
    check_sums(class_sums(m.dense(), weight, labels.group, classes, CountAbove{0.25}, threads), m, labels, weighted,
               above, what + " above");
    check_sums(class_sums(m.sparse(), weight, labels.group, classes, CountAbove{0.25}, threads), m, labels, weighted,
               above, what + " sparse above");
    check_sums(class_sums(m.dense(), weight, labels.group, classes, CentredMoments{shift.data()}, threads), m, labels,
               weighted, about, what + " about");
  }
  const auto one = class_sums(m.dense(), weight, labels.group, classes, CentredMoments{shift.data()}, 1);
  const auto two = class_sums(m.dense(), weight, labels.group, classes, CentredMoments{shift.data()}, 2);
  check(one.sums == two.sums && one.squares == two.squares, what + ": the same bits for all threads");
}

void test_least_values() {
  const std::vector<double> x{1.0, -2.0, 3.0, 4.0};
  const std::vector<std::int32_t> group{0, 1};
  const std::vector<double> weight{1.0, 0.0};
  const Dense<double> rows{x.data(), 2, 2};
  check(class_sums(rows, {}, group, 2, SumOfValues{}, 1).low == -2.0, "the least value");
  const std::vector<double> second{0.0, 1.0};
  check(class_sums(rows, second, group, 2, SumOfValues{}, 1).low == 3.0, "the least value of the rows that count");
  check(std::isinf(class_sums(rows, weight, group, 2, CountAbove{0.0}, 1).low), "values that are finite");
  const std::vector<double> bad{1.0, std::numeric_limits<double>::quiet_NaN(), 3.0, 4.0};
  check(std::isnan(class_sums(Dense<double>{bad.data(), 2, 2}, {}, group, 2, CountAbove{0.0}, 1).low), "a NaN is seen");
  for (const std::int32_t wrong : {-1, 2}) {
    const std::vector<std::int32_t> other{0, wrong};
    bool raised = false;
    try {
      class_sums(rows, {}, other, 2, SumOfValues{}, 1);
    } catch (const std::invalid_argument &) {
      raised = true;
    }
    check(raised, "a class that does not exist is refused");
  }
}

void test_first_means() {
  const Index n = 300, p = 3;
  Matrix<double> m(n, p, 1.0, 54, 1e6);
  for (Index i = 0; i < n; ++i)
    m.values[index(i * p + 2)] = 0.1;
  const Labels labels(n);
  const std::vector<double> means = estimate_class_means(m.dense(), labels.weight, labels.group, classes + 1);
  for (Index c = 0; c < classes; ++c) {
    check_close(means[index(c * p)], 1e6, 1.0, "first means are near");
    check(means[index(c * p + 2)] == 0.1, "a constant column has its very value");
  }
  check(means[index(classes * p)] == 0.0, "a class without rows is at zero");
}

template <class T> void test_distances(const std::string &isa, Index n, Index p) {
  const std::string what = isa + " " + std::to_string(n) + " x " + std::to_string(p);
  const Matrix<T> m(n, p, 1.0, 55);
  const auto centre = normal(index(classes * p), 56), scale = normal(index(classes * p), 57);
  auto factors = normal(index(classes * p * p), 58);
  for (Index k = 0; k < classes; ++k)
    for (Index i = 0; i < p; ++i)
      for (Index j = 0; j < i; ++j)
        factors[index((k * p + i) * p + j)] = 0.0; // upper triangles
  std::vector<double> z(index(n * classes)), again(z), forms(z), forms_again(z);
  scaled_distances(m.dense(), centre, scale, classes, 2, z);
  scaled_distances(m.dense(), centre, scale, classes, 1, again);
  check(z == again, what + ": distances have the same bits for all threads");
  mahalanobis_distances(m.dense(), centre, factors, classes, Blas{}, 2, forms);
  mahalanobis_distances(m.dense(), centre, factors, classes, Blas{}, 1, forms_again);
  check(forms == forms_again, what + ": forms have the same bits for all threads");
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < classes; ++k) {
      double distance = 0.0, form = 0.0;
      for (Index j = 0; j < p; ++j) {
        const double step = scale[index(k * p + j)] * (m(i, j) - centre[index(k * p + j)]);
        distance += step * step;
        double sum = 0.0;
        for (Index c = 0; c <= j; ++c)
          sum += (m(i, c) - centre[index(k * p + c)]) * factors[index((k * p + c) * p + j)];
        form += sum * sum;
      }
      check_close(z[index(i * classes + k)], distance, 1e-12 * (1.0 + distance), what + ": distance");
      check_close(forms[index(i * classes + k)], form, 1e-11 * (1.0 + form), what + ": form");
    }
}

template <class T> void test_products(const std::string &isa, Index n, Index p, Index q, bool weighted) {
  const std::string what = isa + " " + std::to_string(n) + " x " + std::to_string(p) + ", " + std::to_string(q);
  const Matrix<T> m(n, p, 1.0, 61);
  const Labels labels(n);
  const auto centres = normal(index(classes * p), 62), vectors = normal(index(classes * q * p), 63);
  const std::span<const double> weight = weighted ? std::span<const double>(labels.weight) : std::span<const double>{};
  const auto result = class_scatter_products(m.dense(), weight, labels.group, classes, centres, vectors, q, false, 2);
  const auto again = class_scatter_products(m.dense(), weight, labels.group, classes, centres, vectors, q, false, 1);
  check(result.sums == again.sums && result.squares == again.squares && result.products == again.products,
        what + ": the same bits for all threads");
  const double rounding = 1e-12 * static_cast<double>((n + 1) * (p + 1));
  for (Index c = 0; c < classes; ++c) {
    std::vector<double> sums(index(p)), squares(index(p)), products(index(q * p));
    double total = 0.0;
    for (Index i = 0; i < n; ++i)
      if (labels.group[index(i)] == c) {
        const double w = labels.of(i, weighted);
        const auto away = [&](Index j) { return m(i, j) - centres[index(c * p + j)]; };
        total += w;
        for (Index j = 0; j < p; ++j) {
          sums[index(j)] += w * away(j);
          squares[index(j)] += w * away(j) * away(j);
        }
        for (Index k = 0; k < q; ++k) {
          double along = 0.0;
          for (Index j = 0; j < p; ++j)
            along += away(j) * vectors[index((c * q + k) * p + j)];
          for (Index j = 0; j < p; ++j)
            products[index(k * p + j)] += w * along * away(j);
        }
      }
    check_close(result.weight[index(c)], total, rounding, what + ": weight");
    for (Index j = 0; j < p; ++j) {
      check_close(result.sums[index(c * p + j)], sums[index(j)], rounding, what + ": sums about places");
      check_close(result.squares[index(c * p + j)], squares[index(j)], 10.0 * rounding,
                  what + ": squares about places");
    }
    for (Index j = 0; j < q * p; ++j)
      check_close(result.products[index(c * q * p + j)], products[index(j)], 10.0 * rounding, what + ": products");
  }
}

// Sums about centres and second moments about means, with samples of weight zero that are not finite.
template <class T> void test_within(const std::string &isa, Index n, Index p, Index q, bool weighted) {
  const std::string what = isa + " within " + std::to_string(n) + " x " + std::to_string(p) + ", " + std::to_string(q);
  Matrix<T> m(n, p, 1.0, 71);
  const Labels labels(n);
  if (weighted)
    for (Index i = 0; i < n; ++i)
      if (labels.weight[index(i)] == 0.0 && p > 0)
        m.values[index(i * p)] = std::numeric_limits<T>::quiet_NaN();
  const auto centres = normal(index(classes * p), 72), vectors = normal(index(q * p), 73);
  const std::span<const double> weight = weighted ? std::span<const double>(labels.weight) : std::span<const double>{};
  const auto moments = within_scatter(m.dense(), weight, labels.group, classes, centres, 2);
  const auto moments_again = within_scatter(m.dense(), weight, labels.group, classes, centres, 1);
  const auto forms = within_quadratic_forms(m.dense(), weight, labels.group, classes, centres, vectors, q, 2);
  const auto forms_again = within_quadratic_forms(m.dense(), weight, labels.group, classes, centres, vectors, q, 1);
  check(moments.scatter == moments_again.scatter && moments.sums == moments_again.sums &&
            forms.squares == forms_again.squares && forms.forms == forms_again.forms,
        what + ": the same bits for all threads");
  std::vector<double> total(index(classes)), sums(index(classes * p)), squares(index(classes * p)),
      scatter(index(p * p)), form(index(q * q));
  const auto away = [&](Index i, Index j) { return m(i, j) - centres[index(labels.group[index(i)] * p + j)]; };
  std::int64_t count = 0;
  for (Index i = 0; i < n; ++i) {
    const double w = labels.of(i, weighted);
    const Index c = labels.group[index(i)];
    if (w == 0.0)
      continue;
    ++count;
    total[index(c)] += w;
    for (Index j = 0; j < p; ++j) {
      sums[index(c * p + j)] += w * away(i, j);
      squares[index(c * p + j)] += w * away(i, j) * away(i, j);
      for (Index k = 0; k < p; ++k)
        scatter[index(j * p + k)] += w * away(i, j) * away(i, k);
    }
    std::vector<double> z(index(q));
    for (Index a = 0; a < q; ++a)
      for (Index j = 0; j < p; ++j)
        z[index(a)] += away(i, j) * vectors[index(a * p + j)];
    for (Index a = 0; a < q; ++a)
      for (Index b = 0; b < q; ++b)
        form[index(a * q + b)] += w * z[index(a)] * z[index(b)];
  }
  const double rounding = 1e-12 * static_cast<double>((n + 1) * (p + 1));
  check(moments.count == count, what + ": rows that count");
  for (Index c = 0; c < classes; ++c) {
    check_close(moments.weight[index(c)], total[index(c)], rounding, what + ": weight");
    check_close(forms.weight[index(c)], total[index(c)], rounding, what + ": weight of forms");
    for (Index j = 0; j < p && total[index(c)] > 0.0; ++j)
      for (Index k = 0; k < p; ++k)
        scatter[index(j * p + k)] -= sums[index(c * p + j)] * sums[index(c * p + k)] / total[index(c)];
  }
  for (Index j = 0; j < classes * p; ++j) {
    check_close(moments.sums[index(j)], sums[index(j)], rounding, what + ": sums about places");
    check_close(forms.sums[index(j)], sums[index(j)], rounding, what + ": sums of forms");
    check_close(forms.squares[index(j)], squares[index(j)], rounding, what + ": squares about places");
  }
  for (Index j = 0; j < p * p; ++j)
    check_close(moments.scatter[index(j)], scatter[index(j)], 10.0 * rounding, what + ": scatter");
  for (Index a = 0; a < q * q; ++a)
    check_close(forms.forms[index(a)], form[index(a)], 10.0 * static_cast<double>(p + 1) * rounding, what + ": forms");
}

void test_tables() {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{0.0, 2.0, 1.0, missing, 1.9, -0.5};
  const Dense<double> x{values.data(), 3, 2};
  const std::vector<std::int32_t> group{0, 1, 1};
  const std::vector<std::int64_t> starts{0, 2, 5};
  const CategoryRanges ranges = category_ranges(x, {}, 1);
  check(ranges.finite && ranges.high[0] == 1.9 && ranges.low[1] == -0.5 && ranges.high[1] == 2.0, "ranges of columns");
  const ClassSums result = category_counts(x, {}, group, 2, starts, 1);
  check(result.sums == std::vector<double>{1.0, 0.0, 0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0}, "tables of columns");
  std::vector<double> z(6);
  const std::vector<double> table{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0}, prior{0.5, 0.25};
  check(category_scores(x, table, prior, starts, 1, z) == -1, "all categories are known");
  check(z == std::vector<double>{10.5, 12.25, 3.5, 4.25, 8.5, 10.25}, "sums of lines, what is missing left out");
  const std::vector<std::int64_t> short_of_one{0, 2, 4};
  check(category_scores(x, table, prior, short_of_one, 1, z) == 1, "the place of a category that is not known");
  bool raised = false;
  try {
    category_counts(x, {}, group, 2, short_of_one, 1);
  } catch (const std::invalid_argument &) {
    raised = true;
  }
  check(raised, "a category outside its column is refused");
}

void test_argmax() {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> z;
  std::vector<std::int64_t> expected, number(20);
  for (Index i = 0; i < 20; ++i) {
    const double last = i % 3 == 0 ? missing : 1.0;
    z.insert(z.end(), {i % 2 == 0 ? 1.0 : -1.0, 1.0, last});
    expected.push_back(i % 3 == 0 ? 2 : i % 2);
  }
  argmax(z, 3, 1, number);
  check(number == expected, "the first maximum, or NaN");
}

// Classes decided in single precision are those of double precision; samples that are not finite are left.
template <class T> void test_argmax_float32(const std::string &isa, Index n, Index p) {
  constexpr Index k = 4;
  const auto bad = static_cast<std::size_t>(n / 2);
  Matrix<T> x(n, p, 1.0, 5);
  x.values[bad * index(p)] = std::numeric_limits<T>::quiet_NaN();
  const std::vector<double> shift(index(p), 0.25), unit(index(p), 2.0), none(3, 1e-12);
  const std::vector<double> b = normal(index(k * p), 6), c = normal(index(k), 7), B = normal(index(k * p * p), 8);
  std::vector<double> triangles(B.size());
  for (Index e = 0; e < k * p * p; ++e)
    triangles[index(e)] = e / p % p <= e % p ? B[index(e)] : 0.0;
  std::vector<std::int64_t> diagonal(index(n)), full(index(n));
  argmax_float32(x.dense(), DiagonalScores{shift, unit, b, b, c, none}, 2, diagonal);
  argmax_float32(x.dense(), FullScores{shift, unit, triangles, b, c, none}, 2, full);
  const auto best = [&](Index i, auto score) {
    Index first = 0;
    for (Index m = 1; m < k; ++m)
      first = score(i, m) > score(i, first) ? m : first;
    return first;
  };
  const auto d = [&](Index i, Index j) { return 2.0 * (x(i, j) - 0.25); };
  const auto diagonal_score = [&](Index i, Index m) {
    double total = c[index(m)];
    for (Index j = 0; j < p; ++j)
      total += b[index(m * p + j)] * d(i, j) * (1.0 + d(i, j));
    return total;
  };
  const auto full_score = [&](Index i, Index m) {
    double total = c[index(m)];
    for (Index j = 0; j < p; ++j) {
      double y = -b[index(m * p + j)];
      for (Index l = 0; l <= j; ++l)
        y += triangles[index((m * p + l) * p + j)] * d(i, l);
      total -= 0.5 * y * y;
    }
    return total;
  };
  Index left = 0;
  for (Index i = 0; i < n; ++i) {
    left += (diagonal[index(i)] < 0) + (full[index(i)] < 0);
    check(diagonal[index(i)] < 0 || diagonal[index(i)] == best(i, diagonal_score), isa + ": diagonal scores");
    check(full[index(i)] < 0 || full[index(i)] == best(i, full_score), isa + ": full scores");
  }
  check(diagonal[bad] == -1 && full[bad] == -1, isa + ": a sample that is not finite is left");
  check(p > 100 || left <= 2 + n / 50, isa + ": few samples are left");
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const Index n : {1, 9, 200})
      for (const Index p : {1, 8, 13, 40}) {
        for (const bool weighted : {false, true}) {
          test_sums<float>(isa, n, p, weighted);
          test_sums<double>(isa, n, p, weighted);
        }
        for (const Index q : {0, 1, 9}) {
          test_products<float>(isa, n, p, q, true);
          test_products<double>(isa, n, p, q, false);
          test_within<float>(isa, n, p, q, true);
          test_within<double>(isa, n, p, q, false);
        }
        test_distances<float>(isa, n, p);
        test_distances<double>(isa, n, p);
        test_argmax_float32<float>(isa, n, p);
        test_argmax_float32<double>(isa, n, p);
      }
    test_argmax_float32<double>(isa, 70, 300);
    test_sums<double>(isa, 60'000, 5, true);   // several partitions
    test_sums<double>(isa, 400, 30'000, true); // one, and its classes shared out
    test_products<double>(isa, 20'000, 5, 2, true);
    test_within<double>(isa, 20'000, 5, 2, true);
  });
  test_least_values();
  test_first_means();
  test_tables();
  test_argmax();
  return result();
}
