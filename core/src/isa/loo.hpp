// Leave-one-out errors of one sample, for all candidates a at once.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// x - centre in float64.
template <class T> void centre_row(const T *x, const double *centre, Index columns, double *out) {
  Index j = 0;
  for (; j + width <= columns; j += width)
    store(out + j, load(x + j) - load(centre + j));
  if (j < columns)
    store_part(out + j, load_part(x + j, columns - j) - load_part(centre + j, columns - j), columns - j);
}

void square(const double *z, Index count, double *out) {
  Index j = 0;
  for (; j + width <= count; j += width)
    store(out + j, load(z + j) * load(z + j));
  for (; j < count; ++j)
    out[j] = z[j] * z[j];
}

// With h_a = weight (base + spread_a): largest_a = max(largest_a, h_a), and spread_a is replaced by scale_a = 1 / (1 -
// h_a).
inline void leverages_part(double *spread, double weight, double base, double *largest, Index left) {
  const Vector h = weight * (base + load_part(spread, left));
  const Vector old = load_part(largest, left);
  store_part(largest, h <= old ? old : h, left); // NaN is sticky
  store_part(spread, 1.0 / (1.0 - h), left);
}

void leverages(double *spread, Index candidates, double weight, double base, double *largest) {
  Index a = 0;
  for (; a + width <= candidates; a += width)
    leverages_part(spread + a, weight, base, largest + a, width);
  if (a < candidates)
    leverages_part(spread + a, weight, base, largest + a, candidates - a);
}

// e_a = (centred - fit_a) scale_a; sums_a += weight e_a^2; errors (unless null) = e. Returns whether all are finite.
bool loo_errors(const double *fit, const double *scale, Index candidates, double centred, double weight, double *sums,
                double *errors) {
  Vector bad{}; // stays zero while all errors are finite
  Index a = 0;
  for (; a + width <= candidates; a += width) {
    const Vector e = (centred - load(fit + a)) * load(scale + a);
    store(sums + a, load(sums + a) + weight * e * e);
    if (errors != nullptr)
      store(errors + a, e);
    bad += e - e;
  }
  double rest = 0.0;
  for (; a < candidates; ++a) {
    const double e = (centred - fit[a]) * scale[a];
    sums[a] += weight * e * e;
    if (errors != nullptr)
      errors[a] = e;
    rest += e - e;
  }
  return sum(bad) + rest == 0.0;
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
