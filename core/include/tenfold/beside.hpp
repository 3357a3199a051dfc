// Columns put beside each other: rows of a C-ordered matrix from one array for each column.
//
// out (rows x columns) of entries T, its rows `step` entries apart; columns[j] with an entry for each row. Eight rows
// at a time: a line of the cache is read from each column, and the lines of `out` are finished one soon after the
// other. Bytes: the columns once, the matrix once.
#pragma once

#include "tenfold/pool.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <span>

namespace tenfold {

template <class T> void put_beside(std::span<const T *const> columns, Index rows, T *out, Index step, int threads) {
  constexpr Index tile = 8, least = 65536; // rows at a time, entries that are worth a thread
  const auto p = static_cast<Index>(columns.size());
  const Index item = tile * std::max<Index>(1, least / (tile * std::max<Index>(1, p)));
  parallel((rows + item - 1) / item, threads, [&](Index number, int) {
    const Index stop = std::min(rows, (number + 1) * item);
    Index i = number * item;
    for (; i + tile <= stop; i += tile)
      for (Index j = 0; j < p; ++j) {
        const T *const from = columns.data()[j] + i;
        T *const to = out + i * step + j;
        for (Index k = 0; k < tile; ++k)
          to[k * step] = from[k];
      }
    for (; i < stop; ++i)
      for (Index j = 0; j < p; ++j)
        out[i * step + j] = columns.data()[j][i];
  });
}

} // namespace tenfold
