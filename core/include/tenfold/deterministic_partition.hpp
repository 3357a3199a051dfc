// How the rows are cut, so that the result does not depend on the number of threads.
//
// The rows go to a fixed number of slots, each a range of consecutive rows with sums of its own; slots are merged in
// their order. The number depends on the shape alone: at most 16, fewer when there is little to do (waking a thread
// costs more than a small slot) and fewer when the sums of a slot are large.
#pragma once

#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>

namespace tenfold {

constexpr Index most_slots = 16;
constexpr double least_work = 250e3; // of a slot, in vector operations

struct Range {
  Index begin = 0;
  Index end = 0;
};

inline Index slot_count(Index rows, double work_of_a_row, Index most = most_slots) {
  const double slots = static_cast<double>(rows) * work_of_a_row / least_work;
  return std::clamp<Index>(static_cast<Index>(std::min(slots, 1e6)), 1, std::max<Index>(1, std::min(most, rows)));
}

inline Range slot_range(Index rows, Index slots, Index slot) {
  const auto cut = [&](Index s) { return rows / slots * s + rows % slots * s / slots; };
  return {cut(slot), cut(slot + 1)};
}

// sums[0] += sums[1] + sums[2] + ... entry by entry, in this order; slot s starts at sums + s * stride.
inline void merge_slots(double *sums, Index slots, Index stride, Index size, int threads) {
  constexpr Index piece = 8192;
  if (slots < 2)
    return;
  parallel((size + piece - 1) / piece, size * slots < 8 * piece ? 1 : threads, [&](Index item, int) {
    const Index begin = item * piece, end = std::min(size, begin + piece);
    for (Index slot = 1; slot < slots; ++slot)
      for (Index i = begin; i < end; ++i)
        sums[i] += sums[slot * stride + i];
  });
}

} // namespace tenfold
