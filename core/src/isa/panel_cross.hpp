// Cross products U' X of packed rows with packed vectors, summed over rows.
//
// The rows of a tile are in panels, as pack.hpp writes them: entry (i, c) at x[(c / panel) * stride + i * panel + c %
// panel], zeros beyond the last column; u (count x vectors) is in panels like x.
//
// blocks(J, I)(j, c) += sum_i u(i, j) x(i, c): block (J, I) begins at blocks[(J * x_panels + I) * panel^2], entry (j,
// c) in it at j * panel + c. Flops: 2 * count * columns * vectors; register block: `panel` lanes of u and up to `tall`
// panels.
#pragma once

#include "gram.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

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
