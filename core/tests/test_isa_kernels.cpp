// Every function of every instruction set against plain loops, on shapes with all remainders. Arrays have exactly the
// length that a function may access, so that the address sanitizer sees an access beyond it.
#include "check.hpp"

#include "tenfold/aligned_buffer.hpp"

#include <algorithm>

using namespace tenfold;
using namespace tenfold::test;

namespace {

std::size_t index(Index i) { return static_cast<std::size_t>(i); }

template <class T> void test_margins(const std::string &isa, Index n, Index p, Index t, bool shifted) {
  const auto x = as<T>(normal(index(n * p), 1)), unused = as<T>(normal(1, 2));
  const auto coef = normal(index(t * p), 3), intercept = normal(index(t), 4), shift = normal(index(p), 5);
  std::vector<double> z(index(n * t), -77.0);
  kernels().dense<T>().matvec(x.data(), n, p, coef.data(), t, shifted ? shift.data() : nullptr, intercept.data(),
                              z.data(), t, 1);
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < t; ++k) {
      double expected = intercept[index(k)];
      for (Index j = 0; j < p; ++j)
        expected +=
            (static_cast<double>(x[index(i * p + j)]) - (shifted ? shift[index(j)] : 0.0)) * coef[index(k * p + j)];
      check_close(z[index(i * t + k)], expected, 1e-12 * static_cast<double>(p + 1), isa + " margins");
    }
}

template <class T> void test_gradient(const std::string &isa, Index n, Index p, Index t, bool shifted) {
  const auto x = as<T>(normal(index(n * p), 6));
  const auto u = normal(index(n * t), 7), shift = normal(index(p), 8), start = normal(index(t * p), 9);
  std::vector<double> g = start;
  kernels().dense<T>().matvec_t(x.data(), n, p, u.data(), t, 1, n, shifted ? shift.data() : nullptr, g.data());
  for (Index k = 0; k < t; ++k)
    for (Index j = 0; j < p; ++j) {
      double expected = start[index(k * p + j)];
      for (Index i = 0; i < n; ++i)
        expected +=
            u[index(i + k * n)] * (static_cast<double>(x[index(i * p + j)]) - (shifted ? shift[index(j)] : 0.0));
      check_close(g[index(k * p + j)], expected, 1e-12 * static_cast<double>(n + 1), isa + " gradient");
    }
}

template <class T> void test_gram(const std::string &isa, Index n, Index p, bool listed) {
  const Index side = kernels().panel, panels = (p + side - 1) / side, stride = (n + 3) * side;
  const auto x = as<T>(normal(index(2 * n * p), 10));
  const auto root = normal(index(n), 11);
  auto unit = normal(index(panels * side), 12), centre = normal(index(panels * side), 13);
  std::vector<Index> rows;
  for (Index i = 0; i < n; ++i)
    rows.push_back(2 * n - 1 - 2 * i);
  Buffer packed(panels * stride), blocks(panels * (panels + 1) / 2 * side * side);
  kernels().dense<T>().pack(x.data(), p, listed ? rows.data() : nullptr, n, p, unit.data(), centre.data(), root.data(),
                            packed.data(), stride);
  const auto z = [&](Index i, Index j) {
    const Index row = listed ? rows[index(i)] : i;
    return (static_cast<double>(x[index(row * p + j)]) * unit[index(j)] - centre[index(j)]) * root[index(i)];
  };
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < panels * side; ++j)
      check_close(packed[j / side * stride + i * side + j % side], j < p ? z(i, j) : 0.0, 1e-13, isa + " pack");
  // In two parts, the second with prefetching.
  std::vector<const char *> next(index(n), reinterpret_cast<const char *>(x.data()));
  const Index middle = panels / 2;
  kernels().gram(packed.data(), stride, n, 0, panels, 0, middle, blocks.data(), nullptr, 0);
  kernels().gram(packed.data(), stride, n, 0, panels, middle, panels, blocks.data(), next.data(), 1);
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i <= j; ++i) {
      double expected = 0.0;
      for (Index r = 0; r < n; ++r)
        expected += z(r, i) * z(r, j);
      const Index row = i / side, column = j / side;
      const double got = blocks[(column * (column + 1) / 2 + row) * side * side + j % side * side + i % side];
      check_close(got, expected, 1e-11 * static_cast<double>(n + 1), isa + " gram");
    }
}

