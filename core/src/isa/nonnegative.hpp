// Cyclic coordinate descent for non-negative least squares on a Gram matrix, `sweep_rows` problems side by side:
//   minimise (1/2) w'Aw - c'w over w >= 0,   w_r <- max(0, w_r - (A w - c)_r / A_rr).
// Entry (r, i) of c and w, coordinate r of problem i, is at [r * sweep_rows + i]; inverse_r is 1 / A_rr, or zero where
// A_rr is, and then w_r stays. Ends after `sweeps` sweeps, or when the moves of a sweep are at most `fraction` of those
// of the first one (Gillis and Glineur 2012), in the L2 norm over all problems. Returns the number of sweeps.
// Flops: 2 k^2 a sweep and problem. Bytes: A, c and w from L1.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index sweep_parts = sweep_rows / width;

inline Index nonnegative_sweeps(const double *A, const double *inverse, const double *c, double *w, Index k,
                                Index sweeps, double fraction) {
  double first = 0.0;
  for (Index sweep = 0; sweep < sweeps; ++sweep) {
    Vector moves{};
    for (Index r = 0; r < k; ++r) {
      const double *row = A + r * k;
      Vector gradient[sweep_parts], other[sweep_parts];
      for (Index part = 0; part < sweep_parts; ++part) {
        gradient[part] = -load(c + r * sweep_rows + part * width);
        other[part] = Vector{};
      }
      Index s = 0;
      for (; s + 2 <= k; s += 2)
#pragma GCC unroll 8
        for (Index part = 0; part < sweep_parts; ++part) {
          gradient[part] += row[s] * load(w + s * sweep_rows + part * width);
          other[part] += row[s + 1] * load(w + (s + 1) * sweep_rows + part * width);
        }
      if (s < k)
        for (Index part = 0; part < sweep_parts; ++part)
          gradient[part] += row[s] * load(w + s * sweep_rows + part * width);
      for (Index part = 0; part < sweep_parts; ++part) {
        double *here = w + r * sweep_rows + part * width;
        const Vector before = load(here), after = before - (gradient[part] + other[part]) * inverse[r];
        const Vector next = after > 0.0 ? after : Vector{};
        const Vector move = inverse[r] > 0.0 ? next - before : Vector{};
        store(here, before + move);
        moves += move * move;
      }
    }
    const double total = sum(moves);
    if (sweep == 0)
      first = total;
    if (!(total > fraction * fraction * first))
      return sweep + 1;
  }
  return sweeps;
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
