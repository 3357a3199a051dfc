// argmax over the scores of each sample (n x k): the first of equal maxima, or the first NaN.
#pragma once

#include "tenfold/deterministic_partition.hpp"

#include <cstdint>
#include <span>

namespace tenfold {

// `rows` samples at once: independent chains of comparisons hide their latency.
template <Index rows> void argmax_rows(const double *z, Index classes, std::int64_t *index) {
  double best[rows];
  for (Index i = 0; i < rows; ++i) {
    best[i] = z[i * classes];
    index[i] = 0;
  }
  for (Index k = 1; k < classes; ++k)
    for (Index i = 0; i < rows; ++i) {
      const double score = z[i * classes + k];
      const bool better = !(score <= best[i]) && best[i] == best[i];
      best[i] = better ? score : best[i];
      index[i] = better ? k : index[i];
    }
}

inline void argmax(std::span<const double> scores, Index classes, int threads, std::span<std::int64_t> index) {
  constexpr Index block_rows = 8;
  const Index rows = static_cast<Index>(index.size());
  const Index partitions = partition_count(rows, static_cast<double>(classes), 64);
  parallel(partitions, threads, [&](Index partition, int) {
    const Range range = partition_range(rows, partitions, partition);
    Index i = range.begin;
    for (; i + block_rows <= range.end; i += block_rows)
      argmax_rows<block_rows>(scores.data() + i * classes, classes, index.data() + i);
    for (; i < range.end; ++i)
      argmax_rows<1>(scores.data() + i * classes, classes, index.data() + i);
  });
}

} // namespace tenfold
