// out = a b for a few rows of a and a packed b: the other half of a pair with gram.hpp, sums over columns and not rows.
//
// Given `count` rows of a (`inner` entries each, `a_step` apart) and b (inner x columns) in panels, entry (k, j) at
//   b[(j / panel) * stride + k * panel + j % panel],
// writes row i of the product to out + i * out_step, whole panels: lanes behind the last column hold what b holds
// there. Flops: 2 * count * inner * columns; the registers hold `panel` rows and up to `tall` panels.
#pragma once

#include "gram.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <Index n, Index rows>
inline void product_block(const double *a, Index a_step, Index inner, const double *b, Index stride, double *out,
                          Index out_step) {
  Vector sums[n * vectors][rows] = {};
  for (Index k = 0; k < inner; ++k) {
    Vector right[n * vectors];
#pragma GCC unroll 8
    for (Index j = 0; j < n; ++j)
#pragma GCC unroll 8
      for (Index v = 0; v < vectors; ++v)
        right[j * vectors + v] = *reinterpret_cast<const Vector *>(b + j * stride + v * width);
#pragma GCC unroll 8
    for (Index i = 0; i < rows; ++i) {
      const Vector left = all(a[i * a_step + k]);
#pragma GCC unroll 8
      for (Index j = 0; j < n * vectors; ++j)
        sums[j][i] += right[j] * left;
    }
    b += panel;
  }
#pragma GCC unroll 8
  for (Index i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (Index j = 0; j < n * vectors; ++j)
      store(out + i * out_step + j * width, sums[j][i]);
}

template <Index n>
inline void product_panels(const double *a, Index a_step, Index count, Index inner, const double *b, Index stride,
                           double *out, Index out_step) {
  Index i = 0;
  for (; i + panel <= count; i += panel)
    product_block<n, panel>(a + i * a_step, a_step, inner, b, stride, out + i * out_step, out_step);
  for (; i < count; ++i)
    product_block<n, 1>(a + i * a_step, a_step, inner, b, stride, out + i * out_step, out_step);
}

void product(const double *a, Index a_step, Index count, Index inner, const double *b, Index stride, Index panels,
             double *out, Index out_step) {
  Index j = 0;
  for (; j + tall <= panels; j += tall)
    product_panels<tall>(a, a_step, count, inner, b + j * stride, stride, out + j * panel, out_step);
  if constexpr (tall > 2)
    if (j + 2 <= panels) {
      product_panels<2>(a, a_step, count, inner, b + j * stride, stride, out + j * panel, out_step);
      j += 2;
    }
  for (; j < panels; ++j)
    product_panels<1>(a, a_step, count, inner, b + j * stride, stride, out + j * panel, out_step);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
