// Squared Mahalanobis distances, for Gaussian densities with full covariances.
//
// Given X (n x p), centres (k x p) and upper triangular factors (k x p x p), z_ik = ||(x_i - c_k) B_k||^2; with B_k
// B_k' the inverse of a covariance this is Mahalanobis' squared distance. Tiles of rows are centred and multiplied in
// cache. Flops: k n p (p + 3); bytes: X once.
#pragma once

#include "tenfold/deterministic_partition.hpp"
#include "tenfold/packed_rhs.hpp"
#include "tenfold/types.hpp"

#include <span>
#include <vector>

namespace tenfold {

template <class T>
void mahalanobis_distances(const Dense<T> &x, std::span<const double> centres, std::span<const double> factors,
                           Index classes, const Blas &blas, int threads, std::span<double> z) {
  constexpr Index tile = 64;
  const Index p = x.columns;
  std::vector<PackedRhs> right;
  right.reserve(static_cast<std::size_t>(classes));
  for (Index k = 0; k < classes; ++k)
    right.emplace_back(factors.data() + k * p * p, false, p, p, true);
  const Index step = right.empty() ? 0 : right.front().step();
  const Index tiles = (x.rows + tile - 1) / tile;
  const double work = static_cast<double>(classes) * static_cast<double>(p) * static_cast<double>(p) / 8.0 + 8.0;
  const Index partitions = std::min(partition_count(x.rows, work, 64), std::max<Index>(1, tiles));
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<Buffer> centred, product;
  for (int w = 0; w < workers; ++w) {
    centred.emplace_back(tile * p);
    product.emplace_back(tile * step);
  }
  const Kernels &kernel = kernels();
  parallel(partitions, workers, [&](Index partition, int worker) {
    double *a = centred[static_cast<std::size_t>(worker)].data(), *b = product[static_cast<std::size_t>(worker)].data();
    const Range range = partition_range(tiles, partitions, partition);
    for (Index begin = range.begin * tile; begin < std::min(x.rows, range.end * tile); begin += tile) {
      const Index count = std::min(tile, x.rows - begin);
      for (Index k = 0; k < classes; ++k) {
        for (Index i = 0; i < count; ++i)
          kernel.dense<T>().centre_row(x.data + (begin + i) * p, centres.data() + k * p, p, a + i * p);
        right[static_cast<std::size_t>(k)].multiply(blas, a, p, count, b);
        for (Index i = 0; i < count; ++i)
          z.data()[(begin + i) * classes + k] = kernel.dense<double>().squared_norm(b + i * step, p);
      }
    }
  });
}

} // namespace tenfold
