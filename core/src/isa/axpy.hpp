// axpy: the update of coordinate descent on a Gram matrix.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// y += a x
template <class T> void axpy(double a, const T *x, Index count, double *y) {
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
