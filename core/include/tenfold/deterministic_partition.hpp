// Partition of the samples that does not depend on the number of threads: reductions give the same bits on any machine.
//
// The rows are split into a fixed number of consecutive ranges with partial sums of their own, which are reduced in
// order. The number depends on the shape alone: at most 16, fewer when a partition would hold too little work to wake a
// thread for or when its partial sums are large.
#pragma once

#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>

namespace tenfold {

constexpr Index max_partitions = 16;         // bounds the memory and the reduction of partial sums
constexpr double min_partition_work = 250e3; // vector operations of a partition; less does not pay for waking a thread

struct Range {
  Index begin = 0;
  Index end = 0;
};

inline Index partition_count(Index rows, double work_of_a_row, Index most = max_partitions) {
  const double partitions = static_cast<double>(rows) * work_of_a_row / min_partition_work;
  return std::clamp<Index>(static_cast<Index>(std::min(partitions, 1e6)), 1, std::max<Index>(1, std::min(most, rows)));
}

inline Range partition_range(Index rows, Index partitions, Index partition) {
  const auto cut = [&](Index s) { return rows / partitions * s + rows % partitions * s / partitions; };
  return {cut(partition), cut(partition + 1)};
}

// sums[0] += sums[1] + sums[2] + ... entry by entry, in this order; partition s starts at sums + s * stride.
inline void merge_partitions(double *sums, Index partitions, Index stride, Index size, int threads) {
  constexpr Index piece = 8192; // doubles of one item
  if (partitions < 2)
    return;
  parallel((size + piece - 1) / piece, size * partitions < 8 * piece ? 1 : threads, [&](Index item, int) {
    const Index begin = item * piece, end = std::min(size, begin + piece);
    for (Index partition = 1; partition < partitions; ++partition)
      for (Index i = begin; i < end; ++i)
        sums[i] += sums[partition * stride + i];
  });
}

} // namespace tenfold
