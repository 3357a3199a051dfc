// The products of a tile of compressed rows. coef and g are columns x targets, so that a nonzero meets its targets side
// by side.
//   margins    z_ik = sum_j x_ij coef_jk + intercept_k
//   gradient   g_jk += sum_i u_ik x_ij
// Both return whether all indices are columns, and touch nothing outside coef and g where they are not.
// Bytes: data and indices once; one gathered (margins) or gathered and scattered (gradient) entry a nonzero and target.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class I> inline bool is_column(I index, Index columns) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(index)) < static_cast<std::uint64_t>(columns);
}

// One load after the other: the gather instruction of the CPUs at hand is slower than the loads it stands for.
template <class T, class I>
inline double gathered_dot(const T *data, const I *indices, Index count, const double *w, Index columns, bool &good) {
  double sums[4] = {};
  Index k = 0;
  for (; k + 4 <= count; k += 4) {
    bool inside = true;
#pragma GCC unroll 4
    for (Index i = 0; i < 4; ++i)
      inside &= is_column(indices[k + i], columns);
    if (!inside) {
      good = false;
      return 0.0;
    }
#pragma GCC unroll 4
    for (Index i = 0; i < 4; ++i)
      sums[i] += static_cast<double>(data[k + i]) * w[indices[k + i]];
  }
  for (; k < count; ++k) {
    if (!is_column(indices[k], columns)) {
      good = false;
      return 0.0;
    }
    sums[0] += static_cast<double>(data[k]) * w[indices[k]];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T, class I>
bool sparse_margins(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                    const double *coef, Index targets, const double *intercept, double *z, Index row_step,
                    Index target_step) {
  bool good = true;
  for (Index i = 0; i < count; ++i) {
    const Index begin = indptr[i], end = indptr[i + 1];
    double *out = z + i * row_step;
    if (targets == 1) {
      *out = gathered_dot(data + begin, indices + begin, end - begin, coef, columns, good) + *intercept;
      continue;
    }
    for (Index k = 0; k < targets; ++k)
      out[k * target_step] = intercept[k];
    for (Index e = begin; e < end; ++e) {
      if (!is_column(indices[e], columns))
        return false;
      const double value = static_cast<double>(data[e]);
      const double *w = coef + indices[e] * targets;
      for (Index k = 0; k < targets; ++k)
        out[k * target_step] += value * w[k];
    }
  }
  return good;
}

template <class T, class I>
bool sparse_gradient(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                     const double *u, Index targets, Index row_step, Index target_step, double *g) {
  for (Index i = 0; i < count; ++i) {
    const double *scale = u + i * row_step;
    const Index end = indptr[i + 1];
    if (targets == 1) {
      const double one = *scale;
      for (Index e = indptr[i]; e < end; ++e) {
        if (!is_column(indices[e], columns))
          return false;
        g[indices[e]] += static_cast<double>(data[e]) * one;
      }
      continue;
    }
    for (Index e = indptr[i]; e < end; ++e) {
      if (!is_column(indices[e], columns))
        return false;
      const double value = static_cast<double>(data[e]);
      double *to = g + indices[e] * targets;
      for (Index k = 0; k < targets; ++k)
        to[k] += value * scale[k * target_step];
    }
  }
  return true;
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
