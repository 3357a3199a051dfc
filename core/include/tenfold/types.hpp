// Where the rows are: two plain views, one for each storage. Nothing here owns memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenfold {

using Index = std::ptrdiff_t;

// Rows of a C-ordered matrix: entry (i, j) is data[i * columns + j].
template <class T> struct Dense {
  using Value = T;
  const T *data = nullptr;
  Index rows = 0;
  Index columns = 0;
};

// Rows in compressed form: row i holds data[k] in column indices[k] for indptr[i] <= k < indptr[i + 1].
// Columns of a row may come in any order and more than once (duplicates add up).
template <class T, class I> struct Sparse {
  using Value = T;
  std::span<const T> data;
  std::span<const I> indices;
  std::span<const std::int64_t> indptr;
  Index rows = 0;
  Index columns = 0;
};

} // namespace tenfold
