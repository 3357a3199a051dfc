// Columns put beside each other: rows of a C-ordered matrix from one array for each column.
//
// out (rows x columns) of entries T, its rows `step` entries apart; columns[j] with an entry for each row, on any
// boundary. Eight rows at a time: a line of the cache is read from each column, and the lines of `out` are finished one
// soon after the other. Bytes: the columns once, the matrix once.
#pragma once

#include "tenfold/thread_pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace tenfold {

using Bytes = const std::uint8_t *;

// One entry of each of `count` columns, to be put beside each other.
template <class T, Index count> void put_entries(const Bytes *columns, Index byte, T *to) {
  T entries[static_cast<std::size_t>(count)];
  for (Index j = 0; j < count; ++j)
    std::memcpy(entries + j, columns[j] + byte, sizeof(T));
  std::memcpy(to, entries, sizeof entries); // as one vector, for storing is what takes the time
}

// Rows from `begin` to `end` of them, by one thread.
template <class T> void put_rows(std::span<const Bytes> columns, Index begin, Index end, T *out, Index step) {
  constexpr Index tile = 8, side = 16 / sizeof(T), size = sizeof(T);
  const auto p = static_cast<Index>(columns.size());
  for (Index first = begin; first < end; first += tile) {
    const Index last = std::min(end, first + tile);
    Index j = 0;
    for (; j + side <= p; j += side)
      for (Index i = first; i < last; ++i)
        put_entries<T, side>(columns.data() + j, i * size, out + i * step + j);
    for (; j < p; ++j)
      for (Index i = first; i < last; ++i)
        put_entries<T, 1>(columns.data() + j, i * size, out + i * step + j);
  }
}

template <class T> void put_beside(std::span<const Bytes> columns, Index rows, T *out, Index step, int threads) {
  constexpr Index tile = 8, least = 65536; // rows, and entries that are worth a thread
  const auto p = static_cast<Index>(columns.size());
  const Index item = tile * std::max<Index>(1, least / (tile * std::max<Index>(1, p)));
  parallel((rows + item - 1) / item, threads, [&](Index number, int) {
    put_rows(columns, number * item, std::min(rows, (number + 1) * item), out, step);
  });
}

} // namespace tenfold
