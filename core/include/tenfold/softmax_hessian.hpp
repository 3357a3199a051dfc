// The Hessian of the softmax loss from one Gram matrix a pair of classes.
//
// Given samples (n x p), probabilities q (K x n) and weights, with z = [x, 1]
//   H_ab = -sum_i weight_i q_ai q_bi z_i z_i'  for a != b,   H_aa = -sum over b != a of H_ab,
// as probabilities sum to one. Half of the products of the whole Hessian, each symmetric.
// Flops: n (p + 1)^2 K (K - 1) / 2; bytes: X once a pair, from the cache where samples are few.
#pragma once

#include "tenfold/loss_derivatives.hpp"

#include <span>
#include <vector>

namespace tenfold {

inline std::vector<double> softmax_hessian(const Dense<double> &x, std::span<const double> q, Index classes,
                                           std::span<const double> weight, int threads) {
  const auto n = static_cast<std::size_t>(x.rows), count = static_cast<std::size_t>(classes);
  const std::size_t width = static_cast<std::size_t>(x.columns) + 1, size = count * width;
  const std::vector<double> zeros(std::max(n, width));
  const std::span<const double> none(zeros);
  std::vector<double> total(size * size), products(n);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = a + 1; b < count; ++b) {
      for (std::size_t i = 0; i < n; ++i)
        products[i] = weight[i] * q[a * n + i] * q[b * n + i];
      const Derivatives sums = derivatives(
          Point<Dense<double>>{x, none.first(n), products, none.first(width - 1), none.first(1), {}, Loss::square, 0.0},
          2, threads);
      for (std::size_t j = 0; j < width; ++j)
        for (std::size_t k = 0; k < width; ++k) {
          const double h = sums.hessian[j * width + k];
          const auto at = [&](std::size_t row, std::size_t column) -> double & {
            return total[(row * width + j) * size + column * width + k];
          };
          at(a, b) -= h, at(b, a) -= h, at(a, a) += h, at(b, b) += h;
        }
    }
  return total;
}

} // namespace tenfold
