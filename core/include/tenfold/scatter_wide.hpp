// Scatter product of wide dense X with few vectors: with D = X - 1 shift' and W diagonal with the sample weights,
//   scatter_products_unpacked   coef D' W D and 1' W D, (vectors + 1 x columns)
// A block of a few rows stays in L2 between its two products, and nothing is packed: packing costs more than a few
// products. Partial sums by partition. Flops: 4 * n * columns * vectors; bytes: X once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index unpacked_max_vectors = 12; // from 13 vectors on packing pays

template <class T>
std::vector<double> scatter_products_unpacked(const Dense<T> &x, std::span<const double> coef, Index count,
                                              std::span<const double> shift, std::span<const double> weight,
                                              int threads) {
  constexpr Index block_entries = 1 << 16, chunk = 512, min_rows = 128;
  const Index p = x.columns, width = count + 1;
  const Index tile = std::clamp<Index>(block_entries / p / 4 * 4, 4, 64);
  const Index partitions = std::clamp<Index>(x.rows / min_rows, 1, max_partitions);
  const Index stride = (width * p + lanes - 1) / lanes * lanes;
  Buffer sums(partitions * stride), products(partitions * tile * width);
  const DenseKernels<T> &kernel = kernels().dense<T>();
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    double *z = products.data() + partition * tile * width;
    for (Index row = range.begin; row < range.end; row += tile) {
      const Index some = std::min(tile, range.end - row);
      const T *first = x.data + row * p;
      for (Index i = 0; i < some; ++i) {
        std::fill_n(z + i * width, count, 0.0);
        z[i * width + count] = 1.0;
      }
      for (Index c = 0; c < p; c += chunk)
        kernel.gemm_unpacked(first + c, p, some, std::min(chunk, p - c), shift.data() + c, coef.data() + c, p, count, z,
                             width);
      if (!weight.empty())
        for (Index i = 0; i < some; ++i)
          for (Index k = 0; k < width; ++k)
            z[i * width + k] *= weight[static_cast<std::size_t>(row + i)];
      kernel.gemm_unpacked_t(first, p, some, p, shift.data(), z, width, width, sums.data() + partition * stride, p);
    }
  });
  merge_partitions(sums.data(), partitions, stride, width * p, threads);
  return std::vector<double>(sums.data(), sums.data() + width * p);
}

} // namespace tenfold
