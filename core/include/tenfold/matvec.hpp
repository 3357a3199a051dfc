// Products of the rows with vectors: with a few here, of dense rows with many by many_vectors.hpp.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/packed_gemm.hpp"
#include "tenfold/tile_products.hpp"

#include <limits>
#include <span>
#include <vector>

namespace tenfold {

template <class T> bool are_many(const Dense<T> &x, Index targets) {
  return targets >= many_vectors && x.rows >= 4 * many_vectors;
}
template <class T, class I> bool are_many(const Sparse<T, I> &, Index) { return false; }

// z_ik = (x_i - shift) . coef_k + intercept_k. Given coef (targets x columns), intercept (targets), shift (columns, or
// empty for none); writes z (rows x targets). One pass: bytes of X over the bandwidth.
template <class Rows>
void times(const Rows &x, std::span<const double> coef, std::span<const double> intercept,
           std::span<const double> shift, int threads, std::span<double> z) {
  const Index targets = static_cast<Index>(intercept.size());
  if constexpr (requires { many_times(x, coef, intercept, shift, threads, z); })
    if (are_many(x, targets))
      return many_times(x, coef, intercept, shift, threads, z);
  const Turned turned = turned_coefficients(x, coef, targets, threads);
  const double *w = turned.empty() ? coef.data() : turned.data();
  const Index tile = tile_rows(x);
  const Index slots = slot_count(x.rows, row_work(x) * static_cast<double>(targets), 64);
  const double *minus = shift.empty() ? nullptr : shift.data();
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    for (Index i = range.begin; i < range.end; i += tile) {
      const Index count = std::min(tile, range.end - i);
      margins(x, i, count, w, targets, minus, intercept.data(), z.data() + i * targets, targets, 1);
    }
  });
}

// g_kj = sum_i u_ik (x_ij - shift_j). Given u (rows x targets), shift (columns, or empty for none); returns g
// (targets x columns). One pass, sums in slots.
template <class Rows>
std::vector<double> times_t(const Rows &x, std::span<const double> u, Index targets, std::span<const double> shift,
                            int threads) {
  if constexpr (requires { many_times_t(x, u, targets, shift, threads); })
    if (are_many(x, targets))
      return many_times_t(x, u, targets, shift, threads);
  const Index tile = tile_rows(x);
  const Index slots = slot_count(x.rows, row_work(x) * static_cast<double>(targets), most_slots_for(x));
  const Index size = targets * x.columns;
  const Index stride = (size + lanes - 1) / lanes * lanes;
  const double *minus = shift.empty() ? nullptr : shift.data();
  Buffer sums(slots * stride);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    for (Index i = range.begin; i < range.end; i += tile) {
      const Index count = std::min(tile, range.end - i);
      gradient(x, i, count, u.data() + i * targets, targets, targets, 1, minus, sums.data() + slot * stride);
    }
  });
  merge_slots(sums.data(), slots, stride, size, threads);
  return targets_major(x, sums.data(), targets);
}

// Of dense rows and d_ij = x_ij - shift_j: sum_i weight_i d_ij, sum_i weight_i d_ij^2 and sum_i other_i d_ij, (3 x
// columns). One pass, sums in slots.
template <class T>
std::vector<double> column_sums(const Dense<T> &x, std::span<const double> weight, std::span<const double> other,
                                std::span<const double> shift, int threads) {
  const Index tile = tile_rows(x);
  const Index slots = slot_count(x.rows, 2.0 * row_work(x), most_slots_for(x));
  const Index size = 3 * x.columns, stride = (size + lanes - 1) / lanes * lanes;
  Buffer sums(slots * stride);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    for (Index i = range.begin; i < range.end; i += tile)
      kernels().dense<T>().column_sums(x.data + i * x.columns, std::min(tile, range.end - i), x.columns,
                                       weight.data() + i, other.data() + i, shift.data(), sums.data() + slot * stride);
  });
  merge_slots(sums.data(), slots, stride, size, threads);
  return std::vector<double>(sums.data(), sums.data() + size);
}

// Of compressed rows: sum_i weight_i x_ij, sum_i weight_i x_ij^2 and sum_i other_i x_ij, (3 x columns), and the
// smallest |x_ij| that is not zero and the largest: what says whether the squares may be trusted. One pass, sums in
// slots.
struct SparseSums {
  std::vector<double> sums;
  double least = std::numeric_limits<double>::infinity(), largest = 0.0;
};

template <class T, class I>
SparseSums column_sums(const Sparse<T, I> &x, std::span<const double> weight, std::span<const double> other,
                       int threads) {
  const Index tile = tile_rows(x), slots = slot_count(x.rows, 2.0 * row_work(x), most_slots_for(x));
  const Index size = 3 * x.columns, stride = (size + lanes - 1) / lanes * lanes;
  Buffer sums(slots * stride);
  SparseSums out;
  std::vector<double> extremes;
  for (Index slot = 0; slot < slots; ++slot)
    extremes.insert(extremes.end(), {out.least, out.largest});
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    for (Index i = range.begin; i < range.end; i += tile)
      require_columns(kernels().sparse<T, I>().column_sums(x.data.data(), x.indices.data(), x.indptr.data() + i,
                                                           std::min(tile, range.end - i), x.columns, weight.data() + i,
                                                           other.empty() ? nullptr : other.data() + i,
                                                           sums.data() + slot * stride, extremes.data() + 2 * slot));
  });
  merge_slots(sums.data(), slots, stride, size, threads);
  out.sums.assign(sums.data(), sums.data() + size);
  for (std::size_t i = 0; i < extremes.size(); i += 2) {
    out.least = std::min(out.least, extremes[i]);
    out.largest = std::max(out.largest, extremes[i + 1]);
  }
  return out;
}

// Some columns of dense rows, out_ki = root_i (x_{i, index_k} - centre_k), (columns x rows): the rows are read in their
// order, a few at a time, so that every cache line is fetched once.
template <class T>
void some_columns(const Dense<T> &x, std::span<const std::int64_t> index, std::span<const double> centre,
                  std::span<const double> root, int threads, std::span<double> out) {
  constexpr Index few = 8; // doubles of a cache line
  const Index count = static_cast<Index>(index.size()), pieces = (x.rows + few - 1) / few;
  // every entry is a cache line of its own, which takes as long as many operations
  const Index slots = slot_count(pieces, 16.0 * static_cast<double>(few * count), 64);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(pieces, slots, slot);
    for (Index begin = range.begin * few; begin < std::min(x.rows, range.end * few); begin += few) {
      const Index end = std::min(x.rows, begin + few);
      for (Index k = 0; k < count; ++k) {
        const T *column = x.data + index[static_cast<std::size_t>(k)];
        const double middle = centre[static_cast<std::size_t>(k)];
        double *to = out.data() + k * x.rows;
        for (Index i = begin; i < end; ++i)
          to[i] = root[static_cast<std::size_t>(i)] * (static_cast<double>(column[i * x.columns]) - middle);
      }
    }
  });
}

} // namespace tenfold
