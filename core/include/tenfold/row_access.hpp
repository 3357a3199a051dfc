// Access to one row in either storage, for online learners:
//   prefetch          requests a row that is needed soon; prefetch_weights the weights at its nonzeros
//   prefetch_l2       requests a row that is needed later, into L2; wait_for_row blocks until it is there
//   dot               sum_j x_j v_j          squared_norm      sum_j x_j^2
//   axpy              v += c x               axpy_with_norms   the same, and sums = (|v|_2^2, |v|_1) are updated
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tenfold {

template <class Rows> struct RowAccess;

template <class T> struct RowAccess<Dense<T>> {
  Dense<T> x;
  const DenseKernels<T> *kernels_ = &kernels().dense<T>();
  static constexpr Index line = 64 / sizeof(T), max_entries = 2048 / sizeof(T); // entries of 64 B, 2 KiB

  const T *at(Index i) const { return x.data + i * x.columns; }
  void prefetch(Index i) const {
    for (Index j = 0; j < std::min(x.columns, max_entries); j += line)
      __builtin_prefetch(at(i) + j);
  }
  void prefetch_weights(Index, const double *) const {}
  void prefetch_l2(Index i) const {
    const T *row = at(i);
    for (Index j = 0; j < x.columns; j += line)
      __builtin_prefetch(row + j, 0, 2);
    __builtin_prefetch(row + x.columns - 1, 0, 2);
  }
  // Reads the last entry: returns when the row is in the cache.
  void wait_for_row(Index i) const {
    const volatile T *last = at(i) + x.columns - 1;
    static_cast<void>(*last);
  }
  double dot(Index i, const double *v) const { return kernels_->dot(at(i), v, x.columns); }
  double squared_norm(Index i) const { return kernels_->squared_norm(at(i), x.columns); }
  void axpy(Index i, double c, double *v) const { kernels_->axpy(c, at(i), x.columns, v); }
  void axpy_with_norms(Index i, double c, double *v, double *sums) const {
    kernels_->axpy_norms(at(i), x.columns, c, v, sums);
  }
};

template <class T, class I> struct RowAccess<Sparse<T, I>> {
  Sparse<T, I> x;

  std::size_t first(Index i) const { return static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(i)]); }
  void prefetch(Index i) const {
    __builtin_prefetch(x.data.data() + first(i));
    __builtin_prefetch(x.indices.data() + first(i));
  }
  // Prefetches the weights at the nonzeros while the previous row is processed: scattered where columns are many.
  void prefetch_weights(Index i, const double *v) const {
    constexpr Index min_columns = 1 << 12; // columns; fewer weights stay in L1
    if (x.columns < min_columns)
      return;
    const I *indices = x.indices.data();
    for (std::size_t e = first(i); e < first(i + 1); ++e)
      __builtin_prefetch(v + indices[e], 1);
  }
  // Every update begins with this product, so column indices are validated here, once.
  double dot(Index i, const double *v) const {
    const T *data = x.data.data();
    const I *indices = x.indices.data();
    const std::size_t end = first(i + 1), columns = static_cast<std::size_t>(x.columns);
    std::size_t e = first(i);
    double sums[4] = {};
    bool in_range = true;
    for (; e + 4 <= end && in_range; e += 4) {
      for (std::size_t k = 0; k < 4; ++k)
        in_range &= static_cast<std::size_t>(indices[e + k]) < columns;
      if (in_range)
        for (std::size_t k = 0; k < 4; ++k)
          sums[k] += static_cast<double>(data[e + k]) * v[indices[e + k]];
    }
    for (; e < end && in_range; ++e) {
      in_range = static_cast<std::size_t>(indices[e]) < columns;
      if (in_range)
        sums[0] += static_cast<double>(data[e]) * v[indices[e]];
    }
    if (!in_range)
      throw std::invalid_argument("an index of the sparse rows is not a column");
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  double squared_norm(Index i) const {
    double sum = 0.0;
    for (std::size_t e = first(i); e < first(i + 1); ++e)
      sum += static_cast<double>(x.data[e]) * static_cast<double>(x.data[e]);
    return sum;
  }
  void axpy(Index i, double c, double *v) const {
    for (std::size_t e = first(i); e < first(i + 1); ++e)
      v[x.indices[e]] += c * static_cast<double>(x.data[e]);
  }
  void axpy_with_norms(Index i, double c, double *v, double *sums) const {
    const T *data = x.data.data();
    const I *indices = x.indices.data();
    double norm_sq_change = 0.0, norm_l1_change = 0.0;
    for (std::size_t e = first(i); e < first(i + 1); ++e) {
      double &value = v[indices[e]];
      const double change = c * static_cast<double>(data[e]), next = value + change;
      norm_sq_change += change * (value + next);
      norm_l1_change += std::fabs(next) - std::fabs(value);
      value = next;
    }
    sums[0] += norm_sq_change;
    sums[1] += norm_l1_change;
  }
};

template <class Rows> RowAccess<Rows> row_access(const Rows &x) { return {x}; }

// Whether all column indices are in range, for callers that add rows before any dot product.
template <class T> bool indices_in_range(const Dense<T> &) { return true; }
template <class T, class I> bool indices_in_range(const Sparse<T, I> &x) {
  bool in_range = true;
  for (const I index : x.indices)
    in_range &= index >= 0 && static_cast<Index>(index) < x.columns;
  return in_range;
}

} // namespace tenfold
