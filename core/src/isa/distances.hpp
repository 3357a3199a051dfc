// Distances of a row x to a point q in float64; squares are in nearest_centre_float32.hpp.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

struct AddSize {
  static Vector of(Vector sum, Vector away) { return sum + magnitude(away); }
};
struct KeepLargest {
  static Vector of(Vector sum, Vector away) {
    const Vector size = magnitude(away);
    return size > sum ? size : sum;
  }
};

template <class Term, class T> inline void terms(const T *x, const double *q, Index columns, Vector (&sums)[4]) {
  Index j = 0;
  for (; j + 4 * width <= columns; j += 4 * width)
#pragma GCC unroll 4
    for (Index v = 0; v < 4; ++v)
      sums[v] = Term::of(sums[v], load(x + j + v * width) - load(q + j + v * width));
  for (; j + width <= columns; j += width)
    sums[0] = Term::of(sums[0], load(x + j) - load(q + j));
  if (j < columns)
    sums[1] = Term::of(sums[1], load_part(x + j, columns - j) - load_part(q + j, columns - j));
}

// sum_j |x_j - q_j|
template <class T> double city_block(const T *x, const double *q, Index columns) {
  Vector sums[4] = {};
  terms<AddSize>(x, q, columns, sums);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// max_j |x_j - q_j|
template <class T> double chessboard(const T *x, const double *q, Index columns) {
  Vector sums[4] = {};
  terms<KeepLargest>(x, q, columns, sums);
  double most = 0.0;
  for (Index v = 0; v < 4; ++v)
    for (Index i = 0; i < width; ++i)
      most = sums[v][i] > most ? sums[v][i] : most;
  return most;
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
