// Lower bounds that fall when centres move: for rows i and groups g of centres,
//   bounds[g * stride + i] <- bounds[g * stride + i] * keep - decrease[g],   least[i] = min_g of them.
// `count` is rounded up to whole vectors inside: bounds and least are padded by the caller. Flops: 3 a bound.
#pragma once

#include "knn_filter.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

void drift(float *bounds, Index stride, Index groups, Index count, float keep, const float *decrease, float *least) {
  for (Index i = 0; i < count; i += narrow) {
    Narrow lowest = __builtin_inff() - Narrow{};
    for (Index g = 0; g < groups; ++g) {
      float *at = bounds + g * stride + i;
      const Narrow now = load_narrow(at) * keep - decrease[g];
      *reinterpret_cast<UnalignedNarrow *>(at) = now;
      lowest = now < lowest ? now : lowest;
    }
    *reinterpret_cast<UnalignedNarrow *>(least + i) = lowest;
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
