// Gappy subsequence kernel of one string with `subsequence_lanes` others, side by side in the lanes of SIMD vectors.
//   k(s, t) = sum over pairs of `length` positions i in s and j in t that spell the same:  decay^(span i + span j)
// by the recursion of Lodhi et al. (2002). K_i(a, j) weighs the common subsequences of i characters of the first a
// characters of s and the first j of t by the decays from their beginnings to a and j:
//   R_i(a + 1, j + 1) = decay R_i(a + 1, j) + [s_a = t_j] decay^2 K_i-1(a, j)
//   K_i(a + 1, j + 1) = decay K_i(a, j + 1) + R_i(a + 1, j + 1)          K_0 = 1
//   k(s, t) = sum over a and j of [s_a = t_j] decay^2 K_length-1(a, j)
// All terms are positive. `slope` is the derivative in log(decay), by the same recursion. Of each level one row is
// kept; the levels go down, so that a row is read before it is written. Flops: 6 (length - 1) |s| |t|.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index subsequence_vectors = 2; // in turn: the recursion along t waits for its last product
constexpr Index subsequence_lanes = subsequence_vectors * width;

inline Vector where_equal(Vector t, Vector s, Vector value) {
  return bits_to_vector(vector_to_bits(value) & reinterpret_cast<Bits>(t == s));
}

// t: columns x lanes. work: (length - 1) rows of columns x lanes, twice as many with slopes. out, slope: a number a
// lane.
template <bool slopes>
inline void subsequence(const double *s, Index rows, const double *t, Index columns, Index length, double decay,
                        double *work, double *out, double *slope) {
  constexpr Index lanes = subsequence_lanes;
  const Index step = columns * lanes, levels = length - 1;
  const Vector fall = all(decay), square = all(decay * decay), none{};
  for (Index k = 0; k < levels * step * (slopes ? 2 : 1); ++k)
    work[k] = 0.0;
  Vector total[subsequence_vectors] = {}, total_slope[subsequence_vectors] = {};
  for (Index a = 0; a < rows; ++a) {
    const Vector c = all(s[a]);
    for (Index i = levels; i >= 0; --i) { // level i + 1 from level i; the last is summed
      const double *below = i > 0 ? work + (i - 1) * step : nullptr;
      const double *below_slope = i > 0 && slopes ? work + (levels + i - 1) * step : nullptr;
      double *own = i < levels ? work + i * step : nullptr;
      double *own_slope = i < levels && slopes ? work + (levels + i) * step : nullptr;
      Vector running[subsequence_vectors] = {}, running_slope[subsequence_vectors] = {};
      Vector before[subsequence_vectors], before_slope[subsequence_vectors];
      for (Index v = 0; v < subsequence_vectors; ++v)
        before[v] = i > 0 ? none : all(1.0), before_slope[v] = none; // K_i(a, 0)
      for (Index j = 0; j < columns; ++j) {
#pragma GCC unroll 2
        for (Index v = 0; v < subsequence_vectors; ++v) {
          const Index at = j * lanes + v * width;
          const Vector tail = load(t + at), start = where_equal(tail, c, square * before[v]);
          Vector start_slope = none;
          if constexpr (slopes)
            start_slope = where_equal(tail, c, square * (before_slope[v] + 2.0 * before[v]));
          if (own == nullptr) {
            total[v] += start;
            if constexpr (slopes)
              total_slope[v] += start_slope;
          } else {
            if constexpr (slopes) {
              running_slope[v] = fall * (running_slope[v] + running[v]) + start_slope;
              store(own_slope + at, fall * (load(own_slope + at) + load(own + at)) + running_slope[v]);
            }
            running[v] = fall * running[v] + start;
            store(own + at, fall * load(own + at) + running[v]);
          }
          if (below != nullptr) {
            before[v] = load(below + at);
            if constexpr (slopes)
              before_slope[v] = load(below_slope + at);
          }
        }
      }
    }
  }
  for (Index v = 0; v < subsequence_vectors; ++v) {
    store(out + v * width, total[v]);
    if constexpr (slopes)
      store(slope + v * width, total_slope[v]);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
