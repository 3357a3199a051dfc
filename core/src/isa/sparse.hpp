// Products of a tile of CSR rows. coef and g are columns x targets, so that a nonzero meets contiguous targets.
//   matvec           z_ik = sum_j x_ij coef_jk + intercept_k
//   matvec_t         g_jk += sum_i u_ik x_ij
//   normal_product   g_jk += sum_i u_ik x_ij and totals_k += sum_i level_i u_ik, with u_ik = weight_i (sum_j x_ij
//   coef_jk -
//                    level_i along_k); coef and g have lines of `step` entries, whole SIMD vectors aligned to 64 bytes
//   column_sums      sums (3 x columns) += sum_i weight_i x_ij, sum_i weight_i x_ij^2, sum_i other_i x_ij (null: none),
//   one after
//                    the other, as one of them fits L2; and extremes, the smallest nonzero |x_ij| and the largest
// All return whether all column indices are in range, and access nothing outside coef and g where they are not.
// Bytes: data and indices once; one gathered (matvec) or gathered and scattered (matvec_t) entry per nonzero and
// target.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class I> inline bool is_column(I index, Index columns) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(index)) < static_cast<std::uint64_t>(columns);
}

// Scalar loads: gather instructions are slower on current CPUs.
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

// The targets of one nonzero, up to `most_targets` SIMD vectors at a time, the last of `left` lanes.
constexpr Index most_targets = 4;

template <Index c> inline Vector target_part(const double *p, Index v, Index left) {
  return v + 1 < c ? load(p + v * width) : load_part(p + v * width, left);
}

template <Index c, class T, class I>
inline bool matvec_targets(const T *data, const I *indices, Index count, Index columns, const double *coef,
                           Index targets, Index left, const double *intercept, double *z, Index target_step) {
  Vector sums[c];
#pragma GCC unroll 8
  for (Index v = 0; v < c; ++v)
    sums[v] = target_part<c>(intercept, v, left);
  for (Index e = 0; e < count; ++e) {
    if (!is_column(indices[e], columns))
      return false;
    const Vector value = all(static_cast<double>(data[e]));
    const double *w = coef + indices[e] * targets;
#pragma GCC unroll 8
    for (Index v = 0; v < c; ++v)
      sums[v] += value * target_part<c>(w, v, left);
  }
  for (Index v = 0; v < c; ++v)
    for (Index k = 0; k < (v + 1 < c ? width : left); ++k)
      z[(v * width + k) * target_step] = sums[v][k];
  return true;
}

template <Index c, class T, class I>
inline bool matvec_t_targets(const T *data, const I *indices, Index count, Index columns, const double *u,
                             Index target_step, Index targets, Index left, double *g) {
  Vector slopes[c] = {};
  for (Index v = 0; v < c; ++v)
    for (Index k = 0; k < (v + 1 < c ? width : left); ++k)
      slopes[v][k] = u[(v * width + k) * target_step];
  for (Index e = 0; e < count; ++e) {
    if (!is_column(indices[e], columns))
      return false;
    const Vector value = all(static_cast<double>(data[e]));
    double *to = g + indices[e] * targets;
#pragma GCC unroll 8
    for (Index v = 0; v < c; ++v) {
      const Vector sum = target_part<c>(to, v, left) + value * slopes[v];
      if (v + 1 < c)
        store(to + v * width, sum);
      else
        store_part(to + v * width, sum, left);
    }
  }
  return true;
}

// Calls work.operator()<c>(first target, lanes of the last vector) for all targets; whether all returned true.
template <class Work> inline bool by_targets(Index targets, Work work) {
  bool good = true;
  for (Index k = 0; k < targets && good; k += most_targets * width) {
    const Index some = smaller(targets - k, most_targets * width), c = (some + width - 1) / width;
    const Index left = some - (c - 1) * width;
    good = c == 1   ? work.template operator()<1>(k, left)
           : c == 2 ? work.template operator()<2>(k, left)
           : c == 3 ? work.template operator()<3>(k, left)
                    : work.template operator()<4>(k, left);
  }
  return good;
}

template <class T, class I>
bool sparse_matvec(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
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
    const auto work = [&]<Index c>(Index k, Index left) {
      return matvec_targets<c>(data + begin, indices + begin, end - begin, columns, coef + k, targets, left,
                               intercept + k, out + k * target_step, target_step);
    };
    if (!by_targets(targets, work))
      return false;
  }
  return good;
}

