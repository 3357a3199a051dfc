// Coordinate descent on the dual of a linear support vector machine (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008;
// Ho and Lin 2012), with rows left out that sit at an end of their interval (shrinking).
//
// Given rows x_i, each with one more entry `unit`, targets t_i, intervals [low_i, high_i], curvatures d_i >= 0 and half
// of the width of a tube epsilon >= 0, minimises over b
//   1/2 |w|^2 + sum_i (d_i b_i^2 / 2 - t_i b_i + epsilon |b_i|),   w = sum_i b_i [x_i, unit],   low_i <= b_i <= high_i.
// Hinge: epsilon = 0, t = y, the interval between 0 and y C_i, d = 0; squared hinge: between 0 and y infinity,
// d = 1 / (2 C_i); the losses with a tube: the same on both sides of 0. One epoch takes every row that is not left out
// once, in a shuffled order:
//   b_i <- the minimum along b_i alone,  w <- w + (change of b_i) [x_i, unit].
// The violation of a row is how fast the objective falls where its interval lets b_i go; an epoch returns the largest.
// Flops: 4 an entry of the rows that move, 2 of the others; bytes: the rows that are taken, once an epoch.
#pragma once

#include "tenfold/buffer.hpp"
#include "tenfold/order.hpp"
#include "tenfold/row_of.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace tenfold {

struct DualAscent {
  // the problem
  std::vector<double> target, low, high, curvature;
  double epsilon = 0.0, unit = 0.0;
  // where it is: the last entry of w belongs to `unit`
  Weights w;
  std::vector<double> b, square;
  std::vector<Index> order; // the rows, those that are taken first
  Index active = 0;
  double reach = std::numeric_limits<double>::infinity(); // the largest violation of the epoch before
  Random random{0};

  Index rows() const { return static_cast<Index>(target.size()); }
  Index vectors() const { return 1; } // of weights
  void take_all() {
    active = static_cast<Index>(order.size());
    reach = std::numeric_limits<double>::infinity();
  }
  void leave(Index &place) {
    --active;
    std::swap(order[static_cast<std::size_t>(place)], order[static_cast<std::size_t>(active)]);
    --place;
  }
};

// From b = 0.
template <class Rows> void begin(const Rows &x, DualAscent &state) {
  const auto row = row_of(x);
  const std::size_t n = state.target.size();
  state.b.assign(n, 0.0);
  state.w.assign(static_cast<std::size_t>(x.columns) + 1, 0.0);
  state.square.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    state.square[i] = row.squares(static_cast<Index>(i)) + state.unit * state.unit;
  state.order.resize(n);
  std::iota(state.order.begin(), state.order.end(), Index{0});
  state.take_all();
}

// The slopes of the dual objective to both sides of b_i, and what is left of them within the interval.
struct Sides {
  double right, left, violation;
  Sides(double g, double b, double low, double high, double epsilon)
      : right(g + (b >= 0.0 ? epsilon : -epsilon)), left(g + (b > 0.0 ? epsilon : -epsilon)),
        violation(std::max({b < high ? -right : 0.0, b > low ? left : 0.0, 0.0})) {}
  // At an end, or amid the tube, and held there more firmly than anything moved in the last epoch.
  bool held(double b, double low, double high, double epsilon, double reach) const {
    return (b == low && right > reach) || (b == high && left < -reach) ||
           (b == 0.0 && epsilon > 0.0 && right > reach && left < -reach);
  }
};

// The minimum along b_i alone, where the slope at b is g and the curvature q.
inline double best_along(double g, double q, double b, double low, double high, double epsilon) {
  if (!(q > 0.0))
    return g < 0.0 ? high : low;
  const double free = b - g / q, threshold = epsilon / q;
  const double moved = free > threshold ? free - threshold : (free < -threshold ? free + threshold : 0.0);
  return std::clamp(moved, low, high);
}

// One epoch. Returns the largest violation.
template <class Rows> double epoch(const Rows &x, DualAscent &state) {
  constexpr Index ahead = 2;
  const auto row = row_of(x);
  for (Index k = 0; k < state.active; ++k) {
    const Index other = k + static_cast<Index>(state.random.below(static_cast<std::uint64_t>(state.active - k)));
    std::swap(state.order[static_cast<std::size_t>(k)], state.order[static_cast<std::size_t>(other)]);
  }
  double largest = 0.0, &last = state.w.back();
  for (Index k = 0; k < state.active; ++k) {
    if (k + ahead < state.active)
      row.fetch(state.order[static_cast<std::size_t>(k + ahead)]);
    const Index i = state.order[static_cast<std::size_t>(k)];
    const auto s = static_cast<std::size_t>(i);
    const double b = state.b[s], d = state.curvature[s], low = state.low[s], high = state.high[s];
    const double g = row.dot(i, state.w.data()) + last * state.unit - state.target[s] + d * b;
    const Sides sides(g, b, low, high, state.epsilon);
    if (sides.violation == 0.0) {
      if (sides.held(b, low, high, state.epsilon, state.reach))
        state.leave(k);
      continue;
    }
    largest = std::max(largest, sides.violation);
    const double moved = best_along(g, state.square[s] + d, b, low, high, state.epsilon);
    if (moved != b && std::isfinite(moved)) {
      state.b[s] = moved;
      row.add(i, moved - b, state.w.data());
      last += (moved - b) * state.unit;
    }
  }
  state.reach = largest > 0.0 ? largest : std::numeric_limits<double>::infinity();
  return largest;
}

} // namespace tenfold
