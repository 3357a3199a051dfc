// Leave-one-out residuals of one row and one target for all candidates a:
//   e_a = (centred - fit_a) / (1 - weight (base + spread_a)),   sums_a += weight e_a^2.
// errors null: they are not kept. Returns whether all e_a are finite.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

bool loo(const double *fit, const double *spread, Index candidates, double centred, double weight, double base,
         double *sums, double *errors) {
  Vector bad{}; // stays zero while all errors are finite
  for (Index a = 0; a < candidates; a += width) {
    const Index left = smaller(candidates - a, width);
    const Vector f = load_part(fit + a, left);
    const Vector h = weight * (base + load_part(spread + a, left));
    const Vector e = (centred - f) / (1.0 - h);
    store_part(sums + a, load_part(sums + a, left) + weight * e * e, left);
    if (errors != nullptr)
      store_part(errors + a, e, left);
    Vector checked{};
    for (Index i = 0; i < left; ++i)
      checked[i] = e[i];
    bad += checked - checked;
  }
  return sum(bad) == 0.0;
}

// largest_a = max(largest_a, weight (base + spread_a))
void leverage(const double *spread, Index candidates, double weight, double base, double *largest) {
  for (Index a = 0; a < candidates; a += width) {
    const Index left = smaller(candidates - a, width);
    const Vector h = weight * (base + load_part(spread + a, left));
    const Vector old = load_part(largest + a, left);
    store_part(largest + a, h <= old ? old : h, left); // NaN wins
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
