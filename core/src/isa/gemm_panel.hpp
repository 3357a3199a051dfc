// Microkernels of packed matrix products, summing over columns (gram.hpp sums over rows).
//
// b (inner x columns) is in panels, entry (k, j) at b[(j / panel) * stride + k * panel + j % panel].
//
// gemm_panel    out = a b for `count` rows of a, `inner` entries each, leading dimension `a_step`; zero panels of an
// upper
//               triangular b are skipped
// gemm_packed   out += x b for rows in panels too, as pack.hpp writes them: entry (i, k) at
//               x[(k / panel) * x_stride + i * panel + k % panel]; x has `x_panels` whole panels
// Both write whole panels, row i to out + i * out_step: lanes beyond the last column hold what b holds there.
// Flops: 2 * count * inner * columns; register block: `panel` rows and up to `tall` panels.
#pragma once

#include "gram.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// Rows whose entries come in `pieces` of `length` contiguous ones: entry k of row i in a piece at i * row_step + k.
struct Left {
  const double *first;
  Index row_step, pieces, length, piece_step;
};

template <Index n, Index rows, bool add>
inline void gemm_block(Left left, const double *b, Index stride, double *out, Index out_step) {
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
inline void gemm_rows(Left left, Index count, const double *b, Index stride, double *out, Index out_step) {
  Index i = 0;
  for (; i + panel <= count; i += panel, left.first += panel * left.row_step)
    gemm_block<n, panel, add>(left, b, stride, out + i * out_step, out_step);
  for (; i < count; ++i, left.first += left.row_step)
    gemm_block<n, 1, add>(left, b, stride, out + i * out_step, out_step);
}

// left_of(j): the rows to multiply with the panels of b before number j.
template <bool add, class F>
inline void for_all_panels(F left_of, Index count, const double *b, Index stride, Index panels, double *out,
                           Index out_step) {
  Index j = 0;
  const auto run = [&]<Index n>() {
    gemm_rows<n, add>(left_of(j + n), count, b + j * stride, stride, out + j * panel, out_step);
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

void gemm_panel(const double *a, Index a_step, Index count, Index inner, const double *b, Index stride, Index panels,
                bool upper, double *out, Index out_step) {
  const auto left = [&](Index end) { return Left{a, a_step, 1, upper ? smaller(inner, end * panel) : inner, 0}; };
  for_all_panels<false>(left, count, b, stride, panels, out, out_step);
}

void gemm_packed(const double *x, Index x_stride, Index count, Index x_panels, const double *b, Index stride,
                 Index panels, double *out, Index out_step) {
  const auto left = [&](Index) { return Left{x, panel, x_panels, panel, x_stride}; };
  for_all_panels<true>(left, count, b, stride, panels, out, out_step);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