void test_losses(const std::string &isa) {
  for (const Index n : {0, 1, 7, 8, 31}) {
    const Index padded = (n + lanes - 1) / lanes * lanes;
    const auto z = normal(index(padded), 14);
    auto y = normal(index(padded), 15), weight = normal(index(padded), 16);
    for (Index i = 0; i < padded; ++i) {
      y[index(i)] = y[index(i)] > 0.0 ? 1.0 : -1.0;
      weight[index(i)] = i < n ? std::max(0.0, weight[index(i)]) : 0.0;
    }
    for (const bool logistic : {false, true}) {
      std::vector<double> u(index(padded)), curvature(index(padded));
      double value = 1.0, slope = 2.0, expected_value = 1.0, expected_slope = 2.0;
      kernels().losses[static_cast<int>(logistic ? Loss::logistic : Loss::square)](
          y.data(), z.data(), weight.data(), 0.0, n, &value, &slope, u.data(), curvature.data());
      for (Index i = 0; i < n; ++i) {
        const double w = weight[index(i)], m = y[index(i)] * z[index(i)], r = z[index(i)] - y[index(i)];
        const double other = 1.0 / (1.0 + std::exp(m));
        const double du = w * (logistic ? -y[index(i)] * other : r);
        expected_value += w * (logistic ? std::log1p(std::exp(-m)) : 0.5 * r * r);
        expected_slope += du;
        check_close(u[index(i)], du, 1e-15 + 1e-14 * std::abs(du), isa + " slope of a row");
        check_close(curvature[index(i)], w * (logistic ? other * (1.0 - other) : 1.0), 1e-14, isa + " curvature");
      }
      check_close(value, expected_value, 1e-13 * expected_value, isa + " value");
      check_close(slope, expected_slope, 1e-13, isa + " slope");
    }
  }
}

// Margins so large that a naive formula overflows or cancels; a row of weight zero may even be NaN.
void test_extreme_losses(const std::string &isa) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> y(8, 1.0), z = {1e300, -1e300, 800.0, -800.0, 40.0, -40.0, std::nan(""), infinity};
  const std::vector<double> weight = {1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0};
  std::vector<double> u(8), curvature(8);
  double value = 0.0, slope = 0.0;
  kernels().losses[static_cast<int>(Loss::logistic)](y.data(), z.data(), weight.data(), 0.0, 8, &value, &slope,
                                                     u.data(), curvature.data());
  check_close(value, 800.0 + 40.0, 1e-12, isa + " value at large margins");
  check_close(slope, -2.0, 1e-14, isa + " slope at large margins");
  check_close(u[4], -std::exp(-40.0), 1e-31, isa + " slope at margin 40");
  check_close(curvature[5], std::exp(-40.0), 1e-31, isa + " curvature at margin -40");
  check(u[1] == 0.0 && u[6] == 0.0 && curvature[6] == 0.0, isa + " rows of weight zero");
}

template <class T, class I> void test_sparse(const std::string &isa, Index t) {
  const Index n = 9, p = 40;
  std::vector<T> data;
  std::vector<I> indices;
  std::vector<std::int64_t> indptr = {0};
  std::vector<double> dense(index(n * p));
  std::mt19937_64 random(17);
  for (Index i = 0; i < n; ++i) { // rows of 0, 5, 10 ... entries; the last ones repeat columns
    for (Index k = 0; k < 5 * i; ++k) {
      const Index j = static_cast<Index>(random() % static_cast<std::uint64_t>(p));
      const T value = static_cast<T>(static_cast<double>(random() % 1000) / 500.0 - 1.0);
      data.push_back(value);
      indices.push_back(static_cast<I>(j));
      dense[index(i * p + j)] += static_cast<double>(value);
    }
    indptr.push_back(static_cast<std::int64_t>(data.size()));
  }
  const auto &k = kernels().sparse<T, I>();
  const auto coef = normal(index(p * t), 18), intercept = normal(index(t), 19), u = normal(index(n * t), 20);
  std::vector<double> z(index(n * t)), g(index(p * t));
  const auto margins = [&](const std::vector<I> &at) {
    return k.matvec(data.data(), at.data(), indptr.data(), n, p, coef.data(), t, intercept.data(), z.data(), 1, n);
  };
  const auto gradient = [&](const std::vector<I> &at) {
    return k.matvec_t(data.data(), at.data(), indptr.data(), n, p, u.data(), t, 1, n, g.data());
  };
  check(margins(indices) && gradient(indices), isa + " columns inside");
  for (Index c = 0; c < t; ++c) {
    for (Index i = 0; i < n; ++i) {
      double expected = intercept[index(c)];
      for (Index j = 0; j < p; ++j)
        expected += dense[index(i * p + j)] * coef[index(j * t + c)];
      check_close(z[index(i + c * n)], expected, 1e-11, isa + " sparse margins");
    }
    for (Index j = 0; j < p; ++j) {
      double expected = 0.0;
      for (Index i = 0; i < n; ++i)
        expected += u[index(i + c * n)] * dense[index(i * p + j)];
      check_close(g[index(j * t + c)], expected, 1e-11, isa + " sparse gradient");
    }
  }
  for (const I bad : {I{-1}, static_cast<I>(p), std::numeric_limits<I>::max(), std::numeric_limits<I>::min()})
    for (std::size_t where = 0; where < indices.size(); ++where) {
      std::vector<I> wrong = indices;
      wrong[where] = bad;
      check(!margins(wrong) && !gradient(wrong), isa + " columns outside");
    }
}

