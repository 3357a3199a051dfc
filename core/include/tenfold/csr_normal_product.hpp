// Products of CSR matrices with k vectors that are stored one after the other:
//
//   normal_product   with z_ik = x_i . v_k - level_i along_k: sum_i weight_i z_ik x_i, and sum_i weight_i level_i z_ik.
//                    A fused X' W X v: each row is read once for all vectors; z is not stored.
//   left_matmul      V X = sum_i v_ki x_i for vectors (count x n)
//   left_matmul_t    V X' = x_i . v_k for vectors (count x columns)
// normal_product is fast where the vectors and results fit L2: a wide matrix is passed by its columns. The other two
// transpose blocks of the vectors, so that memory is accessed in cache lines. Partial sums by partition. Flops: 4 or 2
// * nonzeros * count; bytes: nonzeros and vectors once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/tile_products.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

// Returns (count + 1) lines: the result (columns) of each vector, then those of the levels. Empty weight, level: ones
// and zeros.
template <class T, class I>
std::vector<double> normal_product(const Sparse<T, I> &x, std::span<const double> vectors, Index count,
                                   std::span<const double> weight, std::span<const double> level,
                                   std::span<const double> by, int threads) {
  const Index p = x.columns, step = (count + lanes - 1) / lanes * lanes, size = (p + 2) * step;
  Buffer transposed(p * step), levels(step);
  for (Index k = 0; k < count; ++k)
    for (Index j = 0; j < p; ++j)
      transposed[j * step + k] = vectors.data()[k * p + j];
  std::copy(by.begin(), by.end(), levels.data());
  const Index partitions = partition_count(x.rows, row_work(x) * static_cast<double>(count), max_partitions_for(x));
  Buffer sums(partitions * size);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    double *local = sums.data() + partition * size;
    require_columns(kernels().sparse<T, I>().normal_product(
        x.data.data(), x.indices.data(), x.indptr.data() + range.begin, range.end - range.begin, p, step,
        transposed.data(), weight.empty() ? nullptr : weight.data() + range.begin,
        level.empty() ? nullptr : level.data() + range.begin, levels.data(), local, local + p * step));
  });
  merge_partitions(sums.data(), partitions, size, (p + 1) * step, threads);
  std::vector<double> out(static_cast<std::size_t>((p + 1) * count));
  transpose_block(sums.data(), p, count, step, out.data(), p);
  std::copy_n(sums.data() + p * step, count, out.data() + p * count);
  return out;
}

constexpr Index transposed_rows = 64; // samples of a transposed block

// vectors: count x rows of x; returns count x columns.
template <class T, class I>
std::vector<double> left_matmul(const Sparse<T, I> &x, std::span<const double> vectors, Index count, int threads) {
  const Index partitions = partition_count(x.rows, row_work(x) * static_cast<double>(count), max_partitions_for(x));
  const Index size = (count * x.columns + lanes - 1) / lanes * lanes;
  Buffer sums(partitions * size), tiles(partitions * transposed_rows * count);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    double *tile = tiles.data() + partition * transposed_rows * count;
    for (Index i = range.begin; i < range.end; i += transposed_rows) {
      const Index some = std::min(transposed_rows, range.end - i);
      transpose_block(vectors.data() + i, count, some, x.rows, tile, count);
      matvec_t_tile(x, i, some, tile, count, count, 1, nullptr, sums.data() + partition * size);
    }
  });
  merge_partitions(sums.data(), partitions, size, size, threads);
  return to_targets_major(x, sums.data(), count);
}

// vectors: count x columns of x; writes count x rows, minus level_i by_k.
template <class T, class I>
void left_matmul_t(const Sparse<T, I> &x, std::span<const double> vectors, Index count, std::span<const double> level,
                   std::span<const double> by, int threads, std::span<double> out) {
  const TransposedCoef transposed = transpose_coef(x, vectors, count, threads);
  const std::vector<double> none(static_cast<std::size_t>(count));
  const double *coef = transposed.empty() ? vectors.data() : transposed.data();
  const Index partitions = partition_count(x.rows, row_work(x) * static_cast<double>(count), 64);
  Buffer tiles(partitions * transposed_rows * count);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    double *tile = tiles.data() + partition * transposed_rows * count;
    for (Index i = range.begin; i < range.end; i += transposed_rows) {
      const Index some = std::min(transposed_rows, range.end - i);
      matvec_tile(x, i, some, coef, count, nullptr, none.data(), tile, count, 1);
      if (!level.empty())
        for (Index r = 0; r < some; ++r)
          for (Index k = 0; k < count; ++k)
            tile[r * count + k] -= level[static_cast<std::size_t>(i + r)] * by[static_cast<std::size_t>(k)];
      transpose_block(tile, some, count, count, out.data() + i, x.rows);
    }
  });
}

} // namespace tenfold
