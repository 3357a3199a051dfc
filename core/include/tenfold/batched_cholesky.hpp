// Cholesky factors of small symmetric matrices of one size, and solves with many of them.
//
// Given H (q x q), of which the lower triangle is read, cholesky_in_place writes L with L L' = H and returns the
// smallest ratio of a pivot to its diagonal entry; 0 for a matrix that is not positive definite, whose factor must not
// be used. solve_cholesky_batch replaces each row of g (k x q) by (L L')^-1 g with the factor it names. Flops: q^3 / 3,
// and 2 k q^2.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace tenfold {

inline double cholesky_in_place(double *a, Index q) {
  const auto dot = kernels().dense<double>().dot;
  double least = 1.0;
  for (Index i = 0; i < q; ++i) {
    double *row = a + i * q;
    const double whole = row[i];
    for (Index j = 0; j < i; ++j)
      row[j] = (row[j] - dot(row, a + j * q, j)) / a[j * q + j];
    const double left = whole - dot(row, row, i);
    if (!(left > 0.0))
      return 0.0;
    least = std::min(least, left / whole);
    row[i] = std::sqrt(left);
    std::fill(row + i + 1, row + q, 0.0);
  }
  return least;
}

inline void solve_cholesky_batch(std::span<const double> lower, Index q, std::span<const std::int64_t> which,
                                 std::span<double> g) {
  const auto dot = kernels().dense<double>().dot;
  for (std::size_t k = 0; k < which.size(); ++k) {
    const double *a = lower.data() + which[k] * q * q;
    double *v = g.data() + static_cast<Index>(k) * q;
    for (Index i = 0; i < q; ++i)
      v[i] = (v[i] - dot(a + i * q, v, i)) / a[i * q + i];
    for (Index i = q - 1; i >= 0; --i) {
      v[i] /= a[i * q + i];
      for (Index j = 0; j < i; ++j)
        v[j] -= a[i * q + j] * v[i];
    }
  }
}

} // namespace tenfold
