// matvec_t: g_kj += sum_i u_ik (x_ij - shift_j) over the rows i of a tile, for the targets k.
// column_sums: with d_ij = x_ij - shift_j, s_0j += sum_i u_i d_ij, s_1j += sum_i u_i d_ij^2, s_2j += sum_i v_i d_ij.
//
// u_ik is u[i * row_step + k * target_step]; g is targets x columns, shift null means zero.
// Flops: 2 * count * columns * targets (3 with a shift); bytes: the tile once (from cache after matvec).
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// c vectors of columns and t targets stay in registers over all rows; `left` < width columns when partial.
template <bool shifted, bool partial, Index c, Index t, class T>
inline void columns_of_targets(const T *x, Index count, Index columns, const double *u, Index row_step,
                               Index target_step, const double *shift, double *g, Index left) {
  Vector sums[t][c];
  Vector minus[c] = {};
#pragma GCC unroll 8
  for (Index v = 0; v < c; ++v) {
    if constexpr (shifted)
      minus[v] = partial ? load_part(shift + v * width, left) : load(shift + v * width);
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      sums[k][v] = partial ? load_part(g + k * columns + v * width, left) : load(g + k * columns + v * width);
  }
  for (Index i = 0; i < count; ++i) {
    Vector scale[t];
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      scale[k] = all(u[i * row_step + k * target_step]);
#pragma GCC unroll 8
    for (Index v = 0; v < c; ++v) {
      Vector value = partial ? load_part(x + v * width, left) : load(x + v * width);
      if constexpr (shifted)
        value -= minus[v];
#pragma GCC unroll 8
      for (Index k = 0; k < t; ++k)
        sums[k][v] += value * scale[k];
    }
    x += columns;
  }
#pragma GCC unroll 8
  for (Index v = 0; v < c; ++v)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k) {
      if constexpr (partial)
        store_part(g + k * columns + v * width, sums[k][v], left);
      else
        store(g + k * columns + v * width, sums[k][v]);
    }
}

template <bool shifted, Index t, class T>
inline void all_columns(const T *x, Index count, Index columns, const double *u, Index row_step, Index target_step,
                        const double *shift, double *g) {
  constexpr Index c = (shifted && registers == 16) ? 4 / (t > 1 ? 2 : 1) : (t > 1 ? (registers == 32 ? 4 : 2) : 8);
  Index j = 0;
  for (; j + c * width <= columns; j += c * width)
    columns_of_targets<shifted, false, c, t>(x + j, count, columns, u, row_step, target_step, shift + j, g + j, 0);
  for (; j + width <= columns; j += width)
    columns_of_targets<shifted, false, 1, t>(x + j, count, columns, u, row_step, target_step, shift + j, g + j, 0);
  if (j < columns)
    columns_of_targets<shifted, true, 1, t>(x + j, count, columns, u, row_step, target_step, shift + j, g + j,
                                            columns - j);
}

template <bool shifted, class T>
inline void every_target(const T *x, Index count, Index columns, const double *u, Index targets, Index row_step,
                         Index target_step, const double *shift, double *g) {
  constexpr Index t = 4;
  Index k = 0;
  for (; k + t <= targets; k += t)
    all_columns<shifted, t>(x, count, columns, u + k * target_step, row_step, target_step, shift, g + k * columns);
  for (; k < targets; ++k)
    all_columns<shifted, 1>(x, count, columns, u + k * target_step, row_step, target_step, shift, g + k * columns);
}

template <class T>
void matvec_t(const T *x, Index count, Index columns, const double *u, Index targets, Index row_step, Index target_step,
              const double *shift, double *g) {
  if (shift != nullptr)
    every_target<true>(x, count, columns, u, targets, row_step, target_step, shift, g);
  else
    every_target<false>(x, count, columns, u, targets, row_step, target_step, g, g); // the shift is not read
}

template <bool partial, Index c, class T>
inline void sums_of_columns(const T *x, Index count, Index columns, const double *u, const double *v,
                            const double *shift, double *s, Index left) {
  const auto read = [&](const auto *p) { return partial ? load_part(p, left) : load(p); };
  Vector minus[c], sums[c], squares[c], products[c];
#pragma GCC unroll 8
  for (Index k = 0; k < c; ++k) {
    minus[k] = read(shift + k * width);
    sums[k] = read(s + k * width);
    squares[k] = read(s + columns + k * width);
    products[k] = read(s + 2 * columns + k * width);
  }
  for (Index i = 0; i < count; ++i, x += columns) {
    const Vector scale = all(u[i]), other = all(v[i]);
#pragma GCC unroll 8
    for (Index k = 0; k < c; ++k) {
      const Vector away = read(x + k * width) - minus[k], scaled = scale * away;
      sums[k] += scaled;
      squares[k] += scaled * away;
      products[k] += other * away;
    }
  }
  const auto write = [&](double *p, Vector value) {
    if constexpr (partial)
      store_part(p, value, left);
    else
      store(p, value);
  };
#pragma GCC unroll 8
  for (Index k = 0; k < c; ++k) {
    write(s + k * width, sums[k]);
    write(s + columns + k * width, squares[k]);
    write(s + 2 * columns + k * width, products[k]);
  }
}

template <class T>
void column_sums(const T *x, Index count, Index columns, const double *u, const double *v, const double *shift,
                 double *s) {
  constexpr Index c = registers == 32 ? 4 : 2;
  Index j = 0;
  for (; j + c * width <= columns; j += c * width)
    sums_of_columns<false, c>(x + j, count, columns, u, v, shift + j, s + j, 0);
  for (; j + width <= columns; j += width)
    sums_of_columns<false, 1>(x + j, count, columns, u, v, shift + j, s + j, 0);
  if (j < columns)
    sums_of_columns<true, 1>(x + j, count, columns, u, v, shift + j, s + j, columns - j);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
