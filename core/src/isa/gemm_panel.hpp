// Products of a few rows with a packed matrix: the other half of a pair with gram.hpp, sums over columns and not rows.
//
// b (inner x columns) is in panels, entry (k, j) at b[(j / panel) * stride + k * panel + j % panel].
//
// product       out = a b for `count` rows of a, `inner` entries each, `a_step` apart. Of an upper triangle b nothing
// is
//               multiplied by the panels of zeros below.
// panel_times   out += x b for rows in panels too, as pack.hpp writes them: entry (i, k) at
//               x[(k / panel) * x_stride + i * panel + k % panel]; x has `x_panels` whole panels.
// Both write whole panels, row i to out + i * out_step: lanes behind the last column hold what b holds there.
// Flops: 2 * count * inner * columns; the registers hold `panel` rows and up to `tall` panels.
#pragma once

#include "gram.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// Rows whose entries come in `pieces` of `length` neighbours: entry k of row i in a piece at i * row_step + k.
struct Left {
  const double *first;
  Index row_step, pieces, length, piece_step;
};

template <Index n, Index rows, bool add>
inline void product_block(Left left, const double *b, Index stride, double *out, Index out_step) {
  Vector sums[n * vectors][rows] = {};
  for (Index piece = 0; piece < left.pieces; ++piece, left.first += left.piece_step)
    for (Index k = 0; k < left.length; ++k, b += panel) {
      Vector right[n * vectors];
#pragma GCC unroll 8
      for (Index j = 0; j < n; ++j)
#pragma GCC unroll 8
        for (Index v = 0; v < vectors; ++v)
          right[j * vectors + v] = *reinterpret_cast<const Vector *>(b + j * stride + v * width);
#pragma GCC unroll 8
      for (Index i = 0; i < rows; ++i) {
        const Vector value = all(left.first[i * left.row_step + k]);
#pragma GCC unroll 8
        for (Index j = 0; j < n * vectors; ++j)
          sums[j][i] += right[j] * value;
      }
    }
#pragma GCC unroll 8
  for (Index i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (Index j = 0; j < n * vectors; ++j) {
      double *to = out + i * out_step + j * width;
      store(to, add ? load(to) + sums[j][i] : sums[j][i]);
    }
}

template <Index n, bool add>
inline void product_panels(Left left, Index count, const double *b, Index stride, double *out, Index out_step) {
  Index i = 0;
  for (; i + panel <= count; i += panel, left.first += panel * left.row_step)
    product_block<n, panel, add>(left, b, stride, out + i * out_step, out_step);
  for (; i < count; ++i, left.first += left.row_step)
    product_block<n, 1, add>(left, b, stride, out + i * out_step, out_step);
}

// left_of(j): the rows that meet the panels of b before number j.
template <bool add, class F>
inline void all_panels(F left_of, Index count, const double *b, Index stride, Index panels, double *out,
                       Index out_step) {
  Index j = 0;
  const auto run = [&]<Index n>() {
    product_panels<n, add>(left_of(j + n), count, b + j * stride, stride, out + j * panel, out_step);
    j += n;
  };
  while (j + tall <= panels)
    run.template operator()<tall>();
  if constexpr (tall > 2)
    if (j + 2 <= panels)
      run.template operator()<2>();
  while (j < panels)
    run.template operator()<1>();
}

void product(const double *a, Index a_step, Index count, Index inner, const double *b, Index stride, Index panels,
             bool upper, double *out, Index out_step) {
  const auto left = [&](Index end) { return Left{a, a_step, 1, upper ? smaller(inner, end * panel) : inner, 0}; };
  all_panels<false>(left, count, b, stride, panels, out, out_step);
}

void panel_times(const double *x, Index x_stride, Index count, Index x_panels, const double *b, Index stride,
                 Index panels, double *out, Index out_step) {
  const auto left = [&](Index) { return Left{x, panel, x_panels, panel, x_stride}; };
  all_panels<true>(left, count, b, stride, panels, out, out_step);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
