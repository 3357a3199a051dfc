// Views of the samples, one for each storage: C-ordered matrix and CSR. They own no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenfold {

using Index = std::ptrdiff_t;

// A C-ordered n x p matrix: entry (i, j) is data[i * columns + j].
template <class T> struct Dense {
  using Value = T;
  const T *data = nullptr;
  Index rows = 0;
  Index columns = 0;
};

// CSR: row i holds data[k] in column indices[k] for indptr[i] <= k < indptr[i + 1]. Indices of a row may be unsorted
// and may repeat; duplicates are summed.
template <class T, class I> struct Sparse {
  using Value = T;
  std::span<const T> data;
  std::span<const I> indices;
  std::span<const std::int64_t> indptr;
  Index rows = 0;
  Index columns = 0;
};

} // namespace tenfold
