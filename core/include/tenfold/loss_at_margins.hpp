// A loss of one target at given margins z (n), for solvers that keep them: sums over samples with target y and weight
// w.
//
// loss_at_margins   value = sum w loss, slope = sum w loss', curvature = sum w loss'', and u_i = w loss', c_i = w
// loss'' of each
//                   sample
// loss_along_line   the first two derivatives of sum w loss(z + t dz) in t, at t = length, sum w loss' dz and
//                   sum w loss'' dz^2; and slope and curvature there
// Samples of weight zero add nothing. Partial sums by partition. Flops: those of the loss; bytes: y, z, w, and dz,
// once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/row_groups.hpp"

#include <array>
#include <span>

namespace tenfold {

struct LossMargins {
  std::span<const double> y, z, weight; // (n)
  Loss loss;
  double parameter;
};

// Padded buffers of a tile.
struct MarginTile {
  static constexpr Index rows = 256;
  MarginTile() : y(rows), z(rows), weight(rows), u(rows), curvature(rows) {}

  Buffer y, z, weight, u, curvature;
};

// Evaluates the loss at z + length dz (dz empty: at z) tile by tile and calls body(begin, count, tile, sums), which
// adds to sums[2] and following; sums[0] and sums[1] are value and slope. Returns the totals.
template <std::size_t size, class Body>
std::array<double, size> reduce_losses(const LossMargins &m, std::span<const double> dz, double length, int threads,
                                       Body &&body) {
  static_assert(size <= lanes);
  check_weights(m.weight);
  const Index n = static_cast<Index>(m.y.size()), partitions = partition_count(n, 16.0);
  Buffer sums(partitions * lanes);
  const LossKernel loss = kernels().losses[static_cast<int>(m.loss)];
  parallel(partitions, threads, [&](Index partition, int) {
    MarginTile tile;
    const Range range = partition_range(n, partitions, partition);
    double *local = sums.data() + partition * lanes;
    for (Index i = range.begin; i < range.end; i += MarginTile::rows) {
      const Index count = std::min(MarginTile::rows, range.end - i);
      std::copy_n(m.y.data() + i, count, tile.y.data());
      std::copy_n(m.z.data() + i, count, tile.z.data());
      std::copy_n(m.weight.data() + i, count, tile.weight.data());
      std::fill_n(tile.weight.data() + count, MarginTile::rows - count, 0.0);
      if (!dz.empty())
        for (Index r = 0; r < count; ++r)
          tile.z[r] += length * dz.data()[i + r];
      loss(tile.y.data(), tile.z.data(), tile.weight.data(), m.parameter, count, local, local + 1, tile.u.data(),
           tile.curvature.data());
      body(i, count, tile, local);
    }
  });
  merge_partitions(sums.data(), partitions, lanes, static_cast<Index>(size), threads);
  std::array<double, size> out;
  std::copy_n(sums.data(), size, out.begin());
  return out;
}

// Returns value, slope and curvature.
inline std::array<double, 3> loss_at_margins(const LossMargins &m, int threads, std::span<double> u,
                                             std::span<double> curvature) {
  return reduce_losses<3>(m, {}, 0.0, threads, [&](Index begin, Index count, const MarginTile &tile, double *sums) {
    std::copy_n(tile.u.data(), count, u.data() + begin);
    std::copy_n(tile.curvature.data(), count, curvature.data() + begin);
    for (Index r = 0; r < count; ++r)
      sums[2] += tile.curvature[r];
  });
}

// Returns the first and second derivative, slope and curvature.
inline std::array<double, 4> loss_along_line(const LossMargins &m, std::span<const double> dz, double length,
                                             int threads) {
  const auto result =
      reduce_losses<5>(m, dz, length, threads, [&](Index begin, Index count, const MarginTile &tile, double *sums) {
        const double *d = dz.data() + begin;
        for (Index r = 0; r < count; ++r) {
          sums[2] += tile.u[r] * d[r];
          sums[3] += tile.curvature[r] * d[r] * d[r];
          sums[4] += tile.curvature[r];
        }
      });
  return {result[2], result[3], result[1], result[4]};
}

} // namespace tenfold
