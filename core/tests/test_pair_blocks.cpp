// Blocks of kernels against plain sums in long double: every base and function, float64 and float32, symmetric blocks,
// gradients, and bits that do not depend on the threads.
#include "check.hpp"
#include "matrix.hpp"

#include "tenfold/pair_blocks.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

constexpr long double pi = 3.14159265358979323846264338327950288L;

long double plain_function(const PairFunction &f, long double v) {
  const long double w = f.gamma * v, r = std::sqrt(v);
  switch (f.kind) {
  case PairFunction::root:
    return r;
  case PairFunction::exponential:
    return std::exp(-w);
  case PairFunction::exponential_root:
    return std::exp(-f.gamma * r);
  case PairFunction::power:
    return std::pow(w + f.offset, static_cast<long double>(f.degree));
  case PairFunction::tangent:
    return std::tanh(w + f.offset);
  case PairFunction::arcsine:
    return 2.0L / pi * std::asin(w);
  case PairFunction::matern32:
    return (1.0L + std::sqrt(3.0L * w)) * std::exp(-std::sqrt(3.0L * w));
  case PairFunction::matern52:
    return (1.0L + std::sqrt(5.0L * w) + 5.0L * w / 3.0L) * std::exp(-std::sqrt(5.0L * w));
  case PairFunction::rational:
    return std::pow(1.0L + w, -static_cast<long double>(f.degree));
  case PairFunction::periodic:
    return std::exp(-2.0L * f.degree * std::pow(std::sin(f.gamma * r), 2.0L));
  case PairFunction::exponential_slope:
    return v > 0.0L ? std::exp(-f.gamma * r) / r : 0.0L;
  case PairFunction::rational_slope:
    return f.degree * std::pow(1.0L + w, -static_cast<long double>(f.degree)) * (w / (1.0L + w) - std::log1p(w));
  default:
    return v;
  }
}

// Every function at values of each size, in vectors and at the end of them.
template <class T> void test_functions(const std::string &isa, double rounding) {
  const std::vector<double> at = {0.0, 1e-300, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1.0, 2.5, 7.0, 30.0, 100.0, 500.0};
  for (int kind = 0; kind < PairFunction::kinds; ++kind) {
    const auto name = static_cast<PairFunction::Kind>(kind);
    const PairFunction f{name, name == PairFunction::arcsine ? 1e-3 : 0.3, 0.2, 3.0, 2.0, 0.25};
    std::vector<T> values;
    while (values.size() < 37)
      values.push_back(static_cast<T>(at[values.size() % at.size()]));
    const std::vector<T> given = values;
    f(values.data(), 37);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = static_cast<double>(2.0L * plain_function(f, static_cast<long double>(given[i])) + 0.25L);
      check_close(static_cast<double>(values[i]), expected, rounding * (1.0 + std::fabs(expected)),
                  isa + " function of pairs " + std::to_string(kind) + " at " + std::to_string(given[i]));
    }
  }
  std::vector<T> far(19, static_cast<T>(1e30));
  PairFunction{PairFunction::matern52, 1e3}(far.data(), 19);
  check(far == std::vector<T>(19), isa + " a Matern kernel of far points is zero");
}

long double plain_entry(PairEntries kind, long double x, long double q) {
  switch (kind) {
  case PairEntries::distances:
    return std::fabs(x - q);
  case PairEntries::squares:
    return (x - q) * (x - q);
  case PairEntries::subsets:
    return 1.0L + x * q;
  default:
    return x + q == 0.0L ? 0.0L : (x - q) * (x - q) / (x + q);
  }
}

template <class T> Matrix<T> samples(Index n, Index p, double mean) {
  Matrix<T> x(n, p, 1.0, static_cast<unsigned>(n + p), mean);
  for (T &value : x.values)
    value = std::fabs(value);
  std::copy_n(x.values.begin(), p, x.values.begin() + 2 * p); // two rows at one place
  std::fill_n(x.values.begin() + 3 * p, p, T{});
  return x;
}

template <class T> void test_entries(const std::string &isa) {
  for (const Index n : {5, 33, 150})
    for (const Index p : {1, 3, 9})
      for (const PairEntries kind :
           {PairEntries::distances, PairEntries::squares, PairEntries::subsets, PairEntries::chi2}) {
        const Matrix<T> x = samples<T>(n, p, 0.0);
        const EntryPairs<T, T> pairs(x.dense(), x.dense(), kind, 2);
        std::vector<double> block(index(n * n));
        pair_block(pairs, PairFunction{}, {0, n, {}}, true, block.data(), 2);
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < n; ++j) {
            long double value = kind == PairEntries::subsets ? 1.0L : 0.0L;
            for (Index c = 0; c < p; ++c) {
              const long double term = plain_entry(kind, x(j, c), x(i, c));
              value = kind == PairEntries::subsets ? value * term : value + term;
            }
            check_close(block[index(i * n + j)], static_cast<double>(value), 1e-13 * static_cast<double>(1.0L + value),
                        isa + " sums over features");
          }
      }
}

