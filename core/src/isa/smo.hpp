// The two passes of a step of sequential minimal optimisation (smo_block.hpp) over the variables of a block.
//
// smo_move    value -= t (k_up - k_down), and of the values that result the largest over those that may increase with
//             its number, and the smallest over those that may decrease; `increase` is 0 or -infinity, `decrease` 0 or
//             +infinity.
// smo_gain    the number of the variable that may decrease with value v < top and the largest (top - v)^2 / curvature,
//             curvature = k_own + diagonal - 2 k_up, at least `least`; -1 where there is none. Fractions are compared
//             by products, so that no lane divides.
//
// Arrays are padded to whole SIMD vectors: count is a multiple of `lanes`, and padding neither increases nor decreases.
// Flops: 4 and 8 a variable. Of equal values the lane decides, the same on every run.
#pragma once

#include "simd.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

inline Vector lane_numbers() {
  Vector v{};
  for (Index l = 0; l < width; ++l)
    v[l] = static_cast<double>(l);
  return v;
}

template <class T>
void smo_move(double *value, const double *increase, const double *decrease, const T *k_up, const T *k_down, double t,
              Index count, SmoTop *top) {
  Vector best = all(-__builtin_inf()), least = all(__builtin_inf()), number{}, here = lane_numbers();
  const Vector by = all(t);
  for (Index i = 0; i < count; i += width, here += static_cast<double>(width)) {
    const Vector v = load(value + i) - by * (load(k_up + i) - load(k_down + i));
    store(value + i, v);
    const Vector up = v + load(increase + i), down = v + load(decrease + i);
    const auto more = up > best;
    best = more ? up : best;
    number = more ? here : number;
    least = down < least ? down : least;
  }
  top->value = best[0], top->number = static_cast<Index>(number[0]), top->least = least[0];
  for (Index l = 1; l < width; ++l) {
    if (best[l] > top->value)
      top->value = best[l], top->number = static_cast<Index>(number[l]);
    top->least = least[l] < top->least ? least[l] : top->least;
  }
}

template <class T>
Index smo_gain(const double *value, const double *decrease, const T *k_up, const double *diagonal, double own,
               double top, double least, Index count) {
  Vector best{}, over = all(1.0), number = all(-1.0), here = lane_numbers();
  const Vector floor = all(least);
  for (Index i = 0; i < count; i += width, here += static_cast<double>(width)) {
    const Vector away = top - (load(value + i) + load(decrease + i));
    const Vector curvature = own + load(diagonal + i) - 2.0 * load(k_up + i);
    const Vector below = curvature < floor ? floor : curvature;
    const Vector positive = away > 0.0 ? away : Vector{};
    const Vector square = positive * positive;
    const auto more = square * over > best * below;
    best = more ? square : best;
    over = more ? below : over;
    number = more ? here : number;
  }
  double gain = 0.0, which = -1.0;
  for (Index l = 0; l < width; ++l)
    if (best[l] / over[l] > gain)
      gain = best[l] / over[l], which = number[l];
  return static_cast<Index>(which);
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
