// The two products of a tile of rows, margins and gradient, and how long a tile is, for each storage. The loops of
// times.hpp and derivatives.hpp are written on these names alone.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

namespace tenfold {

// Of matrices whose lines are `step` and `to_step` apart: a few columns at a time, so that cache lines of both are used
// whole.
inline void transpose_part(const double *from, Index rows, Index columns, Index step, double *to, Index to_step) {
  constexpr Index few = 16;
  for (Index begin = 0; begin < columns; begin += few) {
    const Index end = std::min(columns, begin + few);
    for (Index i = 0; i < rows; ++i)
      for (Index j = begin; j < end; ++j)
        to[j * to_step + i] = from[i * step + j];
  }
}

inline void transpose(const double *from, Index rows, Index columns, double *to) {
  transpose_part(from, rows, columns, columns, to, rows);
}

// Dense rows meet coefficients as targets x columns, sparse rows as columns x targets, so that an entry meets its
// targets side by side. Empty when coef serves as it is.
using Turned = std::vector<double, Unset<double>>;

template <class T> Turned turned_coefficients(const Dense<T> &, std::span<const double>, Index, int) { return {}; }
template <class T, class I>
Turned turned_coefficients(const Sparse<T, I> &x, std::span<const double> coef, Index targets, int threads) {
  constexpr Index piece = 1 << 12;
  Turned turned(targets > 1 ? coef.size() : 0);
  if (targets > 1)
    parallel((x.columns + piece - 1) / piece, threads, [&](Index item, int) {
      const Index begin = item * piece, count = std::min(piece, x.columns - begin);
      transpose_part(coef.data() + begin, targets, count, x.columns, turned.data() + begin * targets, targets);
    });
  return turned;
}

// Sums of gradients, which have the layout of the coefficients, as targets x columns.
template <class T> std::vector<double> targets_major(const Dense<T> &x, const double *g, Index targets) {
  return std::vector<double>(g, g + targets * x.columns);
}
template <class T, class I> std::vector<double> targets_major(const Sparse<T, I> &x, const double *g, Index targets) {
  std::vector<double> turned(static_cast<std::size_t>(targets * x.columns));
  transpose(g, x.columns, targets, turned.data());
  return turned;
}

// Entries of a tile that should stay in the first-level cache between two uses.
constexpr Index tile_bytes = 32 * 1024;
constexpr Index most_tile_rows = 256;

template <class T> Index tile_rows(const Dense<T> &x) {
  const Index row = std::max<Index>(1, x.columns) * static_cast<Index>(sizeof(T));
  return std::clamp<Index>(tile_bytes / row / 8 * 8, 8, most_tile_rows);
}
// The coefficients of many columns and their gradient do not fit the second-level cache together: a tile then has
// entries enough to make up for bringing back one after the other.
constexpr Index cached_columns = 32 * 1024;
template <class T, class I> Index tile_rows(const Sparse<T, I> &x) {
  const Index entries = static_cast<Index>(x.data.size()) / std::max<Index>(1, x.rows) + 1;
  const Index row = entries * static_cast<Index>(sizeof(T) + sizeof(I));
  const Index few = std::clamp<Index>(4 * tile_bytes / row / 8 * 8, 8, most_tile_rows);
  return x.columns > cached_columns ? std::max(few, 8 * x.columns / entries / 8 * 8) : few;
}

// Vector operations that one row costs for one target.
template <class T> double row_work(const Dense<T> &x) { return static_cast<double>(x.columns) / 4.0 + 2.0; }
template <class T, class I> double row_work(const Sparse<T, I> &x) {
  return 4.0 * static_cast<double>(x.data.size()) / static_cast<double>(std::max<Index>(1, x.rows)) + 2.0;
}

// How many slots may have sums of the length of the coefficients, so that merging stays cheap beside the loop.
template <class T> Index most_slots_for(const Dense<T> &) { return most_slots; }
template <class T, class I> Index most_slots_for(const Sparse<T, I> &x) {
  const Index entries_a_column = static_cast<Index>(x.data.size()) / std::max<Index>(1, x.columns);
  Index slots = 2;
  while (slots < most_slots && slots * 16 <= entries_a_column)
    slots *= 2;
  return slots;
}

// Compressed rows from outside may name columns that do not exist: that must end in a sentence, not in a crash.
inline void require_columns(bool good) {
  if (!good)
    throw std::invalid_argument(
        "the sparse matrix has a column index that is negative or not below its number of columns");
}

template <class T>
void margins(const Dense<T> &x, Index begin, Index count, const double *coef, Index targets, const double *shift,
             const double *intercept, double *z, Index row_step, Index target_step) {
  kernels().dense<T>().margins(x.data + begin * x.columns, count, x.columns, coef, targets, shift, intercept, z,
                               row_step, target_step);
}
template <class T, class I>
void margins(const Sparse<T, I> &x, Index begin, Index count, const double *coef, Index targets, const double *,
             const double *intercept, double *z, Index row_step, Index target_step) {
  require_columns(kernels().sparse<T, I>().margins(x.data.data(), x.indices.data(), x.indptr.data() + begin, count,
                                                   x.columns, coef, targets, intercept, z, row_step, target_step));
}

template <class T>
void gradient(const Dense<T> &x, Index begin, Index count, const double *u, Index targets, Index row_step,
              Index target_step, const double *shift, double *g) {
  kernels().dense<T>().gradient(x.data + begin * x.columns, count, x.columns, u, targets, row_step, target_step, shift,
                                g);
}
template <class T, class I>
void gradient(const Sparse<T, I> &x, Index begin, Index count, const double *u, Index targets, Index row_step,
              Index target_step, const double *, double *g) {
  require_columns(kernels().sparse<T, I>().gradient(x.data.data(), x.indices.data(), x.indptr.data() + begin, count,
                                                    x.columns, u, targets, row_step, target_step, g));
}

} // namespace tenfold
