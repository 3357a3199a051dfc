// The two products of a tile of rows, matvec_tile (linear predictor) and matvec_t_tile (gradient), and the tile length,
// for each storage. The loops of matvec.hpp and loss_derivatives.hpp are generic over these.
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

// to = from' for leading dimensions `step` and `to_step`: sixteen columns at a time, so that cache lines of both are
// used whole.
inline void transpose_block(const double *from, Index rows, Index columns, Index step, double *to, Index to_step) {
  constexpr Index block = 16;
  for (Index begin = 0; begin < columns; begin += block) {
    const Index end = std::min(columns, begin + block);
    for (Index i = 0; i < rows; ++i)
      for (Index j = begin; j < end; ++j)
        to[j * to_step + i] = from[i * step + j];
  }
}

inline void transpose(const double *from, Index rows, Index columns, double *to) {
  transpose_block(from, rows, columns, columns, to, rows);
}

// Dense rows take coefficients as targets x columns, sparse rows as columns x targets, so that a nonzero meets
// contiguous targets. Empty when coef serves as it is.
using TransposedCoef = std::vector<double, UninitializedAllocator<double>>;

template <class T> TransposedCoef transpose_coef(const Dense<T> &, std::span<const double>, Index, int) { return {}; }
template <class T, class I>
TransposedCoef transpose_coef(const Sparse<T, I> &x, std::span<const double> coef, Index targets, int threads) {
  constexpr Index piece = 1 << 12;
  TransposedCoef turned(targets > 1 ? coef.size() : 0);
  if (targets > 1)
    parallel((x.columns + piece - 1) / piece, threads, [&](Index item, int) {
      const Index begin = item * piece, count = std::min(piece, x.columns - begin);
      transpose_block(coef.data() + begin, targets, count, x.columns, turned.data() + begin * targets, targets);
    });
  return turned;
}

// Gradients, which have the layout of the coefficients, as targets x columns.
template <class T> std::vector<double> to_targets_major(const Dense<T> &x, const double *g, Index targets) {
  return std::vector<double>(g, g + targets * x.columns);
}
template <class T, class I>
std::vector<double> to_targets_major(const Sparse<T, I> &x, const double *g, Index targets) {
  std::vector<double> turned(static_cast<std::size_t>(targets * x.columns));
  transpose(g, x.columns, targets, turned.data());
  return turned;
}

constexpr Index l1_tile_bytes = 32 * 1024; // of a tile: stays in L1 between its two products
constexpr Index max_tile_rows = 256;

template <class T> Index tile_rows(const Dense<T> &x) {
  const Index row = std::max<Index>(1, x.columns) * static_cast<Index>(sizeof(T));
  return std::clamp<Index>(l1_tile_bytes / row / 8 * 8, 8, max_tile_rows);
}
// Beyond this many columns the coefficients and the gradient do not fit L2 together: a tile is then long enough to
// amortise reloading them in turn.
constexpr Index l2_max_columns = 32 * 1024;
template <class T, class I> Index tile_rows(const Sparse<T, I> &x) {
  const Index entries = static_cast<Index>(x.data.size()) / std::max<Index>(1, x.rows) + 1;
  const Index row = entries * static_cast<Index>(sizeof(T) + sizeof(I));
  const Index length = std::clamp<Index>(4 * l1_tile_bytes / row / 8 * 8, 8, max_tile_rows);
  return x.columns > l2_max_columns ? std::max(length, 8 * x.columns / entries / 8 * 8) : length;
}

// Vector operations of one row for one target.
template <class T> double row_work(const Dense<T> &x) { return static_cast<double>(x.columns) / 4.0 + 2.0; }
template <class T, class I> double row_work(const Sparse<T, I> &x) {
  return 4.0 * static_cast<double>(x.data.size()) / static_cast<double>(std::max<Index>(1, x.rows)) + 2.0;
}

// Largest number of partitions with partial sums as long as the coefficients whose reduction is cheap beside the loop.
template <class T> Index max_partitions_for(const Dense<T> &) { return max_partitions; }
template <class T, class I> Index max_partitions_for(const Sparse<T, I> &x) {
  const Index entries_a_column = static_cast<Index>(x.data.size()) / std::max<Index>(1, x.columns);
  Index partitions = 2;
  while (partitions < max_partitions && partitions * 16 <= entries_a_column)
    partitions *= 2;
  return partitions;
}

// CSR input may hold column indices out of range: an exception instead of a crash.
inline void require_columns(bool good) {
  if (!good)
    throw std::invalid_argument(
        "the sparse matrix has a column index that is negative or not below its number of columns");
}

template <class T>
void matvec_tile(const Dense<T> &x, Index begin, Index count, const double *coef, Index targets, const double *shift,
                 const double *intercept, double *z, Index row_step, Index target_step) {
  kernels().dense<T>().matvec(x.data + begin * x.columns, count, x.columns, coef, targets, shift, intercept, z,
                              row_step, target_step);
}
template <class T, class I>
void matvec_tile(const Sparse<T, I> &x, Index begin, Index count, const double *coef, Index targets, const double *,
                 const double *intercept, double *z, Index row_step, Index target_step) {
  require_columns(kernels().sparse<T, I>().matvec(x.data.data(), x.indices.data(), x.indptr.data() + begin, count,
                                                  x.columns, coef, targets, intercept, z, row_step, target_step));
}

template <class T>
void matvec_t_tile(const Dense<T> &x, Index begin, Index count, const double *u, Index targets, Index row_step,
                   Index target_step, const double *shift, double *g) {
  kernels().dense<T>().matvec_t(x.data + begin * x.columns, count, x.columns, u, targets, row_step, target_step, shift,
                                g);
}
template <class T, class I>
void matvec_t_tile(const Sparse<T, I> &x, Index begin, Index count, const double *u, Index targets, Index row_step,
                   Index target_step, const double *, double *g) {
  require_columns(kernels().sparse<T, I>().matvec_t(x.data.data(), x.indices.data(), x.indptr.data() + begin, count,
                                                    x.columns, u, targets, row_step, target_step, g));
}

} // namespace tenfold
