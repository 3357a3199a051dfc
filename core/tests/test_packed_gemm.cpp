// Products of rows with many vectors, with every instruction set, against plain loops; equal bits for all threads.
#include "matrix.hpp"

#include "tenfold/csr_normal_product.hpp"
#include "tenfold/matvec.hpp"
#include "tenfold/packed_gemm.hpp"
#include "tenfold/scatter_float32.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

template <class T> void test_products(const std::string &isa, Index n, Index p, Index q) {
  const std::string what = isa + " " + std::to_string(n) + " x " + std::to_string(p) + ", " + std::to_string(q);
  const Matrix<T> m(n, p, 1.0, 31, 0.5);
  const auto coef = normal(index(q * p), 32), intercept = normal(index(q), 33), shift = normal(index(p), 34);
  const auto u = normal(index(n * q), 35);
  std::vector<double> weight = normal(index(n), 36);
  for (double &w : weight)
    w = w < -0.5 ? 0.0 : w * w;
  const auto away = [&](Index i, Index j) { return m(i, j) - shift[index(j)]; };
  std::vector<double> z(index(n * q)), again(index(n * q));
  packed_matmul(m.dense(), coef, intercept, shift, 2, z);
  packed_matmul(m.dense(), coef, intercept, shift, 1, again);
  check(z == again, what + ": packed_matmul has the same bits for all threads");
  const std::vector<double> g = packed_matmul_t(m.dense(), u, q, shift, 2);
  check(g == packed_matmul_t(m.dense(), u, q, shift, 1), what + ": packed_matmul_t has the same bits for all threads");
  const std::vector<double> s = scatter_products(m.dense(), coef, q, shift, weight, 2);
  check(s == scatter_products(m.dense(), coef, q, shift, weight, 1),
        what + ": scatter has the same bits for all threads");
  const double rounding = 1e-13 * static_cast<double>((n + 1) * (p + 1));
  std::vector<double> along(index(n * q));
  for (Index k = 0; k < q; ++k)
    for (Index i = 0; i < n; ++i) {
      double &sum = along[index(i * q + k)];
      for (Index j = 0; j < p; ++j)
        sum += away(i, j) * coef[index(k * p + j)];
      check_close(z[index(i * q + k)], sum + intercept[index(k)], rounding, what + ": packed_matmul");
    }
  for (Index j = 0; j < p; j += p > 50 ? 37 : 1)
    for (Index k = 0; k <= q; ++k) {
      double back = 0.0, both = 0.0;
      for (Index i = 0; i < n; ++i) {
        back += k < q ? u[index(i * q + k)] * away(i, j) : 0.0;
        both += weight[index(i)] * (k < q ? along[index(i * q + k)] : 1.0) * away(i, j);
      }
      if (k < q)
        check_close(g[index(k * p + j)], back, rounding, what + ": packed_matmul_t");
      check_close(s[index(k * p + j)], both, 10.0 * rounding, what + ": scatter");
    }
}

// Rows are packed from packed_gemm_min_vectors vectors on: the products are the same up to rounding.
void test_few_and_many(const std::string &isa) {
  const Index n = 40, p = 30;
  const Matrix<double> m(n, p, 1.0, 41);
  const auto coef = normal(index(packed_gemm_min_vectors * p), 42),
             none = std::vector<double>(index(packed_gemm_min_vectors));
  std::vector<double> many(index(n * packed_gemm_min_vectors)), few(index(n * (packed_gemm_min_vectors - 1)));
  matvec(m.dense(), coef, none, {}, 1, many);
  matvec(m.dense(), std::span(coef).first(index((packed_gemm_min_vectors - 1) * p)),
         std::span(none).first(index(packed_gemm_min_vectors - 1)), {}, 1, few);
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k + 1 < packed_gemm_min_vectors; ++k)
      check_close(many[index(i * packed_gemm_min_vectors + k)], few[index(i * (packed_gemm_min_vectors - 1) + k)],
                  1e-12, isa + " few");
}

