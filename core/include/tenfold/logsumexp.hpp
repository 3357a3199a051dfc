// logsumexp and softmax of the log densities of a mixture, for its judge.
//
// With z_ik = offset_k - length_ik / 2 for squared distances `lengths` (n x K): density_i = log sum_k exp z_ik and,
// unless it is empty, posterior_ki = w_i exp(z_ik - density_i) (K x n). Samples of weight zero have posterior zero
// whatever their distances. Every sample is computed on its own. Flops: about 30 n K; bytes: lengths and posteriors
// once.
#pragma once

#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index logsumexp_tile_rows = 64; // rows of a tile

inline void logsumexp_tile(const double *sq_distances, std::span<const double> offset, Index count, double *z,
                           double *log_density, double *total) {
  const Index K = static_cast<Index>(offset.size());
  double largest[logsumexp_tile_rows];
  for (Index i = 0; i < count; ++i)
    for (Index k = 0; k < K; ++k) {
      const double value = offset[static_cast<std::size_t>(k)] - 0.5 * sq_distances[i * K + k];
      z[k * logsumexp_tile_rows + i] = value;
      largest[i] = k == 0 || value > largest[i] ? value : largest[i];
    }
  for (Index k = 0; k < K; ++k)
    for (Index i = 0; i < count; ++i)
      z[k * logsumexp_tile_rows + i] -= largest[i];
  kernels().dense<double>().exp(z, z, K * logsumexp_tile_rows);
  std::fill_n(total, logsumexp_tile_rows, 0.0);
  for (Index k = 0; k < K; ++k)
    for (Index i = 0; i < count; ++i)
      total[i] += z[k * logsumexp_tile_rows + i];
  for (Index i = 0; i < count; ++i)
    log_density[i] = largest[i] + std::log(total[i]);
}

inline void logsumexp(std::span<const double> sq_distances, std::span<const double> offset,
                      std::span<const double> weight, int threads, std::span<double> log_density,
                      std::span<double> posterior) {
  const Index n = static_cast<Index>(log_density.size()), K = static_cast<Index>(offset.size());
  const Index tiles = (n + logsumexp_tile_rows - 1) / logsumexp_tile_rows;
  const Index partitions = std::min(partition_count(n, 8.0 * static_cast<double>(K), 64), std::max<Index>(1, tiles));
  parallel(partitions, threads, [&](Index partition, int) {
    std::vector<double> z(static_cast<std::size_t>(K * logsumexp_tile_rows));
    double total[logsumexp_tile_rows], factor[logsumexp_tile_rows];
    const Range range = partition_range(tiles, partitions, partition);
    for (Index row = range.begin * logsumexp_tile_rows; row < std::min(n, range.end * logsumexp_tile_rows);
         row += logsumexp_tile_rows) {
      const Index count = std::min(logsumexp_tile_rows, n - row);
      logsumexp_tile(sq_distances.data() + row * K, offset, count, z.data(), log_density.data() + row, total);
      if (posterior.empty())
        continue;
      for (Index i = 0; i < count; ++i)
        factor[i] = weight[static_cast<std::size_t>(row + i)] / total[i];
      for (Index k = 0; k < K; ++k)
        for (Index i = 0; i < count; ++i)
          posterior[static_cast<std::size_t>(k * n + row + i)] =
              weight[static_cast<std::size_t>(row + i)] > 0.0
                  ? z[static_cast<std::size_t>(k * logsumexp_tile_rows + i)] * factor[i]
                  : 0.0;
    }
  });
}

} // namespace tenfold
