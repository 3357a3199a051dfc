// Quadratic features of a chunk of transposed rows (see the chunk layout of the E-step), and products with them:
// quadratic forms of several components at once, and weighted sums. `count` rows are a multiple of chunk_group.
#pragma once

#include "mixture.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index forms_block = registers == 32 ? 6 : 4;    // register block: forms, for `deep` SIMD vectors of rows
constexpr Index moments_block = 4;                        // register block of sums: components
constexpr Index features_block = registers == 32 ? 6 : 2; // and features

// With a = (x - centre) scale: out is 1, then a_j, then a_j a_k for j <= k, each for all rows, `step` apart.
void quadratic_features(const double *x, Index step, Index count, Index columns, const double *centre,
                        const double *scale, double *out) {
  for (Index i = 0; i < count; i += deep * width) {
    double *ones = out + i, *linear = ones + step, *product = linear + columns * step;
#pragma GCC unroll 4
    for (Index v = 0; v < deep; ++v)
      store(ones + v * width, all(1.0));
    for (Index j = 0; j < columns; ++j) {
      const Vector c = all(centre[j]), s = all(scale[j]);
#pragma GCC unroll 4
      for (Index v = 0; v < deep; ++v)
        store(linear + j * step + v * width, (load(x + j * step + i + v * width) - c) * s);
    }
    for (Index j = 0; j < columns; ++j) {
      Vector left[deep];
#pragma GCC unroll 4
      for (Index v = 0; v < deep; ++v)
        left[v] = load(linear + j * step + v * width);
      for (Index k = j; k < columns; ++k, product += step)
#pragma GCC unroll 4
        for (Index v = 0; v < deep; ++v)
          store(product + v * width, left[v] * load(linear + k * step + v * width));
    }
  }
}

template <Index n>
inline void forms_of(const double *features, Index step, Index count, Index size, const double *coef, double *q,
                     Index q_step) {
  for (Index i = 0; i < count; i += deep * width) {
    Vector sums[n][deep] = {};
    const double *from = features + i, *b = coef;
    for (Index f = 0; f < size; ++f, from += step, b += n) {
      Vector a[deep];
#pragma GCC unroll 4
      for (Index v = 0; v < deep; ++v)
        a[v] = load(from + v * width);
#pragma GCC unroll 8
      for (Index k = 0; k < n; ++k) {
        const Vector times = all(b[k]);
#pragma GCC unroll 4
        for (Index v = 0; v < deep; ++v)
          sums[k][v] += times * a[v];
      }
    }
#pragma GCC unroll 8
    for (Index k = 0; k < n; ++k)
#pragma GCC unroll 4
      for (Index v = 0; v < deep; ++v)
        store(q + k * q_step + i + v * width, sums[k][v]);
  }
}

// q_ik = sum_f coef_kf feature_if for up to `forms_per_call` components: entry (k, f) at coef[f * components + k].
// Flops: 2 * count * size * components.
void quadratic_forms(const double *features, Index step, Index count, Index size, const double *coef, Index components,
                     double *q, Index q_step) {
  static_assert(forms_block <= 6);
  const auto run = [&]<Index n>() { forms_of<n>(features, step, count, size, coef, q, q_step); };
  switch (components) {
  case 1:
    return run.template operator()<1>();
  case 2:
    return run.template operator()<2>();
  case 3:
    return run.template operator()<3>();
  case 4:
    return run.template operator()<4>();
  case 5:
    return run.template operator()<5>();
  default:
    return run.template operator()<6>();
  }
}

template <Index n>
inline void sums_of(const double *features, Index step, Index count, const double *r, Index r_step, double *in_lanes,
                    Index of_component) {
  Vector sums[n][features_block];
#pragma GCC unroll 8
  for (Index k = 0; k < n; ++k)
#pragma GCC unroll 8
    for (Index f = 0; f < features_block; ++f)
      sums[k][f] = load(in_lanes + k * of_component + f * lanes);
  for (Index i = 0; i < count; i += width) {
    Vector right[features_block];
#pragma GCC unroll 8
    for (Index f = 0; f < features_block; ++f)
      right[f] = load(features + f * step + i);
#pragma GCC unroll 8
    for (Index k = 0; k < n; ++k) {
      const Vector left = load(r + k * r_step + i);
#pragma GCC unroll 8
      for (Index f = 0; f < features_block; ++f)
        sums[k][f] += left * right[f];
    }
  }
#pragma GCC unroll 8
  for (Index k = 0; k < n; ++k)
#pragma GCC unroll 8
    for (Index f = 0; f < features_block; ++f)
      store(in_lanes + k * of_component + f * lanes, sums[k][f]);
}

// in_lanes_kf += sum_i r_ik feature_if, lane by lane: entry (k, f) begins at in_lanes[(k * size + f) * lanes]. `size`
// is a multiple of `feature_group`. A few features of all rows stay in L1 for all components.
void feature_moments(const double *features, Index step, Index count, Index size, const double *r, Index r_step,
                     Index components, double *in_lanes) {
  for (Index f = 0; f < size; f += features_block) {
    Index k = 0;
    const auto run = [&]<Index n>() {
      sums_of<n>(features + f * step, step, count, r + k * r_step, r_step, in_lanes + (k * size + f) * lanes,
                 size * lanes);
      k += n;
    };
    while (k + moments_block <= components)
      run.template operator()<moments_block>();
    if (k + 2 <= components)
      run.template operator()<2>();
    if (k < components)
      run.template operator()<1>();
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