// Symmetric blocks are those of queries that are the samples, bit by bit, for all numbers of threads.
template <class Pairs, class Out, class T>
void test_symmetric(const Pairs &pairs, const Matrix<T> &x, double rounding, double mean, const std::string &what) {
  const PairFunction f{PairFunction::exponential, 0.1, 0.0, 1.0, 1.5, 0.5};
  const std::size_t size = index(x.n * x.n);
  std::vector<Out> half(size), again(size), all(size);
  pair_block(pairs, f, {0, x.n, {}}, true, half.data(), 1);
  pair_block(pairs, f, {0, x.n, {}}, true, again.data(), 3);
  pair_block(pairs, f, {0, x.n, {}}, false, all.data(), 2);
  check(half == again, what + " has the same bits for all threads");
  for (Index i = 0; i < x.n; ++i)
    for (Index j = 0; j < x.n; ++j) {
      long double square = 0.0L;
      for (Index c = 0; c < x.p; ++c)
        square += (static_cast<long double>(x(i, c)) - x(j, c)) * (static_cast<long double>(x(i, c)) - x(j, c));
      const double expected = static_cast<double>(1.5L * std::exp(-0.1L * square) + 0.5L);
      check(half[index(i * x.n + j)] == half[index(j * x.n + i)], what + " is symmetric");
      check_close(static_cast<double>(half[index(i * x.n + j)]), expected, rounding, what + " of samples");
      check_close(static_cast<double>(all[index(i * x.n + j)]), expected, rounding, what + " of queries");
    }
  check(half[index(2)] == static_cast<Out>(2.0) || mean != 0.0, what + " of equal samples is exact");
}

template <class T> void test_blocks(const std::string &isa, double mean) {
  for (const Index n : {1, 7, 40, 203, 331})
    for (const Index p : {1, 5, 40}) {
      const Matrix<T> x = n > 4 ? samples<T>(n, p, mean) : Matrix<T>(n, p, 1.0, 1, mean);
      if (n <= 4)
        continue;
      const std::vector<double> centre = mean_of(x.dense());
      const ProductPairs<T, T> pairs(x.dense(), x.dense(), ProductBase::squares, centre, 2);
      test_symmetric<ProductPairs<T, T>, double>(pairs, x, 1e-12, mean, isa + " block in float64");
      if (p > 1)
        test_symmetric<ProductPairs<T, T>, float>(pairs, x, 3e-7, mean, isa + " block in float64, rounded");
      const SinglePairs<T, T> singles(x.dense(), x.dense(), ProductBase::squares, centre, 2);
      test_symmetric<SinglePairs<T, T>, float>(singles, x, 2e-5, mean, isa + " block in float32");
    }
}

void test_gradients(const std::string &isa) {
  for (const Index p : {1, 6}) {
    const Matrix<double> x = samples<double>(150, p, 3.0), q = samples<double>(37, p, 3.0);
    const std::vector<double> w = normal(37 * 150, 5);
    const PairFunction f{PairFunction::matern32, 0.2};
    const ProductPairs<double, double> pairs(x.dense(), q.dense(), ProductBase::squares, mean_of(x.dense()), 2);
    std::vector<long double> expected(index(p + 2));
    for (Index i = 0; i < 37; ++i)
      for (Index j = 0; j < 150; ++j) {
        long double v = 0.0L;
        for (Index c = 0; c < p; ++c)
          v += std::pow(static_cast<long double>(x(j, c)) - q(i, c), 2.0L);
        const long double value = w[index(i * 150 + j)] * plain_function(f, v);
        expected[0] += value;
        expected[1] += value * v;
        for (Index c = 0; c < p; ++c)
          expected[index(2 + c)] += value * std::pow(static_cast<long double>(x(j, c)) - q(i, c), 2.0L);
      }
    std::vector<double> got;
    for (const PairMoment moment : {PairMoment::zeroth, PairMoment::first, PairMoment::features}) {
      const std::vector<double> part = pair_gradient(pairs, f, moment, w.data(), 150, p, 3);
      check(part == pair_gradient(pairs, f, moment, w.data(), 150, p, 1), isa + " gradients for all threads");
      got.insert(got.end(), part.begin(), part.end());
    }
    for (std::size_t i = 0; i < got.size(); ++i)
      check_close(got[i], static_cast<double>(expected[i]), 1e-10,
                  isa + " sum " + std::to_string(i) + " of a gradient");
  }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    test_functions<double>(isa, 2e-14);
    test_functions<float>(isa, 2e-5);
    test_entries<double>(isa);
    test_entries<float>(isa);
    for (const double mean : {0.0, 100.0}) {
      test_blocks<double>(isa, mean);
      test_blocks<float>(isa, mean);
    }
    test_gradients(isa);
  });
  return result();
}
