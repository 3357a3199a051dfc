// One row at a time, in either storage: what learners that take rows one after the other do with them.
//   fetch      asks for a row that is needed soon; fetch_weights for the weights that it meets
//   bring      asks for a row that is needed later, into the second cache; await waits for it
//   dot        sum_j x_j v_j          squares   sum_j x_j^2
//   add        v += c x               add_with_sums   the same, and sums = (sum_j v_j^2, sum_j |v_j|) follow
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tenfold {

template <class Rows> struct RowOf;

template <class T> struct RowOf<Dense<T>> {
  Dense<T> x;
  const DenseKernels<T> *on = &kernels().dense<T>();
  static constexpr Index line = 64 / sizeof(T), farthest = 2048 / sizeof(T);

  const T *at(Index i) const { return x.data + i * x.columns; }
  void fetch(Index i) const {
    for (Index j = 0; j < std::min(x.columns, farthest); j += line)
      __builtin_prefetch(at(i) + j);
  }
  void fetch_weights(Index, const double *) const {}
  void bring(Index i) const {
    const T *row = at(i);
    for (Index j = 0; j < x.columns; j += line)
      __builtin_prefetch(row + j, 0, 2);
    __builtin_prefetch(row + x.columns - 1, 0, 2);
  }
  // Returns when the row is there.
  void await(Index i) const {
    const volatile T *last = at(i) + x.columns - 1;
    static_cast<void>(*last);
  }
  double dot(Index i, const double *v) const { return on->dot(at(i), v, x.columns); }
  double squares(Index i) const { return on->squares(at(i), x.columns); }
  void add(Index i, double c, double *v) const { on->add_scaled(c, at(i), x.columns, v); }
  void add_with_sums(Index i, double c, double *v, double *sums) const { on->add(at(i), x.columns, c, v, sums); }
};

template <class T, class I> struct RowOf<Sparse<T, I>> {
  Sparse<T, I> x;

  std::size_t first(Index i) const { return static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(i)]); }
  void fetch(Index i) const {
    __builtin_prefetch(x.data.data() + first(i));
    __builtin_prefetch(x.indices.data() + first(i));
  }
  // The weights of a row, while the row before it is worked on: they are all over the memory where columns are many.
  void fetch_weights(Index i, const double *v) const {
    constexpr Index many = 1 << 12;
    if (x.columns < many)
      return;
    const I *indices = x.indices.data();
    for (std::size_t e = first(i); e < first(i + 1); ++e)
      __builtin_prefetch(v + indices[e], 1);
  }
  // Every row begins here, so that indices are checked once.
  double dot(Index i, const double *v) const {
    const T *data = x.data.data();
    const I *indices = x.indices.data();
    const std::size_t end = first(i + 1), columns = static_cast<std::size_t>(x.columns);
    std::size_t e = first(i);
    double sums_of[4] = {};
    bool inside = true;
    for (; e + 4 <= end && inside; e += 4) {
      for (std::size_t k = 0; k < 4; ++k)
        inside &= static_cast<std::size_t>(indices[e + k]) < columns;
      if (inside)
        for (std::size_t k = 0; k < 4; ++k)
          sums_of[k] += static_cast<double>(data[e + k]) * v[indices[e + k]];
    }
    for (; e < end && inside; ++e) {
      inside = static_cast<std::size_t>(indices[e]) < columns;
      if (inside)
        sums_of[0] += static_cast<double>(data[e]) * v[indices[e]];
    }
    if (!inside)
      throw std::invalid_argument("an index of the sparse rows is not a column");
    return (sums_of[0] + sums_of[1]) + (sums_of[2] + sums_of[3]);
  }
  double squares(Index i) const {
    double sum = 0.0;
    for (std::size_t e = first(i); e < first(i + 1); ++e)
      sum += static_cast<double>(x.data[e]) * static_cast<double>(x.data[e]);
    return sum;
  }
  void add(Index i, double c, double *v) const {
    for (std::size_t e = first(i); e < first(i + 1); ++e)
      v[x.indices[e]] += c * static_cast<double>(x.data[e]);
  }
  void add_with_sums(Index i, double c, double *v, double *sums) const {
    const T *data = x.data.data();
    const I *indices = x.indices.data();
    double squares_of = 0.0, sizes = 0.0;
    for (std::size_t e = first(i); e < first(i + 1); ++e) {
      double &value = v[indices[e]];
      const double change = c * static_cast<double>(data[e]), next = value + change;
      squares_of += change * (value + next);
      sizes += std::fabs(next) - std::fabs(value);
      value = next;
    }
    sums[0] += squares_of;
    sums[1] += sizes;
  }
};

template <class Rows> RowOf<Rows> row_of(const Rows &x) { return {x}; }

// Whether all columns of sparse rows exist, where rows are added before any product has looked at them.
template <class T> bool columns_are_inside(const Dense<T> &) { return true; }
template <class T, class I> bool columns_are_inside(const Sparse<T, I> &x) {
  bool inside = true;
  for (const I index : x.indices)
    inside &= index >= 0 && static_cast<Index>(index) < x.columns;
  return inside;
}

} // namespace tenfold
