// Products of X with few vectors; packed_gemm.hpp takes over for dense X with many.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/packed_gemm.hpp"
#include "tenfold/tile_products.hpp"

#include <limits>
#include <span>
#include <vector>

namespace tenfold {

template <class T> bool use_packed_gemm(const Dense<T> &x, Index targets) {
  return targets >= packed_gemm_min_vectors && x.rows >= 4 * packed_gemm_min_vectors;
}
template <class T, class I> bool use_packed_gemm(const Sparse<T, I> &, Index) { return false; }

// z_ik = (x_i - shift) . coef_k + intercept_k. Given coef (targets x columns), intercept (targets), shift (columns, or
// empty for zero); writes z (n x targets). One pass, bound by the bandwidth of reading X.
template <class Rows>
void matvec(const Rows &x, std::span<const double> coef, std::span<const double> intercept,
            std::span<const double> shift, int threads, std::span<double> z) {
  const Index targets = static_cast<Index>(intercept.size());
  if constexpr (requires { packed_matmul(x, coef, intercept, shift, threads, z); })
    if (use_packed_gemm(x, targets))
      return packed_matmul(x, coef, intercept, shift, threads, z);
  const TransposedCoef turned = transpose_coef(x, coef, targets, threads);
  const double *w = turned.empty() ? coef.data() : turned.data();
  const Index tile = tile_rows(x);
  const Index partitions = partition_count(x.rows, row_work(x) * static_cast<double>(targets), 64);
  const double *minus = shift.empty() ? nullptr : shift.data();
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index i = range.begin; i < range.end; i += tile) {
      const Index count = std::min(tile, range.end - i);
      matvec_tile(x, i, count, w, targets, minus, intercept.data(), z.data() + i * targets, targets, 1);
    }
  });
}

// g_kj = sum_i u_ik (x_ij - shift_j). Given u (n x targets), shift (columns, or empty for zero); returns g (targets x
// columns). One pass, partial sums by partition.
template <class Rows>
std::vector<double> matvec_t(const Rows &x, std::span<const double> u, Index targets, std::span<const double> shift,
                             int threads) {
  if constexpr (requires { packed_matmul_t(x, u, targets, shift, threads); })
    if (use_packed_gemm(x, targets))
      return packed_matmul_t(x, u, targets, shift, threads);
  const Index tile = tile_rows(x);
  const Index partitions = partition_count(x.rows, row_work(x) * static_cast<double>(targets), max_partitions_for(x));
  const Index size = targets * x.columns;
  const Index stride = (size + lanes - 1) / lanes * lanes;
  const double *minus = shift.empty() ? nullptr : shift.data();
  Buffer sums(partitions * stride);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index i = range.begin; i < range.end; i += tile) {
      const Index count = std::min(tile, range.end - i);
      matvec_t_tile(x, i, count, u.data() + i * targets, targets, targets, 1, minus, sums.data() + partition * stride);
    }
  });
  merge_partitions(sums.data(), partitions, stride, size, threads);
  return to_targets_major(x, sums.data(), targets);
}

// Column moments of dense X about a shift: with d_ij = x_ij - shift_j, sum_i weight_i d_ij, sum_i weight_i d_ij^2 and
// sum_i other_i d_ij, (3 x columns). One pass, partial sums by partition.
template <class T>
std::vector<double> column_sums(const Dense<T> &x, std::span<const double> weight, std::span<const double> other,
                                std::span<const double> shift, int threads) {
  const Index tile = tile_rows(x);
  const Index partitions = partition_count(x.rows, 2.0 * row_work(x), max_partitions_for(x));
  const Index size = 3 * x.columns, stride = (size + lanes - 1) / lanes * lanes;
  Buffer sums(partitions * stride);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index i = range.begin; i < range.end; i += tile)
      kernels().dense<T>().column_sums(x.data + i * x.columns, std::min(tile, range.end - i), x.columns,
                                       weight.data() + i, other.data() + i, shift.data(),
                                       sums.data() + partition * stride);
  });
  merge_partitions(sums.data(), partitions, stride, size, threads);
  return std::vector<double>(sums.data(), sums.data() + size);
}

// Column moments of CSR: sum_i weight_i x_ij, sum_i weight_i x_ij^2 and sum_i other_i x_ij, (3 x columns), and the
// smallest nonzero |x_ij| and the largest, which tell whether the squares overflow or underflow. One pass, partial sums
// by partition.
struct SparseColumnSums {
  std::vector<double> sums;
  double min_abs = std::numeric_limits<double>::infinity(), max_abs = 0.0;
};

template <class T, class I>
SparseColumnSums column_sums(const Sparse<T, I> &x, std::span<const double> weight, std::span<const double> other,
                             int threads) {
  const Index tile = tile_rows(x), partitions = partition_count(x.rows, 2.0 * row_work(x), max_partitions_for(x));
  const Index size = 3 * x.columns, stride = (size + lanes - 1) / lanes * lanes;
  Buffer sums(partitions * stride);
  SparseColumnSums out;
  std::vector<double> extremes;
  for (Index partition = 0; partition < partitions; ++partition)
    extremes.insert(extremes.end(), {out.min_abs, out.max_abs});
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index i = range.begin; i < range.end; i += tile)
      require_columns(kernels().sparse<T, I>().column_sums(
          x.data.data(), x.indices.data(), x.indptr.data() + i, std::min(tile, range.end - i), x.columns,
          weight.data() + i, other.empty() ? nullptr : other.data() + i, sums.data() + partition * stride,
          extremes.data() + 2 * partition));
  });
  merge_partitions(sums.data(), partitions, stride, size, threads);
  out.sums.assign(sums.data(), sums.data() + size);
  for (std::size_t i = 0; i < extremes.size(); i += 2) {
    out.min_abs = std::min(out.min_abs, extremes[i]);
    out.max_abs = std::max(out.max_abs, extremes[i + 1]);
  }
  return out;
}

// Gathers columns of dense X, out_ki = root_i (x_{i, index_k} - centre_k), (columns x n): rows are read in order, eight
// at a time, so that every cache line is fetched once.
template <class T>
void gather_columns(const Dense<T> &x, std::span<const std::int64_t> index, std::span<const double> centre,
                    std::span<const double> root, int threads, std::span<double> out) {
  constexpr Index block_rows = 8; // doubles of a cache line
  const Index count = static_cast<Index>(index.size()), pieces = (x.rows + block_rows - 1) / block_rows;
  // every entry is a cache miss, as expensive as about 16 vector operations
  const Index partitions = partition_count(pieces, 16.0 * static_cast<double>(block_rows * count), 64);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(pieces, partitions, partition);
    for (Index begin = range.begin * block_rows; begin < std::min(x.rows, range.end * block_rows);
         begin += block_rows) {
      const Index end = std::min(x.rows, begin + block_rows);
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
