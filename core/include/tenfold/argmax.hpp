// The number of the largest of each row's scores (n x k): the first of equal ones, or the first that is not a number.
#pragma once

#include "tenfold/deterministic_partition.hpp"

#include <cstdint>
#include <span>

namespace tenfold {

// Several rows at a time: each waits for its own comparisons only.
template <Index rows> void largest_of(const double *z, Index classes, std::int64_t *number) {
  double best[rows];
  for (Index i = 0; i < rows; ++i) {
    best[i] = z[i * classes];
    number[i] = 0;
  }
  for (Index k = 1; k < classes; ++k)
    for (Index i = 0; i < rows; ++i) {
      const double score = z[i * classes + k];
      const bool better = !(score <= best[i]) && best[i] == best[i];
      best[i] = better ? score : best[i];
      number[i] = better ? k : number[i];
    }
}

inline void largest(std::span<const double> scores, Index classes, int threads, std::span<std::int64_t> number) {
  constexpr Index few = 8;
  const Index rows = static_cast<Index>(number.size());
  const Index slots = slot_count(rows, static_cast<double>(classes), 64);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(rows, slots, slot);
    Index i = range.begin;
    for (; i + few <= range.end; i += few)
      largest_of<few>(scores.data() + i * classes, classes, number.data() + i);
    for (; i < range.end; ++i)
      largest_of<1>(scores.data() + i * classes, classes, number.data() + i);
  });
}

} // namespace tenfold
