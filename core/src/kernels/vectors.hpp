// Two loops over plain vectors, for the sequential solvers: a product and a step along a vector.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// sum_i x_i y_i
template <class T> double dot(const T *x, const double *y, Index count) {
  Vector sums[4] = {};
  Index i = 0;
  for (; i + 4 * width <= count; i += 4 * width)
#pragma GCC unroll 4
    for (Index k = 0; k < 4; ++k)
      sums[k] += load(x + i + k * width) * load(y + i + k * width);
  for (; i + width <= count; i += width)
    sums[0] += load(x + i) * load(y + i);
  if (i < count)
    sums[1] += load_part(x + i, count - i) * load_part(y + i, count - i);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// y += a x
template <class T> void add_scaled(double a, const T *x, Index count, double *y) {
  Index i = 0;
  for (; i + 2 * width <= count; i += 2 * width) {
    store(y + i, load(y + i) + a * load(x + i));
    store(y + i + width, load(y + i + width) + a * load(x + i + width));
  }
  for (; i + width <= count; i += width)
    store(y + i, load(y + i) + a * load(x + i));
  if (i < count)
    store_part(y + i, load_part(y + i, count - i) + a * load_part(x + i, count - i), count - i);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
