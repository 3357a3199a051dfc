// Logarithms of sums of exponentials, and the shares of the terms: what the judge of a mixture makes of lengths.
//
// With z_ik = offset_k - length_ik / 2 for lengths (n x K): density_i = log sum_k exp z_ik, and unless it is empty
// share_ki = w_i exp(z_ik - density_i) (K x n). A row of weight zero has shares zero whatever its lengths. Each row is
// computed alone. Flops: about 30 n K; bytes: the lengths once, the shares once.
#pragma once

#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index shared_rows = 64; // of a tile

inline void shares_of_tile(const double *lengths, std::span<const double> offset, Index count, double *z,
                           double *density, double *total) {
  const Index K = static_cast<Index>(offset.size());
  double largest[shared_rows];
  for (Index i = 0; i < count; ++i)
    for (Index k = 0; k < K; ++k) {
      const double value = offset[static_cast<std::size_t>(k)] - 0.5 * lengths[i * K + k];
      z[k * shared_rows + i] = value;
      largest[i] = k == 0 || value > largest[i] ? value : largest[i];
    }
  for (Index k = 0; k < K; ++k)
    for (Index i = 0; i < count; ++i)
      z[k * shared_rows + i] -= largest[i];
  kernels().dense<double>().exp(z, z, K * shared_rows);
  std::fill_n(total, shared_rows, 0.0);
  for (Index k = 0; k < K; ++k)
    for (Index i = 0; i < count; ++i)
      total[i] += z[k * shared_rows + i];
  for (Index i = 0; i < count; ++i)
    density[i] = largest[i] + std::log(total[i]);
}

inline void log_shares(std::span<const double> lengths, std::span<const double> offset, std::span<const double> weight,
                       int threads, std::span<double> density, std::span<double> share) {
  const Index n = static_cast<Index>(density.size()), K = static_cast<Index>(offset.size());
  const Index tiles = (n + shared_rows - 1) / shared_rows;
  const Index slots = std::min(slot_count(n, 8.0 * static_cast<double>(K), 64), std::max<Index>(1, tiles));
  parallel(slots, threads, [&](Index slot, int) {
    std::vector<double> z(static_cast<std::size_t>(K * shared_rows));
    double total[shared_rows], factor[shared_rows];
    const Range range = slot_range(tiles, slots, slot);
    for (Index row = range.begin * shared_rows; row < std::min(n, range.end * shared_rows); row += shared_rows) {
      const Index count = std::min(shared_rows, n - row);
      shares_of_tile(lengths.data() + row * K, offset, count, z.data(), density.data() + row, total);
      if (share.empty())
        continue;
      for (Index i = 0; i < count; ++i)
        factor[i] = weight[static_cast<std::size_t>(row + i)] / total[i];
      for (Index k = 0; k < K; ++k)
        for (Index i = 0; i < count; ++i)
          share[static_cast<std::size_t>(k * n + row + i)] =
              weight[static_cast<std::size_t>(row + i)] > 0.0
                  ? z[static_cast<std::size_t>(k * shared_rows + i)] * factor[i]
                  : 0.0;
    }
  });
}

} // namespace tenfold
