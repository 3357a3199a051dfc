// Products of packed rows with many vectors: sums over columns, and sums over rows.
//
// The rows of a tile are in panels, as pack.hpp writes them: entry (i, c) at x[(c / panel) * stride + i * panel +
// c % panel], zeros behind the last column.
//
// panel_times   out(i, j) += sum_c x(i, c) v(c, j) for v in panels, entry (c, j) at v[(j / panel) * v_stride + c *
// panel
//               + j % panel]; whole panels of columns and of j.
// panel_cross   blocks(J, I)(j, c) += sum_i u(i, j) x(i, c) for u in panels like x: block (J, I) begins at
//               blocks[(J * x_panels + I) * panel^2], entry (j, c) in it at j * panel + c.
// Flops: 2 * count * columns * vectors each; the registers hold `panel` rows, or lanes of u, and up to `tall` panels.
#pragma once

#include "gram.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <Index n, Index rows>
inline void times_block(const double *x, Index stride, Index x_panels, const double *v, Index v_stride, double *out,
                        Index out_step) {
  Vector sums[n * vectors][rows] = {};
  for (Index c = 0; c < x_panels; ++c, x += stride)
    for (Index k = 0; k < panel; ++k, v += panel) {
      Vector right[n * vectors];
#pragma GCC unroll 8
      for (Index j = 0; j < n; ++j)
#pragma GCC unroll 8
        for (Index w = 0; w < vectors; ++w)
          right[j * vectors + w] = *reinterpret_cast<const Vector *>(v + j * v_stride + w * width);
#pragma GCC unroll 8
      for (Index i = 0; i < rows; ++i) {
        const Vector left = all(x[i * panel + k]);
#pragma GCC unroll 8
        for (Index j = 0; j < n * vectors; ++j)
          sums[j][i] += right[j] * left;
      }
    }
#pragma GCC unroll 8
  for (Index i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (Index j = 0; j < n * vectors; ++j)
      store(out + i * out_step + j * width, load(out + i * out_step + j * width) + sums[j][i]);
}

template <Index n>
inline void times_panels(const double *x, Index stride, Index count, Index x_panels, const double *v, Index v_stride,
                         double *out, Index out_step) {
  Index i = 0;
  for (; i + panel <= count; i += panel)
    times_block<n, panel>(x + i * panel, stride, x_panels, v, v_stride, out + i * out_step, out_step);
  for (; i < count; ++i)
    times_block<n, 1>(x + i * panel, stride, x_panels, v, v_stride, out + i * out_step, out_step);
}

void panel_times(const double *x, Index stride, Index count, Index x_panels, const double *v, Index v_stride,
                 Index v_panels, double *out, Index out_step) {
  Index j = 0;
  for (; j + tall <= v_panels; j += tall)
    times_panels<tall>(x, stride, count, x_panels, v + j * v_stride, v_stride, out + j * panel, out_step);
  if constexpr (tall > 2)
    if (j + 2 <= v_panels) {
      times_panels<2>(x, stride, count, x_panels, v + j * v_stride, v_stride, out + j * panel, out_step);
      j += 2;
    }
  for (; j < v_panels; ++j)
    times_panels<1>(x, stride, count, x_panels, v + j * v_stride, v_stride, out + j * panel, out_step);
}

void panel_cross(const double *x, Index stride, Index x_panels, const double *u, Index u_stride, Index u_panels,
                 Index count, double *blocks) {
  for (Index j = 0; j < u_panels; ++j) {
    const double *b = u + j * u_stride;
    double *row = blocks + j * x_panels * panel * panel;
    Index i = 0;
    for (; i + tall <= x_panels; i += tall)
      multiply<tall, false>(x + i * stride, b, stride, count, row + i * panel * panel, nullptr, 0);
    if constexpr (tall > 2)
      if (i + 2 <= x_panels) {
        multiply<2, false>(x + i * stride, b, stride, count, row + i * panel * panel, nullptr, 0);
        i += 2;
      }
    for (; i < x_panels; ++i)
      multiply<1, false>(x + i * stride, b, stride, count, row + i * panel * panel, nullptr, 0);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
