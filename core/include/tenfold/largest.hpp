// The number of the largest of each row's scores (n x k): the first of equal ones, or the first that is not a number.
#pragma once

#include "tenfold/slots.hpp"

#include <cstdint>
#include <span>

namespace tenfold {

inline void largest(std::span<const double> scores, Index classes, int threads, std::span<std::int64_t> number) {
  const Index rows = static_cast<Index>(number.size());
  const Index slots = slot_count(rows, static_cast<double>(classes), 64);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(rows, slots, slot);
    for (Index i = range.begin; i < range.end; ++i) {
      const double *z = scores.data() + i * classes;
      double best = z[0];
      std::int64_t found = 0;
      for (Index k = 1; k < classes; ++k) {
        const bool better = !(z[k] <= best) && best == best;
        best = better ? z[k] : best;
        found = better ? k : found;
      }
      number[static_cast<std::size_t>(i)] = found;
    }
  });
}

} // namespace tenfold
