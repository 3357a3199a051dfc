// The softmax loss at given margins z (n x K), for solvers that keep them: sums over samples of class y and weight w,
// with p_ik = exp(z_ik) / sum_j exp(z_ij).
//
// softmax_at_margins   value = sum w loss, slope_k = sum w (p_k - [k = y]), curvature_k = sum w p_k (1 - p_k), and
//                      u_ik = w (p_k - [k = y]) of each sample
// softmax_along_line   the first two derivatives of sum w loss(z + t dz) in t, at t = length:
//                      sum w (p - e_y).dz  and  sum w (p.dz^2 - (p.dz)^2)
// Samples of weight zero add nothing. Flops: n K exponentials; bytes: z, and dz, once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/row_groups.hpp"
#include "tenfold/softmax.hpp"

#include <span>
#include <vector>

namespace tenfold {

struct Margins {
  std::span<const double> y;      // (n)
  std::span<const double> z;      // (n, K)
  std::span<const double> weight; // (n)
  Index classes;

  Index rows() const { return static_cast<Index>(y.size()); }
};

constexpr Index margin_rows = 128; // rows of a tile

// Margins z + length dz (dz empty: z) of rows begin ... begin + count, one lane per sample, their losses, and u.
inline void softmax_of_tile(const Margins &m, std::span<const double> dz, double length, Index begin, Index count,
                            SoftmaxTile &tile, double *value, double *slope) {
  const Index K = m.classes;
  for (Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(begin + i);
    tile.y[i] = m.y[row];
    tile.weight[i] = m.weight[row];
    for (Index k = 0; k < K; ++k) {
      const auto at = static_cast<std::size_t>((begin + i) * K + k);
      tile.z[k * tile.step + i] = dz.empty() ? m.z[at] : m.z[at] + length * dz[at];
    }
  }
  std::fill_n(tile.weight.data() + count, tile.step - count, 0.0);
  kernels().softmax(tile.y.data(), tile.z.data(), tile.step, K, tile.weight.data(), count, value, slope, tile.u.data());
}

// Calls body(begin, count, tile, sums), which adds to `size` partial sums; returns the totals.
template <class Body> Buffer reduce_softmax(const Margins &m, Index size, int threads, Body &&body) {
  check_weights(m.weight);
  const Index n = m.rows(), stride = (size + lanes - 1) / lanes * lanes;
  const Index partitions = partition_count(n, 8.0 * static_cast<double>(m.classes));
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<SoftmaxTile> tiles;
  for (int w = 0; w < workers; ++w)
    tiles.emplace_back(margin_rows, m.classes);
  Buffer sums(partitions * stride);
  parallel(partitions, workers, [&](Index partition, int worker) {
    const Range range = partition_range(n, partitions, partition);
    for (Index i = range.begin; i < range.end; i += margin_rows)
      body(i, std::min(margin_rows, range.end - i), tiles[static_cast<std::size_t>(worker)],
           sums.data() + partition * stride);
  });
  merge_partitions(sums.data(), partitions, stride, size, threads);
  return sums;
}

// Returns value, slope (K), curvature (K).
inline Buffer softmax_at_margins(const Margins &m, int threads, std::span<double> u) {
  const Index K = m.classes;
  return reduce_softmax(m, 1 + 2 * K, threads, [&](Index begin, Index count, SoftmaxTile &tile, double *sums) {
    softmax_of_tile(m, {}, 0.0, begin, count, tile, sums, sums + 1);
    for (Index k = 0; k < K; ++k)
      for (Index i = 0; i < count; ++i) {
        const double w = tile.weight[i], part = tile.u[k * tile.step + i];
        const double rest = static_cast<double>(k) == tile.y[i] ? w + part : part; // w p_k
        sums[1 + K + k] += w > 0.0 ? rest * (1.0 - rest / w) : 0.0;
        u[static_cast<std::size_t>((begin + i) * K + k)] = part;
      }
  });
}

// Returns the first and the second derivative.
inline Buffer softmax_along_line(const Margins &m, std::span<const double> dz, double length, int threads) {
  const Index K = m.classes;
  return reduce_softmax(m, 2, threads, [&](Index begin, Index count, SoftmaxTile &tile, double *sums) {
    double value = 0.0;
    softmax_of_tile(m, dz, length, begin, count, tile, &value, tile.side_by_side.data());
    for (Index i = 0; i < count; ++i) {
      const double w = tile.weight[i], *d = dz.data() + (begin + i) * K;
      if (!(w > 0.0))
        continue;
      const double own = d[static_cast<Index>(tile.y[i])];
      double first = 0.0, mean = 0.0, square = 0.0;
      for (Index k = 0; k < K; ++k) {
        const double part = tile.u[k * tile.step + i], away = d[k] - own; // u sums to zero: the origin is free
        const double share = static_cast<double>(k) == tile.y[i] ? w + part : part;
        first += part * away;
        mean += share * away;
        square += share * away * away;
      }
      sums[0] += first;
      sums[1] += square - mean * mean / w;
    }
  });
}

} // namespace tenfold
