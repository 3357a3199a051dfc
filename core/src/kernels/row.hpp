// One dense row against a vector: what a method needs that looks at one row after the other.
//   row_dot   sum_j x_j w_j
//   row_add   w_j += a x_j
// Four sums at a time: a row is short, and one sum would wait for itself.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class T> double row_dot(const T *x, const double *w, Index columns) {
  Vector sums[4] = {};
  Index j = 0;
  for (; j + 4 * width <= columns; j += 4 * width)
#pragma GCC unroll 4
    for (Index k = 0; k < 4; ++k)
      sums[k] += load(x + j + k * width) * load(w + j + k * width);
  for (; j + width <= columns; j += width)
    sums[0] += load(x + j) * load(w + j);
  if (j < columns)
    sums[1] += load_part(x + j, columns - j) * load_part(w + j, columns - j);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class T> void row_add(const T *x, double a, Index columns, double *w) {
  const Vector scale = all(a);
  Index j = 0;
  for (; j + width <= columns; j += width)
    store(w + j, load(w + j) + scale * load(x + j));
  if (j < columns)
    store_part(w + j, load_part(w + j, columns - j) + scale * load_part(x + j, columns - j), columns - j);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