template <class T> void test_singles(const std::string &isa, Index n, Index p, Index q) {
  const std::string what = isa + " singles " + std::to_string(n) + " x " + std::to_string(p);
  const Matrix<T> m(n, p, 1.0, 45, 0.5);
  const Index step = float32_stride(p);
  const auto shift = normal(index(p), 46), root = normal(index(n), 47), values = normal(index(q * step), 48);
  std::vector<float> a(index(n * step), 7.0F), vectors(values.begin(), values.end());
  centre_float32(m.dense(), shift, root, 0.5, 2, a);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < step; ++j) {
      const double expected = j < p ? 0.5 * root[index(i)] * (m(i, j) - shift[index(j)]) : 0.0;
      check_close(static_cast<double>(a[index(i * step + j)]), expected, 1e-6 * (1.0 + std::abs(expected)), what);
    }
  const Dense<float> rows{a.data(), n, step};
  const std::vector<double> result = scatter_products_float32(rows, vectors, q, 2);
  check(result == scatter_products_float32(rows, vectors, q, 1), what + ": the same bits for all threads");
  std::vector<double> along(index(n * q));
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < q; ++k)
      for (Index j = 0; j < step; ++j)
        along[index(i * q + k)] +=
            static_cast<double>(a[index(i * step + j)]) * static_cast<double>(vectors[index(k * step + j)]);
  const double rounding = 1e-5 * static_cast<double>((n + 1) * (p + 1));
  for (Index k = 0; k < q; ++k)
    for (Index j = 0; j < step; j += p > 50 ? 37 : 1) {
      double expected = 0.0;
      for (Index i = 0; i < n; ++i)
        expected += along[index(i * q + k)] * static_cast<double>(a[index(i * step + j)]);
      check_close(result[index(k * step + j)], expected, rounding, what + ": products");
    }
}

// CSR: the fused normal product and the two products from the left.
template <class T> void test_csr_normal_product(const std::string &isa, Index n, Index p, Index q) {
  const std::string what = isa + " sparse " + std::to_string(n) + " x " + std::to_string(p) + ", " + std::to_string(q);
  const Matrix<T> m(n, p, 0.2, 61);
  const auto v = normal(index(q * p), 62), level = normal(index(n), 63), by = normal(index(q), 64);
  const auto u = normal(index(q * n), 65), weight = normal(index(n), 66, 3.0);
  const std::vector<double> both = normal_product(m.sparse(), v, q, weight, level, by, 2);
  check(both == normal_product(m.sparse(), v, q, weight, level, by, 1), what + ": normal_product has the same bits");
  const std::vector<double> sums = left_matmul(m.sparse(), u, q, 2);
  check(sums == left_matmul(m.sparse(), u, q, 1), what + ": left_matmul has the same bits");
  std::vector<double> z(index(q * n)), again(index(q * n));
  left_matmul_t(m.sparse(), v, q, level, by, 2, z);
  left_matmul_t(m.sparse(), v, q, level, by, 1, again);
  check(z == again, what + ": left_matmul_t has the same bits");
  const double rounding = 1e-13 * static_cast<double>((n + 1) * (p + 1));
  for (Index k = 0; k < q; ++k) {
    double total = 0.0;
    for (Index i = 0; i < n; ++i) {
      double expected = -level[index(i)] * by[index(k)];
      for (Index j = 0; j < p; ++j)
        expected += m(i, j) * v[index(k * p + j)];
      check_close(z[index(k * n + i)], expected, rounding, what + ": left_matmul_t");
      total += weight[index(i)] * level[index(i)] * expected;
    }
    check_close(both[index(p * q + k)], total, 10.0 * rounding, what + ": normal_product, levels");
    for (Index j = 0; j < p; ++j) {
      double there = 0.0, back = 0.0;
      for (Index i = 0; i < n; ++i) {
        there += u[index(k * n + i)] * m(i, j);
        back += weight[index(i)] * z[index(k * n + i)] * m(i, j);
      }
      check_close(sums[index(k * p + j)], there, rounding, what + ": left_matmul");
      check_close(both[index(k * p + j)], back, 10.0 * rounding, what + ": normal_product");
    }
  }
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    for (const Index q : {1, 5, 16, 24, 50}) {
      test_singles<float>(isa, 9, 3, q);
      test_singles<double>(isa, 70, 40, q);
    }
    test_singles<double>(isa, 700, 600, 7); // several chunks and partitions
    for (const Index n : {1, 7, 64, 130})
      for (const Index p : {1, 9, 40})
        for (const Index q : {1, 8, 29})
          test_products<double>(isa, n, p, q);
    test_products<float>(isa, 70, 21, 10);
    test_products<double>(isa, 2100, 20, 9);                // several partitions
    test_products<double>(isa, 70, packed_tile_columns, 9); // a chunk, and a little more
    test_products<float>(isa, 70, packed_tile_columns + 3, 9);
    test_products<double>(isa, 70, row_partition_max_columns + 5, 9);
    for (const Index q : {Index{1}, Index{2}, Index{6}, unpacked_max_vectors, unpacked_max_vectors + 1,
                          Index{30}}) { // slabs of rows as they lie, and packed ones
      test_products<double>(isa, 9, packed_tile_columns + 7, q);
      test_products<float>(isa, 300, packed_tile_columns + 40, q);
    }
    test_few_and_many(isa);
    for (const Index q : {1, 8, 37}) {
      test_csr_normal_product<double>(isa, 70, 30, q);
      test_csr_normal_product<float>(isa, 5, 90, q);
    }
    test_csr_normal_product<double>(isa, 2000, 40, 9); // several partitions
    test_csr_normal_product<double>(isa, 20, 5000, 3); // vectors that are turned in pieces
  });
  return result();
}
