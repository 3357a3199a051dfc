// Products of compressed rows with vectors that are kept one after the other, of any length:
//
//   both_ways   with z_ik = x_i . v_k - level_i along_k: sum_i weight_i z_ik x_i, and sum_i weight_i level_i z_ik.
//               A row that is read meets all vectors, and their sums at once; z is never kept.
//   across      sum_i v_ki x_i for vectors (count x rows)
//   along       x_i . v_k for vectors (count x columns)
// Few columns, whose vectors and sums lie in the second-level cache, make the first one fast: a wide matrix is given by
// its columns. The other two turn some rows of the vectors at a time, so that memory is read and written in lines.
// Sums are taken in slots. Flops: 4 or 2 * entries * count; bytes: entries and vectors once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/tile_products.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

// Returns (count + 1) lines: the sums (columns) of each vector, and behind them those of the levels. Empty weight,
// level: ones and zeros.
template <class T, class I>
std::vector<double> both_ways(const Sparse<T, I> &x, std::span<const double> vectors, Index count,
                              std::span<const double> weight, std::span<const double> level,
                              std::span<const double> along, int threads) {
  const Index p = x.columns, step = (count + lanes - 1) / lanes * lanes, size = (p + 2) * step;
  Buffer turned(p * step), levels(step);
  for (Index k = 0; k < count; ++k)
    for (Index j = 0; j < p; ++j)
      turned[j * step + k] = vectors.data()[k * p + j];
  std::copy(along.begin(), along.end(), levels.data());
  const Index slots = slot_count(x.rows, row_work(x) * static_cast<double>(count), most_slots_for(x));
  Buffer sums(slots * size);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    double *own = sums.data() + slot * size;
    require_columns(kernels().sparse<T, I>().both_ways(
        x.data.data(), x.indices.data(), x.indptr.data() + range.begin, range.end - range.begin, p, step, turned.data(),
        weight.empty() ? nullptr : weight.data() + range.begin, level.empty() ? nullptr : level.data() + range.begin,
        levels.data(), own, own + p * step));
  });
  merge_slots(sums.data(), slots, size, (p + 1) * step, threads);
  std::vector<double> out(static_cast<std::size_t>((p + 1) * count));
  transpose_part(sums.data(), p, count, step, out.data(), p);
  std::copy_n(sums.data() + p * step, count, out.data() + p * count);
  return out;
}

constexpr Index turned_rows = 64; // of the vectors at a time

// vectors: count x rows of x; returns count x columns.
template <class T, class I>
std::vector<double> across(const Sparse<T, I> &x, std::span<const double> vectors, Index count, int threads) {
  const Index slots = slot_count(x.rows, row_work(x) * static_cast<double>(count), most_slots_for(x));
  const Index size = (count * x.columns + lanes - 1) / lanes * lanes;
  Buffer sums(slots * size), tiles(slots * turned_rows * count);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    double *tile = tiles.data() + slot * turned_rows * count;
    for (Index i = range.begin; i < range.end; i += turned_rows) {
      const Index some = std::min(turned_rows, range.end - i);
      transpose_part(vectors.data() + i, count, some, x.rows, tile, count);
      gradient(x, i, some, tile, count, count, 1, nullptr, sums.data() + slot * size);
    }
  });
  merge_slots(sums.data(), slots, size, size, threads);
  return targets_major(x, sums.data(), count);
}

// vectors: count x columns of x; writes count x rows, of which level_i along_k is taken away.
template <class T, class I>
void along(const Sparse<T, I> &x, std::span<const double> vectors, Index count, std::span<const double> level,
           std::span<const double> by, int threads, std::span<double> out) {
  const Turned turned = turned_coefficients(x, vectors, count, threads);
  const std::vector<double> none(static_cast<std::size_t>(count));
  const double *coef = turned.empty() ? vectors.data() : turned.data();
  const Index slots = slot_count(x.rows, row_work(x) * static_cast<double>(count), 64);
  Buffer tiles(slots * turned_rows * count);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    double *tile = tiles.data() + slot * turned_rows * count;
    for (Index i = range.begin; i < range.end; i += turned_rows) {
      const Index some = std::min(turned_rows, range.end - i);
      margins(x, i, some, coef, count, nullptr, none.data(), tile, count, 1);
      if (!level.empty())
        for (Index r = 0; r < some; ++r)
          for (Index k = 0; k < count; ++k)
            tile[r * count + k] -= level[static_cast<std::size_t>(i + r)] * by[static_cast<std::size_t>(k)];
      transpose_part(tile, some, count, count, out.data() + i, x.rows);
    }
  });
}

} // namespace tenfold
