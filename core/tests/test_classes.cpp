// Sums of columns by classes and distances from classes, with every instruction set, against plain loops.
#include "matrix.hpp"

#include "tenfold/class_columns.hpp"
#include "tenfold/quadratics.hpp"

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

// f(value, class, column) is what is summed of a value.
template <class T, class F>
void check_sums(const ClassColumns &found, const Matrix<T> &m, const Labels &labels, bool weighted, F &&f,
                const std::string &what) {
  for (Index c = 0; c < classes; ++c) {
    double total = 0.0;
    for (Index i = 0; i < m.n; ++i)
      total += labels.group[index(i)] == c ? labels.of(i, weighted) : 0.0;
    check_close(found.weight[index(c)], total, 1e-12 * static_cast<double>(m.n + 1), what + ": weight");
    for (Index j = 0; j < m.p; ++j) {
      double sum = 0.0, squares = 0.0;
      for (Index i = 0; i < m.n; ++i)
        if (labels.group[index(i)] == c) {
          const double value = f(m(i, j), c, j);
          sum += labels.of(i, weighted) * value;
          squares += labels.of(i, weighted) * value * value;
        }
      const double rounding = 1e-12 * static_cast<double>(m.n + 1);
      check_close(found.sums[index(c * m.p + j)], sum, rounding, what + ": sums");
      if (!found.squares.empty())
        check_close(found.squares[index(c * m.p + j)], squares, rounding, what + ": squares");
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
    check_sums(class_columns(m.dense(), weight, labels.group, classes, Values{}, threads), m, labels, weighted, plain,
               what + " values");
    check_sums(class_columns(m.sparse(), weight, labels.group, classes, Values{}, threads), m, labels, weighted, plain,
               what + " sparse values");
    check_sums(class_columns(m.dense(), weight, labels.group, classes, Above{0.25}, threads), m, labels, weighted,
               above, what + " above");
    check_sums(class_columns(m.sparse(), weight, labels.group, classes, Above{0.25}, threads), m, labels, weighted,
               above, what + " sparse above");
    check_sums(class_columns(m.dense(), weight, labels.group, classes, About{shift.data()}, threads), m, labels,
               weighted, about, what + " about");
  }
  const auto one = class_columns(m.dense(), weight, labels.group, classes, About{shift.data()}, 1);
  const auto two = class_columns(m.dense(), weight, labels.group, classes, About{shift.data()}, 2);
  check(one.sums == two.sums && one.squares == two.squares, what + ": the same bits for all threads");
}

void test_least_values() {
  const std::vector<double> x{1.0, -2.0, 3.0, 4.0};
  const std::vector<std::int32_t> group{0, 1};
  const std::vector<double> weight{1.0, 0.0};
  const Dense<double> rows{x.data(), 2, 2};
  check(class_columns(rows, {}, group, 2, Values{}, 1).low == -2.0, "the least value");
  const std::vector<double> second{0.0, 1.0};
  check(class_columns(rows, second, group, 2, Values{}, 1).low == 3.0, "the least value of the rows that count");
  check(std::isinf(class_columns(rows, weight, group, 2, Above{0.0}, 1).low), "values that are finite");
  const std::vector<double> bad{1.0, std::numeric_limits<double>::quiet_NaN(), 3.0, 4.0};
  check(std::isnan(class_columns(Dense<double>{bad.data(), 2, 2}, {}, group, 2, Above{0.0}, 1).low), "a NaN is seen");
  for (const std::int32_t wrong : {-1, 2}) {
    const std::vector<std::int32_t> other{0, wrong};
    bool refused = false;
    try {
      class_columns(rows, {}, other, 2, Values{}, 1);
    } catch (const std::invalid_argument &) {
      refused = true;
    }
    check(refused, "a class that does not exist is refused");
  }
}

void test_first_means() {
  const Index n = 300, p = 3;
  Matrix<double> m(n, p, 1.0, 54, 1e6);
  for (Index i = 0; i < n; ++i)
    m.values[index(i * p + 2)] = 0.1;
  const Labels labels(n);
  const std::vector<double> means = first_means(m.dense(), labels.weight, labels.group, classes + 1);
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
  quadratics(m.dense(), centre, factors, classes, Blas{}, 2, forms);
  quadratics(m.dense(), centre, factors, classes, Blas{}, 1, forms_again);
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

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const Index n : {1, 9, 200})
      for (const Index p : {1, 8, 13, 40}) {
        for (const bool weighted : {false, true}) {
          test_sums<float>(isa, n, p, weighted);
          test_sums<double>(isa, n, p, weighted);
        }
        test_distances<float>(isa, n, p);
        test_distances<double>(isa, n, p);
      }
    test_sums<double>(isa, 60'000, 5, true); // several slots
  });
  test_least_values();
  test_first_means();
  return result();
}
