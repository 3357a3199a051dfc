// Products of the scatter matrix with vectors in single precision, for iterative eigensolvers.
//
//   centre_float32             A = unit root_i (x_i - shift), in float32, rows zero-padded to a multiple of 16
//   scatter_products_float32   V A'A for vectors V (count x columns), in float64
// A tile of rows is used for both products while it is in the cache. Short sums are in single precision, their totals
// in double, by partitions that depend on the shape alone. Flops: 4 * n * columns * count, in float32; bytes: A once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index float32_padding = 16; // floats of the widest SIMD vector

inline Index float32_stride(Index columns) {
  return (columns + float32_padding - 1) / float32_padding * float32_padding;
}

// Empty root: ones.
template <class T>
void centre_float32(const Dense<T> &x, std::span<const double> shift, std::span<const double> root, double unit,
                    int threads, std::span<float> out) {
  const Index partitions = partition_count(x.rows, static_cast<double>(x.columns) / 4.0, 64),
              step = float32_stride(x.columns);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(x.rows, partitions, partition);
    for (Index i = range.begin; i < range.end; ++i) {
      float *to = out.data() + i * step;
      kernels().dense<T>().to_singles(x.data + i * x.columns, x.columns, shift.data(),
                                      root.empty() ? unit : unit * root[static_cast<std::size_t>(i)], to);
      std::fill(to + x.columns, to + step, 0.0F);
    }
  });
}

using Floats = std::vector<float, CacheLineAllocator<float>>;

// a: columns a multiple of 16, from `centre_float32`.
inline std::vector<double> scatter_products_float32(const Dense<float> &a, std::span<const float> vectors, Index count,
                                                    int threads) {
  constexpr Index sum_rows = 240, chunk = 512; // rows and columns of a single-precision sum
  constexpr Index max_floats = 1 << 22,
                  tile_floats = 1 << 17; // floats of partial sums, and of a tile, which is read twice, from L2
  const Index p = a.columns, tile = std::clamp<Index>(tile_floats / std::max<Index>(1, p) / 12 * 12, 12, 60);
  const Index tiles_per_sum = sum_rows / tile, lanes_of = kernels().singles, groups = (count + lanes_of - 1) / lanes_of;
  const Index width = groups * lanes_of, size = count * p;
  Floats transposed(static_cast<std::size_t>(p * width)); // transposed: all vectors of a column are contiguous
  for (Index k = 0; k < count; ++k)
    for (Index c = 0; c < p; ++c)
      transposed[static_cast<std::size_t>(c * width + k)] = vectors.data()[k * p + c];
  const Index most = std::clamp<Index>(max_floats / std::max<Index>(1, size), 2, max_partitions);
  const Index partitions = std::clamp<Index>(a.rows / (tile * tiles_per_sum), 1, most);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  struct WorkerScratch {
    WorkerScratch(Index of_products, Index of_sums)
        : z(static_cast<std::size_t>(of_products)), sums(static_cast<std::size_t>(of_sums)) {}
    Floats z, sums;
  };
  std::vector<WorkerScratch> scratches;
  for (int w = 0; w < workers; ++w)
    scratches.emplace_back(tile * width, size);
  Buffer sums(partitions * size);
  const Kernels &kernel = kernels();
  parallel(partitions, workers, [&](Index partition, int worker) {
    WorkerScratch &scratch = scratches[static_cast<std::size_t>(worker)];
    double *local = sums.data() + partition * size;
    const Range range = partition_range(a.rows, partitions, partition);
    for (Index first = range.begin; first < range.end; first += tile * tiles_per_sum) {
      const Index last = std::min(range.end, first + tile * tiles_per_sum);
      std::fill_n(scratch.sums.data(), size, 0.0F);
      for (Index begin = first; begin < last; begin += tile) {
        const Index rows = std::min(tile, last - begin);
        const float *x = a.data + begin * p;
        std::fill_n(scratch.z.data(), rows * width, 0.0F);
        for (Index c = 0; c < p; c += chunk)
          kernel.sgemm_tile(x + c, p, 1, rows, std::min(chunk, p - c), transposed.data() + c * width, width, groups,
                            scratch.z.data(), width);
        kernel.sgemm_tile(scratch.z.data(), 1, width, count, rows, x, p, p / lanes_of, scratch.sums.data(), p);
      }
      for (Index i = 0; i < size; ++i)
        local[i] += static_cast<double>(scratch.sums.data()[i]);
    }
  });
  merge_partitions(sums.data(), partitions, size, size, threads);
  return std::vector<double>(sums.data(), sums.data() + size);
}

} // namespace tenfold
