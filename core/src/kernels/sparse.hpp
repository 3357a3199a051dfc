// The products of a tile of compressed rows. coef and g are columns x targets, so that a nonzero meets its targets side
// by side.
//   margins    z_ik = sum_j x_ij coef_jk + intercept_k
//   gradient   g_jk += sum_i u_ik x_ij
// Bytes: data and indices once; one gathered (margins) or gathered and scattered (gradient) entry a nonzero and target.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// Whether every index is a column. The loops below trust it.
template <class I> bool inside(const I *indices, Index count, Index columns) {
  I low = 0, high = -1;
  for (Index k = 0; k < count; ++k) {
    low = indices[k] < low ? indices[k] : low;
    high = indices[k] > high ? indices[k] : high;
  }
  return low >= 0 && high < columns;
}

template <class T, class I> inline double gathered_dot(const T *data, const I *indices, Index count, const double *w) {
  Vector a{}, b{};
  Index k = 0;
  for (; k + 2 * width <= count; k += 2 * width) {
    a += load(data + k) * gather(w, indices + k);
    b += load(data + k + width) * gather(w, indices + k + width);
  }
  double total = sum(a + b);
  for (; k < count; ++k)
    total += static_cast<double>(data[k]) * w[indices[k]];
  return total;
}

template <class T, class I>
void sparse_margins(const T *data, const I *indices, const std::int64_t *indptr, Index count, const double *coef,
                    Index targets, const double *intercept, double *z, Index row_step, Index target_step) {
  for (Index i = 0; i < count; ++i) {
    const Index begin = indptr[i], end = indptr[i + 1];
    double *out = z + i * row_step;
    if (targets == 1) {
      *out = gathered_dot(data + begin, indices + begin, end - begin, coef) + *intercept;
      continue;
    }
    for (Index k = 0; k < targets; ++k)
      out[k * target_step] = intercept[k];
    for (Index e = begin; e < end; ++e) {
      const double value = static_cast<double>(data[e]);
      const double *w = coef + indices[e] * targets;
      for (Index k = 0; k < targets; ++k)
        out[k * target_step] += value * w[k];
    }
  }
}

template <class T, class I>
void sparse_gradient(const T *data, const I *indices, const std::int64_t *indptr, Index count, const double *u,
                     Index targets, Index row_step, Index target_step, double *g) {
  for (Index i = 0; i < count; ++i) {
    const double *scale = u + i * row_step;
    const Index end = indptr[i + 1];
    if (targets == 1) {
      const double one = *scale;
      for (Index e = indptr[i]; e < end; ++e)
        g[indices[e]] += static_cast<double>(data[e]) * one;
      continue;
    }
    for (Index e = indptr[i]; e < end; ++e) {
      const double value = static_cast<double>(data[e]);
      double *to = g + indices[e] * targets;
      for (Index k = 0; k < targets; ++k)
        to[k] += value * scale[k * target_step];
    }
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
