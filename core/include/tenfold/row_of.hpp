// What loops that take the rows one at a time, in any order, do with one of them, in either storage.
#pragma once

#include "tenfold/kernels.hpp"

#include <algorithm>
#include <cstddef>

namespace tenfold {

// Columns of sparse rows have been checked before.
template <class T> struct RowOf {
  const Dense<T> &x;
  const DenseKernels<T> &kernel;
  explicit RowOf(const Dense<T> &rows) : x(rows), kernel(kernels().dense<T>()) {}

  const T *at(Index i) const { return x.data + i * x.columns; }
  double dot(Index i, const double *w) const { return kernel.dot(at(i), w, x.columns); }
  void add(Index i, double a, double *w) const {
    double sums[2];
    kernel.add(at(i), x.columns, a, w, sums);
  }
  double square(Index i) const { return kernel.squares(at(i), x.columns); }
  // rows come in any order: ask for one before it is needed
  void fetch(Index i) const {
    const char *row = reinterpret_cast<const char *>(at(i));
    const Index bytes = std::min<Index>(x.columns * static_cast<Index>(sizeof(T)), 1024);
    for (Index k = 0; k < bytes; k += 64)
      __builtin_prefetch(row + k);
  }
};

template <class T, class I> struct SparseRowOf {
  const Sparse<T, I> &x;
  explicit SparseRowOf(const Sparse<T, I> &rows) : x(rows) {}

  std::size_t begin(Index i) const { return static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(i)]); }
  double dot(Index i, const double *w) const {
    double sums[2] = {};
    const std::size_t end = begin(i + 1);
    std::size_t k = begin(i);
    for (; k + 2 <= end; k += 2) {
      sums[0] += static_cast<double>(x.data[k]) * w[x.indices[k]];
      sums[1] += static_cast<double>(x.data[k + 1]) * w[x.indices[k + 1]];
    }
    if (k < end)
      sums[0] += static_cast<double>(x.data[k]) * w[x.indices[k]];
    return sums[0] + sums[1];
  }
  void add(Index i, double a, double *w) const {
    for (std::size_t k = begin(i); k < begin(i + 1); ++k)
      w[x.indices[k]] += a * static_cast<double>(x.data[k]);
  }
  double square(Index i) const {
    double sum = 0.0;
    for (std::size_t k = begin(i); k < begin(i + 1); ++k)
      sum += static_cast<double>(x.data[k]) * static_cast<double>(x.data[k]);
    return sum;
  }
  void fetch(Index i) const {
    __builtin_prefetch(x.data.data() + begin(i));
    __builtin_prefetch(x.indices.data() + begin(i));
  }
};

template <class T> RowOf<T> row_of(const Dense<T> &x) { return RowOf<T>(x); }
template <class T, class I> SparseRowOf<T, I> row_of(const Sparse<T, I> &x) { return SparseRowOf<T, I>(x); }

template <class T> bool columns_are_inside(const Dense<T> &) { return true; }
template <class T, class I> bool columns_are_inside(const Sparse<T, I> &x) {
  bool inside = true;
  for (const I index : x.indices)
    inside &= index >= 0 && static_cast<Index>(index) < x.columns;
  return inside;
}

} // namespace tenfold
