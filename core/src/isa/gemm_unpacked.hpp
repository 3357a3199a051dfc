// Products of unpacked rows with many vectors, for a block of rows and columns that stays in cache.
//
// gemm_unpacked     z_ik += sum_j (x_ij - shift_j) v_kj, z_ik at z[i * z_step + k]
// gemm_unpacked_t   g_kj += sum_i u_ik (x_ij - shift_j), u_ik at u[i * u_step + k]
// x, v and g have leading dimensions. The shift is subtracted before the product, which keeps the digits.
// Flops: 2 * count * columns * number of vectors; register block: four rows and six vectors, or four SIMD vectors of
// columns and six.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index unpacked_vectors = registers == 32 ? 6 : 3, unpacked_rows = registers == 32 ? 4 : 2;

template <bool partial, Index r, Index t, class T>
inline void add_dots(const T *x, Index x_step, const double *shift, const double *v, Index v_step, Index left,
                     Vector (&sums)[r][t]) {
  Vector right[t];
#pragma GCC unroll 8
  for (Index k = 0; k < t; ++k)
    right[k] = partial ? load_part(v + k * v_step, left) : load(v + k * v_step);
  const Vector minus = partial ? load_part(shift, left) : load(shift);
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i) {
    const Vector value = (partial ? load_part(x + i * x_step, left) : load(x + i * x_step)) - minus;
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      sums[i][k] += value * right[k];
  }
}

template <Index r, Index t, class T>
inline void gemm_unpacked_block(const T *x, Index x_step, Index columns, const double *shift, const double *v,
                                Index v_step, double *z, Index z_step) {
  Vector sums[r][t] = {};
  Index j = 0;
  for (; j + width <= columns; j += width)
    add_dots<false>(x + j, x_step, shift + j, v + j, v_step, width, sums);
  if (j < columns)
    add_dots<true>(x + j, x_step, shift + j, v + j, v_step, columns - j, sums);
#pragma GCC unroll 8
  for (Index i = 0; i < r; ++i)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      z[i * z_step + k] += sum(sums[i][k]);
}

// Recurses on the remainder of the vectors.
template <Index t, class T>
inline void gemm_unpacked_rows(const T *x, Index x_step, Index count, Index columns, const double *shift,
                               const double *v, Index v_step, Index number, double *z, Index z_step) {
  for (; number >= t; number -= t, v += t * v_step, z += t) {
    Index i = 0;
    for (; i + unpacked_rows <= count; i += unpacked_rows)
      gemm_unpacked_block<unpacked_rows, t>(x + i * x_step, x_step, columns, shift, v, v_step, z + i * z_step, z_step);
    for (; i < count; ++i)
      gemm_unpacked_block<1, t>(x + i * x_step, x_step, columns, shift, v, v_step, z + i * z_step, z_step);
  }
  if constexpr (t > 1)
    if (number > 0)
      gemm_unpacked_rows<t - 1>(x, x_step, count, columns, shift, v, v_step, number, z, z_step);
}

template <class T>
void gemm_unpacked(const T *x, Index x_step, Index count, Index columns, const double *shift, const double *v,
                   Index v_step, Index number, double *z, Index z_step) {
  gemm_unpacked_rows<unpacked_vectors>(x, x_step, count, columns, shift, v, v_step, number, z, z_step);
}

// c SIMD vectors of columns, `left` columns when partial, times t vectors stay in registers over all rows.
template <bool partial, Index c, Index t, class T>
inline void gemm_unpacked_t_block(const T *x, Index x_step, Index count, const double *shift, const double *u,
                                  Index u_step, double *g, Index g_step, Index left) {
  Vector sums[t][c], minus[c];
#pragma GCC unroll 8
  for (Index l = 0; l < c; ++l) {
    minus[l] = partial ? load_part(shift + l * width, left) : load(shift + l * width);
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k)
      sums[k][l] = partial ? load_part(g + k * g_step + l * width, left) : load(g + k * g_step + l * width);
  }
  for (Index i = 0; i < count; ++i, x += x_step, u += u_step)
#pragma GCC unroll 8
    for (Index l = 0; l < c; ++l) {
      const Vector value = (partial ? load_part(x + l * width, left) : load(x + l * width)) - minus[l];
#pragma GCC unroll 8
      for (Index k = 0; k < t; ++k)
        sums[k][l] += value * all(u[k]);
    }
#pragma GCC unroll 8
  for (Index l = 0; l < c; ++l)
#pragma GCC unroll 8
    for (Index k = 0; k < t; ++k) {
      if constexpr (partial)
        store_part(g + k * g_step + l * width, sums[k][l], left);
      else
        store(g + k * g_step + l * width, sums[k][l]);
    }
}

template <bool partial, Index c, Index t, class T>
inline void gemm_unpacked_t_columns(const T *x, Index x_step, Index count, const double *shift, const double *u,
                                    Index u_step, Index number, double *g, Index g_step, Index left) {
  for (; number >= t; number -= t, u += t, g += t * g_step)
    gemm_unpacked_t_block<partial, c, t>(x, x_step, count, shift, u, u_step, g, g_step, left);
  if constexpr (t > 1)
    if (number > 0)
      gemm_unpacked_t_columns<partial, c, t - 1>(x, x_step, count, shift, u, u_step, number, g, g_step, left);
}

template <class T>
void gemm_unpacked_t(const T *x, Index x_step, Index count, Index columns, const double *shift, const double *u,
                     Index u_step, Index number, double *g, Index g_step) {
  constexpr Index c = unpacked_rows, t = unpacked_vectors;
  Index j = 0;
  for (; j + c * width <= columns; j += c * width)
    gemm_unpacked_t_columns<false, c, t>(x + j, x_step, count, shift + j, u, u_step, number, g + j, g_step, 0);
  for (; j + width <= columns; j += width)
    gemm_unpacked_t_columns<false, 1, t>(x + j, x_step, count, shift + j, u, u_step, number, g + j, g_step, 0);
  if (j < columns)
    gemm_unpacked_t_columns<true, 1, t>(x + j, x_step, count, shift + j, u, u_step, number, g + j, g_step, columns - j);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
