// y = function(x) elementwise; float32 is evaluated in float64 and rounded once.
#pragma once

#include "functions.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <Vector (*function)(Vector), class T> void elementwise(const T *x, T *y, Index count) {
  Index i = 0;
  for (; i + width <= count; i += width)
    store(y + i, function(load(x + i)));
  if (i < count)
    store_part(y + i, function(load_part(x + i, count - i)), count - i);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