template <class T, class I>
bool sparse_matvec_t(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                     const double *u, Index targets, Index row_step, Index target_step, double *g) {
  for (Index i = 0; i < count; ++i) {
    const double *scale = u + i * row_step;
    const Index end = indptr[i + 1];
    if (targets == 1) {
      const double one = *scale;
      if (one == 0.0)
        continue; // of rows that are marked only those are read
      for (Index e = indptr[i]; e < end; ++e) {
        if (!is_column(indices[e], columns))
          return false;
        g[indices[e]] += static_cast<double>(data[e]) * one;
      }
      continue;
    }
    const Index begin = indptr[i];
    const auto work = [&]<Index c>(Index k, Index left) {
      return matvec_t_targets<c>(data + begin, indices + begin, end - begin, columns, scale + k * target_step,
                                 target_step, targets, left, g + k);
    };
    if (!by_targets(targets, work))
      return false;
  }
  return true;
}

template <Index c> inline void read_line(const double *p, Vector *out) {
#pragma GCC unroll 4
  for (Index v = 0; v < c; ++v)
    out[v] = *reinterpret_cast<const Vector *>(p + v * width);
}

// One row with c SIMD vectors of targets; the row stays in L1 for the next ones.
template <Index c, class T, class I>
inline bool normal_product_targets(const T *data, const I *indices, Index count, Index columns, Index step,
                                   const double *coef, double weight, double level, const double *along, double *g,
                                   double *totals) {
  Vector sums[c], line[c];
  read_line<c>(along, sums);
#pragma GCC unroll 4
  for (Index v = 0; v < c; ++v)
    sums[v] *= -level;
  for (Index e = 0; e < count; ++e) {
    if (!is_column(indices[e], columns))
      return false;
    const Vector value = all(static_cast<double>(data[e]));
    read_line<c>(coef + indices[e] * step, line);
#pragma GCC unroll 4
    for (Index v = 0; v < c; ++v)
      sums[v] += value * line[v];
  }
  read_line<c>(totals, line);
#pragma GCC unroll 4
  for (Index v = 0; v < c; ++v) {
    sums[v] *= weight;
    *reinterpret_cast<Vector *>(totals + v * width) = line[v] + level * sums[v];
  }
  for (Index e = 0; e < count; ++e) {
    const Vector value = all(static_cast<double>(data[e]));
    double *to = g + indices[e] * step;
    read_line<c>(to, line);
#pragma GCC unroll 4
    for (Index v = 0; v < c; ++v)
      *reinterpret_cast<Vector *>(to + v * width) = line[v] + value * sums[v];
  }
  return true;
}

// weight, level: null for ones and zeros.
template <class T, class I>
bool sparse_normal_product(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                           Index step, const double *coef, const double *weight, const double *level,
                           const double *along, double *g, double *totals) {
  for (Index i = 0; i < count; ++i) {
    const Index begin = indptr[i], entries = indptr[i + 1] - begin;
    const double w = weight != nullptr ? weight[i] : 1.0, l = level != nullptr ? level[i] : 0.0;
    const auto work = [&]<Index c>(Index k, Index) {
      return normal_product_targets<c>(data + begin, indices + begin, entries, columns, step, coef + k, w, l, along + k,
                                       g + k, totals + k);
    };
    if (!by_targets(step, work))
      return false;
  }
  return true;
}

template <class T, class I>
bool sparse_column_sums(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                        const double *weight, const double *other, double *sums, double *extremes) {
  // absolute values are ordered like their bits, and integer minima are fast
  std::uint64_t least = __builtin_bit_cast(std::uint64_t, extremes[0]) - 1, largest = 0;
  for (Index e = indptr[0]; e < indptr[count]; ++e) {
    const auto bits = __builtin_bit_cast(std::uint64_t, static_cast<double>(data[e])) & ~(std::uint64_t{1} << 63);
    least = bits - 1 < least ? bits - 1 : least; // zero is the largest of all
    largest = bits > largest ? bits : largest;
  }
  const double top = __builtin_bit_cast(double, largest);
  extremes[0] = __builtin_bit_cast(double, least + 1);
  extremes[1] = extremes[1] > top ? extremes[1] : top;
  double *squares = sums + columns, *products = squares + columns;
  for (Index i = 0; i < count; ++i) {
    const double w = weight[i];
    for (Index e = indptr[i], end = indptr[i + 1]; e < end; ++e) {
      if (!is_column(indices[e], columns))
        return false;
      sums[indices[e]] += w * static_cast<double>(data[e]);
    }
  }
  for (Index i = 0; i < count; ++i) {
    const double w = weight[i];
    for (Index e = indptr[i], end = indptr[i + 1]; e < end; ++e) {
      const double x = static_cast<double>(data[e]);
      squares[indices[e]] += w * x * x;
    }
  }
  for (Index i = 0; i < count && other != nullptr; ++i) {
    const double u = other[i];
    for (Index e = indptr[i], end = indptr[i + 1]; e < end; ++e)
      products[indices[e]] += u * static_cast<double>(data[e]);
  }
  return true;
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
