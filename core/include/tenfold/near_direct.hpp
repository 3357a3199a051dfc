// Neighbours by all distances, one after the other: any distance at all.
//
// `distance(row, query)` is the reduced distance. A few queries meet a block of rows while it is in cache.
// Distances: rows x queries.
#pragma once

#include "tenfold/neighbours.hpp"
#include "tenfold/thread_pool.hpp"

namespace tenfold {

template <class Distance, class Keep>
void near_direct(const Distance &distance, Index rows, const Queries &queries, Keep &keep, int threads) {
  constexpr Index together = 8, block = 128;
  const Index count = queries.end - queries.begin, items = (count + together - 1) / together;
  parallel(items, threads, [&](Index item, int) {
    const Index first = queries.begin + item * together, last = std::min(queries.end, first + together);
    std::vector<typename Keep::Collector> collectors;
    for (Index q = first; q < last; ++q) {
      collectors.push_back(keep.make());
      keep.start(collectors.back(), q);
    }
    for (Index begin = 0; begin < rows; begin += block)
      for (Index q = first; q < last; ++q) {
        auto &collector = collectors[static_cast<std::size_t>(q - first)];
        const Index self = queries.self(q), end = std::min(rows, begin + block);
        double worst = collector.worst();
        for (Index row = begin; row < end; ++row) {
          const double found = distance(row, q);
          if (found > worst || row == self)
            continue;
          collector.offer(found, row);
          worst = collector.worst();
        }
      }
    for (Index q = first; q < last; ++q)
      keep.keep(collectors[static_cast<std::size_t>(q - first)], q);
  });
}

} // namespace tenfold
