// A loss of one target at given margins z (n), for whoever keeps them: sums over rows of target y and weight w.
//
// losses_at      value = sum w loss, slope = sum w loss', bend = sum w loss'', and u_i = w loss', c_i = w loss'' of
// each
//                row
// losses_along   the first two derivatives of sum w loss(z + t dz) in t, at t = length, sum w loss' dz and
//                sum w loss'' dz^2; and slope and bend there
// Rows of weight zero add nothing. Sums in slots. Flops: those of the loss; bytes: y, z, w, and dz, once.
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

// What a tile is copied to, padded to whole vectors.
struct MarginTile {
  static constexpr Index rows = 256;
  MarginTile() : y(rows), z(rows), weight(rows), u(rows), curvature(rows) {}

  Buffer y, z, weight, u, curvature;
};

// body(begin, count, tile, sums) for tiles whose losses are known, at z + length dz (dz empty: at z): sums has two
// numbers, value and slope, and then what the body adds to; returns the sums of all.
template <std::size_t size, class Body>
std::array<double, size> over_losses(const LossMargins &m, std::span<const double> dz, double length, int threads,
                                     Body &&body) {
  static_assert(size <= lanes);
  check_weights(m.weight);
  const Index n = static_cast<Index>(m.y.size()), slots = slot_count(n, 16.0);
  Buffer sums(slots * lanes);
  const LossKernel loss = kernels().losses[static_cast<int>(m.loss)];
  parallel(slots, threads, [&](Index slot, int) {
    MarginTile tile;
    const Range range = slot_range(n, slots, slot);
    double *own = sums.data() + slot * lanes;
    for (Index i = range.begin; i < range.end; i += MarginTile::rows) {
      const Index count = std::min(MarginTile::rows, range.end - i);
      std::copy_n(m.y.data() + i, count, tile.y.data());
      std::copy_n(m.z.data() + i, count, tile.z.data());
      std::copy_n(m.weight.data() + i, count, tile.weight.data());
      std::fill_n(tile.weight.data() + count, MarginTile::rows - count, 0.0);
      if (!dz.empty())
        for (Index r = 0; r < count; ++r)
          tile.z[r] += length * dz.data()[i + r];
      loss(tile.y.data(), tile.z.data(), tile.weight.data(), m.parameter, count, own, own + 1, tile.u.data(),
           tile.curvature.data());
      body(i, count, tile, own);
    }
  });
  merge_slots(sums.data(), slots, lanes, static_cast<Index>(size), threads);
  std::array<double, size> out;
  std::copy_n(sums.data(), size, out.begin());
  return out;
}

// Returns value, slope and bend.
inline std::array<double, 3> losses_at(const LossMargins &m, int threads, std::span<double> u,
                                       std::span<double> curvature) {
  return over_losses<3>(m, {}, 0.0, threads, [&](Index begin, Index count, const MarginTile &tile, double *sums) {
    std::copy_n(tile.u.data(), count, u.data() + begin);
    std::copy_n(tile.curvature.data(), count, curvature.data() + begin);
    for (Index r = 0; r < count; ++r)
      sums[2] += tile.curvature[r];
  });
}

// Returns the first derivative and the second, slope and bend.
inline std::array<double, 4> losses_along(const LossMargins &m, std::span<const double> dz, double length,
                                          int threads) {
  const auto found =
      over_losses<5>(m, dz, length, threads, [&](Index begin, Index count, const MarginTile &tile, double *sums) {
        const double *d = dz.data() + begin;
        for (Index r = 0; r < count; ++r) {
          sums[2] += tile.u[r] * d[r];
          sums[3] += tile.curvature[r] * d[r] * d[r];
          sums[4] += tile.curvature[r];
        }
      });
  return {found[2], found[3], found[1], found[4]};
}

} // namespace tenfold
