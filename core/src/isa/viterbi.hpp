// One step of Viterbi's recursion: for every tag b the best previous tag.
//   best_b = max_a score_a + move[a * tags + b]      back_b = the first a that attains it
// A few SIMD vectors of tags b stay in registers over all a. Flops: 2 tags^2; move stays in cache up to about 70 tags.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <Index vectors, class Load, class Store>
inline void viterbi_step_block(const double *score, const double *move, Index tags, double *best, double *back,
                               const Load &get, const Store &put) {
  Vector most[vectors], from[vectors];
  for (Index k = 0; k < vectors; ++k) {
    most[k] = get(move + k * width) + score[0];
    from[k] = Vector{};
  }
  for (Index a = 1; a < tags; ++a) {
    const double *row = move + a * tags;
    const Vector number = all(static_cast<double>(a));
#pragma GCC unroll 4
    for (Index k = 0; k < vectors; ++k) {
      const Vector value = get(row + k * width) + score[a];
      from[k] = value > most[k] ? number : from[k];
      most[k] = value > most[k] ? value : most[k];
    }
  }
  for (Index k = 0; k < vectors; ++k) {
    put(best + k * width, most[k]);
    put(back + k * width, from[k]);
  }
}

inline void viterbi_step(const double *score, const double *move, Index tags, double *best, double *back) {
  constexpr Index several = 4;
  const auto whole = [](const double *p) { return load(p); };
  const auto keep = [](double *p, Vector v) { store(p, v); };
  Index b = 0;
  for (; b + several * width <= tags; b += several * width)
    viterbi_step_block<several>(score, move + b, tags, best + b, back + b, whole, keep);
  for (; b + width <= tags; b += width)
    viterbi_step_block<1>(score, move + b, tags, best + b, back + b, whole, keep);
  if (const Index left = tags - b; left > 0)
    viterbi_step_block<1>(
        score, move + b, tags, best + b, back + b, [left](const double *p) { return load_part(p, left); },
        [left](double *p, Vector v) { store_part(p, v, left); });
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
