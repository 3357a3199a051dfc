// Both products of wide dense rows with a few vectors: with D = X - shift and W diagonal with the weights,
//   slab_scatter   coef D' W D and 1' W D, (vectors + 1 x columns)
// A slab of a few rows stays in the second-level cache between its products, and nothing is packed: packing takes
// longer than a few products do. Sums are taken in slots. Flops: 4 * rows * columns * vectors; bytes: X once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index slab_vectors = 12; // of more, packing pays

template <class T>
std::vector<double> slab_scatter(const Dense<T> &x, std::span<const double> coef, Index count,
                                 std::span<const double> shift, std::span<const double> weight, int threads) {
  constexpr Index slab_numbers = 1 << 16, chunk = 512, rows_of_a_slot = 128;
  const Index p = x.columns, width = count + 1;
  const Index tile = std::clamp<Index>(slab_numbers / p / 4 * 4, 4, 64);
  const Index slots = std::clamp<Index>(x.rows / rows_of_a_slot, 1, most_slots);
  const Index stride = (width * p + lanes - 1) / lanes * lanes;
  Buffer sums(slots * stride), products(slots * tile * width);
  const DenseKernels<T> &kernel = kernels().dense<T>();
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    double *z = products.data() + slot * tile * width;
    for (Index row = range.begin; row < range.end; row += tile) {
      const Index some = std::min(tile, range.end - row);
      const T *first = x.data + row * p;
      for (Index i = 0; i < some; ++i) {
        std::fill_n(z + i * width, count, 0.0);
        z[i * width + count] = 1.0;
      }
      for (Index c = 0; c < p; c += chunk)
        kernel.slab_times(first + c, p, some, std::min(chunk, p - c), shift.data() + c, coef.data() + c, p, count, z,
                          width);
      if (!weight.empty())
        for (Index i = 0; i < some; ++i)
          for (Index k = 0; k < width; ++k)
            z[i * width + k] *= weight[static_cast<std::size_t>(row + i)];
      kernel.slab_times_t(first, p, some, p, shift.data(), z, width, width, sums.data() + slot * stride, p);
    }
  });
  merge_slots(sums.data(), slots, stride, width * p, threads);
  return std::vector<double>(sums.data(), sums.data() + width * p);
}

} // namespace tenfold
