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
  bool good = true;
  for (Index k = 0; k < count; ++k)
    good &= indices[k] >= 0 && indices[k] < columns;
  return good;
}

template <class T, class I> inline double gathered_dot(const T *data, const I *indices, Index count, const double *w) {
  double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
  Index k = 0;
  for (; k + 4 <= count; k += 4) {
    a += static_cast<double>(data[k]) * w[indices[k]];
    b += static_cast<double>(data[k + 1]) * w[indices[k + 1]];
    c += static_cast<double>(data[k + 2]) * w[indices[k + 2]];
    d += static_cast<double>(data[k + 3]) * w[indices[k + 3]];
  }
  for (; k < count; ++k)
    a += static_cast<double>(data[k]) * w[indices[k]];
  return (a + b) + (c + d);
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
    for (Index e = indptr[i]; e < indptr[i + 1]; ++e) {
      const double value = static_cast<double>(data[e]);
      double *to = g + indices[e] * targets;
      for (Index k = 0; k < targets; ++k)
        to[k] += value * scale[k * target_step];
    }
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