void test_product(const std::string &isa) {
  const Index side = kernels().panel;
  for (const Index n : {0, 1, 5, 8, 17})
    for (const Index inner : {0, 1, 9})
      for (const Index columns : {1, 8, 21, 40}) {
        const Index panels = (columns + side - 1) / side, stride = (inner + 1) * side, a_step = inner + 2;
        const auto a = normal(index(n * a_step), 23);
        Buffer b(panels * stride), out(n * panels * side);
        const auto values = normal(index(panels * stride), 24);
        std::copy(values.begin(), values.end(), b.data());
        kernels().gemm_panel(a.data(), a_step, n, inner, b.data(), stride, panels, false, out.data(), panels * side);
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < columns; ++j) {
            double expected = 0.0;
            for (Index k = 0; k < inner; ++k)
              expected += a[index(i * a_step + k)] * b[j / side * stride + k * side + j % side];
            check_close(out[i * panels * side + j], expected, 1e-13, isa + " product");
          }
      }
}

void test_loo(const std::string &isa) {
  for (const Index candidates : {1, 7, 8, 19}) {
    const auto fit = normal(index(candidates), 21), spread = normal(index(candidates), 22);
    std::vector<double> sums(index(candidates), 1.0), errors(index(candidates)), largest(index(candidates), 0.1);
    std::vector<double> scale = spread, square(index(candidates));
    kernels().leverages(scale.data(), candidates, 0.25, 0.01, largest.data());
    kernels().square(spread.data(), candidates, square.data());
    check(kernels().loo_errors(fit.data(), scale.data(), candidates, 0.3, 0.25, sums.data(), errors.data()),
          isa + " finite");
    for (Index a = 0; a < candidates; ++a) {
      const double h = 0.25 * (0.01 + spread[index(a)]), e = (0.3 - fit[index(a)]) / (1.0 - h);
      check_close(errors[index(a)], e, 1e-13, isa + " error");
      check_close(sums[index(a)], 1.0 + 0.25 * e * e, 1e-13, isa + " sum of errors");
      check_close(largest[index(a)], std::max(0.1, h), 1e-15, isa + " leverage");
      check(square[index(a)] == spread[index(a)] * spread[index(a)], isa + " squares");
      std::vector<double> one = scale, unused(index(candidates));
      one[index(a)] = std::numeric_limits<double>::infinity();
      check(!kernels().loo_errors(fit.data(), one.data(), candidates, 0.3, 0.25, unused.data(), nullptr),
            isa + " an infinite error is reported");
    }
  }
}

template <class T> void test_dense(const std::string &isa) {
  for (const Index n : {0, 1, 3, 8, 13})
    for (const Index p : {1, 2, 5, 8, 9, 24, 31, 70, 100})
      for (const bool flag : {false, true}) {
        for (const Index t : {0, 1, 2, 4, 7}) {
          test_margins<T>(isa, n, p, t, flag);
          test_gradient<T>(isa, n, p, t, flag);
        }
        test_gram<T>(isa, n, p, flag);
      }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    test_dense<float>(isa);
    test_dense<double>(isa);
    test_losses(isa);
    test_extreme_losses(isa);
    for (const Index t : {1, 3}) {
      test_sparse<float, std::int32_t>(isa, t);
      test_sparse<float, std::int64_t>(isa, t);
      test_sparse<double, std::int32_t>(isa, t);
      test_sparse<double, std::int64_t>(isa, t);
    }
    test_product(isa);
    test_loo(isa);
  });
  return result();
}
