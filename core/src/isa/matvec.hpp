// matvec: z_ik = sum_j (x_ij - shift_j) coef_kj + intercept_k for the rows i of a tile and the targets k.
//
// z_ik goes to z[i * row_step + k * target_step]; coef is targets x columns, shift null means zero. The shift is
// subtracted before the product: x.w - shift.w would lose the digits that the shift is there to keep. Flops: 2 * count
// * columns * targets (3 with a shift); bytes: the tile once.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <bool shifted, Index r, Index t, class T>
inline void dots(const T *x, Index columns, const double *coef, const double *shift, const double *intercept, double *z,
                 Index row_step, Index target_step) {
  Vector sums[r][t] = {};
  Index j = 0;
  for (; j + width <= columns; j += width) {
    Vector w[t];
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      w[k] = load(coef + k * columns + j);
#pragma GCC unroll 8
    for (Index i = 0; i < r; ++i) {
      Vector v = load(x + i * columns + j);
      if constexpr (shifted)
        v -= load(shift + j);
#pragma GCC unroll 8
      for (Index k = 0; k < t; ++k)
        sums[i][k] += v * w[k];
    }
  }
  if (j < columns) {
    const Index left = columns - j;
    Vector w[t];
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      w[k] = load_part(coef + k * columns + j, left);
#pragma GCC unroll 8
    for (Index i = 0; i < r; ++i) {
      Vector v = load_part(x + i * columns + j, left);
      if constexpr (shifted)
        v -= load_part(shift + j, left);
#pragma GCC unroll 8
      for (Index k = 0; k < t; ++k)
        sums[i][k] += v * w[k];
    }
  }
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      z[i * row_step + k * target_step] = sum(sums[i][k]) + intercept[k];
}

template <bool shifted, Index t, class T>
inline void dots_of_targets(const T *x, Index count, Index columns, const double *coef, const double *shift,
                            const double *intercept, double *z, Index row_step, Index target_step) {
  constexpr Index r = t == 1 ? 8 : 4;
  Index i = 0;
  for (; i + r <= count; i += r)
    dots<shifted, r, t>(x + i * columns, columns, coef, shift, intercept, z + i * row_step, row_step, target_step);
  for (; i < count; ++i)
    dots<shifted, 1, t>(x + i * columns, columns, coef, shift, intercept, z + i * row_step, row_step, target_step);
}

template <bool shifted, class T>
inline void all_targets(const T *x, Index count, Index columns, const double *coef, Index targets, const double *shift,
                        const double *intercept, double *z, Index row_step, Index target_step) {
  constexpr Index t = registers == 32 ? 4 : 2;
  Index k = 0;
  for (; k + t <= targets; k += t)
    dots_of_targets<shifted, t>(x, count, columns, coef + k * columns, shift, intercept + k, z + k * target_step,
                                row_step, target_step);
  for (; k < targets; ++k)
    dots_of_targets<shifted, 1>(x, count, columns, coef + k * columns, shift, intercept + k, z + k * target_step,
                                row_step, target_step);
}

template <class T>
void matvec(const T *x, Index count, Index columns, const double *coef, Index targets, const double *shift,
            const double *intercept, double *z, Index row_step, Index target_step) {
  if (shift != nullptr)
    all_targets<true>(x, count, columns, coef, targets, shift, intercept, z, row_step, target_step);
  else
    all_targets<false>(x, count, columns, coef, targets, shift, intercept, z, row_step, target_step);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
