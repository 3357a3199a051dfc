// Transposes p separate columns into a C-ordered matrix.
//
// out (n x p) of entries T, rows `step` entries apart; columns[j] holds n entries, unaligned. Tiles of eight rows: one
// cache line of each column is read, and the lines of `out` are completed soon after one another. Bytes: columns and
// matrix once.
#pragma once

#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace tenfold {

using Bytes = const std::uint8_t *;

// One entry of each of `count` columns, as one vector store.
template <class T, Index count> void interleave_entries(const Bytes *columns, Index byte, T *to) {
  T entries[static_cast<std::size_t>(count)];
  for (Index j = 0; j < count; ++j)
    std::memcpy(entries + j, columns[j] + byte, sizeof(T));
  std::memcpy(to, entries, sizeof entries); // one vector store: stores dominate the time
}

// Rows [begin, end), by one thread.
template <class T> void interleave_rows(std::span<const Bytes> columns, Index begin, Index end, T *out, Index step) {
  constexpr Index tile = 8, side = 16 / sizeof(T), size = sizeof(T); // rows, columns of a 16-byte store, bytes
  const auto p = static_cast<Index>(columns.size());
  for (Index first = begin; first < end; first += tile) {
    const Index last = std::min(end, first + tile);
    Index j = 0;
    for (; j + side <= p; j += side)
      for (Index i = first; i < last; ++i)
        interleave_entries<T, side>(columns.data() + j, i * size, out + i * step + j);
    for (; j < p; ++j)
      for (Index i = first; i < last; ++i)
        interleave_entries<T, 1>(columns.data() + j, i * size, out + i * step + j);
  }
}

template <class T> void columns_to_rows(std::span<const Bytes> columns, Index rows, T *out, Index step, int threads) {
  constexpr Index tile = 8, min_entries = 65536; // rows; entries below which a thread does not pay
  const auto p = static_cast<Index>(columns.size());
  const Index item = tile * std::max<Index>(1, min_entries / (tile * std::max<Index>(1, p)));
  parallel((rows + item - 1) / item, threads, [&](Index number, int) {
    interleave_rows(columns, number * item, std::min(rows, (number + 1) * item), out, step);
  });
}

} // namespace tenfold
